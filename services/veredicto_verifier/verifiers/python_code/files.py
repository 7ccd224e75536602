"""Formats `unittest` and `pytest`: the author's test files, run in a process of their own against a stand-in module."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from veredicto_verifier.errors import InfraFault, TaskFault
from veredicto_verifier.sandbox.process import Child
from veredicto_verifier.verifiers.python_code.asserts import Report, result, run_with_host, run_without_program
from veredicto_verifier.verifiers.python_code.outcome import Result, Run
from veredicto_verifier.verifiers.python_code.task import FileTask

HIDDEN_FILE = "test_hidden"
MAX_TESTS = 2000


def collected(task: FileTask) -> FileTask:
    """The task with the tests that its files hold: what must be reported for every program.

    Raises:
        TaskFault: a file cannot be imported, or holds no test.
    """
    found = [(str(file), str(test)) for file, test in run_without_program(task.spec, _order(task, dry=True))]
    held = Counter(file for file, _ in found)
    for name, _ in task.files:
        if not held[name]:
            raise TaskFault("task.empty_tests", f"{name} holds no test: none was collected by {task.spec.format}")
    ids = tuple(test for _, test in found)
    if len(set(ids)) != len(ids) or len(ids) > MAX_TESTS:
        raise TaskFault("task.gold_failed", f"the names of the tests must differ, and be at most {MAX_TESTS}")
    return replace(task, ids=ids, hidden=tuple(file == HIDDEN_FILE for file, _ in found))


def run_files(task: FileTask, program: str) -> Run:
    """Load the program in one process and run the test files in another.

    Raises:
        LimitExceeded, InfraFault: see the sandbox.
    """
    return run_with_host(task, program, _order(task, dry=False), len(task.ids), _results)


def _order(task: FileTask, *, dry: bool) -> dict[str, Any]:
    return {
        "files": True,
        "awaits": True,
        "entry": None,
        "setup": task.spec.setup,
        "tests": [list(file) for file in task.files],
        "dry_run": dry,
    }


def _results(task: FileTask, report: Report, candidate: Child) -> list[Result]:
    """Results in the order of the task's tests; a test that is not reported has not run.

    Raises:
        InfraFault: a test is reported that the task does not have.
    """
    known = set(task.ids)
    results: list[Result] = []
    for (name, *outcome), hidden in zip(report.results, task.hidden, strict=False):
        results.append(result(outcome, candidate, hidden))
        if not results[-1].passed and name not in known:  # importing a file, or a fixture of a class, failed
            return results
        if name != task.ids[len(results) - 1]:
            raise InfraFault("infra.worker_lost", "other tests were reported than the task has; its order is not fixed")
    return results
