"""What kind of thing a final answer is: an expression, a relation, a set, a tuple, an interval or a union, a choice.

Kinds do not mix: `(1, 2)` is not `{1, 2}`, `x = 5` is not 5, `[1, 2]` is not `(1, 2)`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from veredicto_verifier.numerals import plain_characters, unwrapped
from veredicto_verifier.verifiers.math_answer.syntax import Node, parse
from veredicto_verifier.verifiers.math_answer.tokens import TooComplex, Unread, tokens

Kind = Literal["number", "expression", "relation", "set", "tuple", "interval", "choice"]

RELATIONS: Final = ("=", "<", ">", "\\le", "\\ge", "\\ne", "\\in")
MAX_PARTS: Final = 64

_REVERSED: Final = re.compile(r"\A\s*([\](\[])([^()\[\]]*[,;][^()\[\]]*)([\])\[])\s*\Z")
"""One interval whose open ends may be written `]1, 2[`."""
_CHOICE: Final = re.compile(r"(?:\\(?:text|mathrm|textbf|mathbf)\{)?\s*[(\[]?\s*([A-Za-z])\s*[)\].:]?\s*\}?\Z")
_OPEN: Final = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
_CLOSE: Final = frozenset(_OPEN.values())


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`; `closed` says of which ends the number itself belongs to it."""

    low: Node
    high: Node
    closed: tuple[bool, bool]


@dataclass(frozen=True, slots=True)
class Shape:
    """A thing of one kind.

    `parts`: of an expression the one tree, of a relation its sides, of a set or tuple its elements (shapes
    themselves), of an interval the pieces of the union: intervals and single points. `relations` stand between sides.
    """

    kind: Kind
    parts: tuple[Node | Interval | Shape, ...] = ()
    relations: tuple[str, ...] = ()
    letter: str = ""


def read(text: str, kind: Kind | None = None, symbols: Collection[str] = ()) -> Shape:
    """The shape of a text.

    Args:
        text: without its extraction marks.
        kind: what it should be, where the text alone does not say: `(1, 2)` is a tuple unless an interval is meant.
        symbols: names of more than one letter that are symbols.

    Raises:
        Unread: it is none.
        TooComplex: it is over a cap.
    """
    plain = unwrapped(plain_characters(text).strip()) if len(text) <= 300 else text
    if kind == "choice":
        return choice(plain)
    turned = _REVERSED.match(plain.replace("\\left", "").replace("\\right", ""))
    if turned and (turned[1] == "]" or turned[3] == "["):
        kind = "interval"
        plain = turned[1].replace("]", "(") + turned[2] + turned[3].replace("[", ")")
    found = tokens(plain, symbols)
    if len(found) > 2 and not list(_split(found, ("=",)))[1:] and found[-1] == ",":
        raise Unread("a comma too many")
    return _shape(found, kind)


def choice(text: str) -> Shape:
    """A letter, as in `B`, `(b)`, `B.`, `\\text{B}`."""
    found = _CHOICE.match(text)
    if found is None:
        raise Unread("not one letter")
    return Shape("choice", letter=found[1].upper())


def _shape(found: Sequence[str], kind: Kind | None) -> Shape:
    if "\\lor" in found:
        return _alternatives(found)
    if "\\land" in found and not any(token in RELATIONS for token in found):
        listed = [token.replace("\\land", ",") for token in found]
        found = [token for at, token in enumerate(listed) if not (token == "," == listed[at - 1] and at)]
    unions = list(_split(found, ("\\cup",)))
    if len(unions) > 1 and not any(token in RELATIONS for token in found):
        return Shape("interval", tuple(piece for part in unions for piece in _pieces(part)))
    sides = list(_split(found, RELATIONS))
    if len(sides) > 1:
        return _relation(found, sides)
    if found == ["\\emptyset"] or found in (["\\{", "\\}"], ["{", "}"]):
        return Shape("set")
    if found == ["\\mathbb", "{", "R", "}"]:
        infinity = Node("const", (), "oo")
        return Shape("interval", (Interval(Node("neg", (infinity,)), infinity, (False, False)),))
    elements = list(_split(found, (",", ";")))
    if len(elements) > 1:
        return Shape("set", _elements(elements))
    return _enclosed(found, kind)


def _alternatives(found: Sequence[str]) -> Shape:
    """`x < 1` or `x > 2`: relations side by side; what is no relation is an answer in two minds."""
    sides = tuple(_shape(part, None) for part in _split(found, ("\\lor",)))
    if len(sides) < 2 or any(side.kind != "relation" for side in sides):
        raise Unread("alternatives that are no relations")
    return Shape("relation", sides, ("\\lor",))


def _enclosed(found: Sequence[str], kind: Kind | None) -> Shape:
    """What stands in one pair of brackets, if the brackets make it something; else an expression."""
    if not found or found[0] not in _OPEN or _closing(found) != len(found) - 1:
        return Shape("expression", (parse(found),))
    inner = list(_split(found[1:-1], (",", ";")))
    if found[0] == "\\{" or (found[0] == "{" and len(inner) > 1):
        return Shape("set", _elements(inner))
    if len(inner) == 1:
        if found[0] + found[-1] in ("()", "[]", "{}"):
            return Shape("expression", (parse(found),))
        raise Unread("brackets that do not match")
    mixed = found[0] + found[-1] in ("(]", "[)")
    endless = any("\\infty" in one or "\\infinity" in one or "\\inf" in one for one in inner)
    if len(inner) == 2 and (mixed or endless or kind == "interval" or (found[0] == "[" and kind is None)):
        return Shape("interval", tuple(_pieces(found)))
    if mixed:
        raise Unread("brackets that do not match")
    return Shape("tuple", _elements(inner))


def _pieces(found: Sequence[str]) -> Iterator[Interval | Shape]:
    """An interval, or the points of a set, as parts of a union."""
    if found and found[0] == "\\{" and _closing(found) == len(found) - 1:
        yield from _elements(list(_split(found[1:-1], (",", ";"))))
        return
    if len(found) < 5 or found[0] not in ("(", "[") or found[-1] not in (")", "]") or _closing(found) != len(found) - 1:
        raise Unread("not an interval")
    ends = list(_split(found[1:-1], (",", ";")))
    if len(ends) != 2:
        raise Unread("an interval has two ends")
    yield Interval(parse(ends[0]), parse(ends[1]), (found[0] == "[", found[-1] == "]"))


def _elements(parts: Sequence[Sequence[str]]) -> tuple[Shape, ...]:
    if len(parts) > MAX_PARTS:
        raise TooComplex(f"more than {MAX_PARTS} elements")
    shapes = tuple(_shape(part, "tuple") for part in parts)
    if any(one.kind not in ("expression", "tuple") for one in shapes):
        raise Unread("elements are expressions or tuples")
    return shapes


def _relation(found: Sequence[str], sides: list[list[str]]) -> Shape:
    depth = 0
    between: list[str] = []
    for token in found:
        depth += (token in _OPEN) - (token in _CLOSE)
        if depth == 0 and token in RELATIONS:
            between.append(token)
    if len(sides) > 3 or ("\\in" in between and len(sides) > 2):
        raise Unread("too many relations")
    if "\\in" in between:
        inner = _shape(sides[1], "interval")
        if inner.kind not in ("interval", "set"):
            raise Unread("what it is in is no set")
        return Shape("relation", (parse(sides[0]), inner), ("\\in",))
    if all(one == "=" for one in between) and len(sides) == 2 and list(_split(sides[1], (",", ";")))[1:]:
        return Shape("relation", (parse(sides[0]), _shape(sides[1], None)), ("\\in",))  # x = 1, 2
    return Shape("relation", tuple(parse(side) for side in sides), tuple(between))


def _split(found: Sequence[str], at: Collection[str]) -> Iterator[list[str]]:
    """The parts between separators that stand outside all brackets."""
    depth = 0
    part: list[str] = []
    for token in found:
        depth += (token in _OPEN) - (token in _CLOSE)
        if depth == 0 and token in at:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _closing(found: Sequence[str]) -> int | None:
    """Where the bracket that opens first is closed; `(` may be closed by `]`."""
    depth = 0
    for index, token in enumerate(found):
        depth += (token in _OPEN) - (token in _CLOSE)
        if depth == 0:
            return index
    return None
