"""What an optimiser update did, per completion and over all its tokens.

Shapes: B completions, T completion tokens.
"""

# ruff: noqa: N815 - fields that hold tensors carry their shape
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from veredicto_trainer.losses import TokenLoss
from veredicto_trainer.ratios import log_ratio


@dataclass(frozen=True, slots=True)
class SampleStats:
    """What an update saw of one completion; sums are over its tokens."""

    num_tokens: int
    entropy: float
    """Sum, in nats."""
    kl: float
    """Sum of the divergence from the reference."""
    gap: float
    """Sum of the absolute differences between log-probabilities now and when sampled."""
    gap_max: float
    ratio: float
    """Sum of the probabilities now over those when sampled."""
    ratio_squares: float
    ratio_min: float
    ratio_max: float
    mismatch: float
    """Sum of r - 1 - log r, a k3 estimate of KL(sampled || now)."""
    mismatch_max: float
    clipped_low: int
    """Tokens whose ratio the lower bound held."""
    clipped_high: int
    clipped_dual: int
    vetoed: int
    """Tokens removed by the veto."""
    trigger: int
    """Position of the first vetoed token, or -1."""
    masked: int
    """Tokens removed by the second-moment mask or by the correction."""
    weight: float
    """Sum of the correction's weights; the number of tokens without a correction."""
    weight_min: float
    weight_max: float


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """What one update did; means and shares are over the tokens that were computed."""

    loss: float
    grad_norm: float
    """Before scaling down."""
    lr: float
    applied: bool
    """False where nothing carried a gradient, or where it was not finite; the weights are then unchanged."""
    entropy: float
    kl: float
    """Mean divergence from the reference; 0 without one."""
    ratio_mean: float
    ratio_min: float
    ratio_max: float
    clipped_low: float
    clipped_low_min: float
    """The least share of a completion's tokens."""
    clipped_high: float
    clipped_high_max: float
    """The greatest share of a completion's tokens."""
    clipped_dual: float
    veto_sequences: float
    """Share of completions with a vetoed token."""
    veto_tokens: float
    veto_position: float
    """Mean position, from 0, of the first vetoed token; 0 where there is none."""
    masked: float
    weight_mean: float
    weight_min: float
    weight_max: float
    mismatch_kl_mean: float
    mismatch_kl_max: float
    effective_share: float
    """Effective sample size of the ratios over the number of tokens: 1 where all are equal."""
    logprob_gap_mean: float
    """Mean absolute difference between log-probabilities now and when sampled."""
    logprob_gap_max: float
    num_tokens: int
    """Tokens in the loss's denominator."""
    num_signal_tokens: int
    """Of them, those of completions with an advantage other than zero."""
    samples: tuple[SampleStats | None, ...] = ()
    """One per completion, same order; None where it was not computed since it has no signal."""


class Computed(NamedTuple):
    """What a micro-batch came to, without gradient."""

    mask_BT: Tensor
    logprobs_BT: Tensor
    behaviour_BT: Tensor
    entropy_BT: Tensor
    kl_BT: Tensor | None
    loss: TokenLoss
    weights_BT: Tensor | None
    """The correction's."""
    masked_BT: Tensor
    """Removed by the second-moment mask or by the correction."""


def sample_stats(computed: Computed) -> list[SampleStats]:
    """Statistics of each completion of a micro-batch."""
    mask_BT, loss = computed.mask_BT, computed.loss
    log_BT = log_ratio(computed.logprobs_BT, computed.behaviour_BT, mask_BT)
    gap_BT = torch.where(mask_BT, computed.logprobs_BT - computed.behaviour_BT, 0.0).abs()
    ratio_BT = log_BT.exp()
    mismatch_BT = torch.where(mask_BT, ratio_BT - 1.0 - log_BT, 0.0)
    ones_BT = torch.ones_like(ratio_BT)
    weights_BT = ones_BT if computed.weights_BT is None else computed.weights_BT
    kl_BT = torch.zeros_like(ratio_BT) if computed.kl_BT is None else computed.kl_BT
    positions_B = torch.where(loss.vetoed_BT.any(dim=1), loss.vetoed_BT.int().argmax(dim=1), -1)

    def total(values_BT: Tensor) -> list[float]:
        return _rows(torch.where(mask_BT, values_BT, 0).double().sum(dim=1))

    def least(values_BT: Tensor) -> list[float]:
        return _rows(torch.where(mask_BT, values_BT, math.inf).amin(dim=1))

    def most(values_BT: Tensor) -> list[float]:
        return _rows(torch.where(mask_BT, values_BT, -math.inf).amax(dim=1))

    columns = (
        _counts(mask_BT),
        total(computed.entropy_BT),
        total(kl_BT),
        total(gap_BT),
        most(gap_BT),
        total(ratio_BT),
        total(ratio_BT.double().square()),
        least(ratio_BT),
        most(ratio_BT),
        total(mismatch_BT),
        most(mismatch_BT),
        _counts(loss.low_BT),
        _counts(loss.high_BT),
        _counts(loss.dual_BT),
        _counts(loss.vetoed_BT),
        _ints(positions_B),
        _counts(computed.masked_BT),
        total(weights_BT),
        least(weights_BT),
        most(weights_BT),
    )
    return [SampleStats(*row) for row in zip(*columns, strict=True)]


def update_stats(
    samples: Sequence[SampleStats | None],
    *,
    loss: float,
    grad_norm: float,
    lr: float,
    applied: bool,
    num_tokens: int,
    num_signal_tokens: int,
) -> UpdateStats:
    """The statistics of an update from those of its completions."""
    seen = [sample for sample in samples if sample is not None]
    tokens = sum(sample.num_tokens for sample in seen)

    def mean(value: Callable[[SampleStats], float]) -> float:
        return math.fsum(map(value, seen)) / tokens if tokens else 0.0

    triggers = [sample.trigger for sample in seen if sample.trigger >= 0]
    squares = math.fsum(sample.ratio_squares for sample in seen)
    ratios = math.fsum(sample.ratio for sample in seen)
    return UpdateStats(
        loss=loss,
        grad_norm=grad_norm,
        lr=lr,
        applied=applied,
        entropy=mean(lambda s: s.entropy),
        kl=mean(lambda s: s.kl),
        ratio_mean=ratios / tokens if tokens else 1.0,
        ratio_min=min((s.ratio_min for s in seen), default=1.0),
        ratio_max=max((s.ratio_max for s in seen), default=1.0),
        clipped_low=mean(lambda s: s.clipped_low),
        clipped_low_min=min((s.clipped_low / s.num_tokens for s in seen), default=0.0),
        clipped_high=mean(lambda s: s.clipped_high),
        clipped_high_max=max((s.clipped_high / s.num_tokens for s in seen), default=0.0),
        clipped_dual=mean(lambda s: s.clipped_dual),
        veto_sequences=len(triggers) / len(seen) if seen else 0.0,
        veto_tokens=mean(lambda s: s.vetoed),
        veto_position=_mean(triggers),
        masked=mean(lambda s: s.masked),
        weight_mean=mean(lambda s: s.weight) if tokens else 1.0,
        weight_min=min((s.weight_min for s in seen), default=1.0),
        weight_max=max((s.weight_max for s in seen), default=1.0),
        mismatch_kl_mean=mean(lambda s: s.mismatch),
        mismatch_kl_max=max((s.mismatch_max for s in seen), default=0.0),
        effective_share=ratios**2 / (tokens * squares) if squares > 0 else 1.0,
        logprob_gap_mean=mean(lambda s: s.gap),
        logprob_gap_max=max((s.gap_max for s in seen), default=0.0),
        num_tokens=num_tokens,
        num_signal_tokens=num_signal_tokens,
        samples=tuple(samples),
    )


def _mean(values: Iterable[int]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else 0.0


def _rows(values_B: Tensor) -> list[float]:
    rows: list[float] = values_B.detach().tolist()
    return rows


def _ints(values_B: Tensor) -> list[int]:
    rows: list[int] = values_B.tolist()
    return rows


def _counts(mask_BT: Tensor) -> list[int]:
    return _ints(mask_BT.sum(dim=1))
