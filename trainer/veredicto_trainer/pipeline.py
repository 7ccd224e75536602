"""The flow of batches into learning: admission by the schedule, sampling beside learning, checkpoints in between.

The schedule alone decides which weights sample which step. Whether sampling runs beside learning or before it changes
the time that a run takes, never a token.
"""

from __future__ import annotations

import copy
import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

import torch

from veredicto_trainer.engines.engine import Engine
from veredicto_trainer.metrics import StepLog
from veredicto_trainer.modes import Schedule
from veredicto_trainer.policy import Policy
from veredicto_trainer.producer import Produced, Producer
from veredicto_trainer.rewards import wait_for
from veredicto_trainer.rollouts import Batch

DRAIN_S = 60.0
"""Seconds that a checkpoint on SIGTERM waits for sampling; after that the run resumes from the checkpoint before."""


class Pipeline:
    """Gives learning its batches in order.

    Args:
        schedule: which weights sample which step.
        policy: learns; its weights are copied where sampling runs beside it.
        engine: samples.
        producer: makes batches.
        syncs: the log of hand-overs of weights.
        threads: torch threads of sampling.
        should_stop: asked while waiting.
    """

    def __init__(
        self,
        schedule: Schedule,
        policy: Policy,
        engine: Engine,
        producer: Producer,
        syncs: StepLog,
        *,
        threads: int,
        should_stop: Callable[[], bool],
    ) -> None:
        self._schedule = schedule
        self._policy = policy
        self._engine = engine
        self._producer = producer
        self._syncs = syncs
        self._should_stop = should_stop
        self._produced: dict[int, Future[Produced]] = {}
        self._thread = (
            ThreadPoolExecutor(1, "sampling", lambda: torch.set_num_threads(threads)) if schedule.ahead else None
        )

    def recover(self, done: int) -> None:
        """Take up the batches that were sampled by weights that step `done` has left behind, from their recordings."""
        for step in range(done + 1, self._schedule.steps + 1):
            after = self._schedule.sampled_after(step)
            if after >= done:
                return
            self._produced[step] = _done(self._producer.produce(step, sampled_after=after, only_recorded=True))

    def admit(self, after: int) -> None:
        """Have the steps sampled that the weights after step `after` are to sample; beside learning if ahead."""
        steps = [step for step in self._schedule.admitted(after) if step not in self._produced]
        if not steps:
            return
        if self._thread is None:
            self._publish(self._policy, after)
            for step in steps:
                self._produced[step] = _done(self._producer.produce(step, sampled_after=after))
            return
        weights = _frozen(self._policy)
        publishing = self._thread.submit(self._publish, weights, after)
        for step in steps:
            self._produced[step] = self._thread.submit(self._sample, publishing, step, after)

    def batch(self, step: int) -> Batch:
        """A step's batch, with every verdict.

        Raises:
            Stopped: the run was asked to stop while it waited.
            TooFewRewards, ClientError, SyncFault, CheckpointFault: what went wrong on the way.
        """
        began = time.perf_counter()
        produced = wait_for(self._produced[step], self._should_stop)
        batch = self._producer.collect(produced)
        del self._produced[step]
        return dataclasses.replace(batch, wait_s=time.perf_counter() - began)

    @property
    def ready(self) -> int:
        """Batches that are sampled and wait to be learnt from."""
        return sum(each.done() for each in self._produced.values())

    def drained(self) -> bool:
        """Wait until everything that was admitted is sampled and recorded, so that weights may be forgotten."""
        limit = DRAIN_S if self._should_stop() else None
        done, running = wait(list(self._produced.values()), timeout=limit)
        return not running and all(each.exception() is None for each in done)

    def close(self) -> None:
        """End sampling."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)

    def _sample(self, publishing: Future[None], step: int, after: int) -> Produced:
        publishing.result()  # no sampling from weights that were not proven
        return self._producer.produce(step, sampled_after=after)

    def _publish(self, policy: Policy, after: int) -> None:
        proof = self._engine.publish(policy)
        self._syncs.write({"step": after, **dataclasses.asdict(proof), "holds": proof.holds(policy.version)})
        proof.demand(policy.version)


def _done(produced: Produced) -> Future[Produced]:
    future: Future[Produced] = Future()
    future.set_result(produced)
    return future


def _frozen(policy: Policy) -> Policy:
    """A copy of the policy that learning does not touch."""
    frozen = copy.copy(policy)
    frozen.model, frozen.adapter = copy.deepcopy((policy.model, policy.adapter))  # they share the weights
    return frozen
