"""The pack `python-core`: deterministic, disjoint, in two languages, and every task is worth something."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from veredicto_verifier.packs.checking import check_pack
from veredicto_verifier.packs.generators import python_core
from veredicto_verifier.packs.generators.core_equivalents import EQUIVALENT
from veredicto_verifier.packs.loading import comparable, load_pack
from veredicto_verifier.packs.python_mutants import mutants
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context

FILES = python_core.build()
PROBLEMS = [problem.names for problem in python_core.PROBLEMS]
CATEGORIES = {"strings", "numbers", "collections", "dates", "parsing", "money"}


def tasks(split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILES[f"tasks/{split}.jsonl"].splitlines()]


def test_it_is_built_the_same_twice() -> None:
    assert python_core.build() == FILES


def test_it_is_large_enough_in_both_languages_and_every_task_has_hidden_cases() -> None:
    everything = [*tasks("train"), *tasks("test")]
    assert len(everything) >= 200
    languages = Counter("es" if task["prompt"].startswith("Escribe") else "en" for task in everything)
    assert languages["es"] == languages["en"] == len(everything) / 2
    assert {task["category"] for task in everything} == CATEGORIES
    for task in everything:
        hidden = Counter(case["hidden"] for case in task["spec"]["cases"])
        assert hidden[False] == 3
        assert hidden[True] >= 10
        assert task["spec"]["reference"] not in task["prompt"]


def test_no_prompt_stands_twice() -> None:
    prompts = [comparable(task["prompt"]) for split in ("train", "test") for task in tasks(split)]
    assert len(set(prompts)) == len(prompts)


def test_pack_check_finds_no_error_in_a_sample_of_it(tmp_path: Path) -> None:
    sample = {**FILES, "tasks/train.jsonl": "".join(FILES["tasks/train.jsonl"].splitlines(keepends=True)[::24])}
    sample["tasks/test.jsonl"] = "".join(FILES["tasks/test.jsonl"].splitlines(keepends=True)[1::24])
    for relative, content in sample.items():
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    pack = load_pack(tmp_path, VERIFIERS)
    assert pack.refused == ()
    findings = check_pack(pack, VERIFIERS)
    assert [finding for finding in findings if finding.level == "error"] == []
    alike = {name for names in PROBLEMS for name in names if any(known[0] == names[0] for known in EQUIVALENT)}
    weak = [finding.where for finding in findings if finding.code == "lint.mutants_survive"]
    entries = {task.where: task.spec["entry"] for tasks in pack.tasks.values() for task in tasks.values()}
    assert {entries[where] for where in weak} <= alike


@pytest.mark.parametrize(("name", "parameter", "kind"), EQUIVALENT)
def test_a_mutant_that_is_called_equivalent_answers_every_case_as_the_reference_does(
    name: str, parameter: str, kind: str
) -> None:
    task = _of(name)[parameter]
    assert any(_answers(mutant.program, task) for mutant in mutants(task["spec"]["reference"]) if mutant.kind == kind)


def _of(name: str) -> dict[str, dict[str, Any]]:
    """The tasks of a problem in English by parameter."""
    parameters = next(problem.parameters for problem in python_core.PROBLEMS if problem.names[0] == name)
    found = [task for split in ("train", "test") for task in tasks(split) if task["spec"]["entry"] == name]
    return dict(zip(parameters, found, strict=True))


def _answers(program: str, task: dict[str, Any]) -> bool:
    namespace: dict[str, Any] = {}
    exec(compile(program, "mutant", "exec", dont_inherit=True), namespace)
    entry = namespace[task["spec"]["entry"]]
    try:
        return all(entry(*case["args"]) == case["expected"] for case in task["spec"]["cases"])
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return False


def test_a_third_of_the_problems_declare_further_hidden_tests() -> None:
    declared = [problem for problem in python_core.PROBLEMS if problem.perturbed or problem.metamorphic]
    assert 3 * len(declared) >= len(python_core.PROBLEMS)
    assert any(problem.perturbed for problem in declared)
    assert any(problem.metamorphic for problem in declared)


@pytest.mark.parametrize("task", [*tasks("train"), *tasks("test")], ids=lambda task: task["spec"]["entry"])
def test_its_reference_earns_everything_and_a_constant_nothing(task: dict[str, Any]) -> None:
    verifier = VERIFIERS["python"]
    prepared = verifier.prepare(parse_spec("python", task["spec"], VERIFIERS), Context())
    entry = task["spec"]["entry"]
    programs = {
        task["spec"]["reference"]: True,
        f"def {entry}(*args):\n    return None\n": False,
        f"def {entry}(*args):\n    return {task['spec']['cases'][0]['expected']!r}\n": False,
    }
    for program, passes in programs.items():
        assert verifier.grade(prepared, Answer(program, Completion(program))).passed is passes, program
