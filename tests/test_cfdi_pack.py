"""The pack cfdi-mini: the same on every build, solvable by the reference builder, and no task gives another away."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cfdi_builder import build_invoice
from veredicto_verifier.packs.generators.cfdi_mini import NAME, build
from veredicto_verifier.packs.loading import load_pack
from veredicto_verifier.verifier import Answer, Completion, Context
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return build()


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def tasks(files: dict[str, str]) -> list[dict[str, Any]]:
    return lines(files["tasks/train.jsonl"]) + lines(files["tasks/test.jsonl"])


def test_two_builds_are_equal(files: dict[str, str]) -> None:
    assert build() == files


def test_the_pack_is_large_and_varied_enough(files: dict[str, str]) -> None:
    train, test = lines(files["tasks/train.jsonl"]), lines(files["tasks/test.jsonl"])
    assert (len(train), len(test)) == (96, 36)
    assert len(Counter(task["category"] for task in train)) == 12
    assert {task["category"] for task in train} == {task["category"] for task in test}


def test_no_prompt_occurs_twice(files: dict[str, str]) -> None:
    prompts = [one["prompt"] for one in [*tasks(files), *lines(files["examples.jsonl"])]]
    assert len(set(prompts)) == len(prompts)


def test_the_loader_takes_every_task(files: dict[str, str], tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    pack = load_pack(tmp_path, {"cfdi": CFDI})
    assert pack.name == NAME
    assert pack.refused == ()
    assert {split: len(of) for split, of in pack.tasks.items()} == {"train": 96, "test": 36}


def test_the_reference_invoice_of_every_task_passes(files: dict[str, str]) -> None:
    for task in tasks(files):
        prepared = CFDI.prepare(CFDI.spec.model_validate(task["spec"]), Context())
        text = build_invoice(task["spec"]["request"])
        grade = CFDI.grade(prepared, Answer(text, Completion(text)))
        assert grade.passed, (task["id"], [check for check in grade.checks if not check.passed])
        assert grade.flags == ()


def test_the_invoice_of_one_task_fails_every_other(files: dict[str, str]) -> None:
    test = lines(files["tasks/test.jsonl"])
    for task, other in pairwise(test):
        prepared = CFDI.prepare(CFDI.spec.model_validate(task["spec"]), Context())
        text = build_invoice(other["spec"]["request"])
        assert not CFDI.grade(prepared, Answer(text, Completion(text))).passed


def test_a_prompt_says_every_fact_and_no_total(files: dict[str, str]) -> None:
    for task in tasks(files):
        request, prompt = task["spec"]["request"], task["prompt"]
        assert request["fecha"] in prompt
        for party in (request["emisor"], request["receptor"]):
            assert all(value in prompt for value in party.values())
        for line in request["conceptos"]:
            assert all(line[name] in prompt for name in ("descripcion", "cantidad", "valor_unitario"))
        assert not any(word in prompt for word in ("SubTotal", "Total:"))


def test_an_example_is_a_correct_invoice(files: dict[str, str]) -> None:
    task = CFDI.prepare(CFDI.spec.model_validate({}), Context())
    for example in lines(files["examples.jsonl"]):
        text = example["completion"]
        assert CFDI.grade(task, Answer(text, Completion(text))).passed
