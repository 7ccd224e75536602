"""Read JSON that a model wrote, exactly and once: no duplicate keys, no NaN, no rounding, no repair."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal, NoReturn

MAX_CHARS: Final = 262_144
"""Longest document, in characters."""
MAX_DEPTH: Final = 64
"""Deepest nesting of arrays and objects."""
MAX_DIGITS: Final = 1_000
"""Most digits of one number, and its largest decimal exponent either way."""

DefectKind = Literal[
    "syntax", "trailing_text", "duplicate_key", "not_finite", "number_out_of_range", "bad_text", "too_deep", "too_large"
]

_STRUCTURE = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed value; numbers are `int` or `Decimal`, so nothing was rounded."""

    value: Any


@dataclass(frozen=True, slots=True)
class Defect:
    """Why a text is not one JSON document; `reason` echoes none of it."""

    kind: DefectKind
    reason: str


class _Refused(ValueError):
    def __init__(self, defect: Defect) -> None:
        super().__init__(defect.reason)
        self.defect = defect


def read(text: str) -> Document | Defect:
    """The one JSON document that the text is, or what is wrong with it."""
    if len(text) > MAX_CHARS:
        return Defect("too_large", f"the document is longer than {MAX_CHARS} characters")
    if _too_deep(text):
        return Defect("too_deep", f"the document nests deeper than {MAX_DEPTH}")
    try:
        value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip(" \t\r\n")))
    except _Refused as refused:
        return refused.defect
    except json.JSONDecodeError as error:
        return Defect("syntax", f"not JSON: {_cause(error)} at character {error.pos}")
    if text[end:].strip(" \t\r\n"):
        return Defect("trailing_text", f"text follows the document, from character {end}")
    if _SURROGATE.search(text) or ("\\u" in text and _holds_surrogate(value)):
        return Defect("bad_text", "a string holds half of a surrogate pair, which is no character")
    return Document(value)


def end_of_container(text: str, start: int) -> int | None:
    """Where the object or array that opens at `start` ends (exclusive); None if it is never closed."""
    depth = 0
    for token in _STRUCTURE.finditer(text, start):
        mark = token.group()
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
            if depth <= 0:
                return token.end()
    return None


def _too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for token in _STRUCTURE.finditer(text):
        mark = token.group()
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif mark in "]}":
            depth -= 1
    return False


def _cause(error: json.JSONDecodeError) -> str:
    """The decoder's own phrase; it never quotes the text."""
    return error.msg[:1].lower() + error.msg[1:]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Refused(Defect("duplicate_key", "an object names one key twice"))
    return members


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _Refused(Defect("number_out_of_range", f"a number has more than {MAX_DIGITS} digits"))
    return int(digits)


def _decimal(digits: str) -> Decimal:
    mantissa, _, exponent = digits.lower().partition("e")
    if len(mantissa) > MAX_DIGITS or (exponent and (len(exponent) > 6 or abs(int(exponent)) > MAX_DIGITS)):
        raise _Refused(Defect("number_out_of_range", f"a number has over {MAX_DIGITS} digits or too large an exponent"))
    return Decimal(digits)


def _no_constant(_name: str) -> NoReturn:
    raise _Refused(Defect("not_finite", "NaN and Infinity are not JSON"))


def _holds_surrogate(value: Any) -> bool:
    if isinstance(value, str):
        return _SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(_holds_surrogate(key) or _holds_surrogate(inner) for key, inner in value.items())
    return isinstance(value, list) and any(_holds_surrogate(inner) for inner in value)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_integer, parse_float=_decimal, parse_constant=_no_constant
)
