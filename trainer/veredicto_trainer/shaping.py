"""From a group's verdicts to its advantages under a configuration: length is punished, then the mean taken off."""

from __future__ import annotations

from veredicto_trainer.advantages import Advantages, group_advantages
from veredicto_trainer.config import GrpoSection
from veredicto_trainer.losses import constants_of
from veredicto_trainer.rollouts import Group


def advantages_of(group: Group, config: GrpoSection) -> Advantages:
    """The advantages of a group's rollouts, same order; its recorded rewards stay as the service gave them."""
    return group_advantages(
        learning_rewards(group, config), scale=constants_of(config).advantage, std_floor=config.std_floor
    )


def learning_rewards(group: Group, config: GrpoSection) -> tuple[float | None, ...]:
    """The rewards that advantages are computed from: the service's, less the punishment of length if configured."""
    if config.truncated != "punish":
        return group.rewards
    limit, buffer = config.max_new_tokens, config.overlong_buffer
    lengths = [len(rollout.completion.token_ids) for rollout in group.rollouts]
    return tuple(
        None if reward is None else reward - overlong_penalty(length, limit, buffer)
        for reward, length in zip(group.rewards, lengths, strict=True)
    )


def overlong_penalty(length: int, limit: int, buffer: float) -> float:
    """DAPO's soft punishment (arXiv 2503.14476, eq. 13): from 0 up to 1 over the last part of the room.

    Args:
        length: tokens of a completion.
        limit: tokens after which completions are cut.
        buffer: the last part, as a share of the limit.
    """
    room = buffer * limit
    return min(max((length - (limit - room)) / room, 0.0), 1.0)
