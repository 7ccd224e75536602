"""Rules on the totals of a payment, in pesos (SAT's matrix for complement Pagos 2.0: Totales), and on its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import PLAIN
from veredicto_verifier.verifiers.cfdi.rule import Check, Facts, Fault, Rule, fault, rounded, shown
from veredicto_verifier.verifiers.cfdi.rules_pagos import payments, rate_of
from veredicto_verifier.verifiers.cfdi.rules_pagos_taxes import IVA, summed, summed_withheld, tax_key

EXENTO = "Exento"
TOTALS_OF_BASE = (
    "TotalTrasladosBaseIVA16", "TotalTrasladosBaseIVA8", "TotalTrasladosBaseIVA0", "TotalTrasladosBaseIVAExento",
)  # fmt: skip
TOTALS_OF_TAX = ("TotalTrasladosImpuestoIVA16", "TotalTrasladosImpuestoIVA8", "TotalTrasladosImpuestoIVA0")
TOTALS_WITHHELD = ("TotalRetencionesIVA", "TotalRetencionesISR", "TotalRetencionesIEPS")
NUMBERS = frozenset(
    "TipoCambioP Monto EquivalenciaDR ImpSaldoAnt ImpPagado ImpSaldoInsoluto BaseDR TasaOCuotaDR ImporteDR BaseP "
    "TasaOCuotaP ImporteP MontoTotalPagos".split()
) | {*TOTALS_OF_BASE, *TOTALS_OF_TAX, *TOTALS_WITHHELD}


def _totalled(
    cfdi: Comprobante, name: str, amounts: Iterator[tuple[Decimal | None, Decimal | None]]
) -> Iterator[Fault]:
    """The total is the rounded sum in pesos; there when anything adds to it, and only then or 0."""
    totals, pairs = cfdi.pagos.first("Totales") if cfdi.pagos else None, list(amounts)
    if totals is None:
        return
    exact = sum((amount * rate for amount, rate in pairs if amount is not None and rate is not None), Decimal(0))
    if totals.get(name) is None and pairs:
        yield fault(totals, f"falta {name}")
    elif totals.get(name) is not None and totals.amount(name) != rounded(exact, 2):
        yield fault(totals, f"{name} {shown(totals.get(name))} no es la suma en pesos, {rounded(exact, 2)}")


def _withheld_total(name: str, impuesto: str) -> Check:
    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        amounts = (
            (tax.amount("ImporteP"), rate_of(pago))
            for pago in payments(cfdi)
            for tax in summed_withheld(pago)
            if tax.get("ImpuestoP") == impuesto
        )
        yield from _totalled(cfdi, name, amounts)

    return check


def _iva_total(name: str, attribute: str, rate: str | None) -> Check:
    key = (IVA, EXENTO, None) if rate is None else (IVA, "Tasa", Decimal(rate))

    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        amounts = (
            (tax.amount(attribute), rate_of(pago))
            for pago in payments(cfdi)
            for tax in summed(pago)
            if tax_key(tax, "P") == key
        )
        yield from _totalled(cfdi, name, amounts)

    return check


def _one_of(cfdi: Comprobante, names: tuple[str, ...], *, needed: bool) -> Iterator[Fault]:
    totals = cfdi.pagos.first("Totales") if cfdi.pagos else None
    if totals and needed and all(totals.get(name) is None for name in names):
        yield fault(totals, f"falta al menos uno de {', '.join(names)}")


def _some_withheld(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _one_of(cfdi, TOTALS_WITHHELD, needed=any(summed_withheld(pago) for pago in payments(cfdi)))


def _some_basis(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    charged = any(tax.get("ImpuestoP") == IVA for pago in payments(cfdi) for tax in summed(pago))
    yield from _one_of(cfdi, TOTALS_OF_BASE, needed=charged)


def _some_tax(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    taxes = [tax for pago in payments(cfdi) for tax in summed(pago) if tax.get("ImpuestoP") == IVA]
    yield from _one_of(cfdi, TOTALS_OF_TAX, needed=any(tax.get("TipoFactorP") != EXENTO for tax in taxes))


def _plain_numbers(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for node in cfdi.pagos.walk() if cfdi.pagos else ():
        for name, text in node.attributes.items():
            if name in NUMBERS and not PLAIN.fullmatch(text):
                yield fault(node, f"{name} {shown(text)} no es un número llano")


# fmt: off
PAYMENT_TOTALS: tuple[Rule, ...] = (
    Rule("cfdi.crp20201", "arithmetic", "O", _withheld_total("TotalRetencionesIVA", "002"),
         "TotalRetencionesIVA is the rounded sum in pesos", "summary",
         significado="TotalRetencionesIVA es la suma en pesos, redondeada"),
    Rule("cfdi.crp20202", "arithmetic", "O", _withheld_total("TotalRetencionesISR", "001"),
         "TotalRetencionesISR is the rounded sum in pesos", "summary",
         significado="TotalRetencionesISR es la suma en pesos, redondeada"),
    Rule("cfdi.crp20203", "arithmetic", "O", _withheld_total("TotalRetencionesIEPS", "003"),
         "TotalRetencionesIEPS is the rounded sum in pesos", "summary",
         significado="TotalRetencionesIEPS es la suma en pesos, redondeada"),
    Rule("cfdi.crp20204", "arithmetic", "O", _iva_total("TotalTrasladosBaseIVA16", "BaseP", "0.16"),
         "TotalTrasladosBaseIVA16 is the rounded sum in pesos", "summary",
         significado="TotalTrasladosBaseIVA16 es la suma en pesos, redondeada"),
    Rule("cfdi.crp20205", "arithmetic", "O", _iva_total("TotalTrasladosImpuestoIVA16", "ImporteP", "0.16"),
         "TotalTrasladosImpuestoIVA16 is the rounded sum in pesos", "summary",
         significado="TotalTrasladosImpuestoIVA16 es la suma en pesos, redondeada"),
    Rule("cfdi.crp20206", "arithmetic", "O", _iva_total("TotalTrasladosBaseIVA8", "BaseP", "0.08"),
         "TotalTrasladosBaseIVA8 is the rounded sum in pesos", "summary",
         significado="TotalTrasladosBaseIVA8 es la suma en pesos, redondeada"),
    Rule("cfdi.crp20207", "arithmetic", "O", _iva_total("TotalTrasladosImpuestoIVA8", "ImporteP", "0.08"),
         "TotalTrasladosImpuestoIVA8 is the rounded sum in pesos", "summary",
         significado="TotalTrasladosImpuestoIVA8 es la suma en pesos, redondeada"),
    Rule("cfdi.crp20208", "arithmetic", "O", _iva_total("TotalTrasladosBaseIVA0", "BaseP", "0"),
         "TotalTrasladosBaseIVA0 is the rounded sum in pesos", "summary",
         significado="TotalTrasladosBaseIVA0 es la suma en pesos, redondeada"),
    Rule("cfdi.crp20209", "arithmetic", "O", _iva_total("TotalTrasladosImpuestoIVA0", "ImporteP", "0"),
         "TotalTrasladosImpuestoIVA0 is the rounded sum in pesos", "summary",
         significado="TotalTrasladosImpuestoIVA0 es la suma en pesos, redondeada"),
    Rule("cfdi.crp20210", "arithmetic", "O", _iva_total("TotalTrasladosBaseIVAExento", "BaseP", None),
         "TotalTrasladosBaseIVAExento is the rounded sum in pesos", "summary",
         significado="TotalTrasladosBaseIVAExento es la suma en pesos, redondeada"),
    Rule("cfdi.crp20264", "arithmetic", "O", _some_withheld,
         "retenciones have a total", "summary", significado="las retenciones tienen un total"),
    Rule("cfdi.crp20267", "arithmetic", "O", _some_basis,
         "transferred IVA has a total of its base", "summary",
         significado="el IVA trasladado tiene un total de su base"),
    Rule("cfdi.crp20273", "arithmetic", "O", _some_tax,
         "transferred IVA has a total", "summary", significado="el IVA trasladado tiene un total"),
    Rule("cfdi.strict_payment_number", "arithmetic", "strict", _plain_numbers,
         "amounts of a payment are plain decimal numbers", "summary",
         significado="los importes de un pago son números llanos", severity="critical"),
)
# fmt: on
