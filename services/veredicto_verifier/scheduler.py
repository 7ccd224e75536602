"""The scheduler: a bounded queue over lanes of warm workers, and the decision whose fault a failure is."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import structlog

from veredicto_verifier.errors import InfraCode, Overloaded
from veredicto_verifier.lanes import LANES
from veredicto_verifier.verifier import Check, Flag, Lane
from veredicto_verifier.worker import Died, Job, Worker

log = structlog.get_logger(__name__)

FRESH_TRIES = 3
"""A death that cannot be laid at the item's door is retried twice on fresh workers; then it is our failure."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one item, before it is recorded."""

    outcome: Literal["scored", "invalid_task", "infra_error"]
    reward: float | None = None
    passed: bool | None = None
    checks: tuple[Check, ...] = ()
    flags: tuple[Flag, ...] = ()
    answer: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    cached: bool = False
    queue_ms: float = 0.0
    exec_ms: float = 0.0

    @property
    def cacheable(self) -> bool:
        """Whether the same task and completion may be answered from memory."""
        return self.outcome == "scored" and all(flag.name not in UNCACHED_FLAGS for flag in self.flags)


UNCACHED_FLAGS = {"near_limit", "worker_crash"}


def invalid_task(code: str, message: str) -> Verdict:
    """The verdict on a broken task."""
    return Verdict("invalid_task", error_code=code, error_message=message[:2000])


def infra_error(code: InfraCode, message: str) -> Verdict:
    """The verdict when we failed: no reward, and worth sending again."""
    return Verdict("infra_error", error_code=code, error_message=message[:2000])


@dataclass(slots=True)
class _Ticket:
    job: Job
    submitted: float
    done: asyncio.Future[Verdict]
    queue_ms: float = 0.0


@dataclass(slots=True)
class LaneCounts:
    """Numbers of one lane for the metrics."""

    restarts: dict[str, int] = field(default_factory=dict)

    def restarted(self, why: str) -> None:
        """Count a worker that had to be replaced."""
        self.restarts[why] = self.restarts.get(why, 0) + 1


class Scheduler:
    """Runs jobs on lanes of workers.

    Args:
        num_workers: workers of a lane with share 1; the other lanes get their share of it, at least one.
        max_queued: items waiting or running, over all lanes; more is `Overloaded`.
        environment: further variables for the workers.
    """

    def __init__(self, *, num_workers: int, max_queued: int, environment: Mapping[str, str] | None = None) -> None:
        self._max_queued = max_queued
        self._pending = 0
        self._draining = False
        self.lanes = {
            lane: _Lane(lane, math.ceil(num_workers * rules.share), environment or {}) for lane, rules in LANES.items()
        }

    async def start(self) -> None:
        """Start every lane's workers; returns when all are warm."""
        await asyncio.gather(*(lane.start() for lane in self.lanes.values()))

    async def stop(self) -> None:
        """Refuse new work, let what runs finish, end the workers."""
        self._draining = True
        await asyncio.gather(*(lane.stop() for lane in self.lanes.values()))

    @property
    def num_pending(self) -> int:
        """Items waiting or running."""
        return self._pending

    def submit(self, jobs: Sequence[Job]) -> list[asyncio.Future[Verdict]]:
        """Queue jobs; their verdicts come in the futures, never as exceptions.

        Raises:
            Overloaded: the queue cannot take them all, or the service is draining; no job was queued.
        """
        if self._draining:
            raise Overloaded("the service is draining; send the request to another replica", retry_after_s=5)
        if self._pending + len(jobs) > self._max_queued:
            raise Overloaded(
                f"{self._pending} items are queued and {len(jobs)} more would pass the limit of {self._max_queued}; "
                "send smaller batches or wait",
                retry_after_s=1,
            )
        self._pending += len(jobs)
        return [self._enqueue(job) for job in jobs]

    def _enqueue(self, job: Job) -> asyncio.Future[Verdict]:
        ticket = _Ticket(job, time.perf_counter(), asyncio.get_running_loop().create_future())
        ticket.done.add_done_callback(self._finished)
        self.lanes[job.lane].queue.put_nowait(ticket)
        return ticket.done

    def _finished(self, _done: asyncio.Future[Verdict]) -> None:
        self._pending -= 1


class _Lane:
    """One lane: a queue, runners that own a worker each, one warm spare, one item at a time on a fresh worker."""

    def __init__(self, name: Lane, num_workers: int, environment: Mapping[str, str]) -> None:
        self.name = name
        self.num_workers = num_workers
        self.counts = LaneCounts()
        self.queue: asyncio.Queue[_Ticket] = asyncio.Queue()
        self.workers: dict[int, Worker] = {}
        self._environment = environment
        self._spare: asyncio.Task[Worker] | None = None
        self._runners: list[asyncio.Task[None]] = []
        self._alone = asyncio.Semaphore(num_workers)
        self._confirming: set[asyncio.Task[None]] = set()
        self._oom = OomCounter()

    async def start(self) -> None:
        for slot, worker in enumerate(await asyncio.gather(*(self._new() for _ in range(self.num_workers)))):
            self.workers[slot] = worker
        self._runners = [asyncio.create_task(self._run(slot)) for slot in self.workers]
        self._spare = asyncio.create_task(self._new())

    async def stop(self) -> None:
        await self.queue.join()
        for runner in self._runners:
            runner.cancel()
        await asyncio.gather(*self._runners, return_exceptions=True)
        if self._spare is not None:
            with contextlib.suppress(OSError):
                await (await self._spare).close()
        await asyncio.gather(*(worker.close() for worker in self.workers.values()))

    async def _run(self, slot: int) -> None:
        while True:
            ticket = await self.queue.get()
            if ticket.done.cancelled():
                self.queue.task_done()
                continue
            ticket.queue_ms = round((time.perf_counter() - ticket.submitted) * 1e3, 3)
            busy = asyncio.ensure_future(self._serve(slot, ticket))
            try:
                await asyncio.shield(busy)
            except asyncio.CancelledError:
                await busy
                raise

    async def _serve(self, slot: int, ticket: _Ticket) -> None:
        reply = await self.workers[slot].score(ticket.job)
        if isinstance(reply, Died):
            self.counts.restarted(reply.ours or _signal_name(reply))
            log.warning("worker died", lane=self.name, signal=reply.signal, killed_for=reply.ours, stderr=reply.stderr)
            self.workers[slot] = await self._fresh()
        if (verdict := decided(reply)) is not None:
            self._settle(ticket, verdict)
            return
        task = asyncio.create_task(self._confirm(ticket))
        self._confirming.add(task)
        task.add_done_callback(self._confirming.discard)

    async def _confirm(self, ticket: _Ticket) -> None:
        """Run the item again, alone on fresh workers that have just passed a control probe."""
        async with self._alone:
            verdict = await confirm(ticket.job, self._fresh, self._oom)
        self._settle(ticket, verdict)

    def _settle(self, ticket: _Ticket, verdict: Verdict) -> None:
        self.queue.task_done()
        if not ticket.done.done():
            ticket.done.set_result(replace(verdict, queue_ms=ticket.queue_ms))

    async def _fresh(self) -> Worker:
        """A warm worker that has judged nothing yet; another spare is started in its place."""
        while True:
            spare, self._spare = self._spare, None
            try:
                worker = await (spare if spare is not None else self._new())
            except OSError as error:
                log.warning("worker did not start, trying again", lane=self.name, error=str(error))
                await asyncio.sleep(0.5)
                continue
            if self._spare is None:
                self._spare = asyncio.create_task(self._new())
            return worker

    async def _new(self) -> Worker:
        return await Worker.start(self.name, self._environment)


async def confirm(job: Job, fresh: Callable[[], Any], oom: OomCounter) -> Verdict:
    """Decide whose fault it is that an item did not come to a verdict (DESIGN, rule 1).

    A limit or a fault signal that repeats alone on a fresh, probed worker is the item's; anything else is retried
    and ends as our failure.
    """
    starved = False
    trace = ""
    oom_before = oom.read()
    for _ in range(FRESH_TRIES):
        worker: Worker = await fresh()
        try:
            if not await worker.probe(job.verifier):
                log.error("control probe failed", verifier=job.verifier)
                continue
            reply = await worker.score(job)
        finally:
            await worker.close()
        if (verdict := decided(reply) or repeated(job, reply)) is not None:
            return verdict
        if isinstance(reply, Died):
            starved = reply.ours == "starved"
        else:
            trace = str(reply.get("trace", ""))
            log.error("verifier bug", verifier=job.verifier, task=job.task, trace=trace)
            break
    if trace:
        return infra_error("infra.worker_lost", f"verifier {job.verifier} failed on this item; the trace is in the log")
    if oom.read() > oom_before:
        return infra_error("infra.memory", "the container ran out of memory; give it more or run fewer workers")
    if starved:
        return infra_error("infra.starved", "the machine gave the worker no time; lower the load and send it again")
    return infra_error("infra.worker_lost", "workers were lost three times for reasons outside the item; send it again")


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
        if reply.ours == "wall" or reply.signal == _SIGXCPU:
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


_SIGXCPU = 24


def _own_fault(job: Job, what: str, reason: str, *flags: Flag) -> Verdict:
    code = f"{job.verifier}.{what}"
    check = Check(f"{job.verifier}.{what}", passed=False, score=0.0, code=code, reason=reason)
    return Verdict("scored", reward=0.0, passed=False, checks=(check,), flags=flags)


def _signal_name(died: Died) -> str:
    return f"signal_{died.signal}" if died.signal is not None else "exit"


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
