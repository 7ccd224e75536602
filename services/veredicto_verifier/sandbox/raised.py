"""What a test meets when the program raised, ended or was lost: exceptions cross as names and are made anew here."""

from __future__ import annotations

import builtins
from typing import Any

_NEAREST = {
    name: found
    for name, found in vars(builtins).items()
    if isinstance(found, type) and issubclass(found, Exception) and name != "ExceptionGroup"
}


class Lost(BaseException):
    """The program cannot go on answering: it died, or broke the protocol; no test's `except` may catch this.

    Args:
        status: `lost`, `too_large`, `protocol`, or `uncrossable:` and a type.
    """

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


class Ended(Exception):
    """The program raised SystemExit or another exception that would end a process."""


def exception_class(classes: Any, known: dict[str, type[Exception]]) -> type[Exception]:
    """The first of the classes, made anew with the classes that it derives from; `Ended` where it is no `Exception`.

    Args:
        classes: `[name, names of its bases]`, the class itself first, as the program told them.
        known: the classes that were made before, by name.
    """
    made: dict[str, type[Exception]] = {}
    for name, bases in reversed([(name, bases) for name, bases in classes if type(name) is str]):
        found = [made[base] for base in bases if base in made]
        if name in _NEAREST:
            made[name] = _NEAREST[name]
        elif found:
            made[name] = known.setdefault(name, _derived(name, found)) if name.isidentifier() else found[0]
    return made.get(classes[0][0], Ended)


def _derived(name: str, bases: list[type[Exception]]) -> type[Exception]:
    content = {"__str__": lambda error: vars(error).get("_text", Exception.__str__(error))}
    try:
        return type(name, tuple(bases), content)
    except TypeError:  # bases that do not go together: no interpreter made such a class
        return type(name, (Exception,), content)


def exception_of(kind: type[Exception], message: str, args: list[Any] | None, attributes: dict[str, Any]) -> Exception:
    """An exception of a class, with its text, arguments and attributes."""
    error = _with_arguments(kind, args)
    if error is None:
        error = kind.__new__(kind)
        error.args = (message,)
    vars(error).update({**attributes, "_text": message})
    return error


def _with_arguments(kind: type[Exception], args: list[Any] | None) -> Exception | None:
    try:
        return None if args is None else kind(*args)
    except Exception:  # noqa: BLE001  a built-in class that takes other arguments; its text is what remains
        return None
