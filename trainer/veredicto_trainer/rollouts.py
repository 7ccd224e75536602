"""The nouns of training, as they come to be: Question, Completion, Unscored, Verdict, Rollout, Group, Batch."""

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
    difficulty: float | None = None
    """What the pack says of it."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What the engine sampled for one prompt."""

    token_ids: tuple[int, ...]
    """The end-of-sequence token included, where there is one."""
    logprobs: tuple[float, ...]
    """Natural log-probability of each token under the weights that sampled it. [num_tokens]"""
    finish: Finish
    policy_version: int
    """Updates that the oldest weights which sampled any of its tokens had seen."""
    newest_version: int | None = None
    """The same of the newest, where an engine took over weights in the middle; None means the same weights."""


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
    verifier: str | None = None
    """`name@version` of the verifier."""
    answer: str | None = None
    """What the service took from the completion as its answer."""
    answer_class: str | None = None
    """Equal for wrong answers that come to the same, empty for one that comes to nothing; None where it is not said."""


@dataclass(frozen=True, slots=True)
class Unscored:
    """A group before its verdicts."""

    id: str
    question: Question
    completions: tuple[Completion, ...]
    texts: tuple[str, ...]


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

    @property
    def has_signal(self) -> bool:
        """Whether its rewards differ, by an exact test."""
        known = {reward for reward in self.rewards if reward is not None}
        return len(known) > 1


@dataclass(frozen=True, slots=True)
class Batch:
    """What one step learns from."""

    step: int
    groups: tuple[Group, ...]
    replaced: tuple[Group, ...] = ()
    """Groups without a signal whose place another question took."""
    rounds: int = 1
    """Rounds of generation that it took."""
    generate_s: float = 0.0
    """Seconds of sampling."""
    score_s: float = 0.0
    """Seconds from the first request for verdicts to the last answer."""
    wait_score_s: float = 0.0
    """Of these, seconds that learning waited for nothing else."""
    wait_s: float = 0.0
    """Seconds that learning waited for the batch altogether."""
    sampled_at: int = 0
    """Updates that the learning weights had seen when its last completion was sampled."""
