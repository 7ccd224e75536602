"""From items to verdicts: resolve the task, look in the cache, let a worker judge."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from veredicto_proto.messages import Task
from veredicto_verifier.envelope import ParsedItem, Refusal
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.lanes import WEIGHT
from veredicto_verifier.packs.shelf import Shelf
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.scheduler import Scheduler
from veredicto_verifier.specs import canonical_task, fixture_names, parse_spec, task_digest
from veredicto_verifier.verdict import Verdict, invalid_task
from veredicto_verifier.verifier import Check, Completion, Fixture, Lane, Spec
from veredicto_verifier.worker import Job

PLAN_SECONDS = 0.01
"""How long items are planned before the event loop gets a turn."""


@dataclass(frozen=True, slots=True)
class ResolvedTask:
    """A task that can be judged: its spec is typed, its fixtures are found, its digest is known."""

    verifier: str
    raw: Mapping[str, Any]
    canonical: bytes
    digest: str
    exact: str
    """SHA-256 of the raw spec with the digest: the digest alone takes a big integer and its text for the same."""
    lane: Lane
    wall_s: float
    fixtures: Mapping[str, Fixture]
    looks_ahead: bool
    category: str | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """An item with its verdict; `task` is None when it could not be resolved."""

    item: ParsedItem
    task: ResolvedTask | None
    verdict: Verdict


class VerdictCache:
    """Verdicts by task digest and completion, the least recently used ones dropped."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._verdicts: OrderedDict[bytes, Verdict] = OrderedDict()

    def get(self, key: bytes) -> Verdict | None:
        """The verdict given before, marked as cached."""
        verdict = self._verdicts.get(key)
        if verdict is None:
            return None
        self._verdicts.move_to_end(key)
        return verdict.remembered()

    @property
    def off(self) -> bool:
        """Whether nothing is kept, so that every answer is judged anew."""
        return self._size == 0

    def put(self, key: bytes, verdict: Verdict) -> None:
        """Keep a verdict that may be given again."""
        if self._size and verdict.cacheable:
            self._verdicts[key] = verdict
            if len(self._verdicts) > self._size:
                self._verdicts.popitem(last=False)


class Scorer:
    """Gives verdicts; knows nothing of HTTP or the ledger."""

    def __init__(self, *, shelf: Shelf, scheduler: Scheduler, cache_size: int) -> None:
        self._shelf = shelf
        self._scheduler = scheduler
        self._cache = VerdictCache(cache_size)
        self._by_ref: dict[str, ResolvedTask] = {}

    async def submit(self, items: Sequence[ParsedItem]) -> list[asyncio.Future[Scored]]:
        """Start judging; one future per item, in order. Equal answers to one task are judged once.

        Raises:
            Overloaded: the queue cannot take the batch; nothing was started.
        """
        plans = []
        turn = time.perf_counter()
        for item in items:
            plans.append(self._plan(item))
            if time.perf_counter() - turn > PLAN_SECONDS:
                await asyncio.sleep(0)  # other requests, and the health routes, get their turn
                turn = time.perf_counter()
        futures = iter(self._scheduler.submit([plan.job for plan in plans if plan.job is not None]))
        return [_resolved(plan, next(futures) if plan.job else None, self._cache) for plan in plans]

    def lanes(self, items: Sequence[ParsedItem]) -> set[Lane]:
        """The lanes that these items will need."""
        return {plan.job.lane for plan in map(self._plan, items) if plan.job is not None}

    def _plan(self, item: ParsedItem) -> _Plan:
        if item.fault is not None:
            return _Plan(item, verdict=invalid_task(item.fault.code, item.fault.message))
        assert item.task is not None
        try:
            task = self.resolve(item.task)
        except TaskFault as fault:
            return _Plan(item, verdict=invalid_task(fault.code, fault.message))
        if item.refusal is not None:
            return _Plan(item, task, verdict=refused(item.refusal))
        assert item.completion is not None
        key = _cache_key(task.exact, item.completion)
        known = self._cache.get(key)
        if known is not None:
            return _Plan(item, task, verdict=known)
        return _Plan(item, task, job=_job(task, item.completion, None if self._cache.off else key), key=key)

    def resolve(self, task: Task) -> ResolvedTask:
        """Find a task's verifier, spec and fixtures.

        Raises:
            TaskFault: any of them is not there or not valid.
        """
        if task.ref is None:
            assert task.verifier is not None
            assert task.spec is not None
            return self.typed(task.verifier, task.spec, task.category)
        if task.ref not in self._by_ref:
            found, _ = self._shelf.find(task.ref)
            self._by_ref[task.ref] = self.typed(found.verifier, found.spec, found.category)
        resolved = self._by_ref[task.ref]
        return replace(resolved, category=task.category) if task.category else resolved

    async def judge(self, task: ResolvedTask, completion: Completion) -> Verdict:
        """The verdict of a worker, past the cache; for replay."""
        return await self._scheduler.submit([_job(task, completion)])[0]

    def typed(
        self,
        name: str,
        raw: Mapping[str, Any],
        category: str | None = None,
        fixtures: Mapping[str, Fixture] | None = None,
    ) -> ResolvedTask:
        """A task from its parts; raises TaskFault when they do not fit.

        Args:
            name: the verifier.
            raw: its spec.
            category: for reports.
            fixtures: where the fixtures lie; None looks them up in the packs.
        """
        spec = parse_spec(name, raw, VERIFIERS)
        if fixtures is None:
            fixtures = self._shelf.fixtures(fixture_names(name, spec, VERIFIERS))
        canonical = canonical_task(name, spec, {key: fixture.digest for key, fixture in fixtures.items()})
        lane, wall_s, looks_ahead = _needs(name, spec)
        digest = task_digest(canonical)
        exact = hashlib.sha256(json.dumps([digest, raw], sort_keys=True).encode()).hexdigest()
        return ResolvedTask(name, raw, canonical, digest, exact, lane, wall_s, fixtures, looks_ahead, category)


def refused(refusal: Refusal) -> Verdict:
    """The verdict on a completion that is no text."""
    check = Check("completion", passed=False, score=0.0, code=refusal.code, reason=refusal.reason)
    return Verdict("scored", reward=0.0, passed=False, checks=(check,))


@dataclass(frozen=True, slots=True)
class _Plan:
    item: ParsedItem
    task: ResolvedTask | None = None
    verdict: Verdict | None = None
    job: Job | None = None
    key: bytes = b""


def _resolved(plan: _Plan, running: asyncio.Future[Verdict] | None, cache: VerdictCache) -> asyncio.Future[Scored]:
    done: asyncio.Future[Scored] = asyncio.get_running_loop().create_future()
    if running is None:
        assert plan.verdict is not None
        done.set_result(Scored(plan.item, plan.task, plan.verdict))
        return done

    def finish(verdict: asyncio.Future[Verdict]) -> None:
        if not verdict.cancelled() and not done.done():
            cache.put(plan.key, verdict.result())
            done.set_result(Scored(plan.item, plan.task, verdict.result()))

    running.add_done_callback(finish)
    return done


def _job(task: ResolvedTask, completion: Completion, twin: bytes | None = None) -> Job:
    return Job(
        verifier=task.verifier,
        lane=task.lane,
        spec=task.raw,
        task=task.exact,
        wall_s=task.wall_s,
        completion=completion.text,
        calls=completion.calls,
        fixtures=task.fixtures,
        looks_ahead=task.looks_ahead,
        twin=twin,
    )


def _needs(name: str, spec: Spec) -> tuple[Lane, float, bool]:
    """Of a task and its criteria: the heaviest lane, the wall limits in seconds together, whether any looks ahead."""
    verifier = VERIFIERS[name]
    lane, wall_s = verifier.lane, spec.limits.wall_seconds
    children = [(child, parse_spec(child, raw, VERIFIERS)) for child, raw in verifier.children(spec)]
    looks_ahead = not children and verifier.looks_ahead(spec)
    for child, child_spec in children:
        child_lane, child_wall_s, child_looks = _needs(child, child_spec)
        lane = max(lane, child_lane, key=WEIGHT.__getitem__)
        wall_s += child_wall_s
        looks_ahead = looks_ahead or child_looks
    return lane, wall_s, looks_ahead


def _cache_key(exact: str, completion: Completion) -> bytes:
    calls = [[call.name, call.arguments, call.id] for call in completion.calls]
    text = json.dumps([exact, completion.text, calls]).encode()
    return hashlib.sha256(text).digest()
