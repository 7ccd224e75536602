"""The nouns of training, in the order in which they come to be: Question, Completion, Verdict, Rollout, Group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veredicto_proto.messages import ChatMessage

Finish = Literal["stop", "length"]
"""Why sampling ended: an end-of-sequence token, or the token limit. The engine says it; tokens are never asked."""


@dataclass(frozen=True, slots=True)
class Question:
    """A task as the policy sees it.

    Example: `Question("demo-sql@sha256:…/train/0007", "filter", "how many clients …", (5, 9, 2))`
    """

    ref: str
    """Pinned ref of the task."""
    category: str | None
    prompt: str | tuple[ChatMessage, ...]
    token_ids: tuple[int, ...]
    """The rendered prompt."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the engine sampled for one prompt."""

    token_ids: tuple[int, ...]
    """The end-of-sequence token included, where there is one."""
    logprobs: tuple[float, ...]
    """Natural log-probability of each token under the weights that sampled it. [num_tokens]"""
    finish: Finish
    policy_version: int
    """Updates that those weights had seen."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the service said of one completion; without a reward it leaves the group's mean, spread and loss."""

    reward: float | None
    passed: bool | None
    record: str | None
    """Id of the service's ledger record."""
    error: str | None = None
    """The contract's error code when there is no reward."""
    failed: tuple[str, ...] = ()
    """Codes of the checks that failed."""
    passed_checks: tuple[str, ...] = ()
    """Names of the checks that passed."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """A completion with its text and its verdict."""

    id: str
    """`step.group.index`, unique within the run and phase."""
    completion: Completion
    text: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Group:
    """The rollouts of one question; identified by itself, never by the prompt's text."""

    id: str
    question: Question
    rollouts: tuple[Rollout, ...]

    @property
    def rewards(self) -> tuple[float | None, ...]:
        """One per rollout, None where the service gave none."""
        return tuple(rollout.verdict.reward for rollout in self.rollouts)
