"""Check a pack: what the loader refused, what `prepare` refuses (gold run against itself), and the lints.

Runs in this process, so only on packs that you trust as much as your own code.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from veredicto_verifier.errors import InfraFault, LimitExceeded, TaskFault
from veredicto_verifier.packs.lints import PACK_LINTS, Finding, Tally, lint_task
from veredicto_verifier.packs.pack import Pack, PackTask
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Context, Verifier

Verifiers = Mapping[str, Verifier[Any, Any]]


def check_pack(
    pack: Pack, verifiers: Verifiers, done: Callable[[], None] = lambda: None, tally: Tally | None = None
) -> list[Finding]:
    """Everything that is wrong or weak in a pack, in the order of its files.

    Args:
        pack: as loaded.
        verifiers: the registry.
        done: called after each task, for a progress bar.
        tally: where the lints that count add their numbers; None leaves those lints out.
    """
    findings = [Finding("error", refusal.where, refusal.code, refusal.message) for refusal in pack.refused]
    if not any(pack.tasks.values()):
        findings.append(Finding("error", "tasks/", "task.malformed", "the pack has no tasks; add tasks/train.jsonl"))
    for tasks in pack.tasks.values():
        for task in tasks.values():
            findings.extend(check_task(task, pack, verifiers, tally))
            done()
    for lint in PACK_LINTS.values():
        findings.extend(lint(pack))
    return findings


def check_task(task: PackTask, pack: Pack, verifiers: Verifiers, tally: Tally | None = None) -> list[Finding]:
    """Prepare one task, as a worker would, and lint it."""
    verifier = verifiers[task.verifier]
    prepared = None
    try:
        spec = parse_spec(task.verifier, task.spec, verifiers)
        with cpu_limit(spec.limits.cpu_s):
            prepared = verifier.prepare(spec, Context(pack.fixtures, verifiers))
        found = lint_task(task.verifier, spec, prepared, tally)
        return [Finding(level, task.where, code, text) for level, code, text in found]
    except TaskFault as fault:
        return [Finding("error", task.where, fault.code, fault.message)]
    except InfraFault as fault:
        message = f"could not be checked, which is not its fault; check again: {fault.message}"
        return [Finding("error", task.where, fault.code, message)]
    except LimitExceeded as limit:
        return [
            Finding("error", task.where, "task.gold_timeout", f"{limit} while the gold ran; raise limits or shorten it")
        ]
    finally:
        close = getattr(prepared, "close", None)
        if close is not None:
            close()


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise LimitExceeded in the main thread once this process has used so many CPU seconds."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise LimitExceeded("cpu")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
