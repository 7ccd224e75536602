"""Whose fault it is that an item came to no verdict: the item's, the task's, or ours ."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import Any

import structlog

from veredicto_verifier.verdict import Verdict, infra_error, invalid_task
from veredicto_verifier.verifier import Check, Flag
from veredicto_verifier.worker import Died, Job, Worker

log = structlog.get_logger(__name__)

FRESH_TRIES = 3
"""A death that cannot be laid at the item's door is retried twice on fresh workers; then it is our failure."""


async def confirm(job: Job, fresh: Callable[[], Awaitable[Worker]], oom: OomCounter) -> Verdict:
    """Decide whose fault it is that an item did not come to a verdict.

    A limit or a fault signal that repeats alone on a fresh, probed worker is the item's; anything else is retried
    and ends as our failure.
    """
    ours = infra_error("infra.worker_lost", f"verifier {job.verifier} fails its control probe on fresh workers")
    oom_before = oom.read()
    for _ in range(FRESH_TRIES):
        worker = await fresh()
        try:
            if not await worker.probe(job.verifier):
                log.error("control probe failed", verifier=job.verifier)
                continue
            reply = await worker.score(job)
        finally:
            await worker.close()
        if (verdict := decided(reply) or repeated(job, reply)) is not None:
            return verdict
        ours = our_failure(job, reply, out_of_memory=oom.read() > oom_before)
        if not isinstance(reply, Died) and reply["kind"] == "bug":
            break
    return ours


def our_failure(job: Job, reply: dict[str, Any] | Died, *, out_of_memory: bool) -> Verdict:
    """The verdict when the item is not to blame: no reward."""
    if isinstance(reply, Died):
        if out_of_memory:
            return infra_error("infra.memory", "the container ran out of memory; give it more or run fewer workers")
        if reply.ours == "starved":
            return infra_error("infra.starved", "the machine gave the worker no time; lower the load and send it again")
        return infra_error("infra.worker_lost", "workers were lost for reasons outside the item; send it again")
    if reply["kind"] == "infra":
        return infra_error(reply["code"], reply["message"])
    log.error("verifier bug", verifier=job.verifier, task=job.task, trace=reply.get("trace"))
    return infra_error("infra.worker_lost", f"verifier {job.verifier} failed on this item; the trace is in the log")


def decided(reply: dict[str, Any] | Died) -> Verdict | None:
    """The verdict of a reply that needs no second run; None for a limit, a bug or a death."""
    if isinstance(reply, Died):
        return None
    if reply["kind"] == "task_fault" and reply["code"] != "task.gold_timeout":
        return invalid_task(reply["code"], reply["message"])
    if reply["kind"] != "graded":
        return None
    return Verdict(
        "scored",
        reward=reply["reward"],
        passed=reply["passed"],
        checks=tuple(Check(**check) for check in reply["checks"]),
        flags=tuple(Flag(**flag) for flag in reply["flags"]),
        answer=reply["answer"],
        answer_class=reply["answer_class"],
        exec_ms=reply["exec_ms"],
    )


def repeated(job: Job, reply: dict[str, Any] | Died) -> Verdict | None:
    """The verdict of a limit or an attributable death on a fresh worker; None when it is not the item's."""
    if isinstance(reply, Died):
        if not reply.attributable:
            return None
        if reply.phase == "prepare":
            return invalid_task("task.gold_failed", "gold or fixtures killed the worker; try the task on its own")
        log.warning("item kills workers", verifier=job.verifier, task=job.task, stderr=reply.stderr)
        if reply.ours == "wall" or reply.signal == signal.SIGXCPU:
            return _own_fault(job, "timeout", "time ran out, and again alone on a fresh worker")
        return _own_fault(job, "crash", "the worker crashed on this answer, twice", Flag("worker_crash"))
    if reply["kind"] == "task_fault":
        return invalid_task(reply["code"], reply["message"])
    if reply["kind"] == "limit":
        if reply["phase"] == "prepare":
            return invalid_task("task.gold_timeout", f"gold or fixtures ran out of {reply['what']}")
        what = "memory" if reply["what"] == "memory" else "timeout"
        return _own_fault(job, what, f"{reply['what']} limit exceeded, and again alone on a fresh worker")
    return None


def _own_fault(job: Job, what: str, reason: str, *flags: Flag) -> Verdict:
    code = f"{job.verifier}.{what}"
    check = Check(f"{job.verifier}.{what}", passed=False, score=0.0, code=code, reason=reason)
    return Verdict("scored", reward=0.0, passed=False, checks=(check,), flags=flags)


class OomCounter:
    """How many processes the container's memory controller has killed so far."""

    PATHS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")

    def read(self) -> int:
        """The counter, 0 where there is no memory controller."""
        for path in self.PATHS:
            try:
                with open(path, encoding="ascii") as events:
                    lines = dict(line.split() for line in events if len(line.split()) == 2)
            except OSError:
                continue
            return int(lines.get("oom_kill", 0))
        return 0
