"""What a rollout engine is: prompts as token ids in, completions with behaviour log-probabilities out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from veredicto_trainer.errors import SyncFault
from veredicto_trainer.policy import Policy
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


@dataclass(frozen=True, slots=True)
class SyncProof:
    """That an engine samples from the weights that it was given."""

    version: int
    """Updates that the engine says its weights have seen."""
    logprob_gap: float
    """Largest distance between engine and policy of log-probabilities on a fixed probe; 0 for shared weights."""
    tolerance: float
    """The gap above which the weights are not the same."""
    seconds: float
    """What handing over and proving took."""

    def holds(self, version: int) -> bool:
        """Whether the engine has the weights of this version."""
        return self.version == version and self.logprob_gap <= self.tolerance

    def demand(self, version: int) -> None:
        """Refuse to go on without the weights of this version.

        Raises:
            SyncFault: the proof does not hold.
        """
        if not self.holds(version):
            raise SyncFault(
                f"the engine has version {self.version} of the weights, {version} was given, and its "
                f"log-probabilities differ by {self.logprob_gap:.2g}; nothing was sampled: restart the engine"
            )


class Engine(Protocol):
    """Samples from the weights that were published last."""

    def publish(self, policy: Policy) -> SyncProof:
        """Take over a policy's weights; what is sampled from now on carries its version."""
        ...

    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, tuple[Completion, ...]]]:
        """Each request's index with its completions, one per seed, as soon as the last of them has ended."""
        ...

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[tuple[Completion, ...]]:
        """The same, in the order of the requests."""
        ...


def sample_seed(seed: int, *parts: str | int) -> int:
    """A 64-bit seed that depends on the run's seed and on what is sampled (phase, step, group, index) only."""
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
