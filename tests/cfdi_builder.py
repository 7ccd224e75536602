"""A reference builder: turns a request (as in a task's spec) into one correct invoice, without the verifier's code."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from xml.sax.saxutils import quoteattr

from tests.cfdi_payment_builder import payments_xml

Json = dict[str, Any]


def money(value: Decimal, places: int = 2) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


def attributes(values: dict[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in values.items() if value is not None)


def element(name: str, values: dict[str, object], children: str = "") -> str:
    start = f"<cfdi:{name}{attributes(values)}"
    return f"{start}>{children}</cfdi:{name}>" if children else f"{start}/>"


def tax_line(tax: Json, net: Decimal, ieps: Decimal, quantity: Decimal, places: int) -> Json:
    base = net + ieps if tax["impuesto"] == "002" else net
    base = money(Decimal(tax["base"]) if tax.get("base") else base, places)
    if tax["tipo_factor"] == "Cuota":
        base = quantity
    line = {"Base": base, "Impuesto": tax["impuesto"], "TipoFactor": tax["tipo_factor"]}
    if tax["tipo_factor"] != "Exento":
        rate = Decimal(tax["tasa_o_cuota"])
        line |= {"TasaOCuota": f"{rate:.6f}", "Importe": money(base * rate, places)}
    return line


def line_taxes(concept: Json, net: Decimal, quantity: Decimal, places: int) -> tuple[list[Json], list[Json]]:
    ieps = Decimal(0)
    for tax in concept.get("traslados", []):
        if tax["impuesto"] == "003":
            ieps += tax_line(tax, net, Decimal(0), quantity, places)["Importe"]
    charged = [tax_line(tax, net, ieps, quantity, places) for tax in concept.get("traslados", [])]
    held = [tax_line(tax, net, Decimal(0), quantity, places) for tax in concept.get("retenciones", [])]
    return charged, held


def concept_xml(concept: Json, charged: list[Json], held: list[Json], amounts: Json) -> str:
    inner = ""
    if charged:
        inner += element("Traslados", {}, "".join(element("Traslado", tax) for tax in charged))
    if held:
        inner += element("Retenciones", {}, "".join(element("Retencion", tax) for tax in held))
    values = {
        "ClaveProdServ": concept["clave_prod_serv"],
        "NoIdentificacion": concept.get("no_identificacion"),
        "Cantidad": concept["cantidad"],
        "ClaveUnidad": concept["clave_unidad"],
        "Unidad": concept.get("unidad"),
        "Descripcion": concept["descripcion"],
        "ValorUnitario": concept["valor_unitario"],
        "Importe": amounts["importe"],
        "Descuento": amounts["descuento"],
        "ObjetoImp": concept["objeto_imp"],
    }
    return element("Concepto", values, element("Impuestos", {}, inner) if inner else "")


def summary_xml(charged: list[Json], held: list[Json]) -> tuple[str, Decimal]:
    groups: dict[tuple[Any, ...], Json] = {}
    for tax in charged:
        key = (tax["Impuesto"], tax["TipoFactor"], tax.get("TasaOCuota"))
        group = groups.setdefault(key, {**tax, **{name: Decimal(0) for name in ("Base", "Importe") if name in tax}})
        for name in ("Base", "Importe"):
            if name in tax:
                group[name] += tax[name]
    withheld: dict[str, Decimal] = {}
    for tax in held:
        withheld[tax["Impuesto"]] = withheld.get(tax["Impuesto"], Decimal(0)) + tax["Importe"]
    if not groups and not withheld:
        return "", Decimal(0)
    for group in groups.values():
        group |= {name: money(group[name]) for name in ("Base", "Importe") if name in group}
    rated = [group["Importe"] for group in groups.values() if "Importe" in group]
    kept = {tax: money(amount) for tax, amount in withheld.items()}
    children = ""
    if kept:
        nodes = "".join(element("Retencion", {"Impuesto": tax, "Importe": value}) for tax, value in kept.items())
        children += element("Retenciones", {}, nodes)
    if groups:
        children += element("Traslados", {}, "".join(element("Traslado", group) for group in groups.values()))
    totals = {
        "TotalImpuestosRetenidos": sum(kept.values()) if kept else None,
        "TotalImpuestosTrasladados": sum(rated) if rated else None,
    }
    return element("Impuestos", totals, children), sum(rated, Decimal(0)) - sum(kept.values(), Decimal(0))


def build_invoice(request: Json, *, places: int = 2) -> str:
    """The invoice as text; `places` is the number of decimals of the lines' amounts (the totals have two)."""
    if request["tipo"] == "P":
        return build_receipt(request, places)
    lines, charged, held = "", [], []
    subtotal = discount = Decimal(0)
    discounted = False
    for concept in request["conceptos"]:
        quantity = Decimal(concept["cantidad"])
        amount = money(quantity * Decimal(concept["valor_unitario"]), places)
        cut = money(Decimal(concept["descuento"]), places) if concept.get("descuento") else None
        traslados, retenciones = line_taxes(concept, amount - (cut or 0), quantity, places)
        lines += concept_xml(concept, traslados, retenciones, {"importe": amount, "descuento": cut})
        charged += traslados
        held += retenciones
        subtotal += amount
        discount += cut or 0
        discounted = discounted or cut is not None
    summary, taxes = summary_xml(charged, held)
    total = money(subtotal) - money(discount) + taxes
    return header_xml(request, lines, summary, (money(subtotal), money(discount) if discounted else None, total))


PAYMENT_LINE = {
    "ClaveProdServ": "84111506",
    "Cantidad": "1",
    "ClaveUnidad": "ACT",
    "Descripcion": "Pago",
    "ValorUnitario": "0",
    "Importe": "0",
    "ObjetoImp": "01",
}


def build_receipt(request: Json, places: int) -> str:
    """The receipt of a request's payments: no money in the invoice, all of it in the complement."""
    text = header_xml(request, element("Concepto", PAYMENT_LINE), "", ("0", None, "0"))
    return text.replace("</cfdi:Comprobante>", payments_xml(request["pagos"], places) + "</cfdi:Comprobante>")


def header_xml(request: Json, lines: str, summary: str, totals: tuple[Any, Any, Any]) -> str:
    issuer, receiver = request["emisor"], request["receptor"]
    children = ""
    if request.get("informacion_global"):
        asked = request["informacion_global"]
        values = {"Periodicidad": asked["periodicidad"], "Meses": asked["meses"], "Año": asked["anio"]}
        children += element("InformacionGlobal", values)
    for relation in request.get("relacionados", []):
        uuids = "".join(element("CfdiRelacionado", {"UUID": uuid}) for uuid in relation["uuids"])
        children += element("CfdiRelacionados", {"TipoRelacion": relation["tipo_relacion"]}, uuids)
    names = {"Rfc": "rfc", "Nombre": "nombre", "RegimenFiscal": "regimen_fiscal"}
    children += element("Emisor", {name: issuer[key] for name, key in names.items()})
    names = {
        "Rfc": "rfc",
        "Nombre": "nombre",
        "DomicilioFiscalReceptor": "domicilio_fiscal",
        "RegimenFiscalReceptor": "regimen_fiscal",
        "UsoCFDI": "uso_cfdi",
    }
    children += element("Receptor", {name: receiver[key] for name, key in names.items()})
    children += element("Conceptos", {}, lines) + summary
    values = {
        "xmlns:cfdi": "http://www.sat.gob.mx/cfd/4",
        "Version": "4.0",
        "Serie": request.get("serie"),
        "Folio": request.get("folio"),
        "Fecha": request["fecha"],
        "FormaPago": request.get("forma_pago"),
        "CondicionesDePago": request.get("condiciones_de_pago"),
        "SubTotal": totals[0],
        "Descuento": totals[1],
        "Moneda": request["moneda"],
        "TipoCambio": request.get("tipo_cambio"),
        "Total": totals[2],
        "TipoDeComprobante": request["tipo"],
        "Exportacion": request.get("exportacion", "01"),
        "MetodoPago": request.get("metodo_pago"),
        "LugarExpedicion": request["lugar_expedicion"],
    }
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + element("Comprobante", values, children)
