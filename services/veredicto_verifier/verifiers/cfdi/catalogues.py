"""SAT's catalogues as sets and small tables, read once per process."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from veredicto_verifier.verifiers.cfdi.schemas import data_folder

TABLES = Path(__file__).parent / "tables"


@dataclass(frozen=True, slots=True)
class Person:
    """To whom a code applies: natural persons (`fisica`, 13-character RFC), companies (`moral`, 12 characters)."""

    fisica: bool
    moral: bool
    regimenes: frozenset[str] = frozenset()

    def admits(self, rfc: str) -> bool:
        """Whether the code may be used by the holder of `rfc`."""
        return self.moral if len(rfc) == 12 else self.fisica


@dataclass(frozen=True, slots=True)
class Rate:
    """One row of c_TasaOCuota: a fixed value (`low` = `high`) or a range, both ends included."""

    impuesto: str
    factor: str
    low: Decimal
    high: Decimal
    traslado: bool
    retencion: bool


@dataclass(frozen=True, slots=True)
class Catalogues:
    """Everything of SAT's catalogues that a rule asks for."""

    postal_codes: frozenset[str]
    products: frozenset[str]
    units: frozenset[str]
    regimenes: Mapping[str, Person]
    usos: Mapping[str, Person]
    rates: tuple[Rate, ...]
    currencies: Mapping[str, int]
    """Decimals of each currency."""
    formas_pago: frozenset[str]
    tipos_relacion: frozenset[str]
    countries: Mapping[str, str]
    """Pattern of the tax identity number of each country, empty where SAT gives none."""
    accounts: Mapping[str, tuple[str, str]]
    """Patterns of the payer's and the payee's account by form of payment, for those forms that have accounts."""
    customs: frozenset[str]
    customs_agents: frozenset[str]
    banks: frozenset[str]
    perceptions: frozenset[str]
    deductions: frozenset[str]
    states: frozenset[str]
    coded: Mapping[tuple[str, str], tuple[tuple[str, str], ...]]
    """Attributes of complements with a large catalogue: (namespace, path of names) -> (attribute, name of its set)."""

    def has_rate(self, impuesto: str | None, factor: str | None, rate: Decimal, *, retencion: bool) -> bool:
        """Whether c_TasaOCuota admits the rate for that tax, factor and side."""
        for row in self.rates:
            of_side = row.retencion if retencion else row.traslado
            if of_side and row.impuesto == impuesto and row.factor == factor and row.low <= rate <= row.high:
                return True
        return False


@functools.cache
def load_catalogues() -> Catalogues:
    """Read the sets of the data folder and the committed tables."""
    sets = data_folder() / "sets"
    return Catalogues(
        postal_codes=_set(sets / "c_CodigoPostal.txt"),
        products=_set(sets / "c_ClaveProdServ.txt"),
        units=_set(sets / "c_ClaveUnidad.txt"),
        regimenes={code: Person(fisica == "1", moral == "1") for code, fisica, moral in _rows("regimenes")},
        usos={
            code: Person(fisica == "1", moral == "1", frozenset(regimenes.split(",")))
            for code, fisica, moral, regimenes in _rows("usos")
        },
        rates=tuple(_rate(row) for row in _rows("tasas")),
        currencies={code: int(decimals) for code, decimals in _rows("monedas")},
        formas_pago=_codes("formas_pago"),
        tipos_relacion=_codes("tipos_relacion"),
        countries=dict(_rows("paises")),
        accounts={form: (payer, payee) for form, payer, payee in _rows("cuentas")},
        customs=_codes("aduanas"),
        customs_agents=_codes("patentes"),
        banks=_codes("nomina_bancos"),
        perceptions=_codes("nomina_percepciones"),
        deductions=_codes("nomina_deducciones"),
        states=_codes("nomina_estados"),
        coded=_coded((data_folder() / "sets" / "attributes.tsv").read_text(encoding="utf-8")),
    )


@functools.cache
def load_set(name: str) -> frozenset[str]:
    """A large catalogue that only a complement uses, read when the first one does."""
    return _set(data_folder() / "sets" / f"{name}.txt")


def tables_digest() -> str:
    """SHA-256 (hex) over the committed tables."""
    total = hashlib.sha256()
    for path in sorted(TABLES.glob("*.tsv")):
        total.update(path.name.encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def _rate(row: list[str]) -> Rate:
    _kind, low, high, impuesto, factor, traslado, retencion = row
    return Rate(impuesto, factor, Decimal(low), Decimal(high), traslado == "1", retencion == "1")


def _coded(text: str) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    coded: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
    for line in text.splitlines():
        namespace, path, attribute, values = line.split("\t")
        coded[namespace, path] = (*coded.get((namespace, path), ()), (attribute, values))
    return coded


def _codes(name: str) -> frozenset[str]:
    return frozenset(code for (code,) in _rows(name))


def _rows(name: str) -> list[list[str]]:
    lines = (TABLES / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[2:]]


def _set(path: Path) -> frozenset[str]:
    return frozenset(path.read_text(encoding="utf-8").split())
