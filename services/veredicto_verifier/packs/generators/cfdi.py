"""Generate the pack cfdi: invoice requests in Spanish, each with the request itself as ground truth."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from veredicto_verifier.packs.cfdi_invoices import written_invoice
from veredicto_verifier.packs.generators.cfdi_lines import LEVELS
from veredicto_verifier.packs.generators.cfdi_requests import CATEGORIES, draw_request
from veredicto_verifier.packs.generators.cfdi_wording import describe
from veredicto_verifier.verifiers.cfdi.request import Request

NAME = "cfdi"
VERSION = "1.0.0"
NUM_TRAIN, NUM_TEST = 15, 5
"""Per category."""
EXAMPLES = ("iva_16", "honorarios", "nota_credito", "pago_parcialidades")
"""Categories that the few-shot examples show; their parties occur in no task."""
CURRENCIES = {"MXN": 2, "USD": 2, "EUR": 2, "XXX": 0}
"""Decimals of the currencies that occur."""
NUM_DEMONSTRATIONS = 3
"""Per category, one a level."""

PACK_TOML = f"""\
name = "{NAME}"
version = "{VERSION}"
licence = "Apache-2.0"
language = "es-MX"
description = "Solicitudes de factura en español; la respuesta es un CFDI 4.0 sin sellar, comparado con la solicitud."
"""


def build() -> dict[str, str]:
    """The pack's files by relative path; the same on every call and machine."""
    return {
        "pack.toml": PACK_TOML,
        "tasks/train.jsonl": _lines(_task("train", name, at) for name in CATEGORIES for at in range(NUM_TRAIN)),
        "tasks/test.jsonl": _lines(_task("test", name, at) for name in CATEGORIES for at in range(NUM_TEST)),
        "examples.jsonl": _lines(_shown(name, NUM_DEMONSTRATIONS) for name in EXAMPLES),
        "demonstrations/train.jsonl": _lines(
            _shown(name, at) for name in CATEGORIES for at in range(NUM_DEMONSTRATIONS)
        ),
    }


def _task(split: str, category: str, number: int) -> dict[str, Any]:
    request = draw_request(category, split, number)
    level = 1 + number % 3
    return {
        "id": f"{category}-{number:03}",
        "category": category,
        "difficulty": LEVELS[level],
        "prompt": describe(request, f"{category}/{split}/{number}", level),
        "verifier": "cfdi",
        "spec": {"request": request},
    }


def _shown(category: str, number: int) -> dict[str, Any]:
    """A request with the invoice that fulfils it; its parties are of no task."""
    request = draw_request(category, "shown", number)
    prompt = describe(request, f"{category}/shown/{number}", 1 + number % 3)
    return {"category": category, "prompt": prompt, "completion": _invoice(request)}


def _invoice(request: dict[str, Any]) -> str:
    return written_invoice(Request.model_validate(request), CURRENCIES, indent=True)


def _lines(records: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
