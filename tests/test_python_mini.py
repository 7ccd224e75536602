"""The pack `python-mini`: deterministic, disjoint, and every task is worth something."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from veredicto_verifier.judging import judge
from veredicto_verifier.packs.generators import python_mini
from veredicto_verifier.packs.loading import comparable, load_pack
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Completion, Context, reward


def tasks(split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in python_mini.build()[f"tasks/{split}.jsonl"].splitlines()]


def test_it_is_built_the_same_twice() -> None:
    assert python_mini.build() == python_mini.build()


def test_it_is_large_enough_and_every_task_has_hidden_cases() -> None:
    train, test = tasks("train"), tasks("test")
    assert len(train) >= 40
    assert len(test) >= 15
    for split in (train, test):
        assert len({task["category"] for task in split}) >= 4
        for task in split:
            hidden = Counter(case["hidden"] for case in task["spec"]["cases"])
            assert hidden[False] == 3
            assert hidden[True] >= 3


def test_no_prompt_shows_the_reference_or_stands_in_both_splits() -> None:
    train, test = tasks("train"), tasks("test")
    assert not {comparable(task["prompt"]) for task in train} & {comparable(task["prompt"]) for task in test}
    for task in (*train, *test):
        assert task["spec"]["reference"] not in task["prompt"]


def test_it_loads_as_a_pack_without_refusals(tmp_path: Path) -> None:
    for relative, content in python_mini.build().items():
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    pack = load_pack(tmp_path, VERIFIERS)
    assert pack.refused == ()
    assert set(pack.tasks) == {"train", "test"}


@pytest.mark.parametrize("task", [*tasks("train"), *tasks("test")], ids=lambda task: task["spec"]["entry"])
def test_its_reference_earns_everything_and_a_constant_nothing(task: dict[str, Any]) -> None:
    verifier = VERIFIERS["python"]
    spec = parse_spec("python", task["spec"], VERIFIERS)
    prepared = verifier.prepare(spec, Context())
    entry = task["spec"]["entry"]
    programs = {
        task["spec"]["reference"]: 1.0,
        f"def {entry}(*args):\n    return None\n": 0.0,
        f"def {entry}(*args):\n    return {task['spec']['cases'][0]['expected']!r}\n": 0.0,
    }
    for program, earned in programs.items():
        grade, _ = judge(verifier, prepared, spec, Completion(f"```python\n{program}```"))
        assert reward(spec, grade) == earned, grade.checks
