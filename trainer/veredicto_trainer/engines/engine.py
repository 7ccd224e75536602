"""What a rollout engine is: prompts as token ids in, completions with behaviour log-probabilities out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from veredicto_trainer.rollouts import Completion


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt and a seed for each completion wanted of it."""

    prompt_ids: tuple[int, ...]
    seeds: tuple[int, ...]
    """64-bit; a completion depends on its own seed, never on its neighbours'."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample: always at temperature 1 from the full vocabulary, or greedily."""

    max_new_tokens: int
    greedy: bool = False


class Engine(Protocol):
    """Samples from the current policy."""

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[tuple[Completion, ...]]:
        """One tuple of completions per request, one completion per seed, same order."""
        ...


def sample_seed(seed: int, *parts: str | int) -> int:
    """A 64-bit seed that depends on the run's seed and on what is sampled (phase, step, group, index) only."""
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
