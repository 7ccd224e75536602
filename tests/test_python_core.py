"""The pack `python-core`: deterministic, disjoint, in two languages, and every task is worth something."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from veredicto_verifier.packs.checking import check_pack
from veredicto_verifier.packs.generators import python_core
from veredicto_verifier.packs.loading import comparable, load_pack
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context

FILES = python_core.build()
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
    sample = {**FILES, "tasks/train.jsonl": "".join(FILES["tasks/train.jsonl"].splitlines(keepends=True)[::12])}
    sample["tasks/test.jsonl"] = "".join(FILES["tasks/test.jsonl"].splitlines(keepends=True)[1::12])
    for relative, content in sample.items():
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    pack = load_pack(tmp_path, VERIFIERS)
    assert pack.refused == ()
    assert [finding for finding in check_pack(pack, VERIFIERS) if finding.level == "error"] == []


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
