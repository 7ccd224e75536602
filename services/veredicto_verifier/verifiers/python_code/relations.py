"""Metamorphic relations: the program is called twice, and its two answers must relate as the task says.

No expected value is needed, so nothing can be looked up: permuting the list must not change the sum, doubling the
amounts must double it.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.compare import Tolerance, same_value
from veredicto_verifier.verifiers.python_code.perturbations import Argument

Factor = Annotated[int, Field(ge=-(10**9), le=10**9)]


class Metamorphic(BaseModel):
    """One relation between what a program answers to an input and to a changed one (`calls`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    change: Literal[
        "permute", "reverse", "repeat", "append", "negate", "scale", "shift", "swap", "upper", "lower", "answer"
    ]
    """What is done to the argument: `permute`, `reverse`, `repeat` (twice over) and `append` (`item`) to a list or a
    text; `negate`, `scale` and `shift` (`by`) to every number in it; `swap` with the argument `other`; `upper`, `lower`
    to a text; `answer` puts the first answer in its place."""
    relation: Literal["equal", "reversed", "negated", "scaled", "shifted", "same_items", "not_less", "not_greater"] = (
        "equal"
    )
    """What the second answer is, seen from the first: `scaled` and `shifted` by `answer_by`, `same_items` in any order,
    `not_less` and `not_greater` for numbers."""
    arg: Argument = 0
    """The position of the argument that is changed, or its name among `kwargs`."""
    other: Argument | None = None
    """The argument with which `swap` swaps it."""
    item: Any = None
    """What `append` adds."""
    by: Factor | None = None
    """The factor of `scale`, the summand of `shift`."""
    answer_by: Factor | None = None
    """The same for the answers; null means `by`."""
    count: Annotated[int, Field(ge=1, le=100)] = 3
    """On how many inputs the relation is tested; on fewer where the change makes no difference to more."""

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if (self.change == "swap") != (self.other is not None):
            raise ValueError("`other` and the change 'swap' need one another")
        if self.change in ("scale", "shift") and self.by is None:
            raise ValueError(f"the change {self.change!r} needs `by`")
        if self.relation in ("scaled", "shifted") and self.by is None and self.answer_by is None:
            raise ValueError(f"the relation {self.relation!r} needs `answer_by`")
        return self


class Unfit(Exception):
    """A value cannot be changed, or related, in the declared way."""


def changed(value: Any, how: Metamorphic, rng: random.Random) -> Any:
    """A changed copy of an argument, for every change that looks at this argument only.

    Raises:
        Unfit: the argument has another type.
    """
    return _CHANGES[how.change](value, how, rng)


def related(first: Any, second: Any, how: Metamorphic, tolerance: Tolerance) -> bool:
    """Whether two answers relate as declared; answers of a type that cannot do not."""
    try:
        return _RELATIONS[how.relation](first, second, how, tolerance)
    except (Unfit, ArithmeticError, codec.CodecError):
        return False


def _on_items(value: Any, change: Callable[[list[Any]], list[Any]]) -> Any:
    if type(value) is str:
        return "".join(change(list(value)))
    if type(value) in (list, tuple):
        return type(value)(change(list(value)))
    raise Unfit


def _append(value: Any, how: Metamorphic, _rng: random.Random) -> Any:
    if type(value) is str and type(how.item) is not str:
        raise Unfit
    return _on_items(value, lambda items: [*items, how.item])


def _on_text(change: Callable[[str], str]) -> Callable[[Any, Metamorphic, random.Random], Any]:
    def on_text(value: Any, _how: Metamorphic, _rng: random.Random) -> Any:
        if type(value) is not str:
            raise Unfit
        return change(value)

    return on_text


def _numbers(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy with every number in it changed.

    Raises:
        Unfit: it holds something else.
    """
    if type(value) in (int, float, Decimal, Fraction):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_numbers(item, change) for item in value)
    raise Unfit


def _by(how: Metamorphic) -> int:
    return how.by or 0


def _answer_by(how: Metamorphic) -> int:
    return _by(how) if how.answer_by is None else how.answer_by


_CHANGES: dict[str, Callable[[Any, Metamorphic, random.Random], Any]] = {
    "permute": lambda value, _, rng: _on_items(value, lambda items: rng.sample(items, len(items))),
    "reverse": lambda value, _how, _rng: _on_items(value, lambda items: items[::-1]),
    "repeat": lambda value, _how, _rng: _on_items(value, lambda items: items * 2),
    "append": _append,
    "negate": lambda value, _how, _rng: _numbers(value, lambda number: -number),
    "scale": lambda value, how, _: _numbers(value, lambda number: number * _by(how)),
    "shift": lambda value, how, _: _numbers(value, lambda number: number + _by(how)),
    "upper": _on_text(str.upper),
    "lower": _on_text(str.lower),
}


def _same_items(first: Any, second: Any, _how: Metamorphic, _tolerance: Tolerance) -> bool:
    if not isinstance(first, list | tuple) or not isinstance(second, list | tuple):
        raise Unfit
    return Counter(map(_key, first)) == Counter(map(_key, second))


def _key(item: Any) -> str:
    def refuse(_value: Any) -> Any:
        raise Unfit

    return json.dumps(codec.encode(item, refuse))


def _ordered(first: Any, second: Any) -> bool:
    """Whether the second number is at least the first."""
    if type(first) not in (int, float) or type(second) not in (int, float):
        raise Unfit
    return bool(first <= second)


_RELATIONS: dict[str, Callable[[Any, Any, Metamorphic, Tolerance], bool]] = {
    "equal": lambda first, second, _, tolerance: same_value(first, second, tolerance),
    "reversed": lambda first, second, _, tolerance: same_value(
        _on_items(first, lambda items: items[::-1]), second, tolerance
    ),
    "negated": lambda first, second, _, tolerance: same_value(_numbers(first, lambda n: -n), second, tolerance),
    "scaled": lambda first, second, how, tolerance: same_value(
        _numbers(first, lambda n: n * _answer_by(how)), second, tolerance
    ),
    "shifted": lambda first, second, how, tolerance: same_value(
        _numbers(first, lambda n: n + _answer_by(how)), second, tolerance
    ),
    "same_items": _same_items,
    "not_less": lambda first, second, _how, _tolerance: _ordered(first, second),
    "not_greater": lambda first, second, _how, _tolerance: _ordered(second, first),
}
