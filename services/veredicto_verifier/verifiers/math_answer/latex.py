"""Answers beyond our own grammar (matrices, integrals, sums): math-verify, with gold and answer in `$…$`.

Used only for a gold that `syntax` does not read. math-verify reads generously: it drops units and lowers case, and
takes fragments of what it does not know. So a gold of this kind must hold one of the constructs below, an answer the
same ones, both directions must agree, and everything that sympy would compute without bound is refused first. Time is
the worker's: its own alarms work in no thread.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.numerals import MAX_CHARS, unwrapped
from veredicto_verifier.verifier import Check
from veredicto_verifier.verifiers.math_answer.numeric import failed

CONSTRUCTS: Final = ("matrix}", "\\int", "\\sum", "\\prod", "\\lim", "\\binom", "\\log_", "\\lfloor", "\\lceil", "\\pm")
MAX_OPERATIONS: Final = 40
"""Most powers, factorials, binomials, sums and products of one text."""
MAX_BOUND: Final = 100
"""Largest integer beside one of them."""

_GROWING: Final = re.compile(r"\^|!|\\binom|\\sum|\\prod|\\int")
_INTEGER: Final = re.compile(r"[0-9]+")
_TOWER: Final = re.compile(r"\^\{?[^{}^]*\^|\^\{[^{}]*(?:!|\\binom)|\^\s*\\binom|\\binom\{[^{}]*\\binom")
"""A power in an exponent, a factorial or binomial in one, a binomial of a binomial."""
_FACTORIAL: Final = re.compile(r"(?<![0-9A-Za-z])(?:[0-9]|1[0-9]|20|[A-Za-z])\s*!(?!\s*!)")
"""The only factorials that are read: of a letter, or of a number up to 20."""
_GROUP_POWER: Final = re.compile(r"[)}\]]\s*\^\s*(?:\{\s*([0-9]+)\s*\}|([0-9]))")
MAX_GROUP_POWER: Final = 12
"""Largest power of something in brackets: sympy expands it."""


@dataclass(frozen=True, slots=True)
class LatexGold:
    """The right answer as math-verify reads it."""

    gold: Sequence[Any]
    constructs: frozenset[str]

    def check(self, text: str) -> Check:
        """Read the answer and compare it both ways."""
        plain = unwrapped(text)
        if _unbounded(plain):
            return failed("math.too_complex", "the final answer is over a cap on length, powers or bounds")
        if _constructs(plain) != self.constructs:
            return failed("math.wrong_kind", "the final answer is not of the kind that is asked for")
        answer = _read(plain)
        if not answer:
            return failed("math.not_read", "the final answer is not in a notation that is read")
        if _agree(self.gold, answer):
            return Check("math.value", passed=True, score=1.0)
        return failed("math.wrong_value", "the final answer has another value")


def latex_gold(text: str) -> LatexGold:
    """Read the gold and judge it by itself.

    Raises:
        TaskFault: `task.gold_failed` if it is not read, is over a cap, or does not equal itself.
    """
    plain = unwrapped(text)
    constructs = _constructs(plain)
    if not constructs or _unbounded(plain):
        raise TaskFault("task.gold_failed", "$.answer: not in a notation that is read, or over a cap")
    gold = _read(plain)
    if not gold or not _agree(gold, gold):
        raise TaskFault("task.gold_failed", "$.answer: is not read, or does not equal itself")
    return LatexGold(gold, constructs)


def is_construct(text: str) -> bool:
    """Whether a text holds something that only math-verify reads."""
    return bool(_constructs(text))


def _constructs(text: str) -> frozenset[str]:
    return frozenset(one for one in CONSTRUCTS if one in text)


def _unbounded(text: str) -> bool:
    """Whether sympy could be made to compute without end: towers, large exponents, long sums."""
    growing = len(_GROWING.findall(text))
    if len(text) > MAX_CHARS or growing > MAX_OPERATIONS or text.count("{") > 60:
        return True
    if _TOWER.search(text) or len(_FACTORIAL.findall(text)) != text.count("!"):
        return True
    if any(int(one or other) > MAX_GROUP_POWER for one, other in _GROUP_POWER.findall(text)):
        return True
    return bool(growing) and any(int(one) > MAX_BOUND for one in _INTEGER.findall(text))


def _read(text: str) -> Sequence[Any]:
    from math_verify import parse  # lazily: only such tasks pay for sympy

    with _quiet():
        found: Sequence[Any] = parse(f"${text}$", parsing_timeout=None)
    return found if len(found) > 1 else ()


def _agree(gold: Sequence[Any], answer: Sequence[Any]) -> bool:
    from math_verify import verify  # lazily: only such tasks pay for sympy

    with _quiet():
        both = (
            verify(list(gold), list(answer), timeout_seconds=None),
            verify(list(answer), list(gold), timeout_seconds=None),
        )
    return all(both)


class _quiet(warnings.catch_warnings):  # noqa: N801
    """Without the notices of math-verify that its alarms are off."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
        self._disabled = logging.root.manager.disable
        logging.disable(logging.CRITICAL)

    def __exit__(self, *exc: Any) -> None:
        logging.disable(self._disabled)
        super().__exit__(*exc)
