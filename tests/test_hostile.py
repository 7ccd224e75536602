"""Hostile programs: each ends as it must, twice, and the next program is unaffected; the corpus is large enough."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veredicto_verifier.errors import LimitExceeded
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context

HOSTILE_PROGRAMS = Path(__file__).parent / "exploits" / "hostile.jsonl"
HOSTILE = [json.loads(line) for line in HOSTILE_PROGRAMS.read_text(encoding="utf-8").splitlines()]
CASES = Path(__file__).parent / "cases" / "python.jsonl"
SPEC = {
    "format": "calls",
    "entry": "add",
    "cases": [{"args": [1, 2], "expected": 3}, {"args": [2, 3], "expected": 5}],
}
AMPLE = {"cpu_s": 20, "memory_mb": 128, "wall_s": 200}


def limits_of(case: dict[str, Any]) -> dict[str, float]:
    """Tight only where the limit is what must end the program: a slow machine must not change any other outcome."""
    tight = {"limit.cpu": {"cpu_s": 0.5}, "limit.wall": {"wall_s": 2}}
    return AMPLE | {name: value for what in case["outcomes"] for name, value in tight.get(what, {}).items()}


def outcome(program: str, limits: dict[str, float]) -> str:
    """`passed`, the first reason code, or the limit that was passed."""
    verifier = VERIFIERS["python"]
    task = verifier.prepare(parse_spec("python", {**SPEC, "limits": limits}, VERIFIERS), Context())
    try:
        grade = verifier.grade(task, Answer(program, Completion(program)))
    except LimitExceeded as limit:
        return f"limit.{limit.what}"
    return "passed" if grade.passed else next(check.code or "" for check in grade.checks if not check.passed)


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case["name"])
def test_a_hostile_program_ends_as_it_must_and_the_next_one_is_unaffected(case: dict[str, Any]) -> None:
    first, second = (outcome(case["program"], limits_of(case)) for _ in range(2))
    assert first in case["outcomes"]
    assert first == second
    assert outcome("def add(a, b):\n    return a + b\n", AMPLE) == "passed"


def test_the_corpus_holds_enough_of_each_kind() -> None:
    hacks = [case for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines()) if case["kind"] == "hack"]
    assert len({case["name"] for case in hacks}) >= 60
    assert len({case["name"] for case in HOSTILE}) >= 40
    assert len(list((Path(__file__).parent / "exploits").glob("*.py"))) >= 15
