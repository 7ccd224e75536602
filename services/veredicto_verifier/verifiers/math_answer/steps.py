"""The process check: every arithmetic equality written in a solution is worked out, exactly and in linear time.

`48/2 = 24`, `<<48/2=24>>`, `$3 * $4 = $12`, `2 + 2 = 4 = 8 / 2`. An equality counts when both sides are arithmetic on
written numbers and at least one has an operation; anything with letters in it is left alone. A right side with decimals
may be the rounded value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from veredicto_verifier.numerals import DecimalMark

MAX_EQUALITIES: Final = 1_000
"""Half as many signs of equality as a text may hold."""
MAX_SIDE: Final = 120
"""Longest side that is read, in characters."""
MAX_EXPONENT: Final = 100

_SIGN: Final = re.compile(r"(?<![=<>!:≤≥≠≈~])=(?![=>])")
_ARITHMETIC: Final = "0123456789.,+-*/^()%$€£ \t"
_TOKEN: Final = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|\.\d+|\*\*|[-+*/^()%]|\s+")
_OPERATORS: Final = ("+", "-", "*", "/", "^", ")", "%")
_BULLET: Final = re.compile(r"\A\s*[-*+]\s+")
_LABEL: Final = re.compile(r"\A\s*(?:[0-9]{1,3}[.)]\s+|[.,]+\s+|\)+\s*)")
_BETWEEN: Final = re.compile(r"(?<=[0-9)%])\s+(?=[0-9(.$€£])")
_MARK: Final = re.compile(r"(?<=[0-9])[.,](?=[0-9])")
_GROUP: Final = re.compile(r"[0-9]{3}(?![0-9])")
_REMAINDER: Final = re.compile(r"(?:con |with |a )*(?:remainder|resto|residuo|r ?[0-9])\b", re.IGNORECASE)
"""`13 / 4 = 3 remainder 1` is left alone."""
_SENTENCE: Final = re.compile(r"[.,](?=\s|$)")
_LATEX: Final = (
    (re.compile(r"\\[dt]?frac\{([0-9.,]{1,20})\}\{([0-9.,]{1,20})\}"), r"((\1)/(\2))"),
    (re.compile(r"\\(?:times|cdot)(?![A-Za-z])"), "*"),
    (re.compile(r"\\div(?![A-Za-z])"), "/"),
    (re.compile(r"\\[%$]"), lambda found: found[0][1]),
    (re.compile(r"\\[,;! ]|\{,\}"), ""),
    (re.compile(r"(?<=[0-9)]) ?[xX] ?(?=[0-9(])"), "*"),
)
_CHARACTERS: Final = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{NO-BREAK SPACE}": " "}
)


@dataclass(frozen=True, slots=True)
class Steps:
    """How many equalities were found, and the first that is wrong (its number, from 1)."""

    found: int
    wrong: int | None = None


def check(text: str, mark: DecimalMark = ".") -> Steps:
    """Work out every equality of a solution, up to the first wrong one; one beyond the cap counts as wrong.

    Args:
        text: the solution.
        mark: what separates decimals in it.
    """
    if mark == ",":
        text = _MARK.sub(lambda found: "." if found[0] == "," else ",", text)
    if text.count("=") > 2 * MAX_EQUALITIES:
        return Steps(0, MAX_EQUALITIES + 1)
    found = 0
    for left, right in _equalities(_plain(text)):
        if not _holds(left, right):
            return Steps(found + 1, found + 1)
        found += 1
    return Steps(found)


def _plain(text: str) -> str:
    plain = text.translate(_CHARACTERS)
    for pattern, replacement in _LATEX:
        plain = pattern.sub(replacement, plain)
    return plain


@dataclass(frozen=True, slots=True)
class _Side:
    value: Fraction
    operation: bool
    decimals: int
    percent: bool


def _equalities(text: str) -> Iterator[tuple[_Side, _Side]]:
    at = 0
    for sign in _SIGN.finditer(text):
        left = _left(text, at, sign.start())
        right = _right(text, sign.end())
        at = sign.end()
        if left is None or right is None or not (left.operation or right.operation):
            continue
        if left.percent or not right.percent:  # in `45 + 21 = 66%` the sign is a unit
            yield left, right


def _left(text: str, start: int, end: int) -> _Side | None:
    """The arithmetic that ends at the sign; None if it is a part of something else, or none."""
    first = end
    lowest = max(start, end - MAX_SIDE)
    while first > lowest and text[first - 1] in _ARITHMETIC:
        first -= 1
    if first == lowest and first > start:
        return None
    side = text[first:end]
    before = text[first - 1] if first > start else "\n"
    if before == "\n":
        side = _BULLET.sub("", side)
    elif before in "xX" or (before.isalpha() and side[:1] == "("):
        return None  # `¾ x 3 = 9`, `f(2) = 3`
    elif _joined(before, side[:1]) or (_wordlike(before) and side.lstrip()[:1] in _OPERATORS):
        return None  # `x - 5 * 2 = 1`, `a2 = 3`, `8:30 - 2 = 6`
    side = _LABEL.sub("", side)
    side = side.replace("(", "", 1) if side.count("(") == side.count(")") + 1 else side
    return _value(side) or _value(_apart(side)[-1])


def _right(text: str, start: int) -> _Side | None:
    """The arithmetic that starts at the sign, up to the end of its sentence."""
    last = start
    while last < min(len(text), start + MAX_SIDE) and text[last] in _ARITHMETIC:
        last += 1
    if _REMAINDER.match(text, last):
        return None
    side = text[start:last]
    after = text[last] if last < len(text) else "\n"
    if _joined(after, side[-1:]) or (_wordlike(after) and side.rstrip()[-1:] in (*_OPERATORS, "(")):
        return None  # `10 = 2 * x`, `6 = 2x`
    side = _SENTENCE.split(side, maxsplit=1)[0].rstrip(".,")
    side = side[: side.rindex(")")] if side.count(")") == side.count("(") + 1 else side
    return _value(side) or _value(_apart(side)[0])


def _apart(side: str) -> list[str]:
    """The parts of `8 3*3`, where an equality ends and the next begins with nothing but a blank between.

    Not if it could be a number in groups of three digits.
    """
    parts = _BETWEEN.split(side)
    return [side] if any(_GROUP.match(part) for part in parts[1:]) else parts


def _joined(outside: str, inside: str) -> bool:
    """Whether the side goes on beyond its end without a space: a name, an index, a time of day."""
    return (outside.isalnum() or outside in "_:}{\\°'") and (inside.isdigit() or inside == ".")


def _wordlike(outside: str) -> bool:
    return outside.isalpha() or outside in "_\\})!"


def _value(text: str) -> _Side | None:
    tokens = []
    plain = re.sub(r"[$€£]\s*", "", text)
    at = 0
    while at < len(plain):
        token = _TOKEN.match(plain, at)
        if token is None:
            return None
        at = token.end()
        if not token.group().isspace():
            tokens.append(token.group())
    try:
        return _Reader(tokens).whole() if tokens else None
    except (_NotArithmetic, ZeroDivisionError):
        return None


class _NotArithmetic(ValueError):
    pass


class _Reader:
    """Recursive descent over at most `MAX_SIDE` tokens."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._operations = 0

    def whole(self) -> _Side:
        value = self._sum()
        if self._at < len(self._tokens):
            raise _NotArithmetic
        digits = self._tokens[-1].partition(".")[2] if len(self._tokens) <= 2 else ""
        return _Side(value, self._operations > 0, len(digits), "%" in self._tokens)

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        if self._at == len(self._tokens):
            raise _NotArithmetic
        self._at += 1
        return self._tokens[self._at - 1]

    def _sum(self) -> Fraction:
        value = self._product()
        while self._peek() in ("+", "-"):
            sign = self._next()
            other = self._product()
            value = value + other if sign == "+" else value - other
            self._operations += 1
        return value

    def _product(self) -> Fraction:
        value = self._power()
        while self._peek() in ("*", "/", "("):
            sign = self._next() if self._peek() != "(" else "*"
            other = self._power()
            value = value * other if sign == "*" else value / other
            self._operations += 1
        return value

    def _power(self) -> Fraction:
        value = self._atom()
        if self._peek() in ("^", "**"):
            self._next()
            exponent = self._atom()
            if exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT or abs(value) > 10**12:
                raise _NotArithmetic
            value = value ** int(exponent)
            self._operations += 1
        return value

    def _mixed(self) -> Fraction:
        """The `1/2` of `2 1/2`; nothing else may follow a number without a sign."""
        if not self._peek()[:1].isdigit():
            return Fraction(0)
        above, sign, below = (self._next() for _ in range(3))
        if sign != "/" or not (above.isdigit() and below.isdigit()) or int(above) >= int(below):
            raise _NotArithmetic
        return Fraction(int(above), int(below))

    def _atom(self) -> Fraction:
        token = self._next()
        if token == "(":
            value = self._sum()
            if self._next() != ")":
                raise _NotArithmetic
        elif token == "-":
            value = -self._atom()
        elif token[0].isdigit() or token[0] == ".":
            value = Fraction(token.replace(",", "")) + self._mixed()
        else:
            raise _NotArithmetic
        if self._peek() == "%":
            self._next()
            value /= 100
        return value


def _holds(left: _Side, right: _Side) -> bool:
    """Exactly, or rounded to as many decimals as the right side has."""
    if left.value == right.value:
        return True
    if right.decimals == 0 or right.operation:
        return False
    apart, half = abs(left.value - right.value), Fraction(1, 2 * 10**right.decimals)
    return apart < half or (apart == half and abs(right.value) > abs(left.value))
