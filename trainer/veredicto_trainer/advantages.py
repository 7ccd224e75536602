"""Group-relative advantages: how much better each completion was than the others of its own question.

Computed in float64. A completion without a reward leaves the mean, the spread and the loss; a group with fewer than
two rewards is void; equal rewards (an exact test, not a small spread) teach nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["mixed", "equal", "void"]
"""`mixed` groups carry a signal, `equal` ones have one distinct reward, `void` ones fewer than two rewards."""


@dataclass(frozen=True, slots=True)
class Advantages:
    """The advantages of one group, same order as its rollouts."""

    values: tuple[float | None, ...]
    """None where the completion takes no part in the loss; exactly 0.0 throughout an `equal` group."""
    state: State


def group_advantages(rewards: Sequence[float | None], *, scale: Literal["std", "mean"], std_floor: float) -> Advantages:
    """Advantages of one group.

    Args:
        rewards: one per completion, None where the service gave none.
        scale: `std` divides the distance from the mean by the sample standard deviation (n - 1), `mean` does not.
        std_floor: the least standard deviation to divide by.
    """
    known = [reward for reward in rewards if reward is not None]
    if len(known) < 2:
        return Advantages((None,) * len(rewards), "void")
    if max(known) == min(known):
        return Advantages(tuple(None if reward is None else 0.0 for reward in rewards), "equal")
    mean = statistics.fmean(known)
    divisor = max(statistics.stdev(known), std_floor) if scale == "std" else 1.0
    return Advantages(tuple(None if reward is None else (reward - mean) / divisor for reward in rewards), "mixed")
