"""What a test gives the program that is neither plain data nor the program's own. Standard library only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Ask = Callable[[int, tuple[Any, ...], dict[str, Any]], Any]
"""Calls a function of the test's by its number."""


class Callback:
    """A function of the test's; calling it asks the test host.

    Args:
        ask: how to ask.
        number: of the function.
        name, doc: what it says of itself.
    """

    def __init__(self, ask: Ask, number: int, name: str, doc: str | None) -> None:
        self._ask = ask
        self._number = number
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the test's function returns or raises."""
        return self._ask(self._number, args, kwargs)


class Iterator:
    """An iterator or generator of the test's, read there item by item as the program asks for it.

    Args:
        ask: how to ask.
        number: of the function that gives the next item.
    """

    def __init__(self, ask: Ask, number: int) -> None:
        self._ask = ask
        self._number = number

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        return self._ask(self._number, (), {})


VIEWS: dict[str, Callable[[Any], Any]] = {"keys": dict.keys, "values": dict.values, "items": dict.items}
"""The views of a dict, by name."""


def given(form: list[Any], ask: Ask, decode: Callable[[Any], Any]) -> Any:
    """The stand-in of a form `["h", number, name, doc]`, `["it", number]` or `["v", name, dict]`.

    Raises:
        ValueError: the form is none of them.
    """
    match form:
        case ["h", int(number), str(name), doc]:
            return Callback(ask, number, name, doc)
        case ["it", int(number)]:
            return Iterator(ask, number)
        case ["v", str(name), content]:
            return VIEWS[name](decode(content))
    raise ValueError("a form that stands for nothing")
