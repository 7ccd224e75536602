"""What `pack check` finds out about a `python` task by running it: is the reference stable, do wrong programs fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Literal

from veredicto_verifier.errors import LimitExceeded
from veredicto_verifier.packs.python_mutants import KINDS, mutants, stub
from veredicto_verifier.verifier import Answer, Completion, Limits
from veredicto_verifier.verifiers.python_code import judge

NUM_RUNS = 3
MAX_MUTANTS_OF_A_KIND = 4
_CPU_S = 1.0
"""A mutant that loops should not hold up the check."""


def lint_by_running(spec: Any, task: Any) -> Iterator[tuple[Literal["error", "lint"], str, str]]:
    """A reference that does not pass every time, a stub that passes, mutants that pass."""
    if spec.language != "python":
        return
    if spec.reference is None:
        yield (
            "lint",
            "lint.no_reference",
            "there is no reference, so nothing shows that the task can be passed; add one",
        )
        return
    outcomes = [_passes(task, spec.reference) for _ in range(NUM_RUNS)]
    if not all(outcomes):
        yield "error", "lint.unstable", f"the reference passes {sum(outcomes)} of {NUM_RUNS} runs; remove what varies"
    fast = _with_less_time(task)
    if _passes(fast, stub(spec.reference)):
        yield "error", "lint.stub_passes", "a program that answers nothing passes; add cases that it fails"
    try:
        ast.parse(spec.reference)
    except SyntaxError:
        return
    survivors = list(_survivors(fast, spec.reference))
    if survivors:
        shown = ", ".join(survivors[:5])
        yield (
            "lint",
            "lint.mutants_survive",
            f"{len(survivors)} small mistakes in the reference go unnoticed ({shown}); add cases that tell them apart",
        )


def _survivors(task: Any, reference: str) -> Iterator[str]:
    """`kind in line n` of each mutant that passes."""
    everything = list(mutants(reference))
    for kind in KINDS:
        for mutant in islice((one for one in everything if one.kind == kind), MAX_MUTANTS_OF_A_KIND):
            if _passes(task, mutant.program):
                yield f"{kind} in line {mutant.line}"


def _passes(task: Any, program: str) -> bool:
    try:
        return judge(task, Answer(program, Completion(program))).passed
    except LimitExceeded:
        return False


def _with_less_time(task: Any) -> Any:
    limits: Limits = task.spec.limits
    less = limits.model_copy(update={"cpu_s": min(limits.cpu_s, _CPU_S)})
    return replace(task, spec=task.spec.model_copy(update={"limits": less}))
