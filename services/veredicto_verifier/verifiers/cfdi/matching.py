"""Compare a document with the request: the part that a valid but generic, copied or padded invoice fails.

Every aspect gives a fraction whose denominator is the request's, or the larger of the two sides, so that extra
lines and nodes only cost. Reasons never say what the request holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal, localcontext
from typing import NamedTuple

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante, Concepto, Node
from veredicto_verifier.verifiers.cfdi.expected import (
    BASE_ROUNDINGS,
    Expected,
    ExpectedLine,
    ExpectedTax,
    Sum,
    agrees,
)
from veredicto_verifier.verifiers.cfdi.rules import EXACT
from veredicto_verifier.verifiers.cfdi.spec import Request

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


def match(cfdi: Comprobante, request: Request, expected: Expected) -> list[Aspect]:
    """Every aspect in a fixed order; the document matches when every fraction is 1."""
    with localcontext(EXACT):
        same, alike, count = _lines(cfdi, expected)
        lines = f"coinciden {same} de los conceptos pedidos; el documento tiene {count}"
        return [
            _fields("cfdi.match_emisor", "0.03", _issuer(cfdi, request)),
            _fields("cfdi.match_receptor", "0.05", _receiver(cfdi, request)),
            _fields("cfdi.match_header", "0.03", _header(cfdi, request)),
            Aspect("cfdi.match_conceptos", Decimal("0.10"), _f1(same, alike, count, len(expected.lines)), lines),
            _fields("cfdi.match_totals", "0.05", _totals(cfdi, expected)),
            _taxes(cfdi, expected),
            _fields("cfdi.match_extra", "0.01", _extra(cfdi)),
        ]


def _fields(code: str, weight: str, fields: Iterator[Field]) -> Aspect:
    pairs = list(fields)
    wrong = [name for name, agreed in pairs if not agreed]
    fraction = 1 - len(wrong) / len(pairs) if pairs else 1.0
    return Aspect(code, Decimal(weight), fraction, "no coincide con la solicitud: " + ", ".join(wrong[:6]))


def _issuer(cfdi: Comprobante, request: Request) -> Iterator[Field]:
    asked = request.emisor
    for name, value in (("Rfc", asked.rfc), ("Nombre", asked.nombre), ("RegimenFiscal", asked.regimen_fiscal)):
        yield f"Emisor.{name}", cfdi.emisor.get(name) == value


def _receiver(cfdi: Comprobante, request: Request) -> Iterator[Field]:
    asked = request.receptor
    values = {
        "Rfc": asked.rfc,
        "Nombre": asked.nombre,
        "DomicilioFiscalReceptor": asked.domicilio_fiscal,
        "RegimenFiscalReceptor": asked.regimen_fiscal,
        "UsoCFDI": asked.uso_cfdi,
    }
    for name, value in values.items():
        yield f"Receptor.{name}", cfdi.receptor.get(name) == value


def _header(cfdi: Comprobante, request: Request) -> Iterator[Field]:
    values = {
        "TipoDeComprobante": request.tipo,
        "Fecha": request.fecha.isoformat(),
        "LugarExpedicion": request.lugar_expedicion,
        "Moneda": request.moneda,
        "MetodoPago": request.metodo_pago,
        "FormaPago": request.forma_pago,
        "Exportacion": request.exportacion,
        "Serie": request.serie,
        "Folio": request.folio,
        "CondicionesDePago": request.condiciones_de_pago,
    }
    for name, value in values.items():
        if value is not None:
            yield name, cfdi.get(name) == value
    if request.tipo_cambio is not None:
        yield "TipoCambio", cfdi.amount("TipoCambio") == Decimal(request.tipo_cambio)
    yield (
        "CfdiRelacionados",
        _relations(cfdi)
        == sorted((one.tipo_relacion, sorted(uuid.upper() for uuid in one.uuids)) for one in request.relacionados),
    )
    yield "InformacionGlobal", _global(cfdi) == _asked_global(request)


def _relations(cfdi: Comprobante) -> list[tuple[str, list[str]]]:
    return sorted((one.get("TipoRelacion") or "", sorted(one.uuids)) for one in cfdi.relaciones)


def _global(cfdi: Comprobante) -> tuple[str | None, ...] | None:
    node = cfdi.informacion_global
    return None if node is None else (node.get("Periodicidad"), node.get("Meses"), node.get("Año"))


def _asked_global(request: Request) -> tuple[str, ...] | None:
    asked = request.informacion_global
    return None if asked is None else (asked.periodicidad, asked.meses, asked.anio)


def _extra(cfdi: Comprobante) -> Iterator[Field]:
    """What nobody asked for: free places where a document could hide or claim more."""
    yield "Complemento", not cfdi.complementos
    yield "Addenda", not cfdi.addenda
    yield "nodos del concepto", not any(set(concepto.extras) & set(CHILDREN) for concepto in cfdi.conceptos)
    yield "atributos", all(node.get(name) is None for node in (cfdi.emisor, cfdi.receptor) for name in UNASKED)


def _identity(concepto: Concepto) -> tuple[str | None, str | None, Decimal | None, Decimal | None]:
    quantity, price = concepto.amount("Cantidad"), concepto.amount("ValorUnitario")
    return concepto.get("ClaveProdServ"), concepto.get("Descripcion"), quantity, price


def _lines(cfdi: Comprobante, expected: Expected) -> tuple[int, int, int]:
    """Lines that agree in everything, lines that agree in identity, lines of the document; each used once."""
    waiting: dict[object, list[ExpectedLine]] = defaultdict(list)
    for line in expected.lines:
        asked = line.request
        waiting[asked.clave_prod_serv, asked.descripcion, line.quantity, line.price].append(line)
    alike = same = 0
    for concepto in cfdi.conceptos:
        candidates = waiting.get(_identity(concepto), [])
        found = next((line for line in candidates if _line_agrees(concepto, line, expected.decimals)), None)
        same += found is not None
        alike += bool(candidates)
        if candidates:
            candidates.remove(found or candidates[0])
    return same, alike, len(cfdi.conceptos)


def _f1(same: int, alike: int, found: int, asked: int) -> float:
    """Half for lines that agree in everything, half for lines of the right identity; extra lines cost."""
    return (same + alike) / (found + asked)


def _line_agrees(concepto: Concepto, line: ExpectedLine, decimals: int) -> bool:
    asked = line.request
    texts = {"ClaveUnidad": asked.clave_unidad, "ObjetoImp": asked.objeto_imp}
    texts |= {"NoIdentificacion": asked.no_identificacion} if asked.no_identificacion else {}
    texts |= {"Unidad": asked.unidad} if asked.unidad else {}
    return (
        all(concepto.get(name) == value for name, value in texts.items())
        and _value_agrees(concepto, "Importe", line.amount, decimals)
        and _discount_agrees(concepto, line.discount, decimals)
        and _taxes_agree(concepto, concepto.traslados, line.traslados, decimals)
        and _taxes_agree(concepto, concepto.retenciones, line.retenciones, decimals)
    )


def _value_agrees(node: Node, name: str, exact: Decimal, decimals: int) -> bool:
    found = node.amount(name)
    return found is not None and agrees(found, node.decimals(name), exact, decimals)


def _discount_agrees(concepto: Concepto, discount: Decimal | None, decimals: int) -> bool:
    if discount is None:
        return concepto.get("Descuento") is None or concepto.amount("Descuento") == 0
    return _value_agrees(concepto, "Descuento", discount, decimals)


def _taxes_agree(line: Concepto, found: tuple[Node, ...], asked: tuple[ExpectedTax, ...], decimals: int) -> bool:
    waiting = list(asked)
    bases = _written_bases(line)
    for tax in found:
        fitting = (one for one in waiting if one.key == _key(tax) and _tax_agrees(tax, one, bases, decimals))
        match = next(fitting, None)
        if match is None:
            return False
        waiting.remove(match)
    return not waiting


def _written_bases(line: Concepto) -> tuple[Decimal, ...]:
    """What the line's own rounded amounts make of a base: net, and net with IEPS."""
    zero = Decimal(0)
    net = (line.amount("Importe") or zero) - (line.amount("Descuento") or zero)
    ieps = sum((tax.amount("Importe") or zero for tax in line.traslados if tax.get("Impuesto") == "003"), zero)
    return net, net + ieps


def _tax_agrees(tax: Node, asked: ExpectedTax, written: tuple[Decimal, ...], decimals: int) -> bool:
    if not _value_agrees(tax, "Base", asked.base, decimals) and (
        asked.stated or tax.get("TipoFactor") == "Cuota" or not _near(tax, asked, written, decimals)
    ):
        return False
    if asked.amount is None or asked.key[2] is None:
        return tax.get("Importe") is None
    exacts = (asked.amount, (tax.amount("Base") or Decimal(0)) * asked.key[2])
    return any(_value_agrees(tax, "Importe", exact, decimals) for exact in exacts)


def _near(tax: Node, asked: ExpectedTax, written: tuple[Decimal, ...], decimals: int) -> bool:
    """A base made of rounded amounts: one of the line's own, and no further off than those roundings explain."""
    base = tax.amount("Base")
    slack = BASE_ROUNDINGS * Decimal(1).scaleb(-decimals) / 2
    return base is not None and base in written and abs(base - asked.base) <= slack


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
    same = len({_key(tax) for tax in traslados if _group_agrees(tax, expected)})
    same += len({tax.get("Impuesto") for tax in retenciones if _withheld_agrees(tax, expected)})
    asked, found = len(expected.traslados) + len(expected.retenciones), len(traslados) + len(retenciones)
    fraction = 2 * same / (asked + found) if asked + found else 1.0
    reason = f"coinciden {same} grupos de impuestos con la solicitud; el resumen tiene {found}"
    return Aspect("cfdi.match_taxes", Decimal("0.03"), fraction, reason)


def _key(tax: Node) -> tuple[str | None, str | None, Decimal | None]:
    return tax.get("Impuesto"), tax.get("TipoFactor"), tax.amount("TasaOCuota")


def _group_agrees(tax: Node, expected: Expected) -> bool:
    sums = next((value for key, value in expected.traslados.items() if key == _key(tax)), None)
    if sums is None:
        return False
    base, amount = tax.amount("Base"), tax.amount("Importe")
    agreed = amount is None if sums[1] is None else amount is not None and sums[1].admits(amount)
    return agreed and base is not None and sums[0].admits(base)


def _withheld_agrees(tax: Node, expected: Expected) -> bool:
    asked, found = expected.retenciones.get(tax.get("Impuesto") or ""), tax.amount("Importe")
    return asked is not None and found is not None and asked.admits(found)
