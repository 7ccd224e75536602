"""The policy losses, each a pure function of tensors, chosen by name from `LOSSES`.

Shapes: B completions, T completion tokens, B1 one value per completion. A loss gives a value per token and a weight
per token; the weights are computed once over the whole optimiser step, so any split into micro-batches gives the same
gradient. What a bound, a veto or a mask removes stays in the denominator: removing force never re-weights the rest.
Masked places are replaced by `torch.where`, never multiplied by zero, since infinity times zero is not a number.
"""

# ruff: noqa: N815 - fields that hold tensors carry their shape
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from veredicto_trainer.config import GrpoSection
from veredicto_trainer.ratios import log_ratio
from veredicto_trainer.veto import Veto, vetoed_tokens

DEFAULT_VETO = Veto()


class Tokens(NamedTuple):
    """What a loss is computed from."""

    logprobs_BT: Tensor
    """Under the weights that learn, with gradient."""
    old_BT: Tensor
    """Under the weights that the ratio is taken to: those that sampled, or those of a recomputation (`correction`)."""
    advantages_B: Tensor
    mask_BT: Tensor
    """True where there is a token."""


@dataclass(frozen=True, slots=True)
class Constants:
    """The numbers of a loss."""

    clip_low: float = 0.2
    """The ratio is bounded below by one minus this."""
    clip_high: float = 0.2
    """The ratio is bounded above by one plus this."""
    dual_clip: float = 0.0
    """A token with a negative advantage loses at most this many times it; 0 for no such bound."""
    m2_limit: float | None = None
    """Limit of the mean squared log-ratio, see `ratios.second_moment_mask`; None for no such mask."""
    advantage: Literal["std", "mean"] = "std"
    """Whether advantages are divided by the group's standard deviation."""
    max_tokens: int = 1
    """Tokens after which a completion is cut, the divisor of `dr_grpo`."""
    veto: Veto = DEFAULT_VETO


class TokenLoss(NamedTuple):
    """What a loss says of each token; the marks are False where there is no token."""

    loss_BT: Tensor
    low_BT: Tensor
    """The lower bound applied."""
    high_BT: Tensor
    """The upper bound applied."""
    dual_BT: Tensor
    """The dual clip applied."""
    vetoed_BT: Tensor
    """Removed since it follows an off-support token."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A policy loss: its value per token, how tokens are averaged over an optimiser step, and its own constants."""

    per_token: Callable[[Tokens, Constants], TokenLoss]
    weights: Callable[[Tensor, int], Tensor]
    """(mask_BT of the whole step, max_tokens) -> weights_BT, 0 where there is no token."""
    constants: Constants = Constants()


def clipped_surrogate(tokens: Tokens, constants: Constants) -> TokenLoss:
    """The pessimistic clipped objective of PPO and GRPO (DeepSeekMath, arXiv 2402.03300, eq. 3), negated.

    -min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), with r the ratio of each token.
    """
    return _bounded(log_ratio(tokens.logprobs_BT, tokens.old_BT, tokens.mask_BT), tokens, constants)


def sequence_surrogate(tokens: Tokens, constants: Constants) -> TokenLoss:
    """GSPO (arXiv 2507.18071): the same objective with one ratio per completion, the geometric mean of its tokens'."""
    ratio_BT = log_ratio(tokens.logprobs_BT, tokens.old_BT, tokens.mask_BT)
    mean_B1 = ratio_BT.sum(dim=1, keepdim=True) / tokens.mask_BT.sum(dim=1, keepdim=True).clamp(min=1)
    return _bounded(mean_B1.expand_as(ratio_BT), tokens, constants)


def weighted_likelihood(tokens: Tokens, constants: Constants) -> TokenLoss:
    """CISPO (MiniMax-M1, arXiv 2506.13585, eq. 4): -sg[clip(r, 1 - clip_low, 1 + clip_high)] A log pi.

    The bounds cap a token's weight; every token keeps its gradient.
    """
    ratio_BT = log_ratio(tokens.logprobs_BT, tokens.old_BT, tokens.mask_BT).detach().exp()
    lowest, highest = 1.0 - constants.clip_low, 1.0 + constants.clip_high
    logprobs_BT = torch.where(tokens.mask_BT, tokens.logprobs_BT, 0.0)
    loss_BT = -ratio_BT.clamp(lowest, highest) * tokens.advantages_B[:, None] * logprobs_BT
    nothing_BT = torch.zeros_like(tokens.mask_BT)
    low_BT, high_BT = tokens.mask_BT & (ratio_BT < lowest), tokens.mask_BT & (ratio_BT > highest)
    return TokenLoss(torch.where(tokens.mask_BT, loss_BT, 0.0), low_BT, high_BT, nothing_BT, nothing_BT)


def vetoed_surrogate(tokens: Tokens, constants: Constants) -> TokenLoss:
    """Mu-GRPO (arXiv 2605.17570): relaxed bounds, a veto on what follows an off-support token, a dual clip.

    The paper's constants are not public; ours are in the docs, with the measurements that they come from.
    """
    ratio_BT = log_ratio(tokens.logprobs_BT, tokens.old_BT, tokens.mask_BT)
    vetoed_BT = vetoed_tokens(ratio_BT.detach(), tokens.advantages_B, tokens.mask_BT, constants.veto)
    plain = _bounded(ratio_BT, tokens, constants)
    loss_BT = torch.where(vetoed_BT, 0.0, plain.loss_BT)
    return TokenLoss(
        loss_BT, plain.low_BT & ~vetoed_BT, plain.high_BT & ~vetoed_BT, plain.dual_BT & ~vetoed_BT, vetoed_BT
    )


def unbounded_surrogate(tokens: Tokens, constants: Constants) -> TokenLoss:
    """M2PO (arXiv 2510.01161): -r A without bounds; the learner masks tokens by their second moment instead."""
    ratio_BT = log_ratio(tokens.logprobs_BT, tokens.old_BT, tokens.mask_BT).exp()
    loss_BT = torch.where(tokens.mask_BT, -ratio_BT * tokens.advantages_B[:, None], 0.0)
    nothing_BT = torch.zeros_like(tokens.mask_BT)
    return TokenLoss(loss_BT, nothing_BT, nothing_BT, nothing_BT, nothing_BT)


def _bounded(log_ratio_BT: Tensor, tokens: Tokens, constants: Constants) -> TokenLoss:
    """The clipped objective of given log-ratios, with the dual clip of arXiv 1912.09729 where it is set."""
    ratio_BT = log_ratio_BT.exp()
    advantages_B1 = tokens.advantages_B[:, None]
    lowest, highest = 1.0 - constants.clip_low, 1.0 + constants.clip_high
    gain_BT = torch.minimum(ratio_BT * advantages_B1, ratio_BT.clamp(lowest, highest) * advantages_B1)
    dual_BT = torch.zeros_like(tokens.mask_BT)
    if constants.dual_clip:
        floor_B1 = constants.dual_clip * advantages_B1
        dual_BT = tokens.mask_BT & (advantages_B1 < 0) & (gain_BT.detach() < floor_B1)
        gain_BT = torch.where(dual_BT, floor_B1, gain_BT)
    now_BT = ratio_BT.detach()
    low_BT = tokens.mask_BT & (now_BT < lowest) & (advantages_B1 < 0)
    high_BT = tokens.mask_BT & (now_BT > highest) & (advantages_B1 > 0)
    return TokenLoss(
        torch.where(tokens.mask_BT, -gain_BT, 0.0), low_BT, high_BT, dual_BT, torch.zeros_like(tokens.mask_BT)
    )


def sequence_mean_weights(mask_BT: Tensor, max_tokens: int) -> Tensor:
    """The mean over completions of the mean over their tokens; a completion without tokens counts as nothing."""
    lengths_B = mask_BT.sum(dim=1)
    count = (lengths_B > 0).sum().clamp(min=1)
    weights_B = 1.0 / (lengths_B.clamp(min=1) * count)
    return torch.where(mask_BT, weights_B[:, None], 0.0)


def token_mean_weights(mask_BT: Tensor, max_tokens: int) -> Tensor:
    """The mean over all tokens of the step (DAPO, arXiv 2503.14476): a long completion weighs as much as it is long."""
    return torch.where(mask_BT, 1.0 / mask_BT.sum().clamp(min=1), 0.0)


def constant_weights(mask_BT: Tensor, max_tokens: int) -> Tensor:
    """Dr. GRPO (arXiv 2503.20783): the sum over tokens divided by completions times the length limit."""
    return torch.where(mask_BT, 1.0 / (max(mask_BT.shape[0], 1) * max_tokens), 0.0)


LOSSES: dict[str, Loss] = {
    "grpo": Loss(clipped_surrogate, sequence_mean_weights),
    "dr_grpo": Loss(clipped_surrogate, constant_weights, Constants(advantage="mean")),
    "dapo": Loss(clipped_surrogate, token_mean_weights, Constants(clip_high=0.28)),
    "gspo": Loss(sequence_surrogate, sequence_mean_weights, Constants(clip_low=3e-4, clip_high=4e-4)),
    "cispo": Loss(weighted_likelihood, token_mean_weights, Constants(clip_low=1.0, clip_high=4.0)),
    "mu_grpo": Loss(vetoed_surrogate, token_mean_weights, Constants(clip_low=0.5, clip_high=2.0, dual_clip=3.0)),
    "m2po": Loss(unbounded_surrogate, token_mean_weights, Constants(m2_limit=0.04)),
}
"""Every policy loss, by its name in the configuration."""


def constants_of(config: GrpoSection) -> Constants:
    """The constants of the configured loss: its own, but for those that the file sets."""
    return replace(
        LOSSES[config.loss].constants,
        max_tokens=config.max_new_tokens,
        veto=Veto(**config.veto.model_dump()),
        **config.overrides(),
    )
