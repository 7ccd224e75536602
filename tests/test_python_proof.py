"""What `pack check` says of a `python` task by running it."""

from __future__ import annotations

import ast
import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.packs.checking import check_task
from veredicto_verifier.packs.lints import lint_task
from veredicto_verifier.packs.pack import Pack, PackTask
from veredicto_verifier.packs.python_mutants import KINDS, mutants, stub
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.sandbox import launcher
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Context

EVERYTHING = """
def f(values, low=1):
    total, words = 0, []
    for n in range(len(values)):
        value = values[n]
        if value < low or not value:
            continue
        if value == 9 and True:
            break
        total += value * 2
        words.append("w")
    head = values[:2]
    return max(total, -1), head, words
"""


def found(spec: dict[str, Any]) -> dict[str, tuple[str, str]]:
    typed = parse_spec("python", spec, VERIFIERS)
    task = VERIFIERS["python"].prepare(typed, Context())
    return {code: (level, text) for level, code, text in lint_task("python", typed, task)}


def calls(entry: str, reference: str | None, *cases: tuple[list[Any], Any]) -> dict[str, Any]:
    rows = [{"args": args, "expected": expected} for args, expected in cases]
    return {"format": "calls", "entry": entry, "cases": rows, "reference": reference}


def test_every_kind_of_mistake_is_made_and_each_mutant_is_another_program() -> None:
    made = list(mutants(EVERYTHING))
    assert {one.kind for one in made} == set(KINDS)
    assert len(KINDS) >= 10
    texts = [one.program for one in made]
    assert len(set(texts)) == len(texts)
    assert ast.unparse(ast.parse(EVERYTHING)) not in texts


def test_a_strong_task_has_no_finding() -> None:
    program = "def add(a, b):\n    return a + b\n"
    assert found(calls("add", program, ([1, 2], 3), ([0, 5], 5), ([-1, -1], -2))) == {}


def test_weak_cases_let_mutants_live() -> None:
    program = "def clip(x):\n    return 10 if x > 10 else x\n"
    weak = found(calls("clip", program, ([1], 1), ([2], 2), ([3], 3)))
    assert weak["lint.mutants_survive"][0] == "lint"
    assert "number" in weak["lint.mutants_survive"][1]


def test_a_stub_that_passes_is_an_error() -> None:
    program = "def f(x):\n    return None\n"
    assert found(calls("f", program, ([1], None), ([2], None), ([3], None)))["lint.stub_passes"][0] == "error"


def test_a_reference_that_varies_is_an_error() -> None:
    program = "import os\ndef f(x):\n    return 1 if os.urandom(1)[0] % 2 else 2\n"
    for _ in range(40):
        with contextlib.suppress(TaskFault):  # half of the time the task does not even load
            if "lint.unstable" in found(calls("f", program, ([1], 1), ([1], 1))):
                return
    pytest.fail("never caught")


def test_hidden_tests_that_a_task_declares_count_as_cases_and_a_test_file_needs_none() -> None:
    program = "def add(a, b):\n    return a + b\n"
    declared = {**calls("add", program, ([1, 2], 3)), "perturbed": [{"kind": "integer"}]}
    assert "lint.few_cases" not in found(declared)
    assert "lint.few_cases" in found(calls("add", program, ([1, 2], 3)))
    file = "import unittest\nfrom solution import add\nclass T(unittest.TestCase):\n    def test_it(self):\n"
    assert "lint.few_cases" not in found(
        {"format": "unittest", "tests": f"{file}        self.assertEqual(add(1, 2), 3)\n"}
    )


def test_a_task_without_a_reference_is_weak() -> None:
    assert "lint.no_reference" in found(calls("f", None, ([1], 1), ([2], 2), ([3], 3)))


def test_a_stub_answers_nothing() -> None:
    assert "return None" in stub("def f(x):\n    return x\n")
    assert stub("print(1)\n") == "pass\n"


def test_a_sandbox_that_is_lost_is_a_finding_and_the_next_task_is_checked() -> None:
    spec = calls("add", "def add(a, b):\n    return a + b\n", ([1, 2], 3), ([0, 5], 5), ([-1, -1], -2))
    task = PackTask("1", "train", "Add.", "python", spec, where="tasks/train.jsonl:1")
    pack = Pack(Path(), "p", "1", "none", "en", "", "sha256:0", {"train": {"1": task}})
    assert check_task(task, pack, VERIFIERS) == []
    os.kill(launcher._ZYGOTES["python"].pid, signal.SIGKILL)
    assert [finding.code for finding in check_task(task, pack, VERIFIERS)] == ["infra.worker_lost"]
    assert check_task(task, pack, VERIFIERS) == []
