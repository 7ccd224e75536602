"""Wrong specs of `python` are refused with their place, before any program is judged; right ones are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Context

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases" / "python_specs.jsonl").read_text().splitlines()]
REFUSED = [case for case in CASES if "code" in case]
HONEST = [case for case in CASES if "code" not in case]


def prepare(spec: dict[str, Any]) -> None:
    VERIFIERS["python"].prepare(parse_spec("python", spec, VERIFIERS), Context())


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["name"])
def test_a_wrong_spec_is_refused_with_its_place(case: dict[str, Any]) -> None:
    with pytest.raises(TaskFault) as raised:
        prepare(case["spec"])
    assert raised.value.code == case["code"]
    assert raised.value.message.startswith(case["place"])


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case["name"])
def test_an_honest_spec_is_taken(case: dict[str, Any]) -> None:
    prepare(case["spec"])


def test_a_test_that_passes_what_cannot_cross_is_refused_by_its_reference() -> None:
    spec = {
        "format": "asserts",
        "tests": ["class Node:\n    value = 1\nassert f(Node()) == 1"],
        "reference": "def f(node):\n    return node.value\n",
    }
    with pytest.raises(TaskFault) as raised:
        prepare(spec)
    assert raised.value.message == "$.tests: what a test passes cannot cross to a program (Node)"
