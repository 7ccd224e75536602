"""Weak prompts of cfdi tasks, for `pack check`: facts left unsaid, answers given away, requests made twice."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from veredicto_verifier.packs.cfdi_sums import sums_of
from veredicto_verifier.packs.pack import Pack, PackTask, Prompt

Place = tuple[str, str, str]
"""Where a task stands, the lint's code, the message."""

Json = Mapping[str, Any]
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split()
TEXTS = ("rfc", "nombre", "regimen_fiscal", "domicilio_fiscal", "uso_cfdi")
LINE_TEXTS = ("clave_prod_serv", "clave_unidad", "descripcion", "no_identificacion")
AMOUNTS = ("cantidad", "valor_unitario", "descuento", "monto", "tipo_cambio", "saldo_anterior", "importe_pagado")


def unsaid(prompt: str, request: Json) -> list[str]:
    """Paths of the request's facts that the prompt does not state in any usual form."""
    numbers = _numbers(prompt)
    missing = [path for path, text in _texts(request) if text not in prompt]
    missing += [path for path, amount in _amounts(request, "") if Decimal(amount) not in numbers]
    missing += [path for path, moment in _moments(request) if not _says_moment(prompt, moment)]
    return missing


def told(prompt: str, request: Json) -> list[str]:
    """What the prompt gives away: markup of the answer, or a sum that the answer has to find."""
    found = ["markup"] if "<cfdi:" in prompt or "<pago20:" in prompt else []
    numbers, given = _numbers(prompt), {Decimal(amount) for _path, amount in _amounts(request, "")}
    for name, exact in sums_of(request).items():
        value = Decimal(round(exact * 100)) / 100
        if value and value in numbers and value not in given:
            found.append(name)
    return found


def lint_requests(pack: Pack) -> Iterator[Place]:
    """Weak prompts of a pack's cfdi tasks, and requests that are made twice in other words."""
    asked = [task for of in pack.tasks.values() for task in of.values() if task.verifier == "cfdi"]
    first: dict[str, PackTask] = {}
    for task in asked:
        request = task.spec.get("request")
        if not isinstance(request, Mapping):
            continue
        yield from _weak(task, request)
        other = first.setdefault(json.dumps(request, sort_keys=True), task)
        if other is not task:
            code = "lint.twin" if other.split == task.split else "lint.overlap"
            yield task.where, code, f"asks for the invoice that {other.where} asks for; drop one of them"


def _weak(task: PackTask, request: Json) -> Iterator[Place]:
    prompt = _text(task.prompt)
    missing, given = unsaid(prompt, request), told(prompt, request)
    if missing:
        names = ", ".join(missing[:5])
        yield task.where, "lint.unsaid", f"the prompt does not say {names}, so nobody can know them"
    if given:
        yield task.where, "lint.told", f"the prompt gives {', '.join(given)} away; let the answer find it"


def _text(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(str(one.get("content") or "") for one in prompt)


def _numbers(prompt: str) -> set[Decimal]:
    return {Decimal(text.replace(",", "")) for text in NUMBER.findall(prompt)}


def _texts(request: Json) -> Iterator[tuple[str, str]]:
    for role in ("emisor", "receptor"):
        for name in TEXTS:
            if name in request[role]:
                yield f"{role}.{name}", request[role][name]
    for name in ("lugar_expedicion", "moneda", "serie", "folio", "condiciones_de_pago"):
        if request.get(name):
            yield name, request[name]
    for at, line in enumerate(request.get("conceptos", ())):
        yield from ((f"conceptos[{at}].{name}", line[name]) for name in LINE_TEXTS if line.get(name))
    for relation in request.get("relacionados", ()):
        yield from (("relacionados.uuids", uuid) for uuid in relation["uuids"])
    for payment in request.get("pagos", ()):
        yield from (("pagos.documentos.id_documento", one["id_documento"]) for one in payment["documentos"])


def _amounts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every amount of the request, wherever it stands."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in AMOUNTS and isinstance(inner, str):
                yield f"{path}{name}", inner
            else:
                yield from _amounts(inner, f"{path}{name}.")
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            yield from _amounts(inner, f"{path}{at}.")


def _moments(request: Json) -> Iterator[tuple[str, str]]:
    yield "fecha", request["fecha"]
    for payment in request.get("pagos", ()):
        yield "pagos.fecha_pago", payment["fecha_pago"]


def _says_moment(prompt: str, moment: str) -> bool:
    day, _, time = moment.partition("T")
    year, month, number = day.split("-")
    days = (day, f"{number}/{month}/{year}", f"{int(number)} de {MONTHS[int(month) - 1]} de {year}")
    return time in prompt and any(one in prompt for one in days)
