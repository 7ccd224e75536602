"""Rules on the taxes of a payment and on its totals (SAT's matrix for complement Pagos 2.0, revision B).

Each sum is of what the documents say, converted by their EquivalenciaDR and rounded, never recomputed from bases.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import ROUND_CEILING, ROUND_DOWN, Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Tree
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault, rounded
from veredicto_verifier.verifiers.cfdi.rules_pagos import EPSILON, documents, payments

IVA, IEPS = "002", "003"
UNTAXED = ("01", "03", "04", "05")
CENT = Decimal("0.01")
MOST_DECIMALS = 6
Key = tuple[str | None, str | None, Decimal | None]
"""Impuesto, TipoFactor and rate as a number."""


def tax_key(tax: Tree, side: str) -> Key:
    """What groups a traslado; `side` is DR for a document's, P for a payment's."""
    return tax.get(f"Impuesto{side}"), tax.get(f"TipoFactor{side}"), tax.amount(f"TasaOCuota{side}")


def _traslados(documento: Tree) -> tuple[Tree, ...]:
    return documento.all("ImpuestosDR", "TrasladosDR", "TrasladoDR")


def _retenciones(documento: Tree) -> tuple[Tree, ...]:
    return documento.all("ImpuestosDR", "RetencionesDR", "RetencionDR")


def _all_transferred(cfdi: Comprobante) -> Iterator[Tree]:
    for documento in documents(cfdi):
        yield from _traslados(documento)


def _all_withheld(cfdi: Comprobante) -> Iterator[Tree]:
    for documento in documents(cfdi):
        yield from _retenciones(documento)


def summed(pago: Tree) -> tuple[Tree, ...]:
    """The payment's own transferred taxes."""
    return pago.all("ImpuestosP", "TrasladosP", "TrasladoP")


def summed_withheld(pago: Tree) -> tuple[Tree, ...]:
    """The payment's own withheld taxes."""
    return pago.all("ImpuestosP", "RetencionesP", "RetencionP")


def _taxes_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in documents(cfdi):
        if one.get("ObjetoImpDR") == "02" and one.first("ImpuestosDR") is None:
            yield fault(one, "con ObjetoImpDR 02 falta el nodo ImpuestosDR")


def _taxes_absent(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in documents(cfdi):
        if one.get("ObjetoImpDR") in UNTAXED and one.first("ImpuestosDR") is not None:
            yield fault(one, f"con ObjetoImpDR {one.get('ObjetoImpDR')} no debe existir ImpuestosDR")


def _taxes_empty(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in documents(cfdi):
        if one.first("ImpuestosDR") is not None and not _traslados(one) and not _retenciones(one):
            yield fault(one, "el nodo ImpuestosDR no tiene traslados ni retenciones")


def _holds(documento: Tree, *taxes: str) -> bool:
    return any(tax.get("ImpuestoDR") in taxes for tax in (*_traslados(documento), *_retenciones(documento)))


def _no_iva_no_ieps(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in documents(cfdi):
        if one.get("ObjetoImpDR") in ("06", "08") and _holds(one, IVA, IEPS):
            yield fault(one, "con ObjetoImpDR 06 u 08 no debe haber IVA ni IEPS")


def _ieps_without_iva(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in documents(cfdi):
        charged = any(tax.get("ImpuestoDR") == IEPS for tax in _traslados(one))
        if one.get("ObjetoImpDR") == "07" and (_holds(one, IVA) or not charged):
            yield fault(one, "con ObjetoImpDR 07 debe haber traslado de IEPS y ningún IVA")


def _withheld_not_exempt(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in _all_withheld(cfdi):
        if tax.get("TipoFactorDR") == "Exento":
            yield fault(tax, "una retención no puede ser Exento")


def _exempt_bare(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in _all_transferred(cfdi):
        rated = tax.get("TasaOCuotaDR") is not None or tax.get("ImporteDR") is not None
        if tax.get("TipoFactorDR") == "Exento" and rated:
            yield fault(tax, "con TipoFactorDR Exento no van TasaOCuotaDR ni ImporteDR")


def _rated_complete(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in _all_transferred(cfdi):
        missing = tax.get("TasaOCuotaDR") is None or tax.get("ImporteDR") is None
        if tax.get("TipoFactorDR") in ("Tasa", "Cuota") and missing:
            yield fault(tax, "con TipoFactorDR Tasa o Cuota van TasaOCuotaDR e ImporteDR")


def _rates_known(taxes: Iterator[Tree], side: str, facts: Facts, *, retencion: bool) -> Iterator[Fault]:
    for tax in taxes:
        impuesto, factor, rate = tax_key(tax, side)
        if rate is not None and not facts.catalogues.has_rate(impuesto, factor, rate, retencion=retencion):
            yield fault(tax, f"TasaOCuota{side} {rate} no está en c_TasaOCuota para ese impuesto y factor")


def _withheld_rates(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _rates_known(_all_withheld(cfdi), "DR", facts, retencion=True)


def _transfer_rates(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _rates_known(_all_transferred(cfdi), "DR", facts, retencion=False)


def _summed_rates(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    taxes = (tax for pago in payments(cfdi) for tax in summed(pago))
    yield from _rates_known(taxes, "P", facts, retencion=False)


def _limits(taxes: Iterator[Tree]) -> Iterator[Fault]:
    for tax in taxes:
        basis, rate, found = tax.amount("BaseDR"), tax.amount("TasaOCuotaDR"), tax.amount("ImporteDR")
        if basis is None or rate is None or found is None:
            continue
        half = Decimal(1).scaleb(-tax.decimals("BaseDR")) / 2
        unit = Decimal(1).scaleb(-tax.decimals("ImporteDR"))
        low = ((basis - half) * rate).quantize(unit, rounding=ROUND_DOWN)
        high = ((basis + half - EPSILON) * rate).quantize(unit, rounding=ROUND_CEILING)
        if not low <= found <= high:
            yield fault(tax, "ImporteDR está fuera de los límites de BaseDR × TasaOCuotaDR")


def _withheld_limits(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _limits(_all_withheld(cfdi))


def _transfer_limits(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _limits(_all_transferred(cfdi))


def _strict_tax(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in (*_all_transferred(cfdi), *_all_withheld(cfdi)):
        basis, rate, found = tax.amount("BaseDR"), tax.amount("TasaOCuotaDR"), tax.amount("ImporteDR")
        if basis is not None and rate is not None and found is not None and abs(found - basis * rate) > CENT:
            yield fault(tax, f"ImporteDR {found} no es BaseDR × TasaOCuotaDR = {basis * rate:f}")


def _converted(pago: Tree, name: str, *, retencion: bool) -> dict[Key, Decimal]:
    """The exact sum of one attribute over the documents' taxes, in the payment's currency, by tax."""
    sums: dict[Key, Decimal] = defaultdict(Decimal)
    for documento in pago.all("DoctoRelacionado"):
        rate = documento.amount("EquivalenciaDR") or Decimal(1)
        for tax in _retenciones(documento) if retencion else _traslados(documento):
            key = (tax.get("ImpuestoDR"), None, None) if retencion else tax_key(tax, "DR")
            sums[key] += (tax.amount(name) or Decimal(0)) / rate
    return sums


def _adds_up(tax: Tree, name: str, exact: Decimal | None, decimals: int) -> Iterator[Fault]:
    found = tax.amount(name)
    if found is None or exact is None:
        return
    if all(found != rounded(exact, places) for places in range(decimals, MOST_DECIMALS + 1)):
        yield fault(tax, f"{name} {found} no es la suma de los documentos, {rounded(exact, decimals)}")


def _sums(cfdi: Comprobante, facts: Facts, names: tuple[str, str], exempt: bool) -> Iterator[Fault]:
    for pago in payments(cfdi):
        decimals = facts.catalogues.currencies.get(pago.get("MonedaP") or "", 2)
        sums = _converted(pago, names[1], retencion=False)
        if (bool(sums) and all(key[1] == "Exento" for key in sums)) == exempt:
            for tax in summed(pago):
                yield from _adds_up(tax, names[0], sums.get(tax_key(tax, "P")), decimals)


def _basis_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _sums(cfdi, facts, ("BaseP", "BaseDR"), exempt=False)


def _exempt_basis_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _sums(cfdi, facts, ("BaseP", "BaseDR"), exempt=True)


def _transfer_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _sums(cfdi, facts, ("ImporteP", "ImporteDR"), exempt=False)


def _withheld_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        decimals = facts.catalogues.currencies.get(pago.get("MonedaP") or "", 2)
        sums = _converted(pago, "ImporteDR", retencion=True)
        for tax in summed_withheld(pago):
            yield from _adds_up(tax, "ImporteP", sums.get((tax.get("ImpuestoP"), None, None)), decimals)


def _withheld_once(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        counts = Counter(tax.get("ImpuestoP") for tax in summed_withheld(pago))
        if any(count > 1 for count in counts.values()):
            yield fault(pago, "hay más de una RetencionP del mismo impuesto")


def _transfer_once(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        counts = Counter(tax_key(tax, "P") for tax in summed(pago))
        if any(count > 1 for count in counts.values()):
            yield fault(pago, "hay más de un TrasladoP con el mismo impuesto, factor y tasa")


def _exempt_only_bare(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        factors = {tax.get("TipoFactorDR") for one in pago.all("DoctoRelacionado") for tax in _traslados(one)}
        for tax in summed(pago) if factors == {"Exento"} else ():
            if tax.get("TasaOCuotaP") is not None or tax.get("ImporteP") is not None:
                yield fault(tax, "solo hay traslados exentos: van BaseP, ImpuestoP y TipoFactorP, nada más")


def _same_groups(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        charged, listed = set(_converted(pago, "BaseDR", retencion=False)), {tax_key(tax, "P") for tax in summed(pago)}
        held = {key[0] for key in _converted(pago, "ImporteDR", retencion=True)}
        if charged != listed or held != {tax.get("ImpuestoP") for tax in summed_withheld(pago)}:
            yield fault(pago, "ImpuestosP no lista los mismos impuestos que los documentos")


# fmt: off
PAYMENT_TAXES: tuple[Rule, ...] = (
    Rule("cfdi.crp20246", "business", "O", _taxes_there,
         "ObjetoImpDR 02 has ImpuestosDR", significado="ObjetoImpDR 02 lleva ImpuestosDR"),
    Rule("cfdi.crp20247", "business", "O", _taxes_absent,
         "ObjetoImpDR 01, 03, 04, 05 has no ImpuestosDR",
         significado="ObjetoImpDR 01, 03, 04, 05 no lleva ImpuestosDR"),
    Rule("cfdi.crp20248", "business", "O", _taxes_empty,
         "ImpuestosDR is not empty", significado="ImpuestosDR no está vacío"),
    Rule("cfdi.crp20252", "business", "O", _withheld_not_exempt,
         "a RetencionDR is not Exento", significado="una RetencionDR no es Exento"),
    Rule("cfdi.crp20253", "catalogues", "C", _withheld_rates,
         "TasaOCuotaDR of a retención is in the catalogue",
         significado="TasaOCuotaDR de una retención está en el catálogo"),
    Rule("cfdi.crp20254", "arithmetic", "O", _withheld_limits,
         "ImporteDR of a retención is within limits", "summary",
         significado="ImporteDR de una retención está entre sus límites"),
    Rule("cfdi.crp20258", "business", "O", _exempt_bare,
         "Exento has neither TasaOCuotaDR nor ImporteDR", significado="Exento no lleva TasaOCuotaDR ni ImporteDR"),
    Rule("cfdi.crp20259", "business", "O", _rated_complete,
         "Tasa and Cuota have TasaOCuotaDR and ImporteDR", significado="Tasa y Cuota llevan TasaOCuotaDR e ImporteDR"),
    Rule("cfdi.crp20260", "catalogues", "C", _transfer_rates,
         "TasaOCuotaDR of a traslado is in the catalogue",
         significado="TasaOCuotaDR de un traslado está en el catálogo"),
    Rule("cfdi.crp20261", "arithmetic", "O", _transfer_limits,
         "ImporteDR of a traslado is within limits", "summary",
         significado="ImporteDR de un traslado está entre sus límites"),
    Rule("cfdi.crp20263", "arithmetic", "O", _withheld_once,
         "one RetencionP an impuesto", "summary", significado="una RetencionP por impuesto"),
    Rule("cfdi.crp20265", "arithmetic", "O", _withheld_sum,
         "ImporteP of a retención is the sum of the documents'", "summary",
         significado="ImporteP de una retención es la suma de los documentos"),
    Rule("cfdi.crp20266", "arithmetic", "O", _exempt_only_bare,
         "an exempt-only TrasladoP has three attributes", "summary",
         significado="un TrasladoP solo exento tiene tres atributos"),
    Rule("cfdi.crp20268", "arithmetic", "O", _basis_sum,
         "BaseP is the sum of the documents'", "summary", significado="BaseP es la suma de los documentos"),
    Rule("cfdi.crp20269", "arithmetic", "O", _exempt_basis_sum,
         "an exempt-only BaseP is the sum of the documents'", "summary",
         significado="BaseP solo exenta es la suma de los documentos"),
    Rule("cfdi.crp20271", "arithmetic", "O", _transfer_once,
         "one TrasladoP a tax, factor and rate", "summary", significado="un TrasladoP por impuesto, factor y tasa"),
    Rule("cfdi.crp20272", "catalogues", "C", _summed_rates,
         "TasaOCuotaP is in the catalogue", significado="TasaOCuotaP está en el catálogo"),
    Rule("cfdi.crp20274", "arithmetic", "O", _transfer_sum,
         "ImporteP of a traslado is the sum of the documents'", "summary",
         significado="ImporteP de un traslado es la suma de los documentos"),
    Rule("cfdi.crp20278", "business", "O", _no_iva_no_ieps,
         "ObjetoImpDR 06 and 08 carry no IVA or IEPS", significado="ObjetoImpDR 06 y 08 no llevan IVA ni IEPS"),
    Rule("cfdi.crp20279", "business", "O", _ieps_without_iva,
         "ObjetoImpDR 07 carries IEPS and no IVA", significado="ObjetoImpDR 07 lleva IEPS y no IVA"),
    Rule("cfdi.strict_payment_tax", "arithmetic", "strict", _strict_tax,
         "ImporteDR = BaseDR × TasaOCuotaDR, to a cent", "summary",
         significado="ImporteDR = BaseDR × TasaOCuotaDR, al centavo", severity="critical"),
    Rule("cfdi.strict_payment_groups", "arithmetic", "strict", _same_groups,
         "ImpuestosP lists the documents' taxes", "summary",
         significado="ImpuestosP lista los impuestos de los documentos", severity="critical"),
)
# fmt: on
