"""One worker process as the service sees it: start it, give it one job at a time, know how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from veredicto_verifier import frames
from veredicto_verifier.lanes import LANES
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import canonical_task, parse_spec, task_digest
from veredicto_verifier.verifier import Fixture, Lane, ToolCall
from veredicto_verifier.worker_loop import PREPARE_SECONDS

START_SECONDS = 120.0
"""A worker that is not ready after this long is our failure."""
GRACE_SECONDS = 2.0
"""The outer deadline stands this far behind the item's own wall limit."""
STARVED_FACTOR = 10
"""Gross time over this many times the deadline means the machine never let the worker run."""
_POLL_SECONDS = 0.5
_STDERR_TAIL = 4096


@dataclass(frozen=True, slots=True)
class Job:
    """One completion to judge, resolved: the worker needs nothing else."""

    verifier: str
    lane: Lane
    spec: Mapping[str, Any]
    """The raw spec; its typed form has already been checked once."""
    task: str
    """The key of the worker's cache of prepared tasks: equal only for equal specs and fixtures."""
    wall_s: float
    """The item's own wall limit in seconds."""
    completion: str
    calls: tuple[ToolCall, ...] = ()
    fixtures: Mapping[str, Fixture] = field(default_factory=dict)
    looks_ahead: bool = False
    """Whether the worker does well to see at once the answers to this task that wait together."""
    twin: bytes | None = None
    """Equal only for the same task and completion: jobs of one batch with the same `twin` may share a verdict."""

    def frame(self, ahead: Sequence[Job] = ()) -> bytes:
        """The job as it crosses to the worker, with the jobs of the same task that wait."""
        fixtures = {
            name: {"path": str(f.path), "digest": f.digest, "cache": f.cache and str(f.cache)}
            for name, f in self.fixtures.items()
        }
        return frames.encode(
            {
                "verifier": self.verifier,
                "spec": self.spec,
                "task": self.task,
                **self._written(),
                "ahead": [job._written() for job in ahead],
                "fixtures": fixtures,
            }
        )

    def _written(self) -> dict[str, Any]:
        calls = [{"name": call.name, "arguments": call.arguments, "id": call.id} for call in self.calls]
        return {"completion": self.completion, "calls": calls}


@dataclass(frozen=True, slots=True)
class Died:
    """The worker is gone.

    `signal` is the one that ended it (None for an exit of its own), `ours` why we killed it, if we did.
    """

    phase: str
    signal: int | None
    ours: str | None
    stderr: str

    @property
    def attributable(self) -> bool:
        """Whether the item did it: a fault signal, or our own kill for its time."""
        return self.ours == "wall" or self.signal in _ITEM_SIGNALS

    @property
    def cause(self) -> str:
        """Why it died, in one word for the metrics."""
        return self.ours or (f"signal_{self.signal}" if self.signal is not None else "exit")


_ITEM_SIGNALS = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGXCPU, signal.SIGFPE, signal.SIGILL}


class Worker:
    """A warm process of one lane."""

    def __init__(self, lane: Lane, process: asyncio.subprocess.Process) -> None:
        self.lane = lane
        self._process = process
        self._stderr: deque[bytes] = deque(maxlen=64)
        self._drain = asyncio.create_task(self._drain_stderr())
        self._killed_for: str | None = None

    @classmethod
    async def start(cls, lane: Lane, environment: Mapping[str, str]) -> Worker:
        """Start a process and wait until it is warm.

        Raises:
            OSError: it could not be started, or did not get ready in time.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "veredicto_verifier.worker_loop",
            lane,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=_clean_environment(environment),
            start_new_session=True,
        )
        worker = cls(lane, process)
        try:
            ready = await asyncio.wait_for(worker._read(), START_SECONDS)
        except TimeoutError:
            ready = None
        if ready is None or ready.get("kind") != "ready":
            await worker.kill("start")
            raise OSError(f"a worker of lane {lane} did not get ready: {worker.stderr_tail()}")
        return worker

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    async def score(self, job: Job, ahead: Sequence[Job] = ()) -> dict[str, Any] | Died:
        """Judge one item; the reply of the worker loop, or how the worker died.

        Args:
            job: the item.
            ahead: items of the same task, itself included, that the worker may look at together first.
        """
        phase = "grade"
        if not await self._write(job.frame(ahead)):
            return await self._died(phase)
        clock = _NetClock(self.pid, self.lane)
        allowance = job.wall_s + GRACE_SECONDS
        while True:
            reading = asyncio.ensure_future(self._read())
            while not (await asyncio.wait({reading}, timeout=_POLL_SECONDS))[0]:
                late = clock.late(allowance)
                if late is not None:
                    await self.kill(late)
            reply = reading.result()
            if reply is None:
                return await self._died(phase)
            if "kind" in reply:
                return reply
            phase = str(reply["phase"])
            clock = _NetClock(self.pid, self.lane)
            allowance = job.wall_s + GRACE_SECONDS + (PREPARE_SECONDS if phase == "prepare" else 0.0)

    async def probe(self, verifier: str) -> bool:
        """Whether the verifier's own example still passes and fails as it must, in this process."""
        for job, wanted in probe_jobs(verifier):
            reply = await self.score(job)
            if isinstance(reply, Died) or reply.get("kind") != "graded" or reply.get("reward") != wanted:
                return False
        return True

    async def kill(self, why: str) -> None:
        """SIGKILL the worker and everything in its session's group; returns when it is reaped."""
        self._killed_for = self._killed_for or why
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self._process.wait()
        await self._drain

    async def close(self) -> None:
        """End the worker at once; it holds nothing that needs saving."""
        await self.kill("close")

    def stderr_tail(self) -> str:
        """The end of what the worker wrote to standard error, for the operator."""
        return b"".join(self._stderr)[-_STDERR_TAIL:].decode("utf-8", "replace")

    async def _died(self, phase: str) -> Died:
        ours = self._killed_for
        await self.kill("died")
        code = self._process.returncode or 0
        return Died(phase, signal=-code if code < 0 else None, ours=ours, stderr=self.stderr_tail())

    async def _write(self, frame: bytes) -> bool:
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(frame)
            await stdin.drain()
        except ConnectionError:
            return False
        return True

    async def _read(self) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        return await frames.read_async(self._process.stdout)

    async def _drain_stderr(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(4096):
            self._stderr.append(chunk)


class _NetClock:
    """Wall time of a process net of the time it waited for a core (schedstat, summed over its threads)."""

    def __init__(self, pid: int, lane: Lane) -> None:
        self._pid = pid
        self._times_children = LANES[lane].times_children
        self._started = time.monotonic()
        self._waited = self._run_queue_wait()

    def late(self, allowance: float) -> str | None:
        """`wall` when net time is over the allowance, `starved` when gross time is far over it, else None."""
        gross = time.monotonic() - self._started
        if not self._times_children and gross - max(0.0, self._run_queue_wait() - self._waited) > allowance:
            return "wall"
        return "starved" if gross > STARVED_FACTOR * allowance else None

    def _run_queue_wait(self) -> float:
        total = 0  # plain system calls: this is read for every item
        folder = f"/proc/{self._pid}/task"
        with contextlib.suppress(OSError):
            for thread in os.listdir(folder):
                with (
                    contextlib.suppress(OSError, IndexError, ValueError),
                    open(f"{folder}/{thread}/schedstat", "rb") as stat,
                ):
                    total += int(stat.read().split()[1])
        return total / 1e9


def probe_jobs(verifier: str) -> tuple[tuple[Job, float], tuple[Job, float]]:
    """The control probe of a verifier: its example with a completion that passes, and one that must not."""
    entry = VERIFIERS[verifier]
    spec = parse_spec(verifier, entry.example, VERIFIERS)
    digest = task_digest(canonical_task(verifier, spec, {}))
    good, bad = (
        Job(verifier, entry.lane, entry.example, digest, spec.limits.wall_seconds, text)
        for text in (entry.good, entry.bad)
    )
    return (good, 1.0), (bad, 0.0)


def _clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """What a worker sees of the environment: no secrets, no locale, one thread per library."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        **extra,
    }
