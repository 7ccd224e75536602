"""The embedded rollout engine: samples in this process from the very weights that learn, with a key-value cache.

Every completion has its own seed and draws one uniform number per token, so what is drawn for it does not depend on
how many others are sampled beside it. Shapes: R prompts, B completions, P prompt positions, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from veredicto_trainer.engines.engine import Request, Sampling, SyncProof
from veredicto_trainer.errors import EngineFault
from veredicto_trainer.policy import Policy
from veredicto_trainer.rollouts import Completion


class HfEngine:
    """Samples from a policy with transformers, at temperature 1 from the full vocabulary, or greedily.

    Args:
        policy: its current weights are used at every call, until another policy is published.
        batch_size: completions side by side; requests are never split.
    """

    def __init__(self, policy: Policy, *, batch_size: int = 128) -> None:
        self._policy = policy
        self._batch_size = batch_size

    def publish(self, policy: Policy) -> SyncProof:
        """Sample from this very policy from now on: nothing is copied, so nothing can differ."""
        self._policy = policy
        return SyncProof(policy.version, logprob_gap=0.0, tolerance=0.0, seconds=0.0)

    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, tuple[Completion, ...]]]:
        """Each request's index with its completions, one per seed, as soon as the last of them has ended."""
        # Prompts of one length stand side by side, so that padding is rare.
        order = sorted(range(len(requests)), key=lambda i: len(requests[i].prompt_ids))
        for chunk in _chunks(order, [len(request.seeds) for request in requests], self._batch_size):
            batch = _Batch(self._policy, [requests[i] for i in chunk], sampling)
            while not batch.done:
                for index in batch.advance():
                    yield chunk[index], batch.completions(index)

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[tuple[Completion, ...]]:
        """The same, in the order of the requests."""
        answers = dict(self.stream(requests, sampling))
        return [answers[index] for index in range(len(requests))]


class _Batch:
    """Requests that are sampled side by side, one token of each completion at a time."""

    def __init__(self, policy: Policy, requests: Sequence[Request], sampling: Sampling) -> None:
        seeds = [seed for request in requests for seed in request.seeds]
        self._version = policy.version
        self._eos = frozenset(policy.eos_ids)
        self._room = sampling.max_new_tokens
        self._owner = [index for index, request in enumerate(requests) for _ in request.seeds]
        self._unfinished = [len(request.seeds) for request in requests]
        self._rows: list[tuple[list[int], list[float], bool]] = [([], [], False) for _ in seeds]
        self._alive = list(range(len(seeds)))
        self._position = 0
        self._uniforms_BT = None if sampling.greedy else _uniforms(seeds, sampling.max_new_tokens)
        counts_R = torch.tensor([len(request.seeds) for request in requests])
        with torch.inference_mode():
            self._lane = _Lane.prefill(policy, requests, counts_R, sampling.max_new_tokens)

    @property
    def done(self) -> bool:
        return not self._alive

    @torch.inference_mode()
    def advance(self) -> list[int]:
        """Sample one more token of each completion; returns the requests that are complete by it."""
        uniforms_B = None if self._uniforms_BT is None else self._uniforms_BT[self._alive, self._position]
        tokens_B, logprobs_B = _draw(self._lane.logits_BV, uniforms_B)
        self._position += 1
        kept, finished = [], []
        for slot, (token, logprob) in enumerate(zip(tokens_B.tolist(), logprobs_B.tolist(), strict=True)):
            which = self._alive[slot]
            ids, logprobs, _ = row = self._rows[which]
            ids.append(token)
            logprobs.append(logprob)
            if token in self._eos:
                self._rows[which] = (*row[:2], True)
            if token in self._eos or self._position == self._room:
                self._unfinished[self._owner[which]] -= 1
                if self._unfinished[self._owner[which]] == 0:
                    finished.append(self._owner[which])
            else:
                kept.append(slot)
        if kept and len(kept) < len(self._alive):
            self._lane.keep(kept)
        self._alive = [self._alive[slot] for slot in kept]
        if kept:
            self._lane.advance(tokens_B[kept])
        return finished

    def completions(self, request: int) -> tuple[Completion, ...]:
        """The completions of one request, in the order of its seeds."""
        rows = [row for row, owner in zip(self._rows, self._owner, strict=True) if owner == request]
        if not all(math.isfinite(sum(logprobs)) for _, logprobs, _ in rows):
            raise EngineFault(
                f"after update {self._version} the policy gives probabilities that are not numbers; "
                "lower grpo.lr and go on from a checkpoint before"
            )
        return tuple(Completion(tuple(i), tuple(p), "stop" if end else "length", self._version) for i, p, end in rows)


class _Lane:
    """The sequences still being sampled: their cache, attention mask and next logits."""

    def __init__(self, model: Any, cache: Any, mask_BS: Tensor, logits_BV: Tensor, next_position_B: Tensor) -> None:
        self._model = model
        self._cache = cache
        self._mask_BS = mask_BS
        self._padded = not bool(mask_BS.all())
        self._next_position_B = next_position_B
        self.logits_BV = logits_BV

    @classmethod
    def prefill(cls, policy: Policy, requests: Sequence[Request], counts_R: Tensor, max_new_tokens: int) -> _Lane:
        """Read each prompt once, padded on the left, then give every completion its copy of the cache."""
        device = policy.device
        lengths_R = torch.tensor([len(request.prompt_ids) for request in requests])
        width = int(lengths_R.max())
        ids_RP = torch.full((len(requests), width), policy.pad_id)
        for row, request in enumerate(requests):
            ids_RP[row, width - len(request.prompt_ids) :] = torch.tensor(request.prompt_ids)
        positions_P = torch.arange(width)[None, :] - (width - lengths_R)[:, None]
        mask_RP = positions_P >= 0  # from lengths: a prompt may hold the padding token
        out = policy.model(
            ids_RP.to(device),
            attention_mask=None if bool(mask_RP.all()) else mask_RP.long().to(device),
            position_ids=positions_P.clamp(min=0).to(device),
            use_cache=True,
            logits_to_keep=1,
        )
        which_B = torch.repeat_interleave(torch.arange(len(requests)), counts_R)
        out.cache.batch_select_indices(which_B.to(device))
        mask_BS = torch.cat([mask_RP[which_B], torch.ones(len(which_B), max_new_tokens, dtype=torch.bool)], dim=1)
        logits_BV = out.logits[:, -1][which_B.to(device)]
        return cls(policy.model, out.cache, mask_BS, logits_BV, lengths_R[which_B])

    def keep(self, slots: list[int]) -> None:
        """Drop the sequences that have ended."""
        index = torch.tensor(slots)
        self._cache.batch_select_indices(index.to(self.logits_BV.device))
        self._mask_BS = self._mask_BS[index]
        self._next_position_B = self._next_position_B[index]

    def advance(self, tokens_B: Tensor) -> None:
        """Append one token to each sequence and compute the logits of the next."""
        device = self.logits_BV.device
        seen = self._cache.get_seq_length() + 1
        out = self._model(
            tokens_B[:, None].to(device),
            attention_mask=self._mask_BS[:, :seen].long().to(device) if self._padded else None,
            position_ids=self._next_position_B[:, None].to(device),
            cache=self._cache,
            use_cache=True,
        )
        self._next_position_B = self._next_position_B + 1
        self.logits_BV = out.logits[:, -1]


def _draw(logits_BV: Tensor, uniforms_B: Tensor | None) -> tuple[Tensor, Tensor]:
    """A token per row and its log-probability: by inverting the cumulative distribution, or the most likely one."""
    logprobs_BV = torch.log_softmax(logits_BV.float(), dim=-1)
    if uniforms_B is None:
        tokens_B = logprobs_BV.argmax(dim=-1)
    else:
        cumulative_BV = logprobs_BV.double().exp().cumsum(dim=-1)
        targets_B = uniforms_B.to(cumulative_BV.device) * cumulative_BV[:, -1]
        tokens_B = torch.searchsorted(cumulative_BV, targets_B[:, None], right=True).squeeze(1)
        tokens_B = tokens_B.clamp(max=logprobs_BV.shape[1] - 1)  # logits that are not numbers find no place
    return tokens_B, logprobs_BV.gather(1, tokens_B[:, None]).squeeze(1)


def _uniforms(seeds: Sequence[int], num_tokens: int) -> Tensor:
    """A number in [0, 1) for each token of each completion, from its seed alone."""
    rows = [np.random.Generator(np.random.Philox(key=seed)).random(num_tokens) for seed in seeds]
    return torch.from_numpy(np.stack(rows))


def _chunks(order: Sequence[int], sizes: Sequence[int], limit: int) -> list[list[int]]:
    chunks: list[list[int]] = []
    total = limit
    for index in order:
        if not chunks or total + sizes[index] > limit:
            chunks.append([])
            total = 0
        chunks[-1].append(index)
        total += sizes[index]
    return chunks
