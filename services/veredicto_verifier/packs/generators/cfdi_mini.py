"""Generate the pack cfdi-mini: invoice requests in Spanish, each with the invoice that it asks for as ground truth."""

from __future__ import annotations

import json
from typing import Any

from lxml import etree

from veredicto_verifier.packs.generators.cfdi_requests import CATEGORIES, draw_request
from veredicto_verifier.packs.generators.cfdi_wording import describe
from veredicto_verifier.verifiers.cfdi.expected import expect
from veredicto_verifier.verifiers.cfdi.reference import write_reference
from veredicto_verifier.verifiers.cfdi.request import Request

NAME = "cfdi-mini"
VERSION = "1.0.0"
NUM_TRAIN, NUM_TEST = 8, 3
"""Per category."""
EXAMPLES = ("iva_16", "retenciones")
"""Categories that the few-shot examples show; their values occur in no task."""

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
        "examples.jsonl": _lines(_example(name) for name in EXAMPLES),
    }


def _task(split: str, category: str, number: int) -> dict[str, Any]:
    request = draw_request(category, f"{split}/{number}")
    num_taxes = sum(len(line["traslados"]) + len(line["retenciones"]) for line in request["conceptos"])
    return {
        "id": f"{category}-{number:03}",
        "category": category,
        "difficulty": round(min(1.0, 0.2 + 0.1 * num_taxes), 2),
        "prompt": describe(request),
        "verifier": "cfdi",
        "spec": {"request": request},
    }


def _example(category: str) -> dict[str, Any]:
    request = draw_request(category, "example")
    typed = Request.model_validate(request)
    root = write_reference(typed, expect(typed, 2))
    etree.indent(root)
    text = etree.tostring(root, encoding="unicode")
    return {"category": category, "prompt": describe(request), "completion": text}


def _lines(records: Any) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
