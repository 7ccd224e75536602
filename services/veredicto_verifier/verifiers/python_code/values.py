"""The values of a declarative case: JSON, plus one-key objects for what JSON lacks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any


class BadValue(Exception):
    """A case holds a value that cannot be understood."""


def plain(value: Any) -> Any:
    """The Python value that a case means.

    Raises:
        BadValue: a one-key object has an unknown tag or a payload that does not fit.
    """
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, payload),) = value.items()
        if key.startswith("$"):
            return _tagged(key, payload)
    return {key: plain(item) for key, item in value.items()}


def _tagged(tag: str, payload: Any) -> Any:
    build = _TAGS.get(tag)
    if build is None:
        known = ", ".join(sorted(_TAGS))
        raise BadValue(f"unknown tag {tag[:20]!r}; known: {known}; write other keys with $dict")
    try:
        return build(payload)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise BadValue(f"the value of {tag} does not fit it") from error


_TAGS: dict[str, Callable[[Any], Any]] = {
    "$tuple": lambda items: tuple(map(plain, items)),
    "$set": lambda items: set(map(plain, items)),
    "$frozenset": lambda items: frozenset(map(plain, items)),
    "$dict": lambda pairs: {plain(key): plain(item) for key, item in pairs},
    "$bytes": bytes.fromhex,
    "$decimal": Decimal,
    "$fraction": Fraction,
    "$complex": lambda parts: complex(*parts),
    "$date": date.fromisoformat,
    "$datetime": datetime.fromisoformat,
    "$float": float,
}
