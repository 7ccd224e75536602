"""The scheduler: a bounded queue over lanes of warm workers."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from veredicto_verifier.attribution import OomCounter, confirm, decided
from veredicto_verifier.errors import Overloaded
from veredicto_verifier.lanes import LANES
from veredicto_verifier.verdict import Verdict, infra_error
from veredicto_verifier.verifier import Lane
from veredicto_verifier.worker import Died, Job, Worker

log = structlog.get_logger(__name__)

MAX_AHEAD = 64
"""Items of one task that a worker is shown at once."""
START_TRIES = 5
"""Workers that may fail to start in a row before an item is given up as our failure."""
NO_WORKER = infra_error(
    "infra.worker_lost", "no worker could be started for this item; see the log, then send it again"
)


@dataclass(slots=True)
class _Ticket:
    job: Job
    submitted: float
    done: asyncio.Future[Verdict]
    queue_ms: float = 0.0
    group: _Group | None = None
    twins: list[_Ticket] = field(default_factory=list)
    """Tickets of the same batch for the same answer, which wait for this one's verdict."""


@dataclass(slots=True)
class _Group:
    """Tickets of one request and task that a worker does well to see at once, and the workers that have."""

    tickets: list[_Ticket]
    shown: set[int] = field(default_factory=set)


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

    async def start(self, lanes: Collection[Lane] | None = None) -> None:
        """Start the workers of these lanes (of all, by default); returns when all are warm."""
        await asyncio.gather(*(self.lanes[lane].start() for lane in (self.lanes if lanes is None else lanes)))

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

        Of jobs with the same `twin` one is run, and its verdict is theirs unless it is one that may not be remembered.

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
        tickets = [self._ticket(job) for job in jobs]
        run = _without_twins(tickets)
        _group(run)
        for ticket in run:
            self.lanes[ticket.job.lane].queue.put_nowait(ticket)
        return [ticket.done for ticket in tickets]

    def _ticket(self, job: Job) -> _Ticket:
        ticket = _Ticket(job, time.perf_counter(), asyncio.get_running_loop().create_future())
        ticket.done.add_done_callback(self._finished)
        return ticket

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
        self.environment = environment
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
                self._release(ticket)
                continue
            ticket.queue_ms = round((time.perf_counter() - ticket.submitted) * 1e3, 3)
            serving = asyncio.create_task(self._serve(slot, ticket))
            await asyncio.wait({serving})
            if error := serving.exception():
                log.error("an item could not be served", lane=self.name, error=repr(error))

    async def _serve(self, slot: int, ticket: _Ticket) -> None:
        """Judge one item on the slot's worker, which is replaced first if the last item took it down."""
        served = False
        try:
            worker = self.workers.pop(slot, None) or await self._fresh()
            reply = await worker.score(ticket.job, _ahead(ticket, worker))
            if isinstance(reply, Died):
                self.counts.restarted(reply.cause)
                log.warning("worker died", lane=self.name, signal=reply.signal, killed_for=reply.ours, err=reply.stderr)
            else:
                self.workers[slot] = worker
            if (verdict := decided(reply)) is not None:
                self._settle(ticket, verdict)
            else:
                task = asyncio.create_task(self._confirm(ticket))
                self._confirming.add(task)
                task.add_done_callback(self._confirming.discard)
            served = True
        finally:
            if not served:
                self._settle(ticket, NO_WORKER)

    async def _confirm(self, ticket: _Ticket) -> None:
        """Run the item again, alone on fresh workers that have just passed a control probe."""
        verdict = NO_WORKER
        try:
            async with self._alone:
                verdict = await confirm(ticket.job, self._fresh, self._oom)
        except OSError as error:
            log.warning("no fresh worker to confirm on", lane=self.name, error=str(error))
        finally:
            self._settle(ticket, verdict)

    def _settle(self, ticket: _Ticket, verdict: Verdict) -> None:
        if not ticket.done.done():
            ticket.done.set_result(replace(verdict, queue_ms=ticket.queue_ms))
        if verdict.cacheable:
            for twin in ticket.twins:
                if not twin.done.done():
                    twin.done.set_result(verdict.remembered())
            ticket.twins.clear()
        self._release(ticket)

    def _release(self, ticket: _Ticket) -> None:
        """Be done with a ticket; twins that still wait are judged on their own."""
        for twin in ticket.twins:
            self.queue.put_nowait(twin)
        self.queue.task_done()

    async def _fresh(self) -> Worker:
        """A warm worker that has judged nothing yet; another spare is started in its place.

        Raises:
            OSError: none could be started.
        """
        for _ in range(START_TRIES):
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
        raise OSError(f"no worker of lane {self.name} could be started in {START_TRIES} tries")

    async def _new(self) -> Worker:
        return await Worker.start(self.name, self.environment)


def _without_twins(tickets: Sequence[_Ticket]) -> list[_Ticket]:
    """The tickets to run; the others wait with the first one that has the same `twin`."""
    run: list[_Ticket] = []
    first: dict[bytes, _Ticket] = {}
    for ticket in tickets:
        twin = ticket.job.twin
        if twin is None or first.setdefault(twin, ticket) is ticket:
            run.append(ticket)
        else:
            first[twin].twins.append(ticket)
    return run


def _group(tickets: Sequence[_Ticket]) -> None:
    """Put together, at most `MAX_AHEAD` at a time, the tickets of a task whose verifier looks ahead."""
    by_task: dict[str, list[_Ticket]] = {}
    for ticket in tickets:
        if ticket.job.looks_ahead:
            by_task.setdefault(ticket.job.task, []).append(ticket)
    for waiting in by_task.values():
        for start in range(0, len(waiting), MAX_AHEAD):
            group = _Group(waiting[start : start + MAX_AHEAD])
            for ticket in group.tickets:
                ticket.group = group


def _ahead(ticket: _Ticket, worker: Worker) -> list[Job]:
    """The jobs of a ticket's group that are still to be judged, for a worker that has not seen the group."""
    group = ticket.group
    if group is None or worker.pid in group.shown:
        return []
    group.shown.add(worker.pid)
    return [other.job for other in group.tickets if not other.done.done()]
