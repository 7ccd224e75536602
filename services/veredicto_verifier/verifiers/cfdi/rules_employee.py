"""Rules on the employee of a payroll (SAT's matrix for complement Nómina 1.2: Receptor)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Tree
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault, shown
from veredicto_verifier.verifiers.cfdi.rule_kinds import known
from veredicto_verifier.verifiers.cfdi.rules_nomina import CONTRACTS_OF_WORK, OTHER_CONTRACTS, day, employees
from veredicto_verifier.verifiers.json_models import clabe_digit

REGIMES_OF_WORK = ("02", "03", "04")
ACCOUNT_LENGTHS = (10, 11, 16, 18)
WEEKS = re.compile(r"P([0-9]{1,4})W")
SPAN = re.compile(r"P(?:([0-9]{1,2})Y)?(?:([0-9]{1,2})M)?([0-9]{1,2})D")


def _hired_before(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one, hired, last in _spans(cfdi):
        if hired > last:
            yield fault(one, "FechaInicioRelLaboral es posterior a FechaFinalPago")


def _spans(cfdi: Comprobante) -> Iterator[tuple[Tree, date, date]]:
    last = day(cfdi.nomina, "FechaFinalPago") if cfdi.nomina else None
    for one in employees(cfdi):
        hired = day(one, "FechaInicioRelLaboral")
        if hired and last:
            yield one, hired, last


def _weeks(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one, hired, last in _spans(cfdi):
        found = WEEKS.fullmatch(one.get("Antigüedad") or "")
        most = ((last - hired).days + 1) // 7
        if found and int(found.group(1)) > most:
            yield fault(one, f"Antigüedad {shown(one.get('Antigüedad'))} pasa de {most} semanas")


def _years(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    """SAT does not say whether the last day counts, so both are right."""
    for one, hired, last in _spans(cfdi):
        found = SPAN.fullmatch(one.get("Antigüedad") or "")
        written = tuple(int(part or 0) for part in found.groups()) if found else None
        if written and hired <= last and written not in (_span(hired, last), _span(hired, last + timedelta(days=1))):
            yield fault(one, "Antigüedad no son los años, meses y días desde FechaInicioRelLaboral")


def _span(first: date, last: date) -> tuple[int, int, int]:
    months = (last.year - first.year) * 12 + last.month - first.month - (last.day < first.day)
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    length = (date(year + month // 11, (month + 1) % 12 + 1, 1) - date(year, month + 1, 1)).days
    start = date(year, month + 1, min(first.day, length))
    return months // 12, months % 12, (last - start).days


def _regime_of_work(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employees(cfdi):
        if one.get("TipoContrato") in CONTRACTS_OF_WORK and one.get("TipoRegimen") not in REGIMES_OF_WORK:
            yield fault(one, "con ese TipoContrato, TipoRegimen debe ser 02, 03 o 04")


def _other_regime(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employees(cfdi):
        if one.get("TipoContrato") in OTHER_CONTRACTS and (one.get("TipoRegimen") or "") < "05":
            yield fault(one, "con ese TipoContrato, TipoRegimen debe ser 05 a 99")


def _account_length(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employees(cfdi):
        account = one.get("CuentaBancaria")
        if account is not None and len(account) not in ACCOUNT_LENGTHS:
            yield fault(one, "CuentaBancaria debe tener 10, 11, 16 o 18 posiciones")


def _clabe_without_bank(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employees(cfdi):
        if len(one.get("CuentaBancaria") or "") == 18 and one.get("Banco") is not None:
            yield fault(one, "con una CLABE no debe existir Banco")


def _clabe_digit(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employees(cfdi):
        account = one.get("CuentaBancaria") or ""
        if re.fullmatch("[0-9]{18}", account) and int(account[17]) != clabe_digit(account[:17]):
            yield fault(one, "el dígito de control de la CLABE no es correcto")


def _account_with_bank(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employees(cfdi):
        if len(one.get("CuentaBancaria") or "") in (10, 11, 16) and one.get("Banco") is None:
            yield fault(one, "con esa CuentaBancaria falta Banco")


def _full_time(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employees(cfdi):
        shares = [part.amount("PorcentajeTiempo") for part in one.all("SubContratacion")]
        if shares and sum((share for share in shares if share is not None), Decimal(0)) != 100:
            yield fault(one, "la suma de PorcentajeTiempo no es 100")


# fmt: off
EMPLOYEE: tuple[Rule, ...] = (
    Rule("cfdi.nom53", "business", "O", _hired_before,
         "FechaInicioRelLaboral is not after the last day paid",
         significado="FechaInicioRelLaboral no es posterior al último día pagado"),
    Rule("cfdi.nom54", "business", "O", _weeks,
         "Antigüedad in weeks is at most the weeks elapsed",
         significado="Antigüedad en semanas no pasa de las transcurridas"),
    Rule("cfdi.nom55", "business", "O", _years,
         "Antigüedad in years, months and days is the time elapsed",
         significado="Antigüedad en años, meses y días es el tiempo transcurrido"),
    Rule("cfdi.nom57", "business", "O", _regime_of_work,
         "contracts 01 to 08 have TipoRegimen 02, 03 or 04",
         significado="los contratos 01 a 08 llevan TipoRegimen 02, 03 o 04"),
    Rule("cfdi.nom58", "business", "O", _other_regime,
         "other contracts have TipoRegimen 05 to 99", significado="los demás contratos llevan TipoRegimen 05 a 99"),
    Rule("cfdi.nom61", "catalogues", "C", known(employees, "Banco", "c_Banco", lambda facts: facts.catalogues.banks),
         "Banco is in the catalogue", significado="Banco está en el catálogo"),
    Rule("cfdi.nom62", "business", "O", _account_length,
         "CuentaBancaria has 10, 11, 16 or 18 digits", significado="CuentaBancaria tiene 10, 11, 16 o 18 dígitos"),
    Rule("cfdi.nom63", "business", "O", _clabe_without_bank,
         "a CLABE has no Banco", significado="una CLABE no lleva Banco"),
    Rule("cfdi.nom64", "business", "O", _clabe_digit,
         "a CLABE has its check digit", significado="una CLABE tiene su dígito de control"),
    Rule("cfdi.nom65", "business", "O", _account_with_bank,
         "another account has Banco", significado="otra cuenta lleva Banco"),
    Rule("cfdi.nom66", "catalogues", "C",
         known(employees, "ClaveEntFed", "c_Estado de México", lambda facts: facts.catalogues.states),
         "ClaveEntFed is a Mexican state", significado="ClaveEntFed es un estado mexicano"),
    Rule("cfdi.nom68", "arithmetic", "O", _full_time,
         "PorcentajeTiempo adds up to 100", "summary", significado="PorcentajeTiempo suma 100"),
)
# fmt: on
