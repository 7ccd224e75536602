"""The part of pytest that test files of tasks use, for the test host: no plugins, no files, no rewriting.

`raises`, `approx`, `fixture`, `param`, `fail` and `mark.parametrize`, test functions and test classes. A file that
needs more is refused when the task is loaded. Skipping is not offered: a test that does not run proves nothing.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import re
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

_REFUSED_MARKS = ("skip", "skipif", "xfail", "usefixtures")


class Unsupported(Exception):
    """A test file uses a part of pytest that is not here."""


def module() -> types.ModuleType:
    """What `import pytest` gives a test file."""
    made = types.ModuleType("pytest")
    offered = {"raises": raises, "approx": Approx, "fixture": fixture, "param": param, "fail": fail, "mark": _Mark()}
    made.__dict__.update(offered)

    def missing(name: str) -> Any:
        raise Unsupported(f"pytest.{name} is not supported here; available: {', '.join(offered)}")

    made.__dict__["__getattr__"] = missing
    return made


def fail(reason: str = "") -> None:
    """End the test as failed."""
    raise AssertionError(reason)


class raises:  # noqa: N801  pytest's own name
    """A block, or a call, that must raise one of the expected exceptions."""

    def __new__(cls, expected: Any, function: Any = None, *args: Any, match: str | None = None, **kwargs: Any) -> Any:
        """Call at once when a function is given."""
        block = super().__new__(cls)
        block.expected, block.match, block.value, block.type = expected, match, None, None
        if function is None:
            return block
        with block:
            function(*args, **kwargs)
        return block

    expected: Any
    match: str | None
    value: BaseException | None
    type: Any

    def __enter__(self) -> raises:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _trace: object) -> bool:
        if error is None:
            raise AssertionError("did not raise")
        if not isinstance(error, self.expected):
            return False
        self.value, self.type = error, kind
        if self.match is not None and re.search(self.match, str(error)) is None:
            raise AssertionError("raised with another message")
        return True


class Approx:
    """A number, or a list, tuple or dict of numbers, up to a tolerance."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        expected: Any,
        rel: float | None = None,
        abs: float | None = None,  # noqa: A002
        nan_ok: bool = False,
    ) -> None:
        self._expected = expected
        self._relative = 1e-6 if rel is None and abs is None else rel or 0.0
        self._absolute = 1e-12 if abs is None else abs
        self._nan_ok = nan_ok

    def __eq__(self, actual: object) -> bool:
        return self._near(self._expected, actual)

    def _near(self, expected: Any, actual: Any) -> bool:
        if isinstance(expected, dict):
            return (
                isinstance(actual, dict)
                and expected.keys() == actual.keys()
                and all(self._near(value, actual[key]) for key, value in expected.items())
            )
        if isinstance(expected, list | tuple):
            return (
                isinstance(actual, list | tuple)
                and len(expected) == len(actual)
                and all(map(self._near, expected, actual))
            )
        if isinstance(expected, int | float) and isinstance(actual, int | float):
            if math.isnan(expected):
                return self._nan_ok and math.isnan(actual)
            return math.isclose(expected, actual, rel_tol=self._relative, abs_tol=self._absolute)
        return bool(expected == actual)


@dataclass(frozen=True, slots=True)
class Fixture:
    """A fixture; every one lives for one test, whatever scope it asks for."""

    function: Callable[..., Any]
    autouse: bool


def fixture(function: Any = None, *, scope: str = "function", autouse: bool = False, name: str | None = None) -> Any:
    """Mark a function as a fixture."""
    if name is not None:
        raise Unsupported("a fixture's `name` is not supported")
    if function is None:
        return lambda given: Fixture(given, autouse)
    return Fixture(function, autouse)


@dataclass(frozen=True, slots=True)
class Param:
    """One set of arguments of a parametrized test."""

    values: tuple[Any, ...]


def param(*values: Any, id: str | None = None, marks: Sequence[Any] = ()) -> Param:  # noqa: A002
    """One set of arguments; its id is given by position."""
    if marks:
        raise Unsupported("marks of a parameter are not supported")
    return Param(values)


class _Mark:
    def __getattr__(self, name: str) -> Any:
        if name in _REFUSED_MARKS:
            raise Unsupported(f"pytest.mark.{name} is not supported: a test that does not run proves nothing")
        if name == "parametrize":
            return _parametrize
        return lambda *args, **_kwargs: args[0] if args and callable(args[0]) else lambda given: given


def _parametrize(names: str | Sequence[str], values: Sequence[Any], ids: object = None) -> Any:
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [_row(wanted, value) for value in values]

    def mark(function: Any) -> Any:
        function.__dict__.setdefault("_rows", []).append(rows)
        return function

    return mark


def _row(names: list[str], value: Any) -> dict[str, Any]:
    items = value.values if isinstance(value, Param) else (value,) if len(names) == 1 else tuple(value)
    return dict(zip(names, items, strict=True))


@dataclass(frozen=True, slots=True)
class Item:
    """One test with its arguments."""

    id: str
    function: Callable[..., Any]
    owner: type | None
    arguments: dict[str, Any]
    fixtures: dict[str, Fixture]
    _open: list[Any] = field(default_factory=list)

    def run(self) -> None:
        """Run it with fresh fixtures, then what the fixtures do after it."""
        made: dict[str, Any] = {}
        instance = None if self.owner is None else self.owner()
        try:
            for name, found in self.fixtures.items():
                if found.autouse:
                    self._value(name, made)
            bound = self.function if instance is None else self.function.__get__(instance)
            _hook(instance, "setup_method")
            try:
                _settled(bound(**{name: self._argument(name, made) for name in _parameters(bound)}))
            finally:
                _hook(instance, "teardown_method")
        finally:
            while self._open:
                next(self._open.pop(), None)

    def _argument(self, name: str, made: dict[str, Any]) -> Any:
        return self.arguments[name] if name in self.arguments else self._value(name, made)

    def _value(self, name: str, made: dict[str, Any]) -> Any:
        if name not in made:
            function = self.fixtures[name].function
            value = function(**{other: self._argument(other, made) for other in _parameters(function)})
            if inspect.isgenerator(value):
                self._open.append(value)
                value = next(value)
            made[name] = value
        return made[name]


def _hook(instance: Any, name: str) -> None:
    found = getattr(instance, name, None)
    if found is not None:
        found(*[None] * len(_parameters(found)))


def _settled(value: Any) -> None:
    if inspect.iscoroutine(value):
        asyncio.run(value)


def _parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def collect(module: types.ModuleType) -> Iterator[Item]:
    """The tests of a module, in the order in which they stand there.

    Raises:
        Unsupported: one of them needs a fixture that the file does not define.
    """
    fixtures = {name: found for name, found in vars(module).items() if isinstance(found, Fixture)}
    for name, found in vars(module).items():
        if name.startswith("test") and inspect.isfunction(found):
            yield from _items(f"{module.__name__}.{name}", found, None, fixtures)
        elif name.startswith("Test") and inspect.isclass(found) and not hasattr(found, "assertEqual"):
            for method, function in vars(found).items():
                if method.startswith("test") and inspect.isfunction(function):
                    yield from _items(f"{module.__name__}.{name}.{method}", function, found, fixtures)


def _items(name: str, function: Any, owner: type | None, fixtures: dict[str, Fixture]) -> Iterator[Item]:
    rows: list[dict[str, Any]] = [{}]
    for level in getattr(function, "_rows", []):
        rows = [{**row, **more} for row in rows for more in level]
    for number, row in enumerate(rows):
        missing = [wanted for wanted in _parameters(function) if wanted not in (*row, *fixtures)]
        if owner is not None:
            missing = missing[1:]
        if missing:
            raise Unsupported(f"{name} needs {missing[0]}, which is neither a parameter nor a fixture of this file")
        yield Item(name if len(rows) == 1 else f"{name}[{number}]", function, owner, row, fixtures)
