"""What runs inside a worker process: read a job, prepare its task once, judge, answer. The one place that catches all.

Started as `python -m veredicto_verifier.worker_loop LANE`; jobs come on standard input, answers leave on a private
copy of standard output, so nothing that a library prints can forge one. Replies, one object each:

    {"phase": "prepare" | "grade"}                what the worker is about to do; no phase means grade
    {"kind": "graded", …}                         the verdict
    {"kind": "task_fault", "code", "message"}     the task is broken
    {"kind": "limit", "what", "phase"}            time or memory ran out; the scheduler repeats it before it counts
    {"kind": "infra", "code", "message"}          we could not run it; the scheduler tries again
    {"kind": "bug", "trace"}                      our own failure: never a reward
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from veredicto_verifier import frames
from veredicto_verifier.errors import InfraFault, LimitExceeded, TaskFault
from veredicto_verifier.judging import judge, look_ahead
from veredicto_verifier.lanes import LANES
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.third_party import admit
from veredicto_verifier.verifier import Completion, Context, Fixture, Flag, Limits, Spec, ToolCall, Verifier, reward

PREPARE_SECONDS = 30.0
"""CPU allowance for opening fixtures and running gold, which are not charged to the completion."""
CPU_GRACE_SECONDS = 2
"""RLIMIT_CPU stands this far behind the inner limit, so the inner one fires first."""

Send = Callable[[dict[str, Any]], None]


class TaskCache:
    """Prepared tasks by digest, the least recently used one closed when there are too many."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._tasks: OrderedDict[str, tuple[Spec, Any]] = OrderedDict()

    def get(self, digest: str) -> tuple[Spec, Any] | None:
        """The spec and the prepared task, if they are here."""
        if digest in self._tasks:
            self._tasks.move_to_end(digest)
        return self._tasks.get(digest)

    def put(self, digest: str, spec: Spec, task: Any) -> None:
        """Keep a prepared task."""
        self._tasks[digest] = (spec, task)
        if len(self._tasks) > self._size:
            _, (_, oldest) = self._tasks.popitem(last=False)
            close = getattr(oldest, "close", None)
            if close is not None:
                close()


def main() -> None:
    """Serve jobs until standard input ends."""
    lane = sys.argv[1]
    rules = LANES[lane]  # type: ignore[index]
    jobs, send = _private_channel()
    space = rules.address_space_mb << 20
    resource.setrlimit(resource.RLIMIT_AS, (space, space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _on_cpu)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the service, which ends us
    admit(VERIFIERS)
    tasks = TaskCache(rules.tasks_kept)
    gc.collect()
    gc.freeze()
    send({"kind": "ready", "pid": os.getpid()})
    while (job := frames.read(jobs)) is not None:
        send(_answer(job, tasks, send))


def _private_channel() -> tuple[BinaryIO, Send]:
    jobs = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)

    def send(message: dict[str, Any]) -> None:
        view = memoryview(frames.encode(message))
        while view:
            view = view[answers.write(view) :]

    return jobs, send


def _answer(job: dict[str, Any], tasks: TaskCache, send: Send) -> dict[str, Any]:
    """The one boundary: every way in which an item can end becomes one reply."""
    progress = {"phase": "grade"}
    try:
        return _score(job, tasks, send, progress)
    except TaskFault as fault:
        return {"kind": "task_fault", "code": fault.code, "message": fault.message}
    except InfraFault as fault:
        return {"kind": "infra", "code": fault.code, "message": fault.message}
    except LimitExceeded as limit:
        return {"kind": "limit", "what": limit.what, "phase": progress["phase"]}
    except MemoryError:
        return {"kind": "limit", "what": "memory", "phase": progress["phase"]}
    except Exception:  # noqa: BLE001 (the worker boundary: our bug must end neither the worker nor in a reward)
        return {"kind": "bug", "phase": progress["phase"], "trace": traceback.format_exc(limit=-8)[-4000:]}
    finally:
        _disarm()


def _score(job: dict[str, Any], tasks: TaskCache, send: Send, progress: dict[str, str]) -> dict[str, Any]:
    verifier = VERIFIERS[job["verifier"]]
    kept = tasks.get(job["task"])
    if kept is None:
        progress["phase"] = "prepare"
        send({"phase": "prepare"})
        kept = _prepare(verifier, job)
        tasks.put(job["task"], *kept)
        progress["phase"] = "grade"
        send({"phase": "grade"})
    spec, task = kept
    if getattr(task, "evicted", bool)():
        send({"phase": "prepare"})
        with _limited(_allowance(spec.limits)):
            task.reopen()
        send({"phase": "grade"})
    if job["ahead"]:
        send({"phase": "prepare"})
        _look_ahead(verifier, task, spec, job["ahead"])
        send({"phase": "grade"})
    started, cpu_before = time.perf_counter(), time.process_time()
    with _limited(spec.limits):
        grade, answer = judge(verifier, task, spec, _completion(job))
    cpu = time.process_time() - cpu_before + grade.cpu_s
    near = spec.limits.cpu_s / 2 <= cpu <= spec.limits.cpu_s * 2
    flags = (*grade.flags, Flag("near_limit", "CPU use within [1/2, 2] x the limit")) if near else grade.flags
    return {
        "kind": "graded",
        "reward": reward(spec, grade),
        "passed": grade.passed,
        "checks": [asdict(check) for check in grade.checks],
        "flags": [asdict(flag) for flag in flags],
        "answer": answer,
        "answer_class": grade.answer_class,
        "exec_ms": round((time.perf_counter() - started) * 1e3, 3),
    }


def _look_ahead(verifier: Verifier[Any, Any], task: Any, spec: Spec, ahead: list[dict[str, Any]]) -> None:
    # What runs out of time or memory here is no item's fault: each is graded alone then.
    with suppress(LimitExceeded, MemoryError), _limited(_allowance(spec.limits)):
        look_ahead(verifier, task, spec, [_completion(one) for one in ahead])


def _completion(written: dict[str, Any]) -> Completion:
    return Completion(written["completion"], tuple(ToolCall(**call) for call in written["calls"]))


def _prepare(verifier: Verifier[Any, Any], job: dict[str, Any]) -> tuple[Spec, Any]:
    spec = parse_spec(job["verifier"], job["spec"], VERIFIERS)
    fixtures = {name: _fixture(**entry) for name, entry in job["fixtures"].items()}
    with _limited(_allowance(spec.limits)):
        return spec, verifier.prepare(spec, Context(fixtures=fixtures, verifiers=VERIFIERS))


def _fixture(path: str, digest: str, cache: str | None) -> Fixture:
    return Fixture(Path(path), digest, Path(cache) if cache else None)


def _allowance(limits: Limits) -> Limits:
    """What preparing a task may use; none of it is the completion's."""
    return Limits(cpu_s=min(300.0, limits.cpu_s + PREPARE_SECONDS), memory_mb=max(2048, limits.memory_mb))


@contextmanager
def _limited(limits: Limits) -> Iterator[None]:
    """Arm the inner limits: a CPU timer that raises in this thread, RLIMIT_CPU behind it, RLIMIT_DATA for memory."""
    signal.setitimer(signal.ITIMER_PROF, limits.cpu_s)
    cpu = int(time.process_time() + limits.cpu_s) + 1 + CPU_GRACE_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.RLIM_INFINITY))
    data = _data_bytes() + (limits.memory_mb << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (data, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        _disarm()


def _disarm() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_DATA, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _data_bytes() -> int:
    """Size of this process's data segment and stack, as RLIMIT_DATA counts it (proc(5), statm field 6)."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[5]) * resource.getpagesize()


def _on_cpu(_signal: int, _frame: object) -> None:
    raise LimitExceeded("cpu")


if __name__ == "__main__":
    main()
