"""Rewards: completions go to the service while others are still being sampled; a failure is never a reward.

Requests run on an event loop in a thread of its own, so that sampling and learning do not wait for them, and so that
a run that is asked to stop can drop them at once, also while the service is away.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from veredicto_proto.client import AsyncClient, Client
from veredicto_proto.messages import Item, Phase, Result, Task
from veredicto_trainer.errors import Stopped, TooFewRewards
from veredicto_trainer.rollouts import Group, Rollout, Unscored, Verdict

ValueT = TypeVar("ValueT")
Scored = tuple[list[Group], float]

RESENDS = 2
"""How often items with a retryable error are sent again before they count as unscorable."""
POLL_S = 0.05
"""Seconds between two looks at whether the run was asked to stop."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A request for verdicts that is under way."""

    answer: Future[Scored]
    """The groups with their verdicts, and the time (`time.perf_counter`) at which they came."""
    sent: float


class Rewarder:
    """Scores groups under one run's name; use it as a context, or close it.

    Args:
        client: the service.
        run: the run's name in the ledger.
        max_unscorable: share of a batch without rewards above which the run stops.
        concurrency: requests under way at a time.
        should_stop: asked while waiting; True drops what is under way.
    """

    def __init__(
        self,
        client: Client,
        *,
        run: str,
        max_unscorable: float,
        concurrency: int = 4,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._client = client
        self._run = run
        self._max_unscorable = max_unscorable
        self._concurrency = concurrency
        self._should_stop = should_stop
        self._loop: _LoopThread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop what is under way and close the connections."""
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def submit(self, groups: Sequence[Unscored], *, step: int, phase: Phase) -> Pending:
        """Send groups in one request, without waiting for the answer.

        The idempotency key follows from the content: a run that was killed after sending gets the same records when
        it sends the same completions again.
        """
        if self._loop is None:
            self._loop = _LoopThread(self._client, self._concurrency)
        return Pending(self._loop.submit(self._scored(list(groups), step, phase)), time.perf_counter())

    def wait(self, pending: Sequence[Pending], *, step: int, phase: Phase) -> list[Group]:
        """The groups with a verdict for every completion, in the order in which they were sent.

        Raises:
            TooFewRewards: more than the allowed share has no reward.
            ClientError: the service cannot be reached or refuses the batch.
            Stopped: the run was asked to stop meanwhile.
        """
        groups: list[Group] = []
        for each in pending:
            groups += wait_for(each.answer, self._should_stop)[0]
        self._check(groups, step=step, phase=phase)
        return groups

    def score(self, groups: Sequence[Unscored], *, step: int, phase: Phase) -> list[Group]:
        """Send groups in one request and wait for their verdicts; raises as `wait` does."""
        return self.wait([self.submit(groups, step=step, phase=phase)], step=step, phase=phase)

    async def _scored(self, groups: Sequence[Unscored], step: int, phase: Phase) -> Scored:
        items = [item for group in groups for item in _items(group, step)]
        verdicts = iter([_verdict(result) for result in await self._results(items, step=step, phase=phase)])
        scored = [_with_verdicts(group, [next(verdicts) for _ in group.completions], step) for group in groups]
        return scored, time.perf_counter()

    async def _results(self, items: Sequence[Item], *, step: int, phase: Phase) -> list[Result]:
        results = await self._send(items, step=step, phase=phase, attempt=0)
        for attempt in range(1, RESENDS + 1):
            again = [i for i, result in enumerate(results) if result.error is not None and result.error.retryable]
            if not again:
                break
            fresh = await self._send([items[i] for i in again], step=step, phase=phase, attempt=attempt)
            for index, result in zip(again, fresh, strict=True):
                results[index] = result
        return results

    async def _send(self, items: Sequence[Item], *, step: int, phase: Phase, attempt: int) -> list[Result]:
        digest = hashlib.sha256(f"{self._run}\0{phase}\0{step}\0{attempt}".encode())
        for item in items:
            digest.update(item.model_dump_json().encode())
        assert self._loop is not None  # this runs on it
        async with self._loop.slots:
            return await self._loop.client.score(
                items, run=self._run, step=step, phase=phase, idempotency_key=digest.hexdigest()
            )

    def _check(self, groups: Sequence[Group], *, step: int, phase: Phase) -> None:
        verdicts = [rollout.verdict for group in groups for rollout in group.rollouts]
        errors = [verdict.error for verdict in verdicts if verdict.reward is None]
        if len(errors) > self._max_unscorable * len(verdicts):
            counts = sorted(Counter(map(str, errors)).items())
            causes = ", ".join(f"{code} x {count}" for code, count in counts)
            raise TooFewRewards(
                f"{len(errors)} of {len(verdicts)} completions of {phase} step {step} got no reward ({causes}); "
                f"mend the service or the tasks, then run again to resume"
            )


def wait_for(future: Future[ValueT], should_stop: Callable[[], bool]) -> ValueT:
    """A future's result.

    Raises:
        Stopped: `should_stop` said so first, or the future was dropped for that reason.
    """
    while not wait([future], timeout=POLL_S).done:
        if should_stop():
            raise Stopped("the run was asked to stop; the same command resumes")
    try:
        return future.result()
    except CancelledError as error:
        raise Stopped("the run was stopped while it waited; the same command resumes") from error


class _LoopThread:
    """An event loop in a thread, with the client and the slots that belong to it."""

    def __init__(self, client: Client, concurrency: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rewards", daemon=True)
        self._thread.start()
        self._under_way: set[Future[Scored]] = set()
        self.client: AsyncClient = AsyncClient(client.connection)
        self.slots = asyncio.Semaphore(concurrency)

    def submit(self, work: Coroutine[Any, Any, Scored]) -> Future[Scored]:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def close(self) -> None:
        for future in list(self._under_way):
            future.cancel()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await self.client.close()


def _items(group: Unscored, step: int) -> list[Item]:
    return [
        Item(
            id=rollout_id(step, group.id, index),
            group=group.id,
            policy_version=completion.policy_version,
            completion=text,
            prompt=group.question.prompt,
            task=Task(ref=group.question.ref, category=group.question.category),
        )
        for index, (completion, text) in enumerate(zip(group.completions, group.texts, strict=True))
    ]


def rollout_id(step: int, group: str, index: int) -> str:
    """`step.group.index`."""
    return f"{step}.{group}.{index}"


def _verdict(result: Result) -> Verdict:
    return Verdict(
        reward=result.reward,
        passed=result.passed,
        record=result.record,
        error=None if result.error is None else result.error.code,
        failed=tuple(check.code for check in result.checks if check.code is not None),
        passed_checks=tuple(check.name for check in result.checks if check.passed),
        verifier=None if result.verifier is None else f"{result.verifier.name}@{result.verifier.version}",
        answer=result.answer,
        answer_class=result.answer_class,
    )


def _with_verdicts(group: Unscored, verdicts: Sequence[Verdict], step: int) -> Group:
    rows = enumerate(zip(group.completions, group.texts, verdicts, strict=True))
    rollouts = tuple(Rollout(rollout_id(step, group.id, i), c, text, v) for i, (c, text, v) in rows)
    return Group(group.id, group.question, rollouts)
