"""Rules on the invoice's tax summary (SAT's matrix: Impuestos): each sum is of what the lines say, never recomputed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Node, tax_key
from veredicto_verifier.verifiers.cfdi.rule import (
    Facts,
    Fault,
    Rule,
    currency_decimals,
    fault,
    rounded,
    shown,
    total,
)


def _traslados(cfdi: Comprobante) -> tuple[Node, ...]:
    return cfdi.impuestos.traslados if cfdi.impuestos else ()


def _retenciones(cfdi: Comprobante) -> tuple[Node, ...]:
    return cfdi.impuestos.retenciones if cfdi.impuestos else ()


def _only_exempt(cfdi: Comprobante) -> bool:
    return {key[1] for key in cfdi.tax_groups} == {"Exento"}


def _summary_absent(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.tipo in ("T", "P") and cfdi.impuestos is not None:
        yield fault(cfdi.impuestos, f"el nodo Impuestos no debe existir cuando TipoDeComprobante es {cfdi.tipo}")


def _fit(cfdi: Comprobante, facts: Facts, nodes: tuple[Node, ...], name: str) -> Iterator[Fault]:
    allowed = currency_decimals(cfdi, facts)
    for node in nodes:
        if allowed is not None and node.decimals(name) > allowed:
            yield fault(node, f"{name} tiene {node.decimals(name)} decimales; la moneda admite {allowed}")


def _withheld_total_decimals(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _fit(cfdi, facts, (cfdi.impuestos,) if cfdi.impuestos else (), "TotalImpuestosRetenidos")


def _transfer_total_decimals(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _fit(cfdi, facts, (cfdi.impuestos,) if cfdi.impuestos else (), "TotalImpuestosTrasladados")


def _withheld_decimals(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _fit(cfdi, facts, _retenciones(cfdi), "Importe")


def _basis_decimals(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _fit(cfdi, facts, _traslados(cfdi), "Base")


def _transfer_decimals(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _fit(cfdi, facts, _traslados(cfdi), "Importe")


def _total_of(cfdi: Comprobante, name: str, nodes: tuple[Node, ...]) -> Iterator[Fault]:
    found = cfdi.impuestos.amount(name) if cfdi.impuestos else None
    added = total(nodes, "Importe")
    if cfdi.impuestos and found is not None and added is not None and found != added:
        yield fault(cfdi.impuestos, f"{name} {found} no es la suma de sus nodos, {added}")


def _withheld_total(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _total_of(cfdi, "TotalImpuestosRetenidos", _retenciones(cfdi))


def _transfer_total(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _total_of(cfdi, "TotalImpuestosTrasladados", _traslados(cfdi))


def _withheld_total_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.impuestos and cfdi.impuestos.retenciones and cfdi.impuestos.get("TotalImpuestosRetenidos") is None:
        yield fault(cfdi.impuestos, "falta TotalImpuestosRetenidos")


def _transfer_total_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    rated = any(key[1] != "Exento" for key in cfdi.tax_groups)
    if cfdi.impuestos and rated and cfdi.impuestos.get("TotalImpuestosTrasladados") is None:
        yield fault(cfdi.impuestos, "falta TotalImpuestosTrasladados")


def _withheld_once(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    taxes = [tax.get("Impuesto") for tax in _retenciones(cfdi)]
    if len(set(taxes)) == len(taxes):
        return
    counts = Counter(taxes)
    for tax in _retenciones(cfdi):
        if counts[tax.get("Impuesto")] > 1:
            yield fault(tax, f"hay más de una retención del impuesto {shown(tax.get('Impuesto'))}")


def _transfer_once(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    keys = [tax_key(tax) for tax in _traslados(cfdi)]
    if len(set(keys)) == len(keys):
        return
    counts = Counter(keys)
    for tax in _traslados(cfdi):
        if counts[tax_key(tax)] > 1:
            yield fault(tax, "hay más de un traslado con el mismo impuesto, factor y tasa")


def _sum_of(cfdi: Comprobante, facts: Facts, tax: Node, lines: Sequence[Node], name: str) -> Iterator[Fault]:
    found, added, decimals = tax.amount(name), total(lines, name), currency_decimals(cfdi, facts)
    if not lines or found is None or added is None or decimals is None:
        return
    if found != rounded(added, decimals):
        yield fault(tax, f"{name} {found} no es la suma de los conceptos, {rounded(added, decimals)}")


def _withheld_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    groups = cfdi.withheld_groups
    for tax in _retenciones(cfdi):
        yield from _sum_of(cfdi, facts, tax, groups.get(tax.get("Impuesto"), ()), "Importe")


def _exempt_only_bare(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in _traslados(cfdi):
        rated = tax.get("TasaOCuota") is not None or tax.get("Importe") is not None
        if _only_exempt(cfdi) and rated:
            yield fault(tax, "solo hay conceptos exentos: van Base, Impuesto y TipoFactor, nada más")


def _basis_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    groups = cfdi.tax_groups
    for tax in () if _only_exempt(cfdi) else _traslados(cfdi):
        yield from _sum_of(cfdi, facts, tax, groups.get(tax_key(tax), ()), "Base")


def _exempt_basis_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    groups = cfdi.tax_groups
    for tax in _traslados(cfdi) if _only_exempt(cfdi) else ():
        yield from _sum_of(cfdi, facts, tax, groups.get(tax_key(tax), ()), "Base")


def _rates_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in _traslados(cfdi):
        rate = tax.amount("TasaOCuota")
        known = facts.catalogues.has_rate
        if rate is not None and not known(tax.get("Impuesto"), tax.get("TipoFactor"), rate, retencion=False):
            yield fault(tax, f"TasaOCuota {rate} no está en c_TasaOCuota para ese impuesto y factor")


def _transfer_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    groups = cfdi.tax_groups
    for tax in _traslados(cfdi):
        yield from _sum_of(cfdi, facts, tax, groups.get(tax_key(tax), ()), "Importe")


def _same_groups(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.tipo not in ("I", "E", "N"):
        return
    place = cfdi.impuestos or cfdi
    lines, summary = set(cfdi.tax_groups), {tax_key(tax) for tax in _traslados(cfdi)}
    if lines != summary:
        yield fault(place, f"los traslados del resumen no son los de los conceptos ({len(summary)} y {len(lines)})")
    held, listed = set(cfdi.withheld_groups), {tax.get("Impuesto") for tax in _retenciones(cfdi)}
    if held != listed:
        yield fault(place, f"las retenciones del resumen no son las de los conceptos ({len(listed)} y {len(held)})")


# fmt: off
SUMMARY: tuple[Rule, ...] = (
    Rule("cfdi.40201", "business", "O", _summary_absent,
         "no Impuestos with type T or P", significado="sin Impuestos en los tipos T y P"),
    Rule("cfdi.40202", "arithmetic", "C", _withheld_total_decimals,
         "the withheld total's decimals", "summary", significado="el total retenido tiene los decimales de la moneda"),
    Rule("cfdi.40203", "arithmetic", "O", _withheld_total,
         "the withheld total is the sum of its nodes", "summary",
         significado="el total retenido es la suma de sus nodos"),
    Rule("cfdi.40204", "arithmetic", "C", _transfer_total_decimals,
         "the transferred total's decimals", "summary",
         significado="el total trasladado tiene los decimales de la moneda"),
    Rule("cfdi.40205", "arithmetic", "O", _transfer_total,
         "the transferred total is the sum of its nodes", "summary",
         significado="el total trasladado es la suma de sus nodos"),
    Rule("cfdi.40206", "arithmetic", "O", _withheld_total_there,
         "retenciones have a total (also 40209)", "summary", significado="las retenciones llevan total"),
    Rule("cfdi.40208", "arithmetic", "O", _withheld_once,
         "one retención an impuesto", "summary", significado="una sola retención por impuesto"),
    Rule("cfdi.40210", "arithmetic", "C", _withheld_decimals,
         "a retención has the currency's decimals", "summary",
         significado="una retención tiene los decimales de la moneda"),
    Rule("cfdi.40211", "arithmetic", "O", _withheld_sum,
         "a retención is the rounded sum of the lines'", "summary",
         significado="una retención es la suma redondeada de las de los conceptos"),
    Rule("cfdi.40212", "arithmetic", "O", _transfer_total_there,
         "traslados have a total", "summary", significado="los traslados llevan total"),
    Rule("cfdi.40213", "arithmetic", "O", _exempt_only_bare,
         "an exempt-only summary has three attributes", "summary",
         significado="un resumen solo de exentos lleva tres atributos"),
    Rule("cfdi.40214", "arithmetic", "C", _basis_decimals,
         "Base has the currency's decimals", "summary", significado="Base tiene los decimales de la moneda"),
    Rule("cfdi.40215", "arithmetic", "O", _basis_sum,
         "Base is the rounded sum of the lines'", "summary",
         significado="Base es la suma redondeada de las de los conceptos"),
    Rule("cfdi.40216", "arithmetic", "O", _exempt_basis_sum,
         "an exempt-only Base is the rounded sum", "summary", significado="Base de solo exentos es la suma redondeada"),
    Rule("cfdi.40218", "arithmetic", "O", _transfer_once,
         "one traslado a tax, factor and rate", "summary", significado="un solo traslado por impuesto, factor y tasa"),
    Rule("cfdi.40219", "catalogues", "C", _rates_known,
         "TasaOCuota of the summary is in the catalogue", significado="TasaOCuota del resumen está en c_TasaOCuota"),
    Rule("cfdi.40220", "arithmetic", "C", _transfer_decimals,
         "a traslado has the currency's decimals", "summary",
         significado="un traslado tiene los decimales de la moneda"),
    Rule("cfdi.40221", "arithmetic", "O", _transfer_sum,
         "a traslado is the rounded sum of the lines'", "summary",
         significado="un traslado es la suma redondeada de los de los conceptos"),
    Rule("cfdi.strict_groups", "arithmetic", "strict", _same_groups,
         "the summary lists the lines' taxes", "summary",
         significado="el resumen lista los impuestos de los conceptos", severity="critical"),
)
# fmt: on
