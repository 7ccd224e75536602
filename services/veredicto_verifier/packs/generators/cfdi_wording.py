"""Say an invoice request in Spanish: every fact that the invoice needs, and no sum."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

TYPES = {"I": "ingreso", "E": "egreso (nota de crédito)"}
TAXES = {"001": "ISR", "002": "IVA", "003": "IEPS"}
CONTRACT = (
    "Escribe el CFDI 4.0 sin sellar que corresponde a esta solicitud. Usa el prefijo cfdi. "
    "Deja Sello, NoCertificado y Certificado vacíos u omitidos, sin Complemento ni Addenda. "
    "Calcula importes, bases, impuestos y totales (dos decimales, redondeo aritmético). "
    "Responde solo con un documento XML en UTF-8: sin explicación y sin cercas de código."
)


def describe(request: Json) -> str:
    """The prompt of a request."""
    parts = [CONTRACT, "", *_header(request), *_party("Emisor", request["emisor"])]
    parts += _party("Receptor", request["receptor"])
    parts += [f"Conceptos ({len(request['conceptos'])}):"]
    parts += [text for number, line in enumerate(request["conceptos"], 1) for text in _concept(number, line)]
    return "\n".join(parts)


def _header(request: Json) -> list[str]:
    lines = [
        f"Tipo de comprobante: {request['tipo']}, {TYPES[request['tipo']]}",
        f"Fecha: {request['fecha']}",
        f"Lugar de expedición: {request['lugar_expedicion']}",
        f"Método de pago: {request['metodo_pago']}; forma de pago: {request['forma_pago']}",
        f"Exportación: {request['exportacion']}",
        f"Moneda: {request['moneda']}",
    ]
    if "tipo_cambio" in request:
        lines[-1] += f"; tipo de cambio: {request['tipo_cambio']}"
    if "serie" in request:
        lines.append(f"Serie: {request['serie']}; folio: {request['folio']}")
    if "condiciones_de_pago" in request:
        lines.append(f"Condiciones de pago: {request['condiciones_de_pago']}")
    for relation in request.get("relacionados", []):
        lines.append(f"CFDI relacionado ({relation['tipo_relacion']}): {', '.join(relation['uuids'])}")
    if "informacion_global" in request:
        asked = request["informacion_global"]
        lines.append(
            f"Factura global: periodicidad {asked['periodicidad']}, meses {asked['meses']}, año {asked['anio']}"
        )
    return lines


def _party(role: str, party: Json) -> list[str]:
    text = f"{role}: {party['nombre']}, RFC {party['rfc']}, régimen fiscal {party['regimen_fiscal']}"
    if "domicilio_fiscal" in party:
        text += f", domicilio fiscal {party['domicilio_fiscal']}, uso del CFDI {party['uso_cfdi']}"
    return [text]


def _concept(number: int, line: Json) -> list[str]:
    text = (
        f"{number}. {line['descripcion']}: cantidad {line['cantidad']}, valor unitario {line['valor_unitario']}, "
        f"clave de producto {line['clave_prod_serv']}, clave de unidad {line['clave_unidad']}, "
        f"objeto de impuesto {line['objeto_imp']}"
    )
    if "no_identificacion" in line:
        text += f", número de identificación {line['no_identificacion']}"
    if "descuento" in line:
        text += f", descuento {line['descuento']}"
    taxes = [f"traslado de {_tax(tax)}" for tax in line["traslados"]]
    taxes += [f"retención de {_tax(tax)}" for tax in line["retenciones"]]
    return [text, *(["   Impuestos: " + "; ".join(taxes)] if taxes else [])]


def _tax(tax: Json) -> str:
    name = f"{TAXES[tax['impuesto']]} ({tax['impuesto']})"
    if tax["tipo_factor"] == "Exento":
        return f"{name} exento"
    return f"{name} {tax['tipo_factor'].lower()} {tax['tasa_o_cuota']}"
