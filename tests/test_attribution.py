"""Whose fault a failure is: the table of ways in which a worker can fail, and the verdict each of them gives."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from veredicto_verifier.attribution import decided, our_failure, repeated
from veredicto_verifier.worker import Died, Job

JOB = Job("math", "light", {"answer": "1"}, "task", 50.0, "1")


def died(number: int | None = None, *, ours: str | None = None, phase: str = "grade") -> Died:
    return Died(phase, number, ours, "")


ITEM_S_FAULT: list[tuple[str, Any, str, str]] = [
    ("segmentation fault", died(signal.SIGSEGV), "scored", "math.crash"),
    ("abort", died(signal.SIGABRT), "scored", "math.crash"),
    ("bus error", died(signal.SIGBUS), "scored", "math.crash"),
    ("cpu limit of the kernel", died(signal.SIGXCPU), "scored", "math.timeout"),
    ("our kill for its time", died(signal.SIGKILL, ours="wall"), "scored", "math.timeout"),
    ("cpu limit", {"kind": "limit", "what": "cpu", "phase": "grade"}, "scored", "math.timeout"),
    ("wall limit", {"kind": "limit", "what": "wall", "phase": "grade"}, "scored", "math.timeout"),
    ("memory limit", {"kind": "limit", "what": "memory", "phase": "grade"}, "scored", "math.memory"),
    ("gold crashes", died(signal.SIGSEGV, phase="prepare"), "invalid_task", "task.gold_failed"),
    ("gold never ends", {"kind": "limit", "what": "cpu", "phase": "prepare"}, "invalid_task", "task.gold_timeout"),
    ("gold is slow", {"kind": "task_fault", "code": "task.gold_timeout", "message": ""}, "invalid_task",
     "task.gold_timeout"),
]  # fmt: skip

OUR_FAULT: list[tuple[str, Any, bool, str]] = [
    ("a SIGKILL that is not ours", died(signal.SIGKILL), False, "infra.worker_lost"),
    ("a SIGTERM", died(signal.SIGTERM), False, "infra.worker_lost"),
    ("an exit of its own", died(None), False, "infra.worker_lost"),
    ("the container's memory", died(signal.SIGKILL), True, "infra.memory"),
    ("no time from the machine", died(signal.SIGKILL, ours="starved"), False, "infra.starved"),
    ("the sandbox starved", {"kind": "infra", "code": "infra.starved", "message": ""}, False, "infra.starved"),
    ("a bug of a verifier", {"kind": "bug", "phase": "grade", "trace": ""}, False, "infra.worker_lost"),
]


@pytest.mark.parametrize(("name", "reply", "outcome", "code"), ITEM_S_FAULT, ids=[row[0] for row in ITEM_S_FAULT])
def test_what_repeats_alone_on_a_fresh_worker_is_the_item_s(name: str, reply: Any, outcome: str, code: str) -> None:
    assert decided(reply) is None, "it does not count before it is repeated"
    verdict = repeated(JOB, reply)
    assert verdict is not None
    assert verdict.outcome == outcome
    assert code in (verdict.error_code, *(check.code for check in verdict.checks))
    assert verdict.reward == (0.0 if outcome == "scored" else None)
    crashed = code.endswith(".crash")
    assert [flag.name for flag in verdict.flags] == (["worker_crash"] if crashed else [])


@pytest.mark.parametrize(("name", "reply", "oom", "code"), OUR_FAULT, ids=[row[0] for row in OUR_FAULT])
def test_what_cannot_be_laid_at_the_item_s_door_is_never_a_reward(name: str, reply: Any, oom: bool, code: str) -> None:
    assert decided(reply) is None
    assert repeated(JOB, reply) is None
    verdict = our_failure(JOB, reply, out_of_memory=oom)
    assert (verdict.outcome, verdict.reward, verdict.error_code) == ("infra_error", None, code)
