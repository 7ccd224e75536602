"""Values made of the parts that a frame holds, whoever wrote them. Standard library only."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from veredicto_verifier.sandbox.arrays import is_array

NOT_MADE = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RecursionError)
"""What is raised for parts that make no value."""


def mapping(tag: str, pairs: list[tuple[Any, Any]]) -> Any:
    """A dict, or the Counter or OrderedDict that the tag names."""
    import collections

    if tag == "C":
        return collections.Counter(dict(pairs))
    return collections.OrderedDict(pairs) if tag == "O" else dict(pairs)


def defaultdict(factory: str, content: dict[Any, Any]) -> Any:
    """A defaultdict, whose factory is a built-in type."""
    import collections

    return collections.defaultdict(_builtin_type(factory), content)


def deque(items: list[Any], maxlen: int | None) -> Any:
    """A deque."""
    import collections

    return collections.deque(items, maxlen)


def _decimal(text: str) -> Any:
    import decimal

    return decimal.Decimal(text)


def _fraction(numerator: str, denominator: str) -> Any:
    import fractions

    return fractions.Fraction(int(numerator, 16), int(denominator, 16))


def _moment(kind: str, text: str) -> Any:
    import datetime

    return getattr(datetime, kind).fromisoformat(text)


def _timedelta(days: int, seconds: int, microseconds: int) -> Any:
    import datetime

    return datetime.timedelta(days, seconds, microseconds)


def _builtin_type(name: str) -> Any:
    found = getattr(builtins, name, None)
    if type(found) is not type:
        raise ValueError("no type that is built in")
    return found


SCALARS: dict[Any, Callable[..., Any]] = {
    "i": lambda text: int(text, 16),
    "b": bytes.fromhex,
    "B": bytearray.fromhex,
    "c": complex,
    "T": _builtin_type,
    "D": _decimal,
    "Q": _fraction,
    "dt": lambda text: _moment("datetime", text),
    "da": lambda text: _moment("date", text),
    "ti": lambda text: _moment("time", text),
    "td": _timedelta,
}

EMPTY: dict[Any, Callable[..., Any]] = {
    "l": lambda _items: [],
    "d": lambda _pairs: {},
    "S": lambda _items: set(),
    "B": lambda _text: bytearray(),
    "C": lambda _pairs: mapping("C", []),
    "O": lambda _pairs: mapping("O", []),
    "dd": lambda factory, _pairs: defaultdict(factory, {}),
    "q": lambda _items, maxlen: deque([], maxlen),
}
"""Empty containers, by the tag of their form."""


def replace(container: Any, content: Any) -> None:
    """Make a container hold what another of its family holds, in place.

    Raises:
        TypeError, ValueError: it is of another family, or an array of another size.
    """
    if isinstance(container, dict) and isinstance(content, dict):
        container.clear()
        for key, item in content.items():  # a Counter's update would add
            container[key] = item
    elif is_array(container) and is_array(content):
        if container.shape != content.shape:
            container.shape = content.shape
        container[...] = content
    elif type(container) is not type(content):
        raise TypeError("a container of another kind")
    elif isinstance(container, list | bytearray):
        container[:] = content
    else:
        container.clear()
        container.update(content) if isinstance(container, set) else container.extend(content)
