"""`word-math`, `kyc-json` and `bank-tools`: the same at every build, disjoint, clean, and won only by answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from veredicto_verifier.judging import judge
from veredicto_verifier.packs.checking import check_pack
from veredicto_verifier.packs.generators import bank_tools, kyc_json, word_math
from veredicto_verifier.packs.lints import lint_task
from veredicto_verifier.packs.loading import comparable, load_pack
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Completion, Context

PACKS = {one.NAME: one.build for one in (bank_tools, kyc_json, word_math)}
FILES: dict[str, Mapping[str, str]] = {name: build() for name, build in PACKS.items()}


def rows(name: str, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILES[name][path].splitlines()]


def right_answer(task: dict[str, Any]) -> str:
    spec = task["spec"]
    if task["verifier"] == "math":
        return f"1 + 1 = 2\n#### {spec['answer']}"
    if task["verifier"] == "json":
        return json.dumps(spec["expected"], ensure_ascii=False)
    calls = [{"name": call["name"], "arguments": call["arguments"]} for call in spec["expected"]]
    if not calls:
        return f"¿{spec['refusal_words'][0]}?"
    return "".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls)


def passes(task: dict[str, Any], completion: str) -> bool:
    verifier = VERIFIERS[task["verifier"]]
    spec = parse_spec(task["verifier"], task["spec"], VERIFIERS)
    return judge(verifier, verifier.prepare(spec, Context()), spec, Completion(completion))[0].passed


@pytest.mark.parametrize("name", PACKS)
def test_two_builds_are_the_same(name: str) -> None:
    assert PACKS[name]() == FILES[name]


@pytest.mark.parametrize("name", PACKS)
def test_it_is_clean_and_large_enough(name: str, tmp_path: Path) -> None:
    for path, content in FILES[name].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content, encoding="utf-8")
    pack = load_pack(tmp_path, VERIFIERS)
    assert pack.name == name
    assert check_pack(pack, VERIFIERS) == []
    assert len(pack.tasks["train"]) >= 800
    assert len(pack.tasks["test"]) >= 200
    assert len({task.category for task in pack.tasks["train"].values()}) >= 2
    assert {re.search("-(es|en)-", task)[1] for task in pack.tasks["test"]} == {"es", "en"}  # type: ignore[index]


@pytest.mark.parametrize("name", PACKS)
def test_no_question_is_asked_twice(name: str) -> None:
    paths = ("tasks/train.jsonl", "tasks/test.jsonl", "examples.jsonl")
    prompts = [row["prompt"] for path in paths for row in rows(name, path)]
    assert len({comparable(prompt) for prompt in prompts}) == len(prompts)


@pytest.mark.parametrize("name", PACKS)
def test_a_task_is_won_by_its_answer_and_not_by_its_neighbours(name: str) -> None:
    tasks = rows(name, "tasks/test.jsonl")
    neighbours = [*tasks[1:], tasks[0]]
    won_by_others = 0
    for task, other in zip(tasks, neighbours, strict=True):
        assert passes(task, right_answer(task)), task["id"]
        won_by_others += passes(task, right_answer(other))
        assert not passes(task, "I cannot do that. No puedo hacerlo.")
    # A refusal with the same reason is the right answer to the next refusal too.
    assert won_by_others <= (len(tasks) // 2 if name == "bank-tools" else len(tasks) // 20)


@pytest.mark.parametrize("name", PACKS)
def test_one_constant_wins_few_tasks(name: str) -> None:
    tasks = rows(name, "tasks/test.jsonl")
    constants = {right_answer(task) for task in tasks}
    most = max(sum(passes(task, answer) for task in tasks) for answer in sorted(constants)[:40])
    assert most <= len(tasks) * 0.1 + 1


def test_a_worked_example_is_right_in_every_step() -> None:
    for row in rows("word-math", "examples.jsonl"):
        answer = row["completion"].rpartition("#### ")[2]
        task = {"verifier": "math", "spec": {"answer": answer, "steps": True, "min_steps": 2}}
        assert passes(task, row["completion"]), row["completion"]


def _farm(hens: float, eggs: float, weeks: float, days: float, broken: float, dozen: float, *rest: float) -> float:
    price, feed = rest
    return (hens * eggs * weeks * days - broken) / dozen * price - feed


def _payroll(clerks: float, wage: float, bosses: float, days: float, tax: float, fund: float) -> float:
    return (clerks + 2 * bosses) * wage * days * (100 - tax) / 100 - fund


LONG: dict[str, Callable[..., float]] = {
    "loan": lambda loan, rate, pay, months, late, fine: loan * (100 + rate) / 100 - pay * months + late * fine,
    "event": lambda a, ap, c, cp, hall, people, wage: (a * ap + c * cp - hall - people * wage) / 2,
    "farm": _farm,
    "payroll": _payroll,
}
"""The answer from the numbers in the order in which the prompt tells them, written apart from the generator."""


def test_a_long_story_asks_for_its_gold() -> None:
    seen = set()
    for task in rows("word-math", "tasks/test.jsonl"):
        name = task["id"].split("-")[0]
        if name in LONG:
            numbers = [float(found) for found in re.findall(r"\d+", task["prompt"].partition("\n")[0])]
            assert LONG[name](*numbers) == pytest.approx(float(task["spec"]["answer"])), task["prompt"]
            seen.add(name)
    assert seen == set(LONG)


@pytest.mark.parametrize(
    ("name", "weak", "code", "sound"),
    [
        ("json", {"schema": {"type": "object"}}, "lint.trivial", {"schema": {"type": "object", "required": ["a"]}}),
        (
            "json",
            {"schema": {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}},
            "lint.echo",
            {"schema": {"properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}, "expected": {"a": "y"}},
        ),
        ("static", {"language": "python"}, "lint.no_requirement", {"language": "python", "require": ["def:f"]}),
        (
            "tools",
            {"tools": [{"name": "f"}], "expected": []},
            "lint.any_words",
            {"tools": [{"name": "f"}], "expected": [], "refusal_words": ["limit"]},
        ),
    ],
)
def test_a_task_that_one_constant_passes_is_pointed_out(
    name: str, weak: dict[str, Any], code: str, sound: dict[str, Any]
) -> None:
    def found(raw: dict[str, Any]) -> list[str]:
        spec = parse_spec(name, raw, VERIFIERS)
        return [finding[1] for finding in lint_task(name, spec, VERIFIERS[name].prepare(spec, Context()))]

    assert found(weak) == [code]
    assert found(sound) == []
