"""Say an invoice request in Spanish: every fact that the invoice needs, in one of five forms, and no sum."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from veredicto_verifier.packs.generators.cfdi_facts import (
    line_facts,
    party_facts,
    payment_facts,
    said_once,
)
from veredicto_verifier.packs.generators.cfdi_voice import TYPES, Voice, draw_voice

Json = dict[str, Any]
Form = Callable[[Voice, Json], list[str]]

TASKS = (
    "Escribe el CFDI 4.0 sin sellar que corresponde a esta solicitud.",
    "Genera el XML del CFDI 4.0 (sin sello) que se pide a continuación.",
    "Con estos datos redacta el comprobante CFDI 4.0, todavía sin sellar ni timbrar.",
)
SUMS = (
    "Calcula importes, bases, impuestos y totales con redondeo aritmético a dos decimales.",
    "Los importes, bases, impuestos y totales los calculas tú, redondeados a dos decimales.",
)
SEALS = (
    "Deja Sello, NoCertificado y Certificado vacíos u omitidos; no agregues Addenda",
    "No inventes Sello, Certificado ni timbre, y no pongas Addenda",
)
ANSWERS = (
    "Responde solo con un documento XML en UTF-8 con el prefijo cfdi: sin explicación y sin cercas de código.",
    "La respuesta es únicamente el XML (UTF-8, prefijo cfdi), sin texto alrededor ni bloques de código.",
)


def describe(request: Json, key: str, level: int) -> str:
    """The prompt of a request; the same for ever for one key."""
    source = random.Random(f"cfdi/1/wording/{key}")
    voice = draw_voice(source, level)
    form = source.choice(FORMS)
    return "\n".join([contract(voice, request), "", *form(voice, request)])


def contract(voice: Voice, request: Json) -> str:
    """What is asked for, whatever the request."""
    payment = request["tipo"] == "P"
    seal = voice.pick(*SEALS) + (
        ". El comprobante lleva el complemento para recepción de pagos 2.0 (prefijo pago20)."
        if payment
        else " ni Complemento."
    )
    return " ".join((voice.pick(*TASKS), voice.pick(*SUMS), seal, voice.pick(*ANSWERS)))


def _sheet(voice: Voice, request: Json) -> list[str]:
    """A filled-in form: one label a line."""
    rows = [f"{label}: {value}" for label, value in said_once(voice, request)]
    for role in ("emisor", "receptor"):
        rows += [f"{role.capitalize()}: " + ", ".join(f"{k} {v}" for k, v in party_facts(voice, request[role]))]
    rows += [f"{number}. {text}" for number, text in enumerate(_items(voice, request), 1)]
    return rows


def _letter(voice: Voice, request: Json) -> list[str]:
    """A message in whole sentences."""
    greeting = voice.pick("Hola, buen día.", "Buenas tardes:", "Estimado equipo de facturación:", "¿Qué tal?")
    kind = TYPES[request["tipo"]]
    issuer, receiver = (
        ", ".join(f"{k} {v}" for k, v in party_facts(voice, request[role])) for role in ("emisor", "receptor")
    )
    facts = "; ".join(f"{label.lower()}: {value}" for label, value in said_once(voice, request))
    start = voice.pick(
        "Necesitamos un comprobante de", "Les pido emitir un comprobante de", "Por favor emitan un CFDI de"
    )
    close = voice.pick("Gracias.", "Quedo al pendiente.", "Saludos.")
    return [
        f"{greeting} {start} {kind}. Lo emite {issuer}. Es para {receiver}.",
        f"Datos generales: {facts}.",
        voice.pick(
            "El detalle:", "Va el detalle:", "Detalle de lo que se factura:" if kind != "pago" else "Lo pagado:"
        ),
        *(f"- {text}." for text in _items(voice, request)),
        close,
    ]


def _dictation(voice: Voice, request: Json) -> list[str]:
    """Numbered points, receiver first."""
    points = ["Receptor: " + "; ".join(f"{k} {v}" for k, v in party_facts(voice, request["receptor"]))]
    points += [f"{label}: {value}" for label, value in said_once(voice, request)]
    points += _items(voice, request)
    points += ["Emisor: " + "; ".join(f"{k} {v}" for k, v in party_facts(voice, request["emisor"]))]
    return [f"{number}) {text}" for number, text in enumerate(points, 1)]


def _table(voice: Voice, request: Json) -> list[str]:
    """Parties in a list, lines or payments in a table of two columns."""
    rows = [f"* {label}: {value}" for label, value in said_once(voice, request)]
    for role in ("emisor", "receptor"):
        rows += [f"* {role.capitalize()}: " + " / ".join(f"{k} {v}" for k, v in party_facts(voice, request[role]))]
    title = "pago" if request["tipo"] == "P" else "concepto"
    items = [f"| {number} | {text} |" for number, text in enumerate(_items(voice, request), 1)]
    return [*rows, "", f"| núm. | {title} |", "|---|---|", *items]


def _brief(voice: Voice, request: Json) -> list[str]:
    """A short message: facts in a row, conditions last."""
    parties = [
        f"{'de' if role == 'emisor' else 'para'} "
        + ", ".join(f"{k} {v}" if k != "nombre" else v for k, v in party_facts(voice, request[role]))
        for role in ("emisor", "receptor")
    ]
    items = [f"({number}) {text}" for number, text in enumerate(_items(voice, request), 1)]
    rest = ", ".join(f"{label.lower()} {value}" for label, value in said_once(voice, request))
    opening = voice.pick("Va solicitud:", "Favor de facturar:", "Pendiente de emitir:")
    return [f"{opening} CFDI {' '.join(parties)}.", *items, rest + "."]


def _items(voice: Voice, request: Json) -> list[str]:
    if request["tipo"] == "P":
        return [payment_facts(voice, one) for one in request["pagos"]]
    return [line_facts(voice, one) for one in request["conceptos"]]


FORMS: tuple[Form, ...] = (_sheet, _letter, _dictation, _table, _brief)
