"""Is this what was expected: values by type and content, standard output by the task's mode.

Model output is compared as bytes and never parsed by anything that evaluates it.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from veredicto_verifier.sandbox.arrays import as_lists

StdoutMode = Literal["tokens", "lines", "exact", "float", "unordered_lines"]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How strictly two values are compared."""

    strict_types: bool = False
    """Types must be equal everywhere: 1, 1.0 and True differ, and so do a list and a tuple."""
    float_rel: float = 1e-9
    """Relative difference allowed to a float that is expected; an integer is expected exactly."""
    float_abs: float = 0.0
    """Absolute difference allowed to it."""


def same_value(expected: Any, got: Any, tolerance: Tolerance) -> bool:
    """Whether a decoded value is the expected one.

    Both must be plain values; anything else (an opaque object) is equal to nothing. A NaN equals only a NaN. Without
    `strict_types` a list equals a tuple of equal items, and a number is any number of its value; but where a Decimal or
    a Fraction is expected, nothing else is equal. An array of numpy is the list of its items.
    """
    expected, got = as_lists(expected), as_lists(got)
    if tolerance.strict_types and type(expected) is not type(got):
        return False
    if isinstance(expected, int | float) and isinstance(got, int | float | Decimal | Fraction):
        return _same_number(expected, got, tolerance)
    if isinstance(expected, Decimal) and isinstance(got, Decimal) and (expected.is_nan() or got.is_nan()):
        return expected.is_nan() and got.is_nan()  # comparing a signalling NaN raises
    if _are_sequences(expected, got):
        return len(expected) == len(got) and all(
            same_value(a, b, tolerance) for a, b in zip(expected, got, strict=True)
        )
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return _same_mapping(expected, got, tolerance)
    if type(expected) is not type(got):
        return False
    return bool(expected == got)


_Number = int | float | Decimal | Fraction


def _are_sequences(expected: Any, got: Any) -> bool:
    if isinstance(expected, list | tuple):
        return isinstance(got, list | tuple)
    return isinstance(expected, deque) and isinstance(got, deque)


def _same_number(expected: _Number, got: _Number, tolerance: Tolerance) -> bool:
    if _is_nan(expected) or _is_nan(got):  # first: comparing a signalling NaN raises
        return _is_nan(expected) and _is_nan(got)
    if not isinstance(expected, float):
        return bool(expected == got)
    try:
        return math.isclose(float(expected), float(got), rel_tol=tolerance.float_rel, abs_tol=tolerance.float_abs)
    except OverflowError:  # a number that no float can hold
        return False


def _is_nan(value: _Number) -> bool:
    return value.is_nan() if isinstance(value, Decimal) else isinstance(value, float) and math.isnan(value)


def _same_mapping(expected: Mapping[Any, Any], got: Mapping[Any, Any], tolerance: Tolerance) -> bool:
    if len(expected) != len(got):
        return False
    if tolerance.strict_types and {type(key) for key in expected} != {type(key) for key in got}:
        return False
    return all(key in got and same_value(value, got[key], tolerance) for key, value in expected.items())


def same_output(expected: bytes, got: bytes, mode: StdoutMode, tolerance: Tolerance) -> bool:
    """Whether standard output is the expected one.

    `tokens` splits at white space; `lines` ignores white space at line ends and blank lines at the end; `exact` is
    byte for byte; `float` is `tokens` with a tolerance for tokens that are written with a point or an exponent in the
    expected output; `unordered_lines` is `lines` in any order.
    """
    if mode == "exact":
        return expected == got
    if mode == "tokens":
        return expected.split() == got.split()
    if mode == "float":
        pairs = expected.split(), got.split()
        return len(pairs[0]) == len(pairs[1]) and all(_same_token(a, b, tolerance) for a, b in zip(*pairs, strict=True))
    lines = _lines(expected), _lines(got)
    return lines[0] == lines[1] if mode == "lines" else sorted(lines[0]) == sorted(lines[1])


_NUMBER = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,6})?")


def _same_token(expected: bytes, got: bytes, tolerance: Tolerance) -> bool:
    if expected == got:
        return True
    if not _NUMBER.fullmatch(expected) or not any(mark in expected for mark in (b".", b"e", b"E")):
        return False
    if not _NUMBER.fullmatch(got) or len(got) > 400:
        return False
    return math.isclose(float(expected), float(got), rel_tol=tolerance.float_rel, abs_tol=tolerance.float_abs)


def _lines(text: bytes) -> list[bytes]:
    lines = [line.rstrip() for line in text.replace(b"\r\n", b"\n").split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines
