"""What several answers to one question are worth: pass@k, majority votes, and a paired test of two policies."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

_GROUPED = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_NUMBER = re.compile(r"[+-]?\d{1,40}(\.\d{1,40}|/\d{1,40})?")
"""Without exponents: model text must not choose how long a number gets."""
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


def vote_class(answer: str | None, *, passed: bool, said: str | None = None) -> str | None:
    """The class that an answer votes for; None for an answer that does not vote.

    Args:
        answer: what the service took as the answer.
        passed: answers that passed are one class.
        said: the service's class of a wrong answer: queries with the same result fall together, one that gave none
            does not vote. None where the verifier says nothing: then answers fall together when they are the same
            number, or the same text up to spaces and case.
    """
    if passed:
        return RIGHT
    if said is not None:
        return f"\0{said}" if said else None
    if answer is None or not answer.strip():
        return None
    text = " ".join(answer.split()).rstrip(";").strip().casefold()
    number = text.removeprefix("$").strip()
    if _GROUPED.fullmatch(number):
        number = number.replace(",", "")
    if not _NUMBER.fullmatch(number):
        return text
    try:
        return f"{Fraction(number)}"
    except ZeroDivisionError:
        return text


def majority(classes: Sequence[str | None]) -> float:
    """Whether the most frequent class of one question's answers is the right one; a tie counts as its part.

    Self-consistency (Wang et al. 2022, arXiv 2203.11171), over results where the answer is a query.
    """
    votes = Counter(each for each in classes if each is not None)
    top = max(votes.values(), default=0)
    return 1.0 / sum(count == top for count in votes.values()) if top and votes[RIGHT] == top else 0.0


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
