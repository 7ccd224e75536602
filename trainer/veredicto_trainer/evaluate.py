"""The examination: the same test questions before and after, answered greedily and sampled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from veredicto_trainer.checkpoints import read_json, write_json
from veredicto_trainer.engines.engine import Engine, Request, Sampling, sample_seed
from veredicto_trainer.errors import CheckpointFault
from veredicto_trainer.intervals import Interval, effective_count, wilson
from veredicto_trainer.policy import Policy
from veredicto_trainer.rewards import Rewarder
from veredicto_trainer.rollouts import Group, Question, Unscored


@dataclass(frozen=True, slots=True)
class Answer:
    """One answered question; None where the service gave no verdict."""

    ref: str
    category: str | None
    greedy: bool | None
    sampled: tuple[bool | None, ...]
    executed: tuple[bool | None, ...]
    """For each sampled completion, whether it ran at all."""
    records: tuple[str | None, ...]
    """Ledger records: the greedy completion's, then the sampled ones'."""
    taken: tuple[str | None, ...] = ()
    """For each sampled completion, what the service took as its answer."""
    classes: tuple[str | None, ...] = ()
    """For each sampled completion, the service's class of a wrong answer."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A share with its 95 % Wilson interval."""

    share: float
    interval: Interval
    count: int
    """Completions with a verdict."""


@dataclass(frozen=True, slots=True)
class Examination:
    """All answers of one examination."""

    step: int
    weights: str
    answers: tuple[Answer, ...]

    @property
    def greedy(self) -> Accuracy:
        """Share of questions answered right greedily."""
        return _accuracy([[answer.greedy] for answer in self.answers])

    @property
    def sampled(self) -> Accuracy:
        """Share of sampled completions that are right; several of one question are not independent."""
        return _accuracy([answer.sampled for answer in self.answers])

    @property
    def executes(self) -> Accuracy:
        """Share of sampled completions that ran at all."""
        return _accuracy([answer.executed for answer in self.answers])

    def to_json(self) -> dict[str, Any]:
        """As JSON types; `from_json` reads it back."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Examination:
        """An examination that `to_json` wrote."""
        return TypeAdapter(cls).validate_python(body)


def examine(
    policy: Policy,
    engine: Engine,
    rewarder: Rewarder,
    questions: Sequence[Question],
    *,
    step: int,
    seed: int,
    samples: int,
    max_new_tokens: int,
    executes_check: str,
) -> Examination:
    """Answer every question once greedily and `samples` times sampled, and have the answers judged.

    The seeds do not depend on the step, so that two examinations differ by their weights only.
    """
    engine.publish(policy).demand(policy.version)
    greedy_requests = [Request(question.token_ids, (0,)) for question in questions]
    sampled_requests = [
        Request(question.token_ids, tuple(sample_seed(seed, "eval", question.ref, i) for i in range(samples)))
        for question in questions
    ]
    unscored = _unscored(
        policy, questions, engine.generate(greedy_requests, Sampling(max_new_tokens, greedy=True)), "g"
    )
    if samples:
        unscored += _unscored(policy, questions, engine.generate(sampled_requests, Sampling(max_new_tokens)), "s")
    groups = rewarder.score(unscored, step=step, phase="eval")
    sampled: Sequence[Group | None] = groups[len(questions) :] or [None] * len(questions)
    answers = [_answer(g, s, executes_check) for g, s in zip(groups[: len(questions)], sampled, strict=True)]
    return Examination(step, policy.weights_digest(), tuple(answers))


def load_or(path: Path, make: Callable[[], Examination]) -> Examination:
    """The examination in a file, or a new one that is written to it: a resumed run does not sit it twice.

    Raises:
        CheckpointFault: the file is damaged.
    """
    if (known := read_json(path)) is not None:
        try:
            return Examination.from_json(known)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointFault(
                f"{path} is no examination ({type(error).__name__}); remove it to sit it again"
            ) from error
    fresh = make()
    write_json(path, fresh.to_json())
    return fresh


def _unscored(policy: Policy, questions: Sequence[Question], answers: Sequence[Any], kind: str) -> list[Unscored]:
    return [
        Unscored(f"{kind}{index}", question, completions, tuple(policy.decode(c.token_ids) for c in completions))
        for index, (question, completions) in enumerate(zip(questions, answers, strict=True))
    ]


def _answer(greedy: Group, sampled: Group | None, executes_check: str) -> Answer:
    verdicts = () if sampled is None else tuple(rollout.verdict for rollout in sampled.rollouts)
    ran = tuple(None if v.reward is None else executes_check in v.passed_checks for v in verdicts)
    first = greedy.rollouts[0].verdict
    return Answer(
        ref=greedy.question.ref,
        category=greedy.question.category,
        greedy=first.passed,
        sampled=tuple(verdict.passed for verdict in verdicts),
        executed=ran,
        records=(first.record, *(verdict.record for verdict in verdicts)),
        taken=tuple(verdict.answer for verdict in verdicts),
        classes=tuple(verdict.answer_class for verdict in verdicts),
    )


def _accuracy(clusters: Sequence[Sequence[bool | None]]) -> Accuracy:
    known = [[value for value in cluster if value is not None] for cluster in clusters]
    known = [cluster for cluster in known if cluster]
    count = sum(map(len, known))
    share = sum(map(sum, known)) / count if count else 0.0
    trials = count if all(len(cluster) == 1 for cluster in known) else effective_count(known)
    return Accuracy(share, wilson(share, trials), count)
