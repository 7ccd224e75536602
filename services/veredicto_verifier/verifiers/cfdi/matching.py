"""Compare a document with the request: the part that a valid but generic, copied or padded invoice fails.

Every aspect gives a fraction whose denominator is the request's, or the larger of the two sides, so that extra
lines and nodes only cost. Reasons never say what the request holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from typing import NamedTuple

from veredicto_verifier.verifiers.cfdi.complements import complement_name
from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.expected import (
    BASE_ROUNDINGS,
    Expected,
    ExpectedLine,
    ExpectedTax,
    Identity,
    Pair,
    Sum,
    agrees,
    plain,
)
from veredicto_verifier.verifiers.cfdi.nodes import Concepto, Node, Tree, tax_key
from veredicto_verifier.verifiers.cfdi.request import Request
from veredicto_verifier.verifiers.cfdi.rules import EXACT
from veredicto_verifier.verifiers.cfdi.wanted import Wanted, num_elements, num_same

UNASKED = ("ResidenciaFiscal", "NumRegIdTrib", "FacAtrAdquirente")
CHILDREN = ("ACuentaTerceros", "ComplementoConcepto", "CuentaPredial", "InformacionAduanera", "Parte")


class Aspect(NamedTuple):
    """One aspect of the match: its code, weight, the fraction that agrees and what does not, in Spanish."""

    code: str
    weight: Decimal
    fraction: float
    reason: str


Field = tuple[str, bool]
"""Name of a field and whether it agrees."""


def match(
    cfdi: Comprobante,
    request: Request,
    expected: Expected,
    complement: Wanted | None = None,
    allowed: frozenset[str] | None = frozenset(),
) -> list[Aspect]:
    """Every aspect in a fixed order; the document matches when every fraction is 1.

    `complement` is what the request describes beside the invoice, `allowed` the names of those that may be there.
    """
    with localcontext(EXACT):
        same, alike, count = _lines(cfdi, expected)
        lines = f"coinciden {same} de los conceptos pedidos; el documento tiene {count}"
        return [
            _texts("cfdi.match_emisor", "0.03", cfdi.emisor, expected.emisor),
            _texts("cfdi.match_receptor", "0.05", cfdi.receptor, expected.receptor),
            _header(cfdi, request, expected),
            Aspect("cfdi.match_conceptos", Decimal("0.10"), _f1(same, alike, count, len(expected.lines)), lines),
            _fields("cfdi.match_totals", "0.05", _totals(cfdi, expected)),
            _taxes(cfdi, expected),
            _fields("cfdi.match_extra", "0.01", _extra(cfdi, allowed)),
            *_complement(cfdi.pagos or cfdi.nomina, complement),
        ]


def _complement(found: Tree | None, wanted: Wanted | None) -> Iterator[Aspect]:
    """Elements that agree under the right parent, of the larger of the two sides; half of the match."""
    if wanted is None:
        return
    same, count = num_same(found, wanted), max(num_elements(found), wanted.size)
    reason = f"coinciden {same} elementos del complemento con la solicitud; el documento tiene {num_elements(found)}"
    yield Aspect("cfdi.match_complement", Decimal("0.30"), same / count, reason)


def _fields(code: str, weight: str, fields: Iterator[Field]) -> Aspect:
    pairs = list(fields)
    return _aspect(code, weight, [name for name, agreed in pairs if not agreed], len(pairs))


def _aspect(code: str, weight: str, wrong: list[str], num_fields: int) -> Aspect:
    """All of it when nothing is wrong; the reason is written only when something is."""
    if not wrong:
        return Aspect(code, Decimal(weight), 1.0, "")
    reason = "no coincide con la solicitud: " + ", ".join(wrong[:6])
    return Aspect(code, Decimal(weight), 1 - len(wrong) / num_fields, reason)


def _texts(code: str, weight: str, node: Node, pairs: tuple[Pair, ...]) -> Aspect:
    get = node.get
    wrong = [f"{node.path}.{name}" for name, value in pairs if get(name) != value]
    return _aspect(code, weight, wrong, len(pairs))


def _header(cfdi: Comprobante, request: Request, expected: Expected) -> Aspect:
    get = cfdi.get
    wrong = [name for name, value in expected.header if get(name) != value]
    fields = len(expected.header) + 2
    if request.tipo_cambio is not None:
        fields += 1
        if cfdi.amount("TipoCambio") != Decimal(request.tipo_cambio):
            wrong.append("TipoCambio")
    if _relations(cfdi) != _asked_relations(request):
        wrong.append("CfdiRelacionados")
    if _global(cfdi) != _asked_global(request):
        wrong.append("InformacionGlobal")
    return _aspect("cfdi.match_header", "0.03", wrong, fields)


def _relations(cfdi: Comprobante) -> list[tuple[str, list[str]]]:
    return sorted((one.get("TipoRelacion") or "", sorted(one.uuids)) for one in cfdi.relaciones)


def _asked_relations(request: Request) -> list[tuple[str, list[str]]]:
    return sorted((one.tipo_relacion, sorted(uuid.upper() for uuid in one.uuids)) for one in request.relacionados)


def _global(cfdi: Comprobante) -> tuple[str | None, ...] | None:
    node = cfdi.informacion_global
    return None if node is None else (node.get("Periodicidad"), node.get("Meses"), node.get("Año"))


def _asked_global(request: Request) -> tuple[str, ...] | None:
    asked = request.informacion_global
    return None if asked is None else (asked.periodicidad, asked.meses, asked.anio)


def _extra(cfdi: Comprobante, allowed: frozenset[str] | None) -> Iterator[Field]:
    """What nobody asked for: free places where a document could hide or claim more."""
    names = {complement_name(tag) for tag in (*cfdi.complementos, *cfdi.line_complementos)}
    children = set(CHILDREN) if allowed is not None and names - allowed else set(CHILDREN) - {"ComplementoConcepto"}
    yield "Complemento", allowed is None or names <= allowed
    yield "Complemento vacío", not cfdi.hollow
    yield "Addenda", not cfdi.addenda
    yield "nodos del concepto", not any(set(concepto.extras) & children for concepto in cfdi.conceptos)
    yield "atributos", all(node.get(name) is None for node in (cfdi.emisor, cfdi.receptor) for name in UNASKED)


def _identity(concepto: Concepto) -> Identity:
    get, numbers = concepto.get, concepto.numbers
    quantity = plain(get("Cantidad") or "") if "Cantidad" in numbers else None
    price = plain(get("ValorUnitario") or "") if "ValorUnitario" in numbers else None
    return get("ClaveProdServ"), get("Descripcion"), quantity, price


def _lines(cfdi: Comprobante, expected: Expected) -> tuple[int, int, int]:
    """Lines that agree in everything, lines that agree in identity, lines of the document; each used once."""
    waiting: dict[Identity, list[ExpectedLine]] = {}
    alike = same = 0
    for concepto in cfdi.conceptos:
        identity = _identity(concepto)
        if identity not in waiting:
            waiting[identity] = list(expected.waiting.get(identity, ()))
        candidates = waiting[identity]
        if not candidates:
            continue
        found = next((line for line in candidates if _line_agrees(concepto, line, expected.decimals)), None)
        same += found is not None
        alike += 1
        candidates.remove(found or candidates[0])
    return same, alike, len(cfdi.conceptos)


def _f1(same: int, alike: int, found: int, asked: int) -> float:
    """Half for lines that agree in everything, half for lines of the right identity; extra lines cost."""
    return (same + alike) / (found + asked)


def _line_agrees(concepto: Concepto, line: ExpectedLine, decimals: int) -> bool:
    get = concepto.get
    for name, value in line.texts:
        if get(name) != value:
            return False
    return (
        _value_agrees(concepto, "Importe", line.amount, decimals)
        and _discount_agrees(concepto, line.discount, decimals)
        and _taxes_agree(concepto, concepto.traslados, line.traslados, decimals)
        and _taxes_agree(concepto, concepto.retenciones, line.retenciones, decimals)
    )


def _value_agrees(node: Node, name: str, exact: Decimal, decimals: int) -> bool:
    found = node.amount(name)
    # What needs no rounding is compared without any.
    return found is not None and (found == exact or agrees(found, node.decimals(name), exact, decimals))


def _discount_agrees(concepto: Concepto, discount: Decimal | None, decimals: int) -> bool:
    if discount is None:
        return concepto.get("Descuento") is None or concepto.amount("Descuento") == 0
    return _value_agrees(concepto, "Descuento", discount, decimals)


def _taxes_agree(line: Concepto, found: tuple[Node, ...], asked: tuple[ExpectedTax, ...], decimals: int) -> bool:
    if len(found) != len(asked):
        return False
    waiting = list(asked)
    for tax in found:
        key = tax_key(tax)
        for one in waiting:
            if one.key == key and _tax_agrees(tax, one, line, decimals):
                waiting.remove(one)
                break
        else:
            return False
    return True


def _written_bases(line: Concepto) -> tuple[Decimal, ...]:
    """What the line's own rounded amounts make of a base: net, and net with IEPS."""
    zero = Decimal(0)
    net = (line.amount("Importe") or zero) - (line.amount("Descuento") or zero)
    ieps = sum((tax.amount("Importe") or zero for tax in line.traslados if tax.get("Impuesto") == "003"), zero)
    return net, net + ieps


def _tax_agrees(tax: Node, asked: ExpectedTax, line: Concepto, decimals: int) -> bool:
    if not _value_agrees(tax, "Base", asked.base, decimals) and (
        asked.stated or tax.get("TipoFactor") == "Cuota" or not _near(tax, asked, line, decimals)
    ):
        return False
    if asked.amount is None or asked.key[2] is None:
        return tax.get("Importe") is None
    if _value_agrees(tax, "Importe", asked.amount, decimals):
        return True
    return _value_agrees(tax, "Importe", (tax.amount("Base") or Decimal(0)) * asked.key[2], decimals)


def _near(tax: Node, asked: ExpectedTax, line: Concepto, decimals: int) -> bool:
    """A base made of rounded amounts: one of the line's own, and no further off than those roundings explain."""
    base = tax.amount("Base")
    slack = BASE_ROUNDINGS * Decimal(1).scaleb(-decimals) / 2
    return base is not None and base in _written_bases(line) and abs(base - asked.base) <= slack


def _sum_agrees(found: Decimal | None, asked: Sum | None, *, absent: bool) -> bool:
    if asked is None:
        return absent or found == 0
    return found is not None and asked.admits(found)


def _totals(cfdi: Comprobante, expected: Expected) -> Iterator[Field]:
    summary = cfdi.impuestos or Node("Impuestos", {})
    asked: tuple[tuple[Node, str, Sum | None], ...] = (
        (cfdi, "SubTotal", expected.subtotal),
        (cfdi, "Descuento", expected.discount),
        (cfdi, "Total", expected.total),
        (summary, "TotalImpuestosTrasladados", expected.transferred),
        (summary, "TotalImpuestosRetenidos", expected.withheld),
    )
    for node, name, value in asked:
        yield name, _sum_agrees(node.amount(name), value, absent=node.get(name) is None)


def _taxes(cfdi: Comprobante, expected: Expected) -> Aspect:
    """The groups of the summary: each asked group found once with its sums, no other group."""
    summary = cfdi.impuestos
    traslados = summary.traslados if summary else ()
    retenciones = summary.retenciones if summary else ()
    same = len({tax_key(tax) for tax in traslados if _group_agrees(tax, expected)})
    same += len({tax.get("Impuesto") for tax in retenciones if _withheld_agrees(tax, expected)})
    asked, found = len(expected.traslados) + len(expected.retenciones), len(traslados) + len(retenciones)
    fraction = 2 * same / (asked + found) if asked + found else 1.0
    reason = f"coinciden {same} grupos de impuestos con la solicitud; el resumen tiene {found}"
    return Aspect("cfdi.match_taxes", Decimal("0.03"), fraction, reason)


def _group_agrees(tax: Node, expected: Expected) -> bool:
    sums = next((value for key, value in expected.traslados.items() if key == tax_key(tax)), None)
    if sums is None:
        return False
    base, amount = tax.amount("Base"), tax.amount("Importe")
    agreed = amount is None if sums[1] is None else amount is not None and sums[1].admits(amount)
    return agreed and base is not None and sums[0].admits(base)


def _withheld_agrees(tax: Node, expected: Expected) -> bool:
    asked, found = expected.retenciones.get(tax.get("Impuesto") or ""), tax.amount("Importe")
    return asked is not None and found is not None and asked.admits(found)
