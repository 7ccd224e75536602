"""Bring result values into one comparable form: numbers by value, one NaN, midnight for dates, UTC for zones."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from veredicto_verifier.verifiers.sql.spec import SqlSpec

Row = tuple[Any, ...]

_PLAIN = frozenset(
    "TINYINT SMALLINT INTEGER BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT VARCHAR NULL".split()
)
_ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([+-]\d\d(:\d\d)?|Z)?)?")
"""A date or moment in ISO form, as DuckDB and SQLite write one."""
_WIDE = Context(prec=400, rounding=ROUND_HALF_UP)
"""Wide enough to round any double (up to 309 digits) without an error."""


@dataclass(frozen=True, slots=True)
class Table:
    """A result in comparable form.

    `approximate` says for each column whether its numbers compare with a tolerance (floating point). Values are
    hashable; numbers stay Python numbers, so 1, 1.0 and Decimal(1) are equal.
    """

    names: tuple[str, ...]
    approximate: tuple[bool, ...]
    rows: list[Row]

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Forms:
    """How values are brought into comparable form; see the fields of the spec."""

    scale: int | None
    bool_as_int: bool
    dates_as_text: bool

    @classmethod
    def of(cls, spec: SqlSpec) -> Forms:
        """The forms that a spec asks for."""
        return cls(spec.numeric.scale, spec.bool_as_int, spec.dates_as_text)

    def table(self, names: Sequence[str], types: Sequence[str], rows: list[Row]) -> Table:
        """The comparable form of a result."""
        floating = tuple("DOUBLE" in kind or "FLOAT" in kind for kind in types)
        converters = [self._converter(kind) for kind in types]
        if any(converters):
            each = [convert or _same for convert in converters]
            rows = [tuple(convert(value) for convert, value in zip(each, row, strict=True)) for row in rows]
        approximate = floating if self.scale is None else tuple(False for _ in floating)
        return Table(tuple(names), approximate, rows)

    def _converter(self, kind: str) -> Callable[[Any], Any] | None:
        if kind == "BIGNUM":
            return _integer
        if kind == "BIT":
            return _bits
        if self.dates_as_text and kind == "VARCHAR":
            return self.value
        if kind in _PLAIN or (kind.startswith("DECIMAL") and self.scale is None and not kind.endswith("]")):
            return None
        return self.value

    def value(self, value: Any) -> Any:
        """The comparable form of one value."""
        if value is None:
            return value
        if isinstance(value, str):
            return self._text(value) if self.dates_as_text else value
        if isinstance(value, bool):
            return int(value) if self.bool_as_int else ("bool", value)
        if isinstance(value, int | float | Decimal):
            return self._number(value)
        if isinstance(value, date):  # a datetime is a date too
            return self._date(value)
        if isinstance(value, list | tuple):
            return ("list", tuple(self.value(item) for item in value))
        if isinstance(value, dict):
            pairs = [(self.value(key), self.value(item)) for key, item in value.items()]
            return ("struct", tuple(sorted(pairs, key=lambda pair: repr(pair[0]))))
        return _other(value)

    def _number(self, value: int | float | Decimal) -> Any:
        if math.isnan(value):
            return ("nan",)
        if self.scale is None or isinstance(value, int) or math.isinf(value):
            return value
        exact = value if isinstance(value, Decimal) else Decimal(repr(value))
        return exact.quantize(Decimal(1).scaleb(-self.scale), context=_WIDE)

    def _date(self, value: date) -> Any:
        if not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        elif value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        if not self.dates_as_text:
            return value
        midnight = value.time() == time(0)
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")

    def _text(self, value: str) -> str:
        """A text, in the one form that the moment has which it writes, if it writes one."""
        if _ISO.fullmatch(value) is None:
            return value
        try:
            return str(self._date(datetime.fromisoformat(value)))
        except (ValueError, OverflowError):
            return value


def _same(value: Any) -> Any:
    return value


def _integer(value: Any) -> Any:
    """DuckDB hands a BIGNUM over as text."""
    return None if value is None else int(value)


def _bits(value: Any) -> Any:
    """DuckDB hands a BIT over as text, which it is not equal to."""
    return None if value is None else ("bit", value)


def _other(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return ("blob", bytes(value))
    if isinstance(value, time):
        return ("time", _utc(value).isoformat())
    if isinstance(value, timedelta):
        return ("interval", value)
    if isinstance(value, uuid.UUID):
        return ("uuid", value.hex)
    return (type(value).__name__, str(value))


def _utc(value: time) -> time:
    """A time of day at its zone's offset as the one in UTC; both without a zone."""
    offset = value.utcoffset()
    if offset is None:
        return value
    return (datetime.combine(date(2000, 1, 2), value.replace(tzinfo=None)) - offset).time()
