"""Rules on the lines of the invoice and their taxes (SAT's matrix: Conceptos)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import ROUND_CEILING, ROUND_DOWN, Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Concepto, Node
from veredicto_verifier.verifiers.cfdi.rule import UNITS, Facts, Fault, Rule, fault, shown

IVA, IEPS = "002", "003"
UNTAXED = ("01", "03", "04", "05")
EPSILON = Decimal(1).scaleb(-12)
HALVES = tuple(unit / 2 for unit in UNITS)
"""Half a unit of the last of so many decimals."""


def _product_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if concepto.get("ClaveProdServ") not in facts.catalogues.products:
            yield fault(concepto, f"ClaveProdServ {shown(concepto.get('ClaveProdServ'))} no está en c_ClaveProdServ")


def _unit_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if concepto.get("ClaveUnidad") not in facts.catalogues.units:
            yield fault(concepto, f"ClaveUnidad {shown(concepto.get('ClaveUnidad'))} no está en c_ClaveUnidad")


def _price_positive(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if cfdi.tipo in ("I", "E", "N") and concepto.amount("ValorUnitario") == 0:
            yield fault(concepto, "ValorUnitario debe ser mayor que 0")


def _within(found: Decimal, low: Decimal, high: Decimal) -> bool:
    """Whether an amount lies between the limits, cut to its own decimals as SAT does."""
    return low.quantize(found, rounding=ROUND_DOWN) <= found <= high.quantize(found, rounding=ROUND_CEILING)


def _product_within(node: Node) -> bool:
    quantity, price, found = node.amount("Cantidad"), node.amount("ValorUnitario"), node.amount("Importe")
    if quantity is None or price is None or found is None:
        return True
    # A product that is above 0 and rounded to the decimals written lies within any limits.
    if found and (quantity * price).quantize(found) == found:
        return True
    q, p = HALVES[node.decimals("Cantidad")], HALVES[node.decimals("ValorUnitario")]
    return _within(found, (quantity - q) * (price - p), (quantity + q - EPSILON) * (price + p - EPSILON))


def _amount_limits(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if not _product_within(concepto):
            yield fault(concepto, "Importe está fuera de los límites de Cantidad × ValorUnitario")


def _discount_decimals(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if concepto.get("Descuento") is None:
            continue
        if concepto.decimals("Descuento") > concepto.decimals("Importe"):
            yield fault(concepto, "Descuento tiene más decimales que Importe")


def _discount_limit(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        discount = concepto.amount("Descuento")
        amount = None if discount is None else concepto.amount("Importe")
        if discount is not None and amount is not None and discount > amount:
            yield fault(concepto, f"Descuento {discount} es mayor que Importe {amount}")


def _taxes_needed(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if concepto.get("ObjetoImp") == "02" and concepto.impuestos is None:
            yield fault(concepto, "con ObjetoImp 02 falta el nodo Impuestos")


def _taxes_absent(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if concepto.get("ObjetoImp") in UNTAXED and concepto.impuestos is not None:
            yield fault(concepto, f"con ObjetoImp {concepto.get('ObjetoImp')} no debe existir el nodo Impuestos")


def _holds(concepto: Concepto, *taxes: str) -> bool:
    return any(tax.get("Impuesto") in taxes for tax in (*concepto.traslados, *concepto.retenciones))


def _no_iva_no_ieps(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if concepto.get("ObjetoImp") in ("06", "08") and _holds(concepto, IVA, IEPS):
            yield fault(concepto, "con ObjetoImp 06 u 08 no debe haber IVA ni IEPS")


def _ieps_without_iva(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if concepto.get("ObjetoImp") != "07":
            continue
        if _holds(concepto, IVA) or not any(tax.get("Impuesto") == IEPS for tax in concepto.traslados):
            yield fault(concepto, "con ObjetoImp 07 debe haber traslado de IEPS y ningún IVA")


def _taxes_empty(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if concepto.impuestos is not None and not concepto.traslados and not concepto.retenciones:
            yield fault(concepto, "el nodo Impuestos no tiene traslados ni retenciones")


def _exempt_bare(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in cfdi.traslados:
        if tax.get("TipoFactor") != "Exento":
            continue
        if tax.get("TasaOCuota") is not None or tax.get("Importe") is not None:
            yield fault(tax, "con TipoFactor Exento no van TasaOCuota ni Importe")


def _rated_complete(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in cfdi.traslados:
        missing = tax.get("TasaOCuota") is None or tax.get("Importe") is None
        if missing and tax.get("TipoFactor") in ("Tasa", "Cuota"):
            yield fault(tax, "con TipoFactor Tasa o Cuota van TasaOCuota e Importe")


def _rates(taxes: Iterable[Node], facts: Facts, *, retencion: bool) -> Iterator[Fault]:
    for tax in taxes:
        rate = tax.amount("TasaOCuota")
        known = facts.catalogues.has_rate
        if rate is not None and not known(tax.get("Impuesto"), tax.get("TipoFactor"), rate, retencion=retencion):
            yield fault(tax, f"TasaOCuota {rate} no está en c_TasaOCuota para ese impuesto y factor")


def _transfer_rates(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    # One tax of each group stands for the others: it has their rate.
    if any(_rates((taxes[0] for taxes in cfdi.tax_groups.values()), facts, retencion=False)):
        yield from _rates(cfdi.traslados, facts, retencion=False)


def _withheld_rates(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _rates(cfdi.retenciones, facts, retencion=True)


def _tax_limits(taxes: tuple[Node, ...]) -> Iterator[Fault]:
    for tax in taxes:
        basis, rate, found = tax.amount("Base"), tax.amount("TasaOCuota"), tax.amount("Importe")
        # An amount that is rounded to the decimals written lies within any limits.
        if basis is None or rate is None or found is None or (basis * rate).quantize(found) == found:
            continue
        half = HALVES[tax.decimals("Base")]
        if not _within(found, (basis - half) * rate, (basis + half - EPSILON) * rate):
            yield fault(tax, "Importe está fuera de los límites de Base × TasaOCuota")


def _transfer_limits(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _tax_limits(cfdi.traslados)


def _withheld_limits(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _tax_limits(cfdi.retenciones)


def _withheld_not_exempt(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in cfdi.retenciones:
        if tax.get("TipoFactor") == "Exento":
            yield fault(tax, "una retención no puede ser Exento")


def _customs_number(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if cfdi.comercio_exterior and concepto.pedimentos:
            yield fault(concepto, "NumeroPedimento no va junto al complemento de comercio exterior")


def _part_product_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for part in _parts(cfdi):
        if part.get("ClaveProdServ") not in facts.catalogues.products:
            yield fault(part, f"ClaveProdServ {shown(part.get('ClaveProdServ'))} no está en c_ClaveProdServ")


def _part_price(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for part in _parts(cfdi):
        if part.amount("ValorUnitario") == 0:
            yield fault(part, "ValorUnitario debe ser mayor que 0")


def _part_limits(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for part in _parts(cfdi):
        if not _product_within(part):
            yield fault(part, "Importe está fuera de los límites de Cantidad × ValorUnitario")


def _parts(cfdi: Comprobante) -> list[Node]:
    return [part for concepto in cfdi.conceptos for part in concepto.partes]


# fmt: off
CONCEPTS: tuple[Rule, ...] = (
    Rule("cfdi.40162", "catalogues", "C", _product_known,
         "ClaveProdServ is in the catalogue", significado="ClaveProdServ está en c_ClaveProdServ"),
    Rule("cfdi.40165", "catalogues", "C", _unit_known,
         "ClaveUnidad is in the catalogue", significado="ClaveUnidad está en c_ClaveUnidad"),
    Rule("cfdi.40166", "business", "O", _price_positive,
         "ValorUnitario is above 0 for I, E and N", significado="ValorUnitario es mayor que 0 en los tipos I, E y N"),
    Rule("cfdi.40167", "arithmetic", "O", _amount_limits,
         "Importe is within SAT's limits", "conceptos", significado="Importe está entre los límites del SAT"),
    Rule("cfdi.40168", "arithmetic", "O", _discount_decimals,
         "Descuento has Importe's decimals", "conceptos", significado="Descuento tiene los decimales de Importe"),
    Rule("cfdi.40169", "arithmetic", "O", _discount_limit,
         "Descuento is at most Importe", "conceptos", significado="Descuento es a lo más Importe"),
    Rule("cfdi.40171", "business", "O", _taxes_needed,
         "ObjetoImp 02 has Impuestos", significado="ObjetoImp 02 lleva Impuestos"),
    Rule("cfdi.40172", "business", "O", _taxes_absent,
         "ObjetoImp 01, 03, 04, 05 has no Impuestos", significado="ObjetoImp 01, 03, 04 y 05 no llevan Impuestos"),
    Rule("cfdi.40173", "business", "O", _taxes_empty,
         "Impuestos is not empty", significado="Impuestos no está vacío"),
    Rule("cfdi.40177", "business", "O", _exempt_bare,
         "Exento has neither TasaOCuota nor Importe", significado="Exento no lleva TasaOCuota ni Importe"),
    Rule("cfdi.40178", "business", "O", _rated_complete,
         "Tasa and Cuota have TasaOCuota and Importe", significado="Tasa y Cuota llevan TasaOCuota e Importe"),
    Rule("cfdi.40179", "catalogues", "C", _transfer_rates,
         "TasaOCuota of a traslado is in the catalogue", significado="TasaOCuota de un traslado está en c_TasaOCuota"),
    Rule("cfdi.40180", "arithmetic", "O", _transfer_limits,
         "Importe of a traslado is within limits", "conceptos",
         significado="Importe de un traslado está entre los límites"),
    Rule("cfdi.40184", "business", "O", _withheld_not_exempt,
         "a retención is not Exento", significado="una retención no es Exento"),
    Rule("cfdi.40185", "catalogues", "C", _withheld_rates,
         "TasaOCuota of a retención is in the catalogue",
         significado="TasaOCuota de una retención está en c_TasaOCuota"),
    Rule("cfdi.40186", "arithmetic", "O", _withheld_limits,
         "Importe of a retención is within limits", "conceptos",
         significado="Importe de una retención está entre los límites"),
    Rule("cfdi.40195", "business", "O", _customs_number,
         "no NumeroPedimento beside foreign trade (40200 for parts)",
         significado="sin NumeroPedimento junto a comercio exterior"),
    Rule("cfdi.40196", "catalogues", "C", _part_product_known,
         "a part's ClaveProdServ is in the catalogue",
         significado="ClaveProdServ de una parte está en c_ClaveProdServ"),
    Rule("cfdi.40197", "business", "O", _part_price,
         "a part's ValorUnitario is above 0", significado="ValorUnitario de una parte es mayor que 0"),
    Rule("cfdi.40198", "arithmetic", "O", _part_limits,
         "a part's Importe is within limits", "conceptos", significado="Importe de una parte está entre los límites"),
    Rule("cfdi.40226", "business", "O", _no_iva_no_ieps,
         "ObjetoImp 06 and 08 carry no IVA or IEPS", significado="ObjetoImp 06 y 08 no llevan IVA ni IEPS"),
    Rule("cfdi.40227", "business", "O", _ieps_without_iva,
         "ObjetoImp 07 carries IEPS and no IVA", significado="ObjetoImp 07 lleva IEPS y no IVA"),
)
# fmt: on
