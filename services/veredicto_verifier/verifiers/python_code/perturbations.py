"""Perturbed inputs: further arguments made from those of a task's cases, the same ones for the same task.

What a program answers to them is compared with what the task's reference answers, so a table of the cases does not
help. Each kind changes one value, and says so when it cannot.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Argument = Annotated[int, Field(ge=0, le=99)] | Annotated[str, Field(min_length=1, max_length=100)]


class Perturbation(BaseModel):
    """One way to make hidden inputs from the arguments of the cases (`calls`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    kind: Literal["integer", "characters", "shuffle", "items", "remove", "duplicate", "exchange"]
    """`integer` moves one integer; `characters` replaces letters by letters and digits by digits; `shuffle`, `remove`
    and `duplicate` change the order or the number of items or characters; `items` draws items of a list from those of
    the same argument in all cases; `exchange` takes the argument from another case."""
    arg: Argument = 0
    """The position of the argument that is changed, or its name among `kwargs`."""
    count: Annotated[int, Field(ge=1, le=100)] = 3
    """How many inputs to make; fewer where there are not so many different ones."""
    spread: Annotated[int, Field(ge=1, le=10**9)] = 10
    """The largest distance by which `integer` moves."""
    low: int | None = None
    """The smallest value that `integer` may give."""
    high: int | None = None
    """The largest value that `integer` may give."""


def perturbed(value: Any, how: Perturbation, rng: random.Random, others: Sequence[Any]) -> Any:
    """A changed copy of an argument; None where it cannot be changed in this way.

    Args:
        value: a plain value.
        how: the kind and its bounds.
        rng: where chance comes from.
        others: the same argument of all cases.
    """
    return _KINDS[how.kind](value, how, rng, others)


def _integer(value: Any, how: Perturbation, rng: random.Random, others: Sequence[Any]) -> Any:
    if type(value) is int:
        low = value - how.spread if how.low is None else max(how.low, value - how.spread)
        high = value + how.spread if how.high is None else min(how.high, value + how.spread)
        return rng.randint(low, high) if low <= high else None
    if not isinstance(value, list | tuple) or not value:
        return None
    place = rng.randrange(len(value))
    changed = _integer(value[place], how, rng, others)
    return None if changed is None else type(value)((*value[:place], changed, *value[place + 1 :]))


_ALPHABETS = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _characters(value: Any, _how: Perturbation, rng: random.Random, _others: Sequence[Any]) -> Any:
    if type(value) is not str:
        return None
    return "".join(_another(char, rng) if rng.random() < 0.5 else char for char in value)


def _another(char: str, rng: random.Random) -> str:
    return next((rng.choice(alphabet) for alphabet in _ALPHABETS if char in alphabet), char)


def _shuffle(value: Any, _how: Perturbation, rng: random.Random, _others: Sequence[Any]) -> Any:
    return _rebuilt(value, lambda items: rng.sample(items, len(items)))


def _items(value: Any, _how: Perturbation, rng: random.Random, others: Sequence[Any]) -> Any:
    if type(value) not in (list, tuple):
        return None
    pool = [item for other in others if type(other) is type(value) for item in other]
    return _rebuilt(value, lambda items: [rng.choice(pool) if rng.random() < 0.5 else item for item in items])


def _remove(value: Any, _how: Perturbation, rng: random.Random, _others: Sequence[Any]) -> Any:
    def without_one(items: list[Any]) -> list[Any]:
        if items:
            del items[rng.randrange(len(items))]
        return items

    return _rebuilt(value, without_one)


def _duplicate(value: Any, _how: Perturbation, rng: random.Random, _others: Sequence[Any]) -> Any:
    def with_one_twice(items: list[Any]) -> list[Any]:
        if items:
            items.insert(rng.randint(0, len(items)), rng.choice(items))
        return items

    return _rebuilt(value, with_one_twice)


def _exchange(_value: Any, _how: Perturbation, rng: random.Random, others: Sequence[Any]) -> Any:
    return rng.choice(others)


def _rebuilt(value: Any, change: Callable[[list[Any]], list[Any]]) -> Any:
    """The same type with changed items; None for what has none."""
    if type(value) is str:
        return "".join(change(list(value)))
    return type(value)(change(list(value))) if type(value) in (list, tuple) else None


_KINDS: dict[str, Callable[[Any, Perturbation, random.Random, Sequence[Any]], Any]] = {
    "integer": _integer,
    "characters": _characters,
    "shuffle": _shuffle,
    "items": _items,
    "remove": _remove,
    "duplicate": _duplicate,
    "exchange": _exchange,
}
