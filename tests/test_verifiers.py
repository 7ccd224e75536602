"""Every verifier has a case table, a doc page and honest probes; every case gives its verdict, twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.extraction import CODES
from veredicto_verifier.judging import judge
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Completion, Context, ToolCall, reward

CASES = Path(__file__).parent / "cases"
DOCS = Path(__file__).parent.parent / "docs" / "verifiers"
KINDS = {"full", "zero", "malformed", "hack", "determinism"}


def case_table(name: str) -> list[dict[str, Any]]:
    lines = (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def all_cases() -> list[Any]:
    cases = []
    for name in VERIFIERS:
        for case in case_table(name):
            cases.append(pytest.param(name, case, id=f"{name}-{case['kind']}-{case['name']}"))
    return cases


def completion_of(case: dict[str, Any]) -> Completion:
    if isinstance(case["completion"], str):
        return Completion(case["completion"])
    calls = tuple(ToolCall(**call) for call in case["completion"]["calls"])
    return Completion(case["completion"].get("text", ""), calls)


def verdict(name: str, case: dict[str, Any]) -> dict[str, Any]:
    verifier = VERIFIERS[name]
    try:
        spec = parse_spec(name, case["spec"], VERIFIERS)
        task = verifier.prepare(spec, Context(verifiers=VERIFIERS))
        grade, answer = judge(verifier, task, spec, completion_of(case))
    except TaskFault as fault:
        return {"error": fault.code}
    except LimitExceeded as limit:
        return {"limit": limit.what}
    return {
        "reward": reward(spec, grade),
        "codes": [check.code for check in grade.checks if not check.passed],
        "flags": [flag.name for flag in grade.flags],
        "answer": answer,
        "grade": grade,
    }


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_a_case_gives_its_verdict_twice(name: str, case: dict[str, Any]) -> None:
    first, second = verdict(name, case), verdict(name, case)
    first_cpu, second_cpu = first.pop("grade", None), second.pop("grade", None)
    assert first == second
    if "error" in case:
        assert first == {"error": case["error"]}
        return
    if "limit" in case:
        assert first == {"limit": case["limit"]}
        return
    assert first_cpu is not None
    assert second_cpu is not None
    assert first_cpu.checks == second_cpu.checks
    assert first["reward"] == pytest.approx(case["reward"], abs=1e-9), first
    assert "code" not in case or case["code"] in first["codes"], first
    assert set(case.get("flags", [])) <= set(first["flags"]), first
    for check in first_cpu.checks:
        assert check.passed == (check.code is None)
        assert len(check.reason) <= 300
        assert 0.0 <= check.score <= 1.0
        assert check.code is None or check.code in known_codes(name), check.code
    for flag in first_cpu.flags:
        assert len(flag.evidence) <= 300


def known_codes(name: str) -> set[str]:
    extraction = set(CODES)
    own = set(VERIFIERS[name].codes)
    if name == "all":
        own |= {code for verifier in VERIFIERS.values() for code in verifier.codes}
    return own | extraction


@pytest.mark.parametrize("name", VERIFIERS)
def test_a_case_table_holds_every_kind(name: str) -> None:
    assert {case["kind"] for case in case_table(name)} >= KINDS


@pytest.mark.parametrize("name", VERIFIERS)
def test_a_doc_page_names_every_code_flag_and_field(name: str) -> None:
    verifier = VERIFIERS[name]
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    fields = [field.alias or name for name, field in verifier.spec.model_fields.items()]
    words = [*verifier.codes, *verifier.flags, *fields]
    assert [word for word in words if f"`{word}`" not in page] == []


@pytest.mark.parametrize("name", VERIFIERS)
def test_the_probes_of_the_example_pass_and_fail(name: str) -> None:
    verifier = VERIFIERS[name]
    good = verdict(name, {"spec": verifier.example, "completion": verifier.good})
    bad = verdict(name, {"spec": verifier.example, "completion": verifier.bad})
    assert good["reward"] == 1.0, good
    assert bad["reward"] == 0.0, bad
