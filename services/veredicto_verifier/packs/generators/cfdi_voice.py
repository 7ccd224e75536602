"""How one writer says dates, amounts, codes and taxes in Spanish: drawn once a request, kept through its text."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Json = dict[str, Any]

MONTHS = (
    "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre",
    "diciembre",
)  # fmt: skip
TAXES = {"001": "ISR", "002": "IVA", "003": "IEPS"}
TYPES = {"I": "ingreso", "E": "egreso", "P": "pago"}
METHODS = {"PUE": "pago en una sola exhibición", "PPD": "pago en parcialidades o diferido"}
FORMS = {
    "01": "efectivo",
    "02": "cheque nominativo",
    "03": "transferencia electrónica de fondos",
    "04": "tarjeta de crédito",
    "28": "tarjeta de débito",
    "99": "por definir",
}
OBJECTS = {
    "01": "no objeto de impuesto",
    "02": "sí objeto de impuesto",
    "03": "sí objeto del impuesto y no obligado al desglose",
}
REGIMES = {
    "601": "General de Ley Personas Morales",
    "603": "Personas Morales con Fines no Lucrativos",
    "605": "Sueldos y Salarios e Ingresos Asimilados a Salarios",
    "606": "Arrendamiento",
    "612": "Personas Físicas con Actividades Empresariales y Profesionales",
    "616": "Sin obligaciones fiscales",
    "621": "Incorporación Fiscal",
    "624": "Coordinados",
    "626": "Régimen Simplificado de Confianza",
}
USES = {
    "G01": "adquisición de mercancías",
    "G02": "devoluciones, descuentos o bonificaciones",
    "G03": "gastos en general",
    "I04": "equipo de cómputo y accesorios",
    "D01": "honorarios médicos, dentales y gastos hospitalarios",
    "D10": "pagos por servicios educativos (colegiaturas)",
    "S01": "sin efectos fiscales",
    "CP01": "pagos",
}
RELATIONS = {
    "01": "nota de crédito de los documentos relacionados",
    "03": "devolución de mercancía sobre facturas o traslados previos",
    "04": "sustitución de los CFDI previos",
    "07": "CFDI por aplicación de anticipo",
}
PERIODS = {"01": "diario", "02": "semanal", "03": "quincenal", "04": "mensual", "05": "bimestral"}


@dataclass(frozen=True, slots=True)
class Voice:
    """A writer's habits. `words`: names instead of codes where SAT's catalogue has one name for the code."""

    source: random.Random
    words: bool
    dates: str
    money: str

    def pick(self, *phrases: str) -> str:
        """One of several ways to say the same."""
        return self.source.choice(phrases)

    def date(self, moment: str) -> str:
        """A moment to the second."""
        day, time = moment.split("T")
        year, month, number = day.split("-")
        if self.dates == "long":
            return f"{int(number)} de {MONTHS[int(month) - 1]} de {year} a las {time}"
        return f"{number}/{month}/{year} {time}" if self.dates == "short" else moment

    def amount(self, text: str) -> str:
        """An amount of money with all its decimals."""
        if self.money == "plain":
            return text
        grouped = f"{Decimal(text):,f}"
        return f"${grouped}" if self.money == "sign" else grouped

    def code(self, code: str, names: dict[str, str]) -> str:
        """A code with its name; a writer of words leaves the code out."""
        name = names.get(code)
        return code if name is None else name if self.words else self.pick(code, f"{code} ({name})", f"{name} ({code})")

    def both(self, code: str, names: dict[str, str]) -> str:
        """A code that is always said, sometimes with its name."""
        return self.pick(code, f"{code} ({names[code]})", f"{code}, {names[code]}")

    def tax(self, tax: Json) -> str:
        """A tax: `IVA del 16 %`, or `IVA (002), Tasa 0.160000`."""
        name = TAXES[tax["impuesto"]]
        if tax["tipo_factor"] == "Exento":
            return f"{name} exento" if self.words else f"{name} ({tax['impuesto']}), Exento"
        rate = tax["tasa_o_cuota"]
        if tax["tipo_factor"] == "Cuota":
            return f"{name} por cuota de {rate} por unidad"
        percent = f"{(Decimal(rate) * 100).normalize():f}"
        return f"{name} del {percent} %" if self.words else f"{name} ({tax['impuesto']}), Tasa {rate}"

    def taxes(self, traslados: list[Json], retenciones: list[Json]) -> str:
        """Everything that is charged and withheld; empty without taxes."""
        parts = []
        if traslados:
            charged = self.pick("traslada", "se traslada", "con traslado de")
            parts.append(f"{charged} " + " e ".join(self.tax(tax) for tax in traslados))
        if retenciones:
            held = self.pick("retiene", "se retiene", "con retención de")
            parts.append(f"{held} " + " y ".join(self.tax(tax) for tax in retenciones))
        return "; ".join(parts)


def draw_voice(source: random.Random, level: int) -> Voice:
    """The habits of one writer: codes on the first level, words on the third, either on the second."""
    words = level == 3 or (level == 2 and source.random() < 0.5)
    dates = "iso" if level == 1 else source.choice(("iso", "long", "short"))
    return Voice(source, words, dates, source.choice(("plain", "comma", "sign")))
