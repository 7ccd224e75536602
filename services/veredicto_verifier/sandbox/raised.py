"""What a test meets when the program raised, ended or was lost: exceptions cross as names and are made anew here."""

from __future__ import annotations

import builtins

_NEAREST = {
    name: found
    for name, found in vars(builtins).items()
    if isinstance(found, type) and issubclass(found, Exception) and name != "ExceptionGroup"
}


class Lost(BaseException):
    """The program cannot go on answering: it died, or broke the protocol; no test's `except` may catch this.

    Args:
        status: `lost`, `too_large` or `protocol`.
    """

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


class Ended(Exception):
    """The program raised SystemExit or another exception that would end a process."""


def exception_class(names: list[str]) -> type[Exception]:
    """A class with the first name under the nearest built-in exception; `Ended` when there is none."""
    nearest = next((_NEAREST[name] for name in names if name in _NEAREST), None)
    if nearest is None:
        return Ended
    if names[0] == nearest.__name__ or not names[0].isidentifier():
        return nearest
    return type(names[0], (nearest,), {})
