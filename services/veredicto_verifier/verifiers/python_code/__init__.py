"""Verifier `python`: run a program in a confined process and judge what it answers, from outside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.sandbox.exec_policy import interpreter_digests
from veredicto_verifier.verifier import Answer, Context, Grade, Verifier
from veredicto_verifier.verifiers.python_code.asserts import dry_run, run_asserts
from veredicto_verifier.verifiers.python_code.calls import run_calls
from veredicto_verifier.verifiers.python_code.canaries import Watch
from veredicto_verifier.verifiers.python_code.checking import prove_checker
from veredicto_verifier.verifiers.python_code.files import collected, run_files
from veredicto_verifier.verifiers.python_code.held_out import extended
from veredicto_verifier.verifiers.python_code.outcome import CODES, FLAGS, Run, grade
from veredicto_verifier.verifiers.python_code.signals import signals
from veredicto_verifier.verifiers.python_code.spec import PythonSpec
from veredicto_verifier.verifiers.python_code.stdio import run_stdio
from veredicto_verifier.verifiers.python_code.task import (
    AssertTask,
    CallTask,
    FileTask,
    PythonTask,
    StdioTask,
    build_task,
)

_GOLD_SHARE = 0.1
"""A reference may use this share of the CPU limit; a program that is merely slower than it then has room."""


def prepare(spec: PythonSpec, _context: Context) -> PythonTask:
    """Build the task and prove it: the setup runs, and the reference, when there is one, passes.

    Raises:
        TaskFault: `task.empty_tests`, `task.gold_failed`, `task.gold_timeout` or `task.gold_volatile`.
    """
    task = build_task(spec)
    if isinstance(task, AssertTask) and spec.setup.strip():
        dry_run(task)
    if isinstance(task, FileTask):
        task = collected(task)
    proven = bool(spec.checker) and prove_checker(spec, () if spec.reference else _right_answers(task))
    if spec.reference is None:
        return replace(task, checker_proven=proven) if isinstance(task, CallTask | StdioTask) else task
    try:
        if isinstance(task, CallTask):
            task = extended(task)
        run = _run(task, spec.reference)
    except LimitExceeded as limit:
        raise TaskFault("task.gold_timeout", f"the reference exceeds the {limit.what} limit") from limit
    failed = [result for result in (run.load, *run.results) if not result.passed]
    if failed:
        raise TaskFault("task.gold_failed", f"the reference does not pass: {failed[0].code}: {failed[0].reason}"[:300])
    if run.largest_cpu_s > _GOLD_SHARE * spec.limits.cpu_s:
        raise TaskFault(
            "task.gold_timeout",
            f"the reference needs {run.largest_cpu_s:.2f} s of CPU, over a tenth of cpu_s; raise limits.cpu_s",
        )
    return replace(task, checker_proven=True) if isinstance(task, CallTask | StdioTask) else task


def _right_answers(task: PythonTask) -> list[tuple[Any, Any]]:
    """What was given and what is expected, of the cases that say what is expected; none unless all do."""
    name = "expected" if isinstance(task, CallTask) else "stdout"
    if not all(name in case.model_fields_set for case in task.spec.cases):
        return []
    if isinstance(task, CallTask):
        return [(list(call.args), call.expected) for call in task.calls]
    return [(case.stdin, case.stdout) for case in task.spec.cases]


def judge(task: PythonTask, answer: Answer) -> Grade:
    """Run the program of an answer against the task's cases or tests.

    Raises:
        LimitExceeded: it used up its CPU, wall time or memory.
        TaskFault: the task's checker raised, and nothing has shown that it works.
        InfraFault: the sandbox failed, a canary passed, or the machine is too busy to be fair.
    """
    _WATCH.count()
    program = answer.text.removeprefix("\ufeff")  # the mark at the start of a file, which Python takes
    return grade(_run(task, program), task.hidden, signals(program, task.spec))


def _run(task: PythonTask, program: str) -> Run:
    if isinstance(task, CallTask):
        return run_calls(task, program)
    if isinstance(task, AssertTask):
        return run_asserts(task, program)
    if isinstance(task, FileTask):
        return run_files(task, program)
    return run_stdio(task, program)


def _passes(spec: PythonSpec, program: str) -> bool:
    task = prepare(spec, Context())
    try:
        return grade(_run(task, program), task.hidden, ()).passed
    except LimitExceeded:
        return False


_WATCH = Watch(_passes)


VERIFIER: Verifier[PythonSpec, PythonTask] = Verifier(
    name="python",
    version="1.5.2",
    lane="python",
    spec=PythonSpec,
    auto=lambda spec: "fence:python" if spec.language == "python" else "fence",
    prepare=prepare,
    grade=judge,
    codes=CODES,
    flags=FLAGS,
    example={
        "format": "calls",
        "entry": "add",
        "cases": [
            {"args": [1, 2], "expected": 3},
            {"args": [-5, 5], "expected": 0},
            {"args": [10, 32], "expected": 42, "hidden": True},
        ],
        "limits": {"cpu_s": 5, "memory_mb": 512},
    },
    good="```python\ndef add(a, b):\n    return a + b\n```",
    bad="```python\ndef add(a, b):\n    return a - b\n```",
    sources=("veredicto_verifier.sandbox",),
    distributions=("landlockpy", "pyseccomp"),
    data=interpreter_digests,
)
