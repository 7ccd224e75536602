"""Mutable containers that the tests and the program both hold, kept equal in the two processes.

In plain Python a list that a test passes is the program's list too: each sees what the other does to it, at once or
much later. Here each process has a list of its own. A container gets a number when it first crosses and only the number
crosses from then on; every message says first what became of the containers that its sender changed. One process runs
at a time, so neither can see a difference. Standard library only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from operator import is_
from typing import Any

from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.arrays import is_array

MAX_PARTS = 4_000
"""Containers that are shared at a time; more cross as copies, as a part of what holds them."""
_ROUNDS = 4
"""How many levels of a nested container are forgotten with one message."""


class _Part:
    """A shared container and how it looked when the two processes last agreed."""

    __slots__ = ("container", "seen")

    def __init__(self, container: Any) -> None:
        self.container = container
        self.seen: Any = None


class Shared:
    """The containers of one connection, as one of its two ends holds them.

    Args:
        first: the first number that this end gives: 0 for the tests, 1 for the program; each counts by two.
        opaque: gives the form of what is not plain data, see `codec.encode`.
        resolve: gives the value of a form that is not plain data, see `codec.decode`.
    """

    def __init__(self, first: int, opaque: Callable[[Any], list[Any]], resolve: Callable[[list[Any]], Any]) -> None:
        self._next = self._parity = first
        self._resolve = resolve
        self._parts: dict[int, _Part] = {}
        self._numbers: dict[int, int] = {}
        self._new: list[tuple[int, int]] = []
        self._named: set[int] = set()
        self._encoder = codec.Encoder(opaque, factories=True, reference=self._reference)
        self._copied = False

    def encode(self, value: Any) -> Any:
        """The form of a value, in which its mutable containers are numbers; `updates` must be sent before it is read.

        Raises:
            CodecError: see `codec.encode`.
        """
        try:
            return self._encoder.encode(value, 0)
        except BaseException:
            self._forget_new()
            raise

    def decode(self, form: Any) -> Any:
        """The value of a form from the other end, whose updates were applied.

        Raises:
            CodecError: the other end does not keep to the protocol.
        """
        return codec.decode(form, self._value)

    def updates(self) -> list[list[Any]]:
        """`[number, form, whether it holds copies]` of each container that is new or changed since the last message.

        Raises:
            CodecError: one of them nests too deep or holds too much.
        """
        looks: dict[int, tuple[Any, Any]] = {}
        try:
            for number, part in list(self._parts.items()):
                if part.seen is not None and not _unchanged(part):
                    looks[number] = self._look(part, 0)
            while self._new:
                number, depth = self._new.pop()
                looks[number] = self._look(self._parts[number], depth)
        except BaseException:
            self._forget_new()
            raise
        self._encoder.begin()
        changed = [
            [number, form, type(seen) is str]
            for number, (form, seen) in looks.items()
            if type(seen) is not str or not _same_text(seen, self._parts[number].seen)
        ]
        for number, (_, seen) in looks.items():
            self._parts[number].seen = seen
        return changed

    def apply(self, updates: Any) -> None:
        """Make the containers what the other end says they are.

        Raises:
            CodecError: the other end does not keep to the protocol.
        """
        try:
            for number, form, _ in updates:
                if number not in self._parts:
                    self._add(number, codec.empty(form, self._value))
            for number, form, _ in updates:
                codec.fill(self._parts[number].container, form, self._value)
            for number, form, copies in updates:
                part = self._parts[number]
                part.seen = json.dumps(form) if copies is True else _items(part.container)
        except (TypeError, ValueError, LookupError) as error:
            raise codec.CodecError("a frame does not hold containers of this connection") from error

    def release(self) -> list[int]:
        """Forget the containers that nothing else here refers to; their numbers, for the other end to forget.

        What was named since the last time is kept, for the message that names it is yet to be read.
        """
        gone: list[int] = []
        for _ in range(_ROUNDS):
            # Two references are the part's own and the argument of the question.
            idle = [number for number, part in self._parts.items() if sys.getrefcount(part.container) == 2]
            found = [number for number in idle if number not in self._named]
            if not found:
                break
            self.forget(found)
            gone += found
        self._named.clear()
        return gone

    def forget(self, numbers: list[int]) -> None:
        """Share these containers no longer."""
        for number in numbers:
            part = self._parts.pop(number, None)
            if part is not None:
                del self._numbers[id(part.container)]

    def _forget_new(self) -> None:
        self.forget([number for number, part in self._parts.items() if part.seen is None])
        self._new.clear()
        self._encoder.begin()

    def _reference(self, container: Any, depth: int) -> int | None:
        """The number of a container; None if it must be copied."""
        number = self._numbers.get(id(container))
        if number is None and len(self._parts) < MAX_PARTS:
            number = self._next
            self._next += 2
            self._keep(number, container)
            self._new.append((number, depth))
        if number is not None:
            self._named.add(number)
        self._copied = self._copied or number is None
        return number

    def _keep(self, number: int, container: Any) -> None:
        self._parts[number] = _Part(container)
        self._numbers[id(container)] = number

    def _add(self, number: Any, container: Any) -> None:
        if type(number) is not int or number < 0 or number % 2 == self._parity or len(self._parts) >= MAX_PARTS:
            raise codec.CodecError("a frame numbers a container that is not its sender's")
        self._keep(number, container)

    def _look(self, part: _Part, depth: int) -> tuple[Any, Any]:
        """The form of a container, and what tells later whether it was changed."""
        self._copied = False
        form = self._encoder.content(part.container, depth)
        # Copies within it have no part of their own: only the whole form tells whether they were changed.
        return form, json.dumps(form) if self._copied else _items(part.container)

    def _value(self, form: list[Any]) -> Any:
        if form[0] != "=":
            return self._resolve(form)
        _, number = form
        return self._parts[number].container


def _items(container: Any) -> Any:
    """What a container holds: its items, of which each is the same object as long as nothing was changed, or bytes."""
    if isinstance(container, dict):
        return [*container, *container.values()]
    if isinstance(container, bytearray):
        return bytes(container)
    return (container.shape, container.tobytes()) if is_array(container) else list(container)


def _same_text(one: str, other: Any) -> bool:
    return type(other) is str and one == other


def _unchanged(part: _Part) -> bool:
    if type(part.seen) is str:
        return False
    now = _items(part.container)
    if type(now) is not list:
        return bool(now == part.seen)
    return len(now) == len(part.seen) and all(map(is_, now, part.seen))
