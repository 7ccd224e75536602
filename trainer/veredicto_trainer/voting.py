"""What several answers to one question are worth: pass@k, majority votes, and a paired test of two policies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

RIGHT = "\0right"
"""The class of all answers that passed: the verifier found each equal to the right one, by value or by result."""


def pass_at_k(count: int, passed: int, k: int) -> float:
    """Chance that one of `k` answers passes, estimated without bias from `count` of which `passed` did.

    1 - C(count - passed, k) / C(count, k) (Chen et al. 2021, arXiv 2107.03374).

    Raises:
        ValueError: `k` is not between 1 and `count`.
    """
    if not 1 <= k <= count:
        raise ValueError(f"pass@{k} needs at least {k} answers, there are {count}")
    return 1.0 - math.comb(count - passed, k) / math.comb(count, k)


def vote_class(answer: str | None, *, passed: bool) -> str | None:
    """The class that an answer votes for; None for no answer at all.

    Answers that passed are one class. The others fall together when they are the same number, or the same text up to
    spaces and case. The service does not say what a wrong query returned, so wrong queries that differ in text and
    agree in result count as different here: see `Majority`.
    """
    if passed:
        return RIGHT
    if answer is None or not answer.strip():
        return None
    text = " ".join(answer.split()).rstrip(";").strip().casefold()
    try:
        return f"{Fraction(text.replace(',', '').lstrip('$'))}"
    except (ValueError, ZeroDivisionError):
        return text


@dataclass(frozen=True, slots=True)
class Majority:
    """Whether the most frequent answer of a question is right; a tie counts as its part."""

    by_text: float
    """With wrong answers told apart as `vote_class` does: the most that it can be."""
    at_least: float
    """With all wrong answers counted as one: the least that it can be, however they agree."""


def majority(classes: Sequence[str | None]) -> Majority:
    """The vote over the classes of one question's answers; those without an answer do not vote."""
    votes = Counter(each for each in classes if each is not None)
    right = votes[RIGHT]
    wrong = sum(votes.values()) - right
    if right == 0:
        return Majority(0.0, 0.0)
    top = max(votes.values())
    tied = sum(count == top for count in votes.values())
    return Majority(1.0 / tied if right == top else 0.0, 1.0 if right > wrong else 0.5 if right == wrong else 0.0)


@dataclass(frozen=True, slots=True)
class McNemar:
    """The exact test of McNemar on pairs of answers to the same questions."""

    gained: int
    """Questions that only the second policy answers right."""
    lost: int
    """Questions that only the first does."""
    p_value: float
    """Two-sided, from the binomial distribution."""


def mcnemar(before: Sequence[bool], after: Sequence[bool]) -> McNemar:
    """Whether two policies differ on the same questions."""
    gained = sum(not b and a for b, a in zip(before, after, strict=True))
    lost = sum(b and not a for b, a in zip(before, after, strict=True))
    count = gained + lost
    tail = sum(math.comb(count, i) for i in range(min(gained, lost) + 1))
    return McNemar(gained, lost, min(1.0, 2.0 * tail / 2**count))
