"""Ratios between two policies' probabilities of the same tokens, and what is built on them alone.

Shapes: B completions, T completion tokens, B1 one value per completion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

MAX_LOG_RATIO = 20.0
"""Log-ratios are clamped to plus and minus this before `exp`."""


def log_ratio(logprobs_BT: Tensor, other_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """The clamped difference of two log-probabilities; 0, without gradient, where there is no token."""
    difference_BT = torch.where(mask_BT, logprobs_BT, 0.0) - torch.where(mask_BT, other_BT, 0.0)
    return difference_BT.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)


def k3(logprobs_BT: Tensor, reference_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Schulman's k3 estimate of KL(policy || reference) per token: exp(-d) + d - 1, d = log policy - log reference."""
    difference_BT = log_ratio(logprobs_BT, reference_BT, mask_BT)
    return torch.where(mask_BT, (-difference_BT).exp() + difference_BT - 1.0, 0.0)


def unbiased_k3(logprobs_BT: Tensor, reference_BT: Tensor, behaviour_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """`k3` times the ratio to the weights that sampled (DeepSeek-V3.2, arXiv 2512.02556).

    Its expectation is KL(policy || reference) for tokens of any policy, and its gradient that of this divergence; the
    plain estimate used as a loss has the gradient of the opposite one even on fresh tokens.
    """
    ratio_BT = log_ratio(logprobs_BT, behaviour_BT, mask_BT).exp()
    return ratio_BT * k3(logprobs_BT, reference_BT, mask_BT)


@dataclass(frozen=True, slots=True)
class Correction:
    """How the difference between the engine's probabilities and the trainer's is made up for."""

    mode: Literal["none", "truncate", "mask"] = "none"
    level: Literal["token", "sequence"] = "token"
    low: float = 0.0
    high: float = 2.0


def correction_weights(old_BT: Tensor, behaviour_BT: Tensor, mask_BT: Tensor, correction: Correction) -> Tensor:
    """Factors for each token's loss, without gradient: the trainer's probability over the engine's, kept in bounds.

    `truncate` is truncated importance sampling: the ratio, raised to `low` and cut to `high`. `mask` gives the ratio
    within the bounds and 0 outside (IcePop). At the level of sequences the ratio is the product over a completion.
    """
    log_BT = log_ratio(old_BT, behaviour_BT, mask_BT).detach()
    if correction.level == "sequence":
        log_BT = log_BT.sum(dim=1, keepdim=True).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).expand_as(log_BT)
    ratio_BT = log_BT.exp()
    if correction.mode == "truncate":
        return ratio_BT.clamp(correction.low, correction.high)
    within_BT = (ratio_BT >= correction.low) & (ratio_BT <= correction.high)
    return torch.where(within_BT, ratio_BT, 0.0)


def second_moment_mask(log_ratios_N: Tensor, limit: float) -> Tensor:
    """True for the tokens that M2PO (arXiv 2510.01161) keeps: the largest squared log-ratios go until the mean fits.

    The fewest tokens go such that the mean squared log-ratio of those left is at most `limit`; equal values go in
    order of position.

    Args:
        log_ratios_N: of all tokens with an advantage of an optimiser step, so that no micro-batch decides.
        limit: of the mean over the tokens left.
    """
    keep_N = torch.ones_like(log_ratios_N, dtype=torch.bool)
    if not len(log_ratios_N):
        return keep_N
    squares_N, order_N = log_ratios_N.double().square().sort(descending=True, stable=True)
    left_N = torch.arange(len(squares_N), 0, -1, device=squares_N.device)
    means_N = squares_N.flip(0).cumsum(0).flip(0) / left_N
    num_masked = int((means_N > limit).sum())  # means fall from left to right, so these come first
    keep_N[order_N[:num_masked]] = False
    return keep_N
