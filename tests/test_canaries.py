"""Canaries: programs that must fail, and what happens when one passes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veredicto_verifier.errors import InfraFault
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context
from veredicto_verifier.verifiers import python_code
from veredicto_verifier.verifiers.python_code import asserts, calls, canaries


@pytest.fixture(autouse=True)
def fresh_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_code, "_WATCH", canaries.Watch(python_code._passes))


def judge_the_example() -> bool:
    verifier = VERIFIERS["python"]
    spec = parse_spec("python", verifier.example, VERIFIERS)
    text = "def add(a, b):\n    return a + b\n"
    return verifier.grade(verifier.prepare(spec, Context()), Answer(text, Completion(text))).passed


def test_with_a_sound_sandbox_no_canary_passes() -> None:
    assert judge_the_example()
    assert python_code._WATCH._passed == []


def test_a_comparison_that_believes_everything_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "same_value", lambda *_args: True)
    for _ in range(2):
        with pytest.raises(InfraFault, match="must fail"):
            judge_the_example()


def test_verdicts_come_back_with_the_round_in_which_every_canary_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(calls, "same_value", lambda *_args: True)
        with pytest.raises(InfraFault, match="must fail"):
            judge_the_example()
    assert judge_the_example()


OWN_SPEC = {"format": "calls", "entry": "f", "cases": [{"args": [1], "expected": 1}], "limits": {"cpu_s": 1}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "cannot be read"),
        ("[1]", "cannot be read"),
        ('{"a": {"spec": {}}}', "cannot be read"),
        ('{"a": {"spec": {}, "program": ""}}', "mend it"),
        ('{"a": {"spec": {"format": "calls", "entry": "f"}, "program": ""}}', "mend it"),
        (json.dumps({"mine": {"spec": OWN_SPEC, "program": "def f(x):\n    return x\n"}}), r"must fail \(mine\)"),
        (json.dumps({"mine": {"spec": OWN_SPEC, "program": "def f(x):\n    return 2\n"}}), None),
        (json.dumps({"mine": {"spec": OWN_SPEC, "program": "while True: pass\n"}}), None),
    ],
)
def test_an_operator_adds_canaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, said: str | None
) -> None:
    path = tmp_path / "canaries.json"
    path.write_text(content, encoding="utf-8")
    monkeypatch.setenv(canaries.CANARIES_SWITCH, str(path))
    if said is None:
        assert judge_the_example()
    else:
        with pytest.raises(InfraFault, match=said):
            judge_the_example()


def test_tests_that_are_not_run_give_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asserts, "result", lambda *_args: calls.PASSED)
    with pytest.raises(InfraFault, match="under tests"):
        judge_the_example()


def test_they_run_again_after_so_many_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canaries, "EVERY", 3)
    assert all(judge_the_example() for _ in range(2))
    monkeypatch.setattr(calls, "same_value", lambda *_args: True)
    assert judge_the_example()
    with pytest.raises(InfraFault):
        judge_the_example()
