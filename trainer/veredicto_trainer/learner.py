"""One optimiser update: a batch of completions with advantages in, changed weights and their statistics out.

Shapes: B completions, T completion tokens, N tokens of a step.
"""

# ruff: noqa: N815 - fields that hold tensors carry their shape
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from veredicto_trainer.config import GrpoSection
from veredicto_trainer.errors import DivergenceFault
from veredicto_trainer.losses import LOSSES, Tokens, constants_of
from veredicto_trainer.policy import Policy, TokenLogprobs
from veredicto_trainer.ratios import Correction, correction_weights, k3, log_ratio, second_moment_mask, unbiased_k3
from veredicto_trainer.update_stats import Computed, SampleStats, UpdateStats, sample_stats, update_stats


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """One completion as the loss sees it."""

    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]
    behaviour_logprobs: tuple[float, ...]
    """Under the weights that sampled it, as the engine says. [num_tokens]"""
    advantage: float
    old_logprobs: tuple[float, ...] | None = None
    """Under the weights that the loss takes ratios to, see `Learner.anchored`; None for the engine's. [num_tokens]"""


class Scorer(Protocol):
    """What gives log-probabilities of completions: a policy, or one without its adapter."""

    def logprobs(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> TokenLogprobs:
        """See `Policy.logprobs`."""
        ...


class Learner:
    """AdamW on a policy, with the schedule, the clipping and the loss of the configuration.

    Args:
        policy: its weights change in place; `policy.version` counts the updates.
        config: the `[grpo]` section.
        reference: frozen policy for the divergence; needed exactly when `config.kl` is above zero.
    """

    def __init__(self, policy: Policy, config: GrpoSection, reference: Scorer | None = None) -> None:
        if (config.kl > 0) != (reference is not None):
            raise ValueError("a reference policy is needed exactly when grpo.kl is above zero")
        self._policy = policy
        self._config = config
        self._loss = LOSSES[config.loss]
        self._constants = constants_of(config)
        self._correction = Correction(**config.correction.model_dump())
        self._reference = reference
        self._bad_updates = 0
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

    def anchored(self, samples: Sequence[TrainingSample]) -> list[TrainingSample]:
        """The samples with the log-probabilities of the present weights, for a `correction` of the engine's.

        Call it before the first update on fresh completions; without a correction the samples come back as they are.
        """
        if self._correction.mode == "none":
            return list(samples)
        anchored = list(samples)
        for chosen in self._groups(samples, [i for i, sample in enumerate(samples) if sample.token_ids]):
            with torch.no_grad():
                out = self._policy.logprobs(*_ids([samples[i] for i in chosen]))
            for i, row in zip(chosen, out.logprobs_BT.tolist(), strict=True):
                anchored[i] = replace(samples[i], old_logprobs=tuple(row[: len(samples[i].token_ids)]))
        return anchored

    def update(self, samples: Sequence[TrainingSample]) -> UpdateStats:
        """Do one update on all the samples, by micro-batches whose gradients sum to that of one big batch.

        Raises:
            DivergenceFault: the gradient was not finite `max_bad_updates` times in a row; the weights are unchanged.
        """
        self.optimiser.zero_grad(set_to_none=True)
        total = 0.0
        seen: list[SampleStats | None] = [None] * len(samples)
        for batch in self._micro_batches(samples):
            loss, computed = self._forward(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach())
            for index, stats in zip(batch.indices, sample_stats(computed), strict=True):
                seen[index] = stats
        has_signal = any(stats is not None for stats in seen)
        lr, norm, applied = self._apply(has_signal, math.isfinite(total))
        return update_stats(
            seen,
            loss=total,
            grad_norm=norm,
            lr=lr,
            applied=applied,
            num_tokens=sum(len(sample.token_ids) for sample in samples),
            num_signal_tokens=sum(len(sample.token_ids) for sample in samples if sample.advantage != 0.0),
        )

    def _forward(self, batch: _MicroBatch) -> tuple[Tensor, Computed]:
        """The weighted loss of a micro-batch, with gradient, and its parts, without."""
        reference_BT = self._reference_logprobs(batch)  # first: an adapter is switched off for it
        out = self._policy.logprobs(batch.prompts, batch.completions)
        mask_BT = out.mask_BT
        tokens = self._loss.per_token(
            Tokens(out.logprobs_BT, batch.old_BT, batch.advantages_B, mask_BT), self._constants
        )
        loss_BT, masked_BT = tokens.loss_BT, mask_BT & ~batch.keep_BT
        importance_BT = None
        if self._correction.mode != "none":
            importance_BT = correction_weights(batch.old_BT, batch.behaviour_BT, mask_BT, self._correction)
            loss_BT = loss_BT * importance_BT
            masked_BT = masked_BT | (mask_BT & (importance_BT == 0.0))
        loss_BT = torch.where(masked_BT, 0.0, loss_BT)
        kl_BT = None if reference_BT is None else self._divergence(batch, out, reference_BT)
        if kl_BT is not None:
            loss_BT = loss_BT + self._config.kl * kl_BT
        computed = Computed(
            mask_BT,
            out.logprobs_BT.detach(),
            batch.behaviour_BT,
            out.entropy_BT,
            None if kl_BT is None else kl_BT.detach(),
            tokens,
            importance_BT,
            masked_BT,
        )
        return torch.where(mask_BT, loss_BT * batch.weights_BT, 0.0).sum(), computed

    def _apply(self, has_signal: bool, loss_is_finite: bool) -> tuple[float, float, bool]:
        """Step the optimiser if loss and gradient are finite; gives the rate, the gradient's norm, and whether."""
        lr = self.learning_rate(self._policy.version)
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, self._config.max_grad_norm))
        finite = loss_is_finite and math.isfinite(norm)
        if finite and has_signal:
            for group in self.optimiser.param_groups:
                group["lr"] = lr
            self.optimiser.step()
            self._policy.version += 1
        self.optimiser.zero_grad(set_to_none=True)
        self._bad_updates = 0 if finite else self._bad_updates + 1
        if self._bad_updates >= self._config.max_bad_updates:
            raise DivergenceFault(
                f"the gradient was not finite {self._bad_updates} times in a row; the weights are those of update "
                f"{self._policy.version}: lower grpo.lr or tighten the clip, and start again or from a checkpoint"
            )
        return lr, norm, finite and has_signal

    def _reference_logprobs(self, batch: _MicroBatch) -> Tensor | None:
        if self._reference is None:
            return None
        with torch.no_grad():
            return self._reference.logprobs(batch.prompts, batch.completions).logprobs_BT

    def _divergence(self, batch: _MicroBatch, out: TokenLogprobs, reference_BT: Tensor) -> Tensor:
        if self._config.kl_unbiased:
            return unbiased_k3(out.logprobs_BT, reference_BT, batch.behaviour_BT, out.mask_BT)
        return k3(out.logprobs_BT, reference_BT, out.mask_BT)

    def _micro_batches(self, samples: Sequence[TrainingSample]) -> Iterator[_MicroBatch]:
        """Samples that can carry a gradient, weighted over all of them."""
        mask_BT = _length_mask([len(sample.token_ids) for sample in samples])
        weights_BT = self._loss.weights(mask_BT, self._constants.max_tokens)
        keep_BT = self._kept(samples, mask_BT)
        live = [i for i, s in enumerate(samples) if s.token_ids and (s.advantage != 0.0 or self._config.kl > 0)]
        for chosen in self._groups(samples, live):
            picked = [samples[i] for i in chosen]
            yield _MicroBatch.of(chosen, picked, weights_BT[chosen], keep_BT[chosen], self._policy.device)

    def _kept(self, samples: Sequence[TrainingSample], mask_BT: Tensor) -> Tensor:
        """False for tokens that the second-moment mask removes: a forward pass of its own, over the whole step."""
        limit = self._constants.m2_limit
        if limit is None:
            return torch.ones_like(mask_BT)
        log_BT = torch.zeros(mask_BT.shape)
        signal = [i for i, sample in enumerate(samples) if sample.token_ids and sample.advantage != 0.0]
        for chosen in self._groups(samples, signal):
            batch = _MicroBatch.of(
                chosen, [samples[i] for i in chosen], mask_BT[chosen], mask_BT[chosen], self._policy.device
            )
            with torch.no_grad():
                out = self._policy.logprobs(batch.prompts, batch.completions)
            ratios_BT = log_ratio(out.logprobs_BT, batch.behaviour_BT, out.mask_BT).cpu()
            log_BT[chosen, : ratios_BT.shape[1]] = ratios_BT
        rows_BT = torch.zeros_like(mask_BT)
        rows_BT[signal] = mask_BT[signal]
        return torch.ones_like(mask_BT).masked_scatter(rows_BT, second_moment_mask(log_BT[rows_BT], limit))

    def _groups(self, samples: Sequence[TrainingSample], indices: Sequence[int]) -> Iterator[list[int]]:
        """The indices in micro-batches; similar lengths stand side by side, and equal completions."""
        order = sorted(indices, key=lambda i: (_length(samples[i]), samples[i].prompt_ids, samples[i].token_ids))
        for start in range(0, len(order), self._config.micro_batch):
            yield order[start : start + self._config.micro_batch]


@dataclass(frozen=True, slots=True)
class _MicroBatch:
    indices: list[int]
    prompts: list[tuple[int, ...]]
    completions: list[tuple[int, ...]]
    behaviour_BT: Tensor
    old_BT: Tensor
    advantages_B: Tensor
    weights_BT: Tensor
    keep_BT: Tensor

    @classmethod
    def of(
        cls,
        indices: list[int],
        samples: Sequence[TrainingSample],
        weights_BT: Tensor,
        keep_BT: Tensor,
        device: torch.device,
    ) -> _MicroBatch:
        width = max(len(sample.token_ids) for sample in samples)
        behaviour_BT = _padded([sample.behaviour_logprobs for sample in samples], width).to(device)
        olds = [s.behaviour_logprobs if s.old_logprobs is None else s.old_logprobs for s in samples]
        return cls(
            indices,
            *_ids(samples),
            behaviour_BT,
            _padded(olds, width).to(device),
            torch.tensor([sample.advantage for sample in samples], device=device),
            weights_BT[:, :width].to(device),
            keep_BT[:, :width].to(device),
        )


def _ids(samples: Sequence[TrainingSample]) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    return [sample.prompt_ids for sample in samples], [sample.token_ids for sample in samples]


def _length(sample: TrainingSample) -> int:
    return len(sample.prompt_ids) + len(sample.token_ids)


def _padded(rows: Sequence[Sequence[float]], width: int) -> Tensor:
    return torch.tensor([[*row, *[0.0] * (width - len(row))] for row in rows])


def _length_mask(lengths: Sequence[int]) -> Tensor:
    lengths_B = torch.tensor(lengths, dtype=torch.long)
    width = max([1, *lengths])
    return torch.arange(width)[None, :] < lengths_B[:, None]
