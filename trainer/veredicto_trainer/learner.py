"""One optimiser update: a batch of completions with advantages in, changed weights and their statistics out.

Shapes: B completions, T completion tokens.
"""

# ruff: noqa: N815 - fields that hold tensors carry their shape
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from veredicto_trainer.config import GrpoSection
from veredicto_trainer.losses import LOSSES, TokenLoss, k3
from veredicto_trainer.policy import Policy, TokenLogprobs


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """One completion as the loss sees it."""

    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    behaviour_logprobs: tuple[float, ...]
    """Under the weights that sampled it. [num_tokens]"""
    advantage: float


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """What one update did; means are over the tokens that the loss sees."""

    loss: float
    grad_norm: float
    """Before scaling down."""
    lr: float
    applied: bool
    """False where nothing carried a gradient, or where it was not finite; the weights are then unchanged."""
    entropy: float
    kl: float
    """Mean k3 divergence from the reference; 0 without one."""
    ratio_mean: float
    ratio_min: float
    ratio_max: float
    clipped_low: float
    clipped_high: float
    logprob_gap_mean: float
    """Mean absolute difference between log-probabilities now and when sampled."""
    logprob_gap_max: float
    num_tokens: int
    """Tokens in the loss's denominator."""
    num_signal_tokens: int
    """Of them, those of completions with an advantage other than zero."""


class Learner:
    """AdamW on a policy, with the schedule, the clipping and the loss of the configuration.

    Args:
        policy: its weights change in place; `policy.version` counts the updates.
        config: the `[grpo]` section.
        reference: frozen policy for the divergence; needed exactly when `config.kl` is above zero.
    """

    def __init__(self, policy: Policy, config: GrpoSection, reference: Policy | None = None) -> None:
        if (config.kl > 0) != (reference is not None):
            raise ValueError("a reference policy is needed exactly when grpo.kl is above zero")
        self._policy = policy
        self._config = config
        self._loss = LOSSES[config.loss]
        self._reference = reference
        self.parameters = [p for p in policy.model.parameters() if p.requires_grad]
        self.optimiser = torch.optim.AdamW(
            self.parameters,
            lr=config.lr,
            betas=(config.adam_beta1, config.adam_beta2),
            weight_decay=config.weight_decay,
        )

    def learning_rate(self, update: int) -> float:
        """The rate of the update with this number (from 0): a linear rise, then constant."""
        return self._config.lr * min(1.0, (update + 1) / (self._config.lr_warmup_updates + 1))

    def update(self, samples: Sequence[TrainingSample]) -> UpdateStats:
        """Do one update on all the samples, by micro-batches whose gradients sum to that of one big batch."""
        self.optimiser.zero_grad(set_to_none=True)
        tally = _Tally()
        for batch in self._micro_batches(samples):
            out = self._policy.logprobs(batch.prompts, batch.completions)
            tokens = self._loss.per_token(
                out.logprobs_BT,
                batch.behaviour_BT,
                batch.advantages_B,
                out.mask_BT,
                self._config.clip_low,
                self._config.clip_high,
            )
            loss_BT, kl_BT = tokens.loss_BT, self._divergence(batch, out)
            if kl_BT is not None:
                loss_BT = loss_BT + self._config.kl * kl_BT
            loss = (loss_BT * batch.weights_BT).sum()
            loss.backward()  # type: ignore[no-untyped-call]
            tally.add(loss, out, tokens, batch, kl_BT)
        return self._apply(tally, samples)

    def _apply(self, tally: _Tally, samples: Sequence[TrainingSample]) -> UpdateStats:
        lr = self.learning_rate(self._policy.version)
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, self._config.max_grad_norm))
        applied = math.isfinite(norm) and tally.num_batches > 0
        if applied:
            for group in self.optimiser.param_groups:
                group["lr"] = lr
            self.optimiser.step()
            self._policy.version += 1
        self.optimiser.zero_grad(set_to_none=True)
        return tally.stats(samples, grad_norm=norm, lr=lr, applied=applied)

    def _divergence(self, batch: _MicroBatch, out: TokenLogprobs) -> Tensor | None:
        if self._reference is None:
            return None
        with torch.no_grad():
            reference = self._reference.logprobs(batch.prompts, batch.completions)
        return k3(out.logprobs_BT, reference.logprobs_BT, out.mask_BT)

    def _micro_batches(self, samples: Sequence[TrainingSample]) -> Iterator[_MicroBatch]:
        """Samples that can carry a gradient, weighted over all of them; similar lengths stand side by side."""
        weights_BT = self._loss.weights(_length_mask([len(sample.token_ids) for sample in samples]))
        live = [i for i, s in enumerate(samples) if s.token_ids and (s.advantage != 0.0 or self._config.kl > 0)]
        live.sort(key=lambda i: len(samples[i].prompt_ids) + len(samples[i].token_ids))
        for start in range(0, len(live), self._config.micro_batch):
            chosen = live[start : start + self._config.micro_batch]
            yield _MicroBatch.of([samples[i] for i in chosen], weights_BT[chosen], self._policy.device)


@dataclass(frozen=True, slots=True)
class _MicroBatch:
    prompts: list[tuple[int, ...]]
    completions: list[tuple[int, ...]]
    behaviour_BT: Tensor
    advantages_B: Tensor
    weights_BT: Tensor

    @classmethod
    def of(cls, samples: Sequence[TrainingSample], weights_BT: Tensor, device: torch.device) -> _MicroBatch:
        width = max(len(sample.token_ids) for sample in samples)
        rows = [[*s.behaviour_logprobs, *[0.0] * (width - len(s.token_ids))] for s in samples]
        return cls(
            [sample.prompt_ids for sample in samples],
            [sample.token_ids for sample in samples],
            torch.tensor(rows, device=device),
            torch.tensor([sample.advantage for sample in samples], device=device),
            weights_BT[:, :width].to(device),
        )


class _Tally:
    """Sums over micro-batches, in float64."""

    def __init__(self) -> None:
        self.num_batches = 0
        self._loss = self._entropy = self._kl = self._gap = self._ratio = self._low = self._high = 0.0
        self._tokens = 0
        self._gap_max, self._ratio_min, self._ratio_max = 0.0, math.inf, 0.0

    def add(
        self, loss: Tensor, out: TokenLogprobs, tokens: TokenLoss, batch: _MicroBatch, kl_BT: Tensor | None
    ) -> None:
        mask_BT = out.mask_BT
        gap_N = (out.logprobs_BT.detach() - batch.behaviour_BT)[mask_BT].abs()
        ratio_N = tokens.ratio_BT[mask_BT]
        self.num_batches += 1
        self._loss += float(loss.detach())
        self._tokens += int(mask_BT.sum())
        self._entropy += float(out.entropy_BT.sum())
        self._kl += 0.0 if kl_BT is None else float(kl_BT.detach().sum())
        self._gap += float(gap_N.sum())
        self._ratio += float(ratio_N.sum())
        self._low += float(tokens.clipped_low_BT.sum())
        self._high += float(tokens.clipped_high_BT.sum())
        self._gap_max = max(self._gap_max, float(gap_N.max()))
        self._ratio_min = min(self._ratio_min, float(ratio_N.min()))
        self._ratio_max = max(self._ratio_max, float(ratio_N.max()))

    def stats(self, samples: Sequence[TrainingSample], *, grad_norm: float, lr: float, applied: bool) -> UpdateStats:
        per_token = 1.0 / max(self._tokens, 1)
        return UpdateStats(
            loss=self._loss,
            grad_norm=grad_norm,
            lr=lr,
            applied=applied,
            entropy=self._entropy * per_token,
            kl=self._kl * per_token,
            ratio_mean=self._ratio * per_token if self._tokens else 1.0,
            ratio_min=self._ratio_min if self._tokens else 1.0,
            ratio_max=self._ratio_max if self._tokens else 1.0,
            clipped_low=self._low * per_token,
            clipped_high=self._high * per_token,
            logprob_gap_mean=self._gap * per_token,
            logprob_gap_max=self._gap_max,
            num_tokens=sum(len(sample.token_ids) for sample in samples),
            num_signal_tokens=sum(len(sample.token_ids) for sample in samples if sample.advantage != 0.0),
        )


def _length_mask(lengths: Sequence[int]) -> Tensor:
    lengths_B = torch.tensor(lengths, dtype=torch.long)
    width = max([1, *lengths])
    return torch.arange(width)[None, :] < lengths_B[:, None]
