"""The policy losses, each a pure function of tensors, chosen by name from `LOSSES`.

Shapes: B completions, T completion tokens. A loss gives a value per token and a weight per token; the weights are
computed once over the whole optimiser step, so any split into micro-batches gives the same gradient.
Masked places are replaced by `torch.where`, never multiplied by zero, since infinity times zero is not a number.
"""

# ruff: noqa: N815 - fields that hold tensors carry their shape
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

MAX_LOG_RATIO = 20.0
"""Log-ratios are clamped to plus and minus this before `exp`."""


class TokenLoss(NamedTuple):
    """What a loss says of each token."""

    loss_BT: Tensor
    ratio_BT: Tensor
    """Probability now over probability when sampled, without gradient; 1 where there is no token."""
    clipped_low_BT: Tensor
    """True where the lower bound stopped the gradient."""
    clipped_high_BT: Tensor
    """True where the upper bound stopped the gradient."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A policy loss: its value per token, and how tokens are averaged over an optimiser step."""

    per_token: Callable[[Tensor, Tensor, Tensor, Tensor, float, float], TokenLoss]
    """(logprobs_BT, behaviour_BT, advantages_B, mask_BT, clip_low, clip_high)"""
    weights: Callable[[Tensor], Tensor]
    """mask_BT of the whole step -> weights_BT that sum to 1 over it (0 everywhere where there is no token)."""


def log_ratio(logprobs_BT: Tensor, other_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """The clamped difference of two log-probabilities; 0, without gradient, where there is no token."""
    difference_BT = torch.where(mask_BT, logprobs_BT, 0.0) - torch.where(mask_BT, other_BT, 0.0)
    return difference_BT.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)


def clipped_surrogate(
    logprobs_BT: Tensor,
    behaviour_BT: Tensor,
    advantages_B: Tensor,
    mask_BT: Tensor,
    clip_low: float,
    clip_high: float,
) -> TokenLoss:
    """The pessimistic clipped objective of PPO and GRPO (DeepSeekMath, arXiv 2402.03300, eq. 3), negated.

    -min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), with r the ratio to the weights that sampled the token.
    """
    ratio_BT = log_ratio(logprobs_BT, behaviour_BT, mask_BT).exp()
    advantages_B1 = advantages_B[:, None]
    plain_BT = ratio_BT * advantages_B1
    clipped_BT = ratio_BT.clamp(1.0 - clip_low, 1.0 + clip_high) * advantages_B1
    loss_BT = torch.where(mask_BT, -torch.minimum(plain_BT, clipped_BT), 0.0)
    ratio_BT = ratio_BT.detach()
    low_BT = mask_BT & (ratio_BT < 1.0 - clip_low) & (advantages_B1 < 0)
    high_BT = mask_BT & (ratio_BT > 1.0 + clip_high) & (advantages_B1 > 0)
    return TokenLoss(loss_BT, ratio_BT, low_BT, high_BT)


def sequence_mean_weights(mask_BT: Tensor) -> Tensor:
    """The mean over completions of the mean over their tokens; a completion without tokens counts as nothing."""
    lengths_B = mask_BT.sum(dim=1)
    count = (lengths_B > 0).sum().clamp(min=1)
    weights_B = 1.0 / (lengths_B.clamp(min=1) * count)
    return torch.where(mask_BT, weights_B[:, None], 0.0)


def k3(logprobs_BT: Tensor, reference_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Schulman's k3 estimate of KL(policy || reference) per token: exp(-d) + d - 1, d = log policy - log reference."""
    difference_BT = log_ratio(logprobs_BT, reference_BT, mask_BT)
    return torch.where(mask_BT, (-difference_BT).exp() + difference_BT - 1.0, 0.0)


LOSSES: dict[str, Loss] = {"grpo": Loss(clipped_surrogate, sequence_mean_weights)}
"""Every policy loss, by its name in the configuration."""
