"""The facts of a request as labelled phrases: what a wording arranges, complete whatever the writer's habits."""

from __future__ import annotations

from typing import Any

from veredicto_verifier.packs.generators.cfdi_voice import (
    FORMS,
    METHODS,
    OBJECTS,
    PERIODS,
    REGIMES,
    RELATIONS,
    TYPES,
    USES,
    Voice,
)

Json = dict[str, Any]
Facts = list[tuple[str, str]]


def said_once(voice: Voice, request: Json) -> Facts:
    """What concerns the whole invoice: type, date, place, payment, currency, relations, global period."""
    kind = request["tipo"]
    facts = [
        ("Tipo de comprobante", voice.code(kind, TYPES)),
        (voice.pick("Fecha", "Fecha de emisión"), voice.date(request["fecha"])),
        (voice.pick("Lugar de expedición", "Expedido en el código postal"), request["lugar_expedicion"]),
        ("Exportación", "01 (no aplica)"),
    ]
    if kind == "P":
        facts.append(("Moneda del comprobante", "XXX"))
        if not voice.words:
            facts.append(("Concepto único", "84111506, ACT, Pago, con valor e importe 0, objeto de impuesto 01"))
        return [*facts, *_numbering(request)]
    facts.append(("Método de pago", voice.code(request["metodo_pago"], METHODS)))
    facts.append(("Forma de pago", voice.code(request["forma_pago"], FORMS)))
    facts.append(("Moneda", request["moneda"]))
    if "tipo_cambio" in request:
        facts.append(("Tipo de cambio", request["tipo_cambio"]))
    return [*facts, *_numbering(request), *conditions(voice, request)]


def _numbering(request: Json) -> Facts:
    return [("Serie", request["serie"]), ("Folio", request["folio"])] if "serie" in request else []


def conditions(voice: Voice, request: Json) -> Facts:
    """What only some sales have."""
    facts = []
    if "condiciones_de_pago" in request:
        facts.append(("Condiciones de pago", request["condiciones_de_pago"]))
    for relation in request.get("relacionados", []):
        kind = voice.both(relation["tipo_relacion"], RELATIONS)
        facts.append((f"CFDI relacionados, tipo de relación {kind}", ", ".join(relation["uuids"])))
    if "informacion_global" in request:
        asked = request["informacion_global"]
        period = voice.both(asked["periodicidad"], PERIODS)
        facts.append(("Factura global", f"periodicidad {period}, meses {asked['meses']}, año {asked['anio']}"))
    return facts


def party_facts(voice: Voice, party: Json) -> Facts:
    """Name, RFC, regime; of a receiver also its postal code and use."""
    facts = [
        ("nombre", party["nombre"]),
        ("RFC", party["rfc"]),
        ("régimen fiscal", voice.both(party["regimen_fiscal"], REGIMES)),
    ]
    if "domicilio_fiscal" in party:
        facts.append((voice.pick("domicilio fiscal", "código postal"), party["domicilio_fiscal"]))
        facts.append(("uso del CFDI", voice.both(party["uso_cfdi"], USES)))
    return facts


def line_facts(voice: Voice, line: Json) -> str:
    """One line of a sale."""
    price = voice.pick("valor unitario", "precio unitario")
    parts = [
        f"{line['descripcion']}: cantidad {line['cantidad']}",
        f"{price} {voice.amount(line['valor_unitario'])}",
        f"clave de producto o servicio {line['clave_prod_serv']}",
        f"clave de unidad {line['clave_unidad']}",
    ]
    if "no_identificacion" in line:
        parts.append(f"número de identificación {line['no_identificacion']}")
    if "descuento" in line:
        parts.append(f"descuento de {voice.amount(line['descuento'])} sobre el importe de la línea")
    parts.append(f"objeto de impuesto: {voice.code(line['objeto_imp'], OBJECTS)}")
    taxes = voice.taxes(line["traslados"], line["retenciones"])
    return ", ".join(parts) + (f"; {taxes}" if taxes else "")


def payment_facts(voice: Voice, payment: Json) -> str:
    """One payment with the documents that it pays."""
    parts = [
        f"Pago recibido el {voice.date(payment['fecha_pago'])}",
        f"forma de pago {voice.code(payment['forma_de_pago'], FORMS)}",
        f"monto {voice.amount(payment['monto'])} {payment['moneda']}",
    ]
    if "tipo_cambio" in payment:
        parts.append(f"tipo de cambio {payment['tipo_cambio']}")
    if "num_operacion" in payment:
        parts.append(f"número de operación {payment['num_operacion']}")
    documents = [f"[{number}] {_document_facts(voice, one)}" for number, one in enumerate(payment["documentos"], 1)]
    return (
        ", ".join(parts) + voice.pick("; documentos pagados: ", "; liquida: ", "; se aplica a: ") + "; ".join(documents)
    )


def _document_facts(voice: Voice, document: Json) -> str:
    currency = document["moneda"]
    parts = [f"folio fiscal {document['id_documento']}"]
    if "serie" in document:
        parts.append(f"serie {document['serie']} folio {document['folio']}")
    parts.append(f"moneda {currency}")
    if "equivalencia" in document:
        parts.append(f"equivalencia {document['equivalencia']}")
    parts += [
        f"parcialidad {document['num_parcialidad']}",
        f"saldo anterior {voice.amount(document['saldo_anterior'])}",
        f"importe pagado {voice.amount(document['importe_pagado'])}",
        f"objeto de impuesto: {voice.code(document['objeto_imp'], OBJECTS)}",
    ]
    taxes = voice.taxes(document["traslados"], document["retenciones"])
    return ", ".join(parts) + (f" (el importe pagado ya incluye sus impuestos: {taxes})" if taxes else "")
