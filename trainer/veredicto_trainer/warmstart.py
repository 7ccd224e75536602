"""The supervised warm start: imitate public demonstrations until the policy writes the right form, before any reward.

Shapes: B demonstrations of a step, T completion tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from veredicto_proto.messages import Demonstration
from veredicto_trainer.errors import PolicyFault
from veredicto_trainer.policy import Policy

RISE = 10
"""Steps over which the learning rate rises; a cold start at full rate throws small policies off."""
MAX_GRAD_NORM = 1.0
"""Gradients are scaled down to this norm."""


@dataclass(frozen=True, slots=True)
class WarmStartReport:
    """What the warm start did."""

    demonstrations: int
    """How many fitted the policy's context and were used."""
    steps: int
    tokens: int
    """Completion tokens learnt from, repeats included."""
    first_loss: float
    """Mean negative log-likelihood per completion token, in nats, of the first step's demonstrations."""
    last_loss: float
    """The same, of the last step's."""


@dataclass(frozen=True, slots=True)
class _Pair:
    prompt_ids: tuple[int, ...]
    token_ids: tuple[int, ...]


def warm_start(
    policy: Policy,
    demonstrations: Sequence[Demonstration],
    *,
    steps: int,
    batch_size: int,
    lr: float,
    seed: int,
    progress: Callable[[int, float], None],
) -> WarmStartReport:
    """Train the policy in place on the completions' tokens (the closing end token included, the prompts not).

    Args:
        policy: its weights change; its version stays, since no reward was seen.
        demonstrations: prompts with completions; those that exceed the policy's context are left out.
        steps: optimiser steps.
        batch_size: demonstrations per step.
        lr: AdamW's rate after its rise.
        seed: fixes the order of the demonstrations.
        progress: called after each step with its number (from 1) and its loss.

    Raises:
        PolicyFault: no demonstration fits the policy's context.
    """
    pairs = _fitting(policy, demonstrations)
    parameters = [p for p in policy.model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=lr, betas=(0.9, 0.95), weight_decay=0.0)
    losses: list[float] = []
    tokens = 0
    for step, chosen in zip(range(1, steps + 1), _batches(len(pairs), batch_size, seed), strict=False):
        for group in optimiser.param_groups:
            group["lr"] = lr * min(1.0, step / RISE)
        batch = [pairs[index] for index in chosen]
        losses.append(_learn(policy, batch, optimiser, parameters))
        tokens += sum(len(pair.token_ids) for pair in batch)
        progress(step, losses[-1])
    return WarmStartReport(len(pairs), steps, tokens, losses[0], losses[-1])


def _fitting(policy: Policy, demonstrations: Sequence[Demonstration]) -> list[_Pair]:
    pairs = [_Pair(policy.encode_prompt(d.prompt), policy.encode_completion(d.completion)) for d in demonstrations]
    fitting = [pair for pair in pairs if len(pair.prompt_ids) + len(pair.token_ids) <= policy.context]
    if not fitting:
        raise PolicyFault(
            f"none of {len(pairs)} demonstrations fits the policy's context of {policy.context} tokens; "
            f"shorten them or take a policy with a longer context"
        )
    return fitting


def _batches(count: int, size: int, seed: int) -> Iterator[list[int]]:
    """Endless batches of indices: a new seeded order each time all have been seen."""
    rng = np.random.Generator(np.random.Philox(key=seed))
    waiting: list[int] = []
    while True:
        while len(waiting) < size:
            waiting += rng.permutation(count).tolist()
        yield waiting[:size]
        waiting = waiting[size:]


def _learn(
    policy: Policy, batch: Sequence[_Pair], optimiser: torch.optim.Optimizer, parameters: list[torch.nn.Parameter]
) -> float:
    """One step on the mean over the batch's tokens; returns its loss before the step."""
    out = policy.logprobs([pair.prompt_ids for pair in batch], [pair.token_ids for pair in batch])
    loss = -out.logprobs_BT.sum() / out.mask_BT.sum()
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(parameters, MAX_GRAD_NORM)
    optimiser.step()
    return float(loss.detach())
