"""How one value of an answer is compared with the expected one: exactly, unless the task says otherwise.

Nothing is normalised on the quiet: `ACC-1` is not `acc-1`, `"1.50"` is not `"150"`, 10 is not `"10"`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import SchemaError

from veredicto_verifier.json_values import equal, exact, plain_json

MAX_DIGITS: Final = 60
"""Longest written decimal."""

_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?\Z")


class Comparator(BaseModel):
    """How a value is compared; a spec may write `"decimal"` for `{"by": "decimal"}`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    by: Literal["exact", "decimal", "set", "one_of", "regex", "casefold", "date", "ignore"] = "exact"
    """`decimal` takes `"10.00"`, `"10"` and 10 for the same amount, `set` an array in any order, `casefold` a text in
    any case, `date` two ISO spellings of a day, `ignore` anything at all."""
    scale: Annotated[int, Field(ge=0, le=20)] | None = None
    """For `decimal`: the most decimals that the answer may write."""
    values: Annotated[tuple[Any, ...], Field(max_length=100), AfterValidator(plain_json)] = ()
    """For `one_of`: the values that are right as well."""
    pattern: Annotated[str, StringConstraints(min_length=1, max_length=500)] | None = None
    """For `regex`: what the whole text must match (no look-around, no back-references; linear time)."""

    @model_validator(mode="after")
    def _complete(self) -> Comparator:
        if (self.by == "one_of") != bool(self.values) or (self.by == "regex") != (self.pattern is not None):
            raise ValueError("`values` goes with `one_of`, `pattern` with `regex`, and each needs the other")
        if self.scale is not None and self.by != "decimal":
            raise ValueError("`scale` goes with `decimal`")
        if self.pattern is not None:
            try:
                _compiled(self.pattern)
            except SchemaError as error:
                raise ValueError(f"no regular expression: {str(error).splitlines()[-1][:150]}") from error
        return self


def _spelt_out(value: Any) -> Any:
    return {"by": value} if isinstance(value, str) else value


Comparison = Annotated[Comparator, BeforeValidator(_spelt_out)]
EXACT: Final = Comparator()


def agrees(found: Any, expected: Any, comparator: Comparator) -> bool:
    """Whether a value of the answer is right."""
    return _RULES[comparator.by](found, expected, comparator)


def decimal_of(value: Any) -> Decimal | None:
    """The exact amount that a JSON number, or a plain decimal in a text, is; None for anything else."""
    value = exact(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal):
        return Decimal(value)
    if isinstance(value, str) and len(value) <= MAX_DIGITS and _DECIMAL.match(value):
        return Decimal(value)
    return None


def _decimal(found: Any, expected: Any, comparator: Comparator) -> bool:
    one, other = decimal_of(found), decimal_of(expected)
    if one is None or other is None or one != other:
        return False
    exponent = one.as_tuple().exponent
    return comparator.scale is None or (isinstance(exponent, int) and -exponent <= comparator.scale)


def _set(found: Any, expected: Any, _comparator: Comparator) -> bool:
    """The same items in any order, each as often."""
    expected = exact(expected)
    if not isinstance(found, list) or not isinstance(expected, list) or len(found) != len(expected):
        return False
    left = list(expected)
    for item in found:
        at = next((index for index, other in enumerate(left) if equal(item, other)), None)
        if at is None:
            return False
        del left[at]
    return True


def _one_of(found: Any, expected: Any, comparator: Comparator) -> bool:
    return any(equal(found, value) for value in (expected, *comparator.values))


def _regex(found: Any, _expected: Any, comparator: Comparator) -> bool:
    assert comparator.pattern is not None
    if not isinstance(found, str):
        return False
    try:
        _compiled(comparator.pattern).validate_python(found)
    except ValidationError:
        return False
    return True


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> TypeAdapter[str]:
    """The pattern in pydantic-core's engine, whose time is linear in the text."""
    return TypeAdapter(Annotated[str, StringConstraints(pattern=rf"\A(?:{pattern})\z")])


def _casefold(found: Any, expected: Any, _comparator: Comparator) -> bool:
    texts = isinstance(found, str) and isinstance(expected, str)
    return texts and _folded(found) == _folded(expected)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _date(found: Any, expected: Any, _comparator: Comparator) -> bool:
    one = _day(found)
    return one is not None and one == _day(expected)


def _day(value: Any) -> date | None:
    if not isinstance(value, str) or not value.isascii():
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


_RULES: Final[dict[str, Callable[[Any, Any, Comparator], bool]]] = {
    "exact": lambda found, expected, _comparator: equal(found, expected),
    "decimal": _decimal,
    "set": _set,
    "one_of": _one_of,
    "regex": _regex,
    "casefold": _casefold,
    "date": _date,
    "ignore": lambda _found, _expected, _comparator: True,
}
