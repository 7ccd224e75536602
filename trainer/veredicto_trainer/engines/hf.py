"""The embedded rollout engine: samples in this process from the very weights that learn, with a key-value cache.

Every completion has its own seed and draws one uniform number per token, so what is drawn for it does not depend on
how many others are sampled beside it. Shapes: R prompts, B completions, P prompt positions, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from veredicto_trainer.engines.engine import Request, Sampling
from veredicto_trainer.policy import Policy
from veredicto_trainer.rollouts import Completion


class HfEngine:
    """Samples from a policy with transformers, at temperature 1 from the full vocabulary, or greedily.

    Args:
        policy: its current weights are used at every call.
        batch_size: completions side by side; requests are never split.
    """

    def __init__(self, policy: Policy, *, batch_size: int = 128) -> None:
        self._policy = policy
        self._batch_size = batch_size

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[tuple[Completion, ...]]:
        """One tuple of completions per request, one completion per seed, same order."""
        answers: dict[int, tuple[Completion, ...]] = {}
        # Prompts of one length stand side by side, so that padding is rare.
        order = sorted(range(len(requests)), key=lambda i: len(requests[i].prompt_ids))
        for chunk in _chunks(order, [len(request.seeds) for request in requests], self._batch_size):
            for index, completions in zip(chunk, self._batch([requests[i] for i in chunk], sampling), strict=True):
                answers[index] = completions
        return [answers[index] for index in range(len(requests))]

    def _batch(self, requests: Sequence[Request], sampling: Sampling) -> list[tuple[Completion, ...]]:
        with torch.inference_mode():
            rows = _sample(self._policy, requests, sampling)
        version = self._policy.version
        completions = [
            Completion(tuple(ids), tuple(lps), "stop" if ended else "length", version) for ids, lps, ended in rows
        ]
        shares, start = [], 0
        for request in requests:
            shares.append(tuple(completions[start : start + len(request.seeds)]))
            start += len(request.seeds)
        return shares


def _sample(
    policy: Policy, requests: Sequence[Request], sampling: Sampling
) -> list[tuple[list[int], list[float], bool]]:
    """Token ids, log-probabilities and whether it ended by itself, for each seed of each request."""
    counts_R = torch.tensor([len(request.seeds) for request in requests])
    seeds = [seed for request in requests for seed in request.seeds]
    rows: list[tuple[list[int], list[float], bool]] = [([], [], False) for _ in seeds]
    uniforms_BT = None if sampling.greedy else _uniforms(seeds, sampling.max_new_tokens)
    eos = frozenset(policy.eos_ids)
    lane = _Lane.prefill(policy, requests, counts_R, sampling.max_new_tokens)
    alive = list(range(len(seeds)))
    for position in range(sampling.max_new_tokens):
        uniforms_B = None if uniforms_BT is None else uniforms_BT[alive, position]
        tokens_B, logprobs_B = _draw(lane.logits_BV, uniforms_B)
        kept = []
        for slot, (token, logprob) in enumerate(zip(tokens_B.tolist(), logprobs_B.tolist(), strict=True)):
            ids, logprobs, _ = row = rows[alive[slot]]
            ids.append(token)
            logprobs.append(logprob)
            if token in eos:
                rows[alive[slot]] = (*row[:2], True)
            else:
                kept.append(slot)
        if not kept or position + 1 == sampling.max_new_tokens:
            break
        if len(kept) < len(alive):
            alive = [alive[slot] for slot in kept]
            lane.keep(kept)
        lane.advance(tokens_B[kept])
    return rows


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
