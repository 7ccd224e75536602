"""Rewards: one batch of completions to the service, one verdict for each back; a failure is never a reward."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from veredicto_proto.client import Client
from veredicto_proto.messages import Item, Phase, Result, Task
from veredicto_trainer.errors import TooFewRewards
from veredicto_trainer.rollouts import Completion, Group, Question, Rollout, Verdict

RESENDS = 2
"""How often items with a retryable error are sent again before they count as unscorable."""


@dataclass(frozen=True, slots=True)
class Unscored:
    """A group before its verdicts."""

    id: str
    question: Question
    completions: tuple[Completion, ...]
    texts: tuple[str, ...]


class Rewarder:
    """Scores groups under one run's name.

    Args:
        client: the service.
        run: the run's name in the ledger.
        max_unscorable: share of a batch without rewards above which the run stops.
    """

    def __init__(self, client: Client, *, run: str, max_unscorable: float) -> None:
        self._client = client
        self._run = run
        self._max_unscorable = max_unscorable

    def score(self, groups: Sequence[Unscored], *, step: int, phase: Phase) -> list[Group]:
        """The groups with a verdict for every completion, same order.

        The idempotency key follows from the content: a run that was killed after sending gets the same records when
        it sends the same completions again.

        Raises:
            TooFewRewards: more than the allowed share has no reward.
            ClientError: the service cannot be reached or refuses the batch.
        """
        items = [item for group in groups for item in _items(group, step)]
        verdicts = iter([_verdict(result) for result in self._results(items, step=step, phase=phase)])
        scored = [_scored(group, [next(verdicts) for _ in group.completions], step) for group in groups]
        self._check(scored, step=step, phase=phase)
        return scored

    def _results(self, items: Sequence[Item], *, step: int, phase: Phase) -> list[Result]:
        results = self._send(items, step=step, phase=phase, attempt=0)
        for attempt in range(1, RESENDS + 1):
            again = [i for i, result in enumerate(results) if result.error is not None and result.error.retryable]
            if not again:
                break
            fresh = self._send([items[i] for i in again], step=step, phase=phase, attempt=attempt)
            for index, result in zip(again, fresh, strict=True):
                results[index] = result
        return results

    def _send(self, items: Sequence[Item], *, step: int, phase: Phase, attempt: int) -> list[Result]:
        digest = hashlib.sha256(f"{self._run}\0{phase}\0{step}\0{attempt}".encode())
        for item in items:
            digest.update(item.model_dump_json().encode())
        return self._client.score(items, run=self._run, step=step, phase=phase, idempotency_key=digest.hexdigest())

    def _check(self, groups: Sequence[Group], *, step: int, phase: Phase) -> None:
        verdicts = [rollout.verdict for group in groups for rollout in group.rollouts]
        errors = [verdict.error for verdict in verdicts if verdict.reward is None]
        if len(errors) > self._max_unscorable * len(verdicts):
            causes = ", ".join(f"{code} x {errors.count(code)}" for code in sorted(set(map(str, errors))))
            raise TooFewRewards(
                f"{len(errors)} of {len(verdicts)} completions of {phase} step {step} got no reward ({causes}); "
                f"mend the service or the tasks, then run again to resume"
            )


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
    )


def _scored(group: Unscored, verdicts: Sequence[Verdict], step: int) -> Group:
    rows = enumerate(zip(group.completions, group.texts, verdicts, strict=True))
    rollouts = tuple(Rollout(rollout_id(step, group.id, i), c, text, v) for i, (c, text, v) in rows)
    return Group(group.id, group.question, rollouts)
