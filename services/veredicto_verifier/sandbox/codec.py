"""Python values as tagged plain data, both ways, without pickle.

Only values whose type is exactly one of the listed plain types cross; a subclass of `int` with its own `__eq__`, an
object, a function or a class is *opaque*: it crosses as a number that names it, never as a value that could be
compared. JSON scalars stand for themselves; everything else is `[tag, …]`. Standard library only.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from veredicto_verifier.sandbox import made
from veredicto_verifier.sandbox.arrays import array_of, array_parts, is_array

MAX_DEPTH = 200
MAX_NODES = 1_000_000

_EXACT = 2**53


class CodecError(Exception):
    """A value cannot be sent, or a frame holds something that is not an encoded value."""


class Opaque:
    """A value that stayed on the other side: its handle there and its type's name. Equal to nothing."""

    __slots__ = ("handle", "type_name")

    def __init__(self, handle: int, type_name: str) -> None:
        self.handle = handle
        self.type_name = type_name


def encode(value: Any, opaque: Callable[[Any], list[Any]], *, factories: bool = False) -> Any:
    """The JSON form of a value.

    Args:
        value: anything.
        opaque: gives the JSON form of a value that is not plain, usually `["o", handle, type name]`.
        factories: a defaultdict keeps its factory where that is a built-in type; else it crosses as a dict.

    Raises:
        CodecError: the value nests deeper than `MAX_DEPTH` (a cycle does) or holds more than `MAX_NODES` parts.
    """
    return Encoder(opaque, factories=factories).encode(value, 0)


class Encoder:
    """Encodes the values of one message, whose parts are counted together.

    Args:
        opaque, factories: see `encode`.
        reference: gives the number of a mutable container at a depth, which then stands for it as `["=", number]`;
            None where its content is to be sent in its place.
    """

    def __init__(
        self,
        opaque: Callable[[Any], list[Any]],
        *,
        factories: bool,
        reference: Callable[[Any, int], int | None] | None = None,
    ) -> None:
        self._opaque = opaque
        self._factories = factories
        self._reference = reference
        self._nodes = 1

    def begin(self) -> None:
        """Count the parts of another message."""
        self._nodes = 1

    def _claim(self, parts: int) -> None:
        # Counted before a container is walked: a list too long is refused at once, however slow the machine is.
        self._nodes += parts
        if self._nodes > MAX_NODES:
            raise CodecError(f"the value has more than {MAX_NODES} parts")

    def encode(self, value: Any, depth: int) -> Any:
        """The form of a value at a depth, see `encode` of the module."""
        if depth > MAX_DEPTH:
            raise CodecError(f"the value is nested deeper than {MAX_DEPTH}")
        kind: type = type(value)
        if value is None or kind is bool or kind is str or kind is float:
            return value
        if kind is int:
            return value if -_EXACT <= value <= _EXACT else ["i", hex(value)]
        if self._reference is not None and is_mutable(value):
            number = self._reference(value, depth)
            if number is not None:
                return ["=", number]
        return self.content(value, depth)

    def content(self, value: Any, depth: int) -> Any:
        """The form of what a container at a depth holds, or of another value that is no plain scalar."""
        kind: type = type(value)
        tag = _SEQUENCES.get(kind)
        if tag is not None:
            self._claim(len(value))
            return [tag, [self.encode(item, depth + 1) for item in value]]
        if kind is dict:
            return ["d", self._pairs(value, depth)]
        form = self._scalar(kind, value) or self._library(kind, value, depth) or self._array(value, depth)
        return form or self._opaque(value)

    def _array(self, value: Any, depth: int) -> list[Any] | None:
        parts = array_parts(value)
        if parts is None:
            return None
        name, shape, items = parts
        self._claim(len(items))
        return ["na", name, shape, [self.encode(item, depth + 1) for item in items]]

    def _pairs(self, value: dict[Any, Any], depth: int) -> list[Any]:
        self._claim(2 * len(value))
        return [[self.encode(key, depth + 1), self.encode(item, depth + 1)] for key, item in value.items()]

    def _scalar(self, kind: type, value: Any) -> list[Any] | None:
        if kind is bytes or kind is bytearray:
            return ["b" if kind is bytes else "B", value.hex()]
        if kind is complex:
            return ["c", value.real, value.imag]
        if kind is range or kind is slice:
            parts = (value.start, value.stop, value.step)
            if all(part is None or type(part) is int for part in parts):
                return ["r" if kind is range else "s", *(self.encode(part, 0) for part in parts)]
        if kind is type:
            name = str(getattr(value, "__name__", ""))
            if getattr(builtins, name, None) is value:
                return ["T", name]
        return None

    def _library(self, kind: type, value: Any, depth: int) -> list[Any] | None:
        # Types are looked up in sys.modules: a program that never imported decimal need not pay for its import.
        name = _LIBRARY.get((kind.__module__, kind.__qualname__))
        if name is None or getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is not kind:
            return None
        if name == "d" and self._factories:
            factory = getattr(value.default_factory, "__name__", "")
            if factory and getattr(builtins, factory, None) is value.default_factory:
                return ["dd", factory, self._pairs(value, depth)]
        if name in ("C", "O", "d"):
            return [name, self._pairs(value, depth)]
        if name == "q":
            self._claim(len(value))
            return ["q", [self.encode(item, depth + 1) for item in value], value.maxlen]
        if name == "Q":
            return ["Q", hex(value.numerator), hex(value.denominator)]
        if name == "td":
            return ["td", value.days, value.seconds, value.microseconds]
        if name in ("dt", "ti"):
            zone = value.tzinfo
            return None if zone is not None and type(zone) is not _timezone() else [name, value.isoformat()]
        return [name, value.isoformat() if name == "da" else str(value)]


_SEQUENCES: dict[type, str] = {list: "l", tuple: "t", set: "S", frozenset: "F"}

_LIBRARY: dict[tuple[str, str], str] = {
    ("collections", "Counter"): "C",
    ("collections", "OrderedDict"): "O",
    ("collections", "defaultdict"): "d",
    ("collections", "deque"): "q",
    ("decimal", "Decimal"): "D",
    ("fractions", "Fraction"): "Q",
    ("datetime", "datetime"): "dt",
    ("datetime", "date"): "da",
    ("datetime", "time"): "ti",
    ("datetime", "timedelta"): "td",
}


_MUTABLE = (list, dict, set, bytearray)
_MUTABLE_TAGS = frozenset("COdq")


def is_mutable(value: Any) -> bool:
    """Whether a value is a plain container that can be changed in place."""
    kind = type(value)
    if kind in _MUTABLE:
        return True
    name = _LIBRARY.get((kind.__module__, kind.__qualname__))
    if name in _MUTABLE_TAGS:
        return getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind
    return is_array(value)


def _timezone() -> type:
    from datetime import timezone

    return timezone


def decode(form: Any, opaque: Callable[[list[Any]], Any]) -> Any:
    """The value of a JSON form.

    Args:
        form: what `encode` made, or what a hostile process says it made.
        opaque: gives the value for a form that starts with a tag of its own (`o`, `h`, …).

    Raises:
        CodecError: the form is not one that `encode` makes.
    """
    try:
        return _decode(form, opaque, 0)
    except made.NOT_MADE as error:
        raise CodecError("a frame does not hold an encoded value") from error


def _decode(form: Any, opaque: Callable[[list[Any]], Any], depth: int) -> Any:
    if form is None or type(form) in (bool, str, int, float):
        return form
    if type(form) is not list or not form or depth > MAX_DEPTH:
        raise CodecError("a frame does not hold an encoded value")
    tag, parts = form[0], form[1:]
    if tag in _CONTAINERS:
        (items,) = parts
        return _CONTAINERS[tag](_decode(item, opaque, depth + 1) for item in _list(items))
    if tag in ("d", "C", "O"):
        (pairs,) = parts
        return made.mapping(
            tag, [(_decode(k, opaque, depth + 1), _decode(v, opaque, depth + 1)) for k, v in _list(pairs)]
        )
    if tag == "na":
        name, shape, items = parts
        return array_of(name, shape, [_decode(item, opaque, depth + 1) for item in _list(items)])
    if tag == "dd":
        factory, pairs = parts
        return made.defaultdict(factory, _decode(["d", pairs], opaque, depth))
    if tag == "q":
        items, maxlen = parts
        return made.deque([_decode(item, opaque, depth + 1) for item in _list(items)], maxlen)
    if tag in ("r", "s"):
        start, stop, step = (_decode(part, opaque, depth + 1) for part in parts)
        return (range if tag == "r" else slice)(start, stop, step)
    scalar = made.SCALARS.get(tag)
    return opaque(form) if scalar is None else scalar(*parts)


_CONTAINERS: dict[str, Callable[[Any], Any]] = {"l": list, "t": tuple, "S": set, "F": frozenset}


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise CodecError("a frame does not hold an encoded value")
    return value


def empty(form: Any, opaque: Callable[[list[Any]], Any]) -> Any:
    """A new container of a form's kind, which `fill` fills; an array is whole.

    Raises:
        CodecError: the form is none of a container that can be changed.
    """
    try:
        tag, *parts = form
        if tag == "na" and parts[1] is not None:
            return _decode(form, opaque, 0)
        return made.EMPTY[tag](*parts)
    except made.NOT_MADE as error:
        raise CodecError("a frame does not hold a container") from error


def fill(container: Any, form: Any, opaque: Callable[[list[Any]], Any]) -> None:
    """Make a container hold what a form of its kind holds.

    Raises:
        CodecError: the form is not one that `Encoder.content` makes of such a container.
    """
    try:
        made.replace(container, _decode(form, opaque, 0))
    except made.NOT_MADE as error:
        raise CodecError("a frame does not hold what a container may hold") from error
