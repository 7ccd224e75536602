"""Lines and headers of drawn requests: what they sell, for how much, under which taxes, harder level by level."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from veredicto_verifier.packs.generators.cfdi_goods import DIVISIBLE, Good
from veredicto_verifier.packs.generators.cfdi_parties import PLACES, any_receiver, company

Json = dict[str, Any]
Goods = tuple[Good, ...]

LEVELS = {1: 0.2, 2: 0.5, 3: 0.8}
"""Difficulty of each level: one line and codes; a few lines; many lines, fractions and words instead of codes."""
LINES = {1: (1, 1), 2: (2, 3), 3: (3, 6)}
ISR_FEES, IVA_TWO_THIRDS, IVA_FREIGHT, ISR_RESICO = "0.100000", "0.106667", "0.040000", "0.012500"
FORMS = ("01", "02", "03", "03", "04", "28")


@dataclass(frozen=True, slots=True)
class Draw:
    """One request in the making: its source of chance, the split whose names it may use, its level from 1 to 3."""

    source: random.Random
    split: str
    level: int
    request: Json = field(default_factory=dict)

    def lines(self, goods: Goods, taxes: list[Json], retenciones: list[Json] | None = None) -> list[Json]:
        """As many different lines of `goods` as the level has, all under the same taxes."""
        count = min(len(goods), self.source.randint(*LINES[self.level]))
        return [self.line(good, taxes, retenciones) for good in self.source.sample(goods, count)]

    def line(self, good: Good, taxes: list[Json], retenciones: list[Json] | None = None) -> Json:
        """One line; without taxes it is no object of tax."""
        return {
            "clave_prod_serv": good.product,
            "clave_unidad": good.unit,
            "descripcion": good.text,
            "cantidad": self.quantity(good),
            "valor_unitario": self.price(good),
            "objeto_imp": "02" if taxes or retenciones else "01",
            "traslados": [dict(tax) for tax in taxes],
            "retenciones": [dict(tax) for tax in retenciones or []],
        }

    def quantity(self, good: Good) -> str:
        """Pieces are whole, weights and hours have decimals from the second level on; services come once."""
        if good.unit in ("E48", "MON", "ACT"):
            return "1" if self.level < 3 else str(self.source.randint(1, 3))
        if good.unit in DIVISIBLE and self.level > 1:
            places = self.level
            return str(Decimal(self.source.randint(1, 40 * 10**places)).scaleb(-places))
        return str(self.source.randint(1, 24))

    def price(self, good: Good) -> str:
        """Centavos; on the third level sometimes four decimals."""
        cents = Decimal(self.source.randint(good.low, good.high)).scaleb(-2)
        if self.level == 3 and self.source.random() < 0.4:
            cents += Decimal(self.source.randint(1, 99)).scaleb(-4)
        return str(cents)


def rate(impuesto: str, tasa: str, factor: str = "Tasa") -> Json:
    """A tax at a rate, or a quota a unit."""
    return {"impuesto": impuesto, "tipo_factor": factor, "tasa_o_cuota": tasa}


def iva(tasa: str = "0.160000") -> list[Json]:
    """IVA at a rate."""
    return [rate("002", tasa)]


def exempt() -> list[Json]:
    """IVA, exempt."""
    return [{"impuesto": "002", "tipo_factor": "Exento"}]


def header(draw: Draw) -> Json:
    """A sale in pesos, paid at once, without lines."""
    source = draw.source
    request: Json = {
        "tipo": "I",
        "fecha": moment(source),
        "lugar_expedicion": source.choice(PLACES),
        "moneda": "MXN",
        "metodo_pago": "PUE",
        "forma_pago": source.choice(FORMS),
        "exportacion": "01",
        "emisor": company(source, draw.split),
        "receptor": any_receiver(source, draw.split),
        "conceptos": [],
    }
    if draw.level > 1 and source.random() < 0.5:
        request |= {"serie": source.choice("ABCFK"), "folio": str(source.randint(1, 99999))}
    return request


def moment(source: random.Random, month: int | None = None) -> str:
    """A second of a working day of 2026."""
    day = f"2026-{month or source.randint(1, 11):02}-{source.randint(1, 28):02}"
    return f"{day}T{source.randint(8, 19):02}:{source.randint(0, 59):02}:{source.randint(0, 59):02}"


def uuid(source: random.Random) -> str:
    """A folio fiscal."""
    digits = "".join(source.choice("0123456789ABCDEF") for _ in range(32))
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def cents(value: Decimal) -> str:
    """An amount with two decimals, halves up for the positive amounts of a request."""
    return f"{(value * 100 + Decimal('0.5')).to_integral_value(rounding='ROUND_FLOOR') / 100:.2f}"
