"""The negative-advantage veto of mu-GRPO: no update of what follows a token that the policy would hardly write now.

Once a completion has left the policy's support, pushing down the tokens after that point changes a distribution that
the policy never visits, and this is what makes training on stale completions collapse (arXiv 2605.17570).
Shapes: B completions, T completion tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Trigger = Literal["token", "prefix_product", "prefix_mean"]
Direction = Literal["below", "above", "both"]


@dataclass(frozen=True, slots=True)
class Veto:
    """When a completion with a negative advantage counts as off support, and what is removed then."""

    threshold: float = 0.5
    trigger: Trigger = "token"
    direction: Direction = "below"
    inclusive: bool = False


def vetoed_tokens(log_ratio_BT: Tensor, advantages_B: Tensor, mask_BT: Tensor, veto: Veto) -> Tensor:
    """True for the tokens to remove: those after the first trigger, and the trigger itself if `inclusive`."""
    off_BT = triggers(log_ratio_BT, advantages_B, mask_BT, veto)
    seen_BT = off_BT.cumsum(dim=1)
    before_BT = seen_BT if veto.inclusive else seen_BT - off_BT.long()
    return mask_BT & (before_BT > 0)


def triggers(log_ratio_BT: Tensor, advantages_B: Tensor, mask_BT: Tensor, veto: Veto) -> Tensor:
    """True for every off-support token of a completion with a negative advantage."""
    measure_BT = MEASURES[veto.trigger](log_ratio_BT)
    bound = math.log(veto.threshold)
    below_BT, above_BT = measure_BT < bound, measure_BT > -bound
    off_BT = {"below": below_BT, "above": above_BT, "both": below_BT | above_BT}[veto.direction]
    return off_BT & mask_BT & (advantages_B < 0)[:, None]


def _prefix_mean(log_ratio_BT: Tensor) -> Tensor:
    lengths_T = torch.arange(1, log_ratio_BT.shape[1] + 1, device=log_ratio_BT.device)
    return log_ratio_BT.cumsum(dim=1) / lengths_T


MEASURES: dict[Trigger, Callable[[Tensor], Tensor]] = {
    "token": lambda log_ratio_BT: log_ratio_BT,
    "prefix_product": lambda log_ratio_BT: log_ratio_BT.cumsum(dim=1),
    "prefix_mean": _prefix_mean,
}
"""What is compared with the threshold, as a logarithm: a token's ratio, its prefix's product, or its prefix's mean."""
