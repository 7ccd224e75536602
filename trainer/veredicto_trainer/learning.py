"""Learning from a batch: which completions take part, how old they may be, and what its updates did.

Training and `replay` both go through here, so that the same batches give the same weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from veredicto_trainer.advantages import Advantages
from veredicto_trainer.config import GrpoSection
from veredicto_trainer.errors import StaleSample
from veredicto_trainer.learner import Learner, TrainingSample
from veredicto_trainer.policy import Policy
from veredicto_trainer.rollouts import Batch, Group
from veredicto_trainer.shaping import advantages_of
from veredicto_trainer.update_stats import SampleStats, UpdateStats


@dataclass(frozen=True, slots=True)
class Lesson:
    """What came of learning from a batch."""

    advantages: tuple[Advantages, ...]
    """Of the batch's groups, same order."""
    trained_at: int
    """Updates that the weights had seen before."""
    updates: tuple[UpdateStats, ...]
    numbers: tuple[int, ...]
    """Numbers, from 1, of the updates that were applied."""
    samples: Mapping[str, SampleStats]
    """What the first update saw of each completion that it computed, by its id."""
    in_loss: frozenset[str]
    """Ids of the completions that took part: not those without a reward, nor those that were cut and left out."""


def learn(
    learner: Learner,
    policy: Policy,
    batch: Batch,
    config: GrpoSection,
    *,
    max_age: int,
) -> Lesson:
    """Update the policy on a batch, `updates_per_batch` times.

    Args:
        learner: changes the policy.
        policy: whose version says how many updates its weights have seen.
        batch: with its verdicts.
        config: the `[grpo]` section.
        max_age: the most updates between the oldest token of any completion and an update on it.

    Raises:
        StaleSample: a completion is older; the weights are then as the updates before left them.
    """
    advantages = [advantages_of(group, config) for group in batch.groups]
    ids, fresh = training_samples(batch.groups, advantages, mask_truncated=config.truncated == "mask")
    samples = learner.anchored(fresh)
    trained_at = policy.version
    updates: list[UpdateStats] = []
    numbers: list[int] = []
    for _ in range(config.updates_per_batch):
        _demand_age(batch, policy.version, max_age)
        updates.append(learner.update(samples))
        if updates[-1].applied:
            numbers.append(policy.version)
    seen = {name: stats for name, stats in zip(ids, updates[0].samples, strict=True) if stats is not None}
    return Lesson(tuple(advantages), trained_at, tuple(updates), tuple(numbers), seen, frozenset(ids))


def training_samples(
    groups: Sequence[Group], advantages: Sequence[Advantages], *, mask_truncated: bool
) -> tuple[list[str], list[TrainingSample]]:
    """The completions that take part in the loss, with their ids.

    Unscorable ones, those of void groups and (if masked) those that were cut do not.
    """
    ids, samples = [], []
    for group, computed in zip(groups, advantages, strict=True):
        for rollout, advantage in zip(group.rollouts, computed.values, strict=True):
            completion = rollout.completion
            if advantage is None or (mask_truncated and completion.finish == "length"):
                continue
            ids.append(rollout.id)
            samples.append(
                TrainingSample(group.question.token_ids, completion.token_ids, completion.logprobs, advantage)
            )
    return ids, samples


def _demand_age(batch: Batch, version: int, max_age: int) -> None:
    oldest = min(rollout.completion.policy_version for group in batch.groups for rollout in group.rollouts)
    if version - oldest > max_age:
        raise StaleSample(
            f"step {batch.step} holds a completion of weights {oldest}, {version - oldest} updates before {version}; "
            f"the mode allows {max_age}: nothing was learnt from it, report this"
        )
