"""Write the invoice that a request describes, to prove before any answer is judged that the task can be solved."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal

from lxml import etree

from veredicto_verifier.verifiers.cfdi.comprobante import CFD4
from veredicto_verifier.verifiers.cfdi.expected import Expected, ExpectedLine, ExpectedTax, TaxKey
from veredicto_verifier.verifiers.cfdi.request import Request
from veredicto_verifier.verifiers.cfdi.wanted import Wanted, write_wanted

NAMESPACES = {
    "Pagos": ("pago20", "http://www.sat.gob.mx/Pagos20"),
    "Nomina": ("nomina12", "http://www.sat.gob.mx/nomina12"),
}
"""Prefix and namespace of each complement that a request can describe."""


def write_reference(request: Request, expected: Expected, complement: Wanted | None = None) -> etree._Element:
    """The root of one correct document: lines rounded to the currency, the summary added up from them."""
    root = etree.Element(f"{{{CFD4}}}Comprobante", nsmap={"cfdi": CFD4})
    _set(root, _header(request))
    if request.informacion_global:
        asked = request.informacion_global
        _add(root, "InformacionGlobal", {"Periodicidad": asked.periodicidad, "Meses": asked.meses, "Año": asked.anio})
    for relation in request.relacionados:
        node = _add(root, "CfdiRelacionados", {"TipoRelacion": relation.tipo_relacion})
        for uuid in relation.uuids:
            _add(node, "CfdiRelacionado", {"UUID": uuid})
    _parties(root, request)
    lines = _add(root, "Conceptos", {})
    for line in expected.lines:
        _concepto(lines, line, expected.decimals)
    transferred, withheld = _summary(root, expected)
    _totals(root, expected, transferred - withheld)
    if complement is not None:
        write_wanted(_add(root, "Complemento", {}), complement, *NAMESPACES[complement.name])
    return root


def _header(request: Request) -> dict[str, str | None]:
    return {
        "Version": "4.0",
        "Serie": request.serie,
        "Folio": request.folio,
        "Fecha": request.fecha.isoformat(),
        "FormaPago": request.forma_pago,
        "CondicionesDePago": request.condiciones_de_pago,
        "Moneda": request.moneda,
        "TipoCambio": request.tipo_cambio,
        "TipoDeComprobante": request.tipo,
        "Exportacion": request.exportacion,
        "MetodoPago": request.metodo_pago,
        "LugarExpedicion": request.lugar_expedicion,
    }


def _parties(root: etree._Element, request: Request) -> None:
    issuer, receiver = request.emisor, request.receptor
    _add(root, "Emisor", {"Rfc": issuer.rfc, "Nombre": issuer.nombre, "RegimenFiscal": issuer.regimen_fiscal})
    values = {
        "Rfc": receiver.rfc,
        "Nombre": receiver.nombre,
        "DomicilioFiscalReceptor": receiver.domicilio_fiscal,
        "RegimenFiscalReceptor": receiver.regimen_fiscal,
        "UsoCFDI": receiver.uso_cfdi,
    }
    _add(root, "Receptor", values)


def _concepto(parent: etree._Element, line: ExpectedLine, decimals: int) -> None:
    asked = line.request
    values = {
        "ClaveProdServ": asked.clave_prod_serv,
        "NoIdentificacion": asked.no_identificacion,
        "Cantidad": asked.cantidad,
        "ClaveUnidad": asked.clave_unidad,
        "Unidad": asked.unidad,
        "Descripcion": asked.descripcion,
        "ValorUnitario": asked.valor_unitario,
        "Importe": _money(line.amount, decimals),
        "Descuento": None if line.discount is None else _money(line.discount, decimals),
        "ObjetoImp": asked.objeto_imp,
    }
    node = _add(parent, "Concepto", values)
    if line.traslados or line.retenciones:
        taxes = _add(node, "Impuestos", {})
        _line_taxes(taxes, "Traslado", line.traslados, decimals)
        _line_taxes(taxes, "Retencion", line.retenciones, decimals)


def _line_taxes(parent: etree._Element, name: str, taxes: tuple[ExpectedTax, ...], decimals: int) -> None:
    if not taxes:
        return
    holder = _add(parent, "Traslados" if name == "Traslado" else "Retenciones", {})
    for tax in taxes:
        values = {"Base": f"{_base(tax, decimals):f}", **_kind(tax.key)}
        if tax.key[2] is not None:
            values["Importe"] = _money(_charged(tax, decimals), decimals)
        _add(holder, name, values)


def _base(tax: ExpectedTax, decimals: int) -> Decimal:
    """A quota's base is the quantity as it is: rounded, it would move the amount by more than a cent."""
    return tax.base if tax.key[1] == "Cuota" else _round(tax.base, decimals)


def _charged(tax: ExpectedTax, decimals: int) -> Decimal:
    """The amount on the base as written."""
    return _round(_base(tax, decimals) * (tax.key[2] or Decimal(0)), decimals)


def _kind(key: TaxKey) -> dict[str, str]:
    impuesto, factor, rate = key
    values = {"Impuesto": impuesto, "TipoFactor": factor}
    return values if rate is None else {**values, "TasaOCuota": f"{rate:.6f}"}


def _summary(root: etree._Element, expected: Expected) -> tuple[Decimal, Decimal]:
    """Add the summary; returns the transferred and the withheld total."""
    transferred = withheld = Decimal(0)
    if not expected.traslados and not expected.retenciones:
        return transferred, withheld
    node = _add(root, "Impuestos", {})
    if expected.retenciones:
        withheld = _withheld_nodes(_add(node, "Retenciones", {}), expected)
        _set(node, {"TotalImpuestosRetenidos": _money(withheld, expected.decimals)})
    if expected.traslados:
        transferred = _transfer_nodes(_add(node, "Traslados", {}), expected)
    if any(key[2] is not None for key in expected.traslados):
        _set(node, {"TotalImpuestosTrasladados": _money(transferred, expected.decimals)})
    return transferred, withheld


def _withheld_nodes(holder: etree._Element, expected: Expected) -> Decimal:
    total = Decimal(0)
    for impuesto in expected.retenciones:
        own = [tax for line in expected.lines for tax in line.retenciones if tax.key[0] == impuesto]
        amount = sum((_charged(tax, expected.decimals) for tax in own), Decimal(0))
        _add(holder, "Retencion", {"Impuesto": impuesto, "Importe": _money(amount, expected.decimals)})
        total += amount
    return total


def _transfer_nodes(holder: etree._Element, expected: Expected) -> Decimal:
    total = Decimal(0)
    for key in expected.traslados:
        own = [tax for line in expected.lines for tax in line.traslados if tax.key == key]
        base = sum((_base(tax, expected.decimals) for tax in own), Decimal(0))
        values = {"Base": _money(base, expected.decimals), **_kind(key)}
        if key[2] is not None:
            amount = sum((_charged(tax, expected.decimals) for tax in own), Decimal(0))
            values["Importe"] = _money(amount, expected.decimals)
            total += amount
        _add(holder, "Traslado", values)
    return total


def _totals(root: etree._Element, expected: Expected, taxes: Decimal) -> None:
    decimals = expected.decimals
    subtotal = sum((_round(line.amount, decimals) for line in expected.lines), Decimal(0))
    discounts = [_round(line.discount, decimals) for line in expected.lines if line.discount is not None]
    discount = sum(discounts, Decimal(0))
    values = {
        "SubTotal": _money(subtotal, decimals),
        "Descuento": _money(discount, decimals) if discounts else None,
        "Total": _money(subtotal - discount + taxes, decimals),
    }
    _set(root, values)


def _round(value: Decimal, decimals: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)


def _money(value: Decimal, decimals: int) -> str:
    return f"{_round(value, decimals):f}"


def _add(parent: etree._Element, name: str, values: Mapping[str, str | None]) -> etree._Element:
    node = etree.SubElement(parent, f"{{{CFD4}}}{name}")
    _set(node, values)
    return node


def _set(node: etree._Element, values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is not None:
            node.set(name, value)
