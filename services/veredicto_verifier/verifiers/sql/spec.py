"""The typed spec of an SQL task: fixtures, gold, and how two results are compared."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, field_validator, model_validator

from veredicto_verifier.verifier import Spec

PARTIAL_CAP = 0.3
"""The most that a wrong query can earn: a reward for closeness must stay far below the reward for being right."""

_FIXTURE_NAME = r"^[^/\s]{1,128}/[^/\s]{1,128}$"
FixtureName = Annotated[str, StringConstraints(pattern=_FIXTURE_NAME)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Script(_Part):
    """A fixture written in the spec itself."""

    script: Annotated[str, StringConstraints(min_length=1, max_length=4_194_304)]
    """DuckDB statements that create and fill the tables."""


class Gold(_Part):
    """What is right: a query that runs once on every fixture, or rows that hold for every fixture."""

    sql: Annotated[str, StringConstraints(min_length=1, max_length=16_384)] | None = None
    """One SELECT in DuckDB's dialect (under `mode: dml` one INSERT, UPDATE, DELETE or TRUNCATE)."""
    columns: Annotated[tuple[str, ...], Field(min_length=1, max_length=256)] | None = None
    """Column names; they count only under `columns: by_name`."""
    types: tuple[str, ...] | None = None
    """One DuckDB type name a column; DuckDB casts the values."""
    rows: Annotated[tuple[tuple[Any, ...], ...], Field(max_length=100_000)] | None = None
    """The rows; decimals, big integers and dates as strings."""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Gold:
        table = (self.columns, self.types, self.rows)
        if self.sql is None and any(part is None for part in table):
            raise ValueError("give `sql`, or `columns`, `types` and `rows`")
        if self.sql is not None and any(part is not None for part in table):
            raise ValueError("give `sql` or rows, not both")
        return self

    @model_validator(mode="after")
    def _is_rectangular(self) -> Gold:
        columns, types, rows = self.columns or (), self.types or (), self.rows or ()
        if len(types) != len(columns):
            raise ValueError(f"{len(columns)} columns but {len(types)} types")
        for name in types:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_ ,()\[\]\"]{0,199}", name):
                raise ValueError(f"{name[:40]!r} is not a DuckDB type name")
        for index, row in enumerate(rows):
            if len(row) != len(columns):
                raise ValueError(f"row {index} has {len(row)} values for {len(columns)} columns")
        return self


class Numeric(_Part):
    """How numbers compare: floating point by tolerance (the default), or everything exactly at `scale` digits."""

    rel_tol: Annotated[float, Field(ge=0, le=0.1)] = 1e-6
    """Largest difference relative to the larger magnitude, where one side is floating point."""
    abs_tol: Annotated[float, Field(ge=0)] = 1e-9
    """Largest difference in absolute terms, where one side is floating point."""
    scale: Annotated[int, Field(ge=0, le=18)] | None = None
    """Digits after the decimal point to which all numbers are rounded half up before they must be equal (money)."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Numeric:
        if self.scale is not None and self.model_fields_set - {"scale"}:
            raise ValueError("`scale` compares exactly; leave the tolerances out")
        return self


def moment(as_of: str) -> datetime:
    """The moment that an ISO date or time names, in UTC and without a zone.

    Raises:
        ValueError: it is neither, or lies outside the years 1 to 9999.
    """
    parsed = datetime.fromisoformat(as_of)
    try:
        return parsed if parsed.tzinfo is None else parsed.astimezone(UTC).replace(tzinfo=None)
    except OverflowError as error:
        raise ValueError("it lies outside the years 1 to 9999") from error


def _name_or_script(value: Any) -> Any:
    """One message for what is neither, instead of one for each form that it might have had."""
    wanted = 'give "pack/fixture" or {"script": "CREATE TABLE …"}'
    if isinstance(value, str):
        if re.fullmatch(_FIXTURE_NAME, value) is None:
            raise ValueError(f"{value[:60]!r} names no fixture; {wanted}")
    elif isinstance(value, dict):
        if not isinstance(value.get("script"), str) or not value["script"] or len(value) > 1:
            raise ValueError(f"`script`, text that is not empty, and nothing else; {wanted}")
    elif not isinstance(value, Script):
        raise ValueError(wanted)  # noqa: TRY004 - pydantic reports no TypeError
    return value


class SqlSpec(Spec):
    """What an SQL answer is judged by."""

    fixtures: Annotated[
        tuple[Annotated[FixtureName | Script, BeforeValidator(_name_or_script)], ...], Field(min_length=1, max_length=8)
    ]
    """The databases an answer runs on: `"pack/fixture"` or `{"script": "…"}`; it must be right on all of them."""
    dialect: Literal["duckdb", "sqlite"] = "duckdb"
    """The engine that runs fixtures, gold and answer; nothing is translated from one to the other."""
    mode: Literal["query", "dml"] = "query"
    """`query`: one SELECT, judged by its result. `dml`: one change (no MERGE), judged by the rows that it changes."""
    gold: Gold
    """What is right: `{"sql": "…"}`, or `{"columns", "types", "rows"}`."""
    order: Literal["auto", "always", "never"] = "auto"
    """Does row order count? `auto`: only if gold's outermost SELECT has ORDER BY; rows tied there come in any order."""
    duplicates: Literal["multiset", "set"] = "multiset"
    """Does it count how often a row occurs? `set`: no."""
    columns: Literal["any_permutation", "positional", "by_name"] = "any_permutation"
    """Which column answers which: one permutation for all rows (up to 8 columns), the position, or the name."""
    numeric: Numeric = Numeric()
    """How numbers compare: `{"rel_tol": 1e-6, "abs_tol": 1e-9}`, or `{"scale": 2}` for exact decimals."""
    as_of: Annotated[str, StringConstraints(max_length=40)] | None = None
    """The moment (ISO, UTC unless it has a zone) that the clock shows to gold and answers; null refuses the clock."""
    bool_as_int: bool = False
    """`true` equals 1 and `false` equals 0."""
    dates_as_text: bool = False
    """A date or timestamp equals its ISO text."""
    partial_cap: Annotated[float, Field(ge=0, le=PARTIAL_CAP)] = PARTIAL_CAP
    """The most that a wrong answer can earn under `shaped`; at most 0.3."""

    @field_validator("as_of")
    @classmethod
    def _is_a_moment(cls, as_of: str | None) -> str | None:
        if as_of is not None:
            moment(as_of)
        return as_of

    @model_validator(mode="after")
    def _as_of_is_for_queries(self) -> SqlSpec:
        if self.as_of is not None and self.mode == "dml":
            raise ValueError("`mode: dml` takes no `as_of`; write the moment into the question")
        return self

    @model_validator(mode="after")
    def _sqlite_runs_queries(self) -> SqlSpec:
        if self.dialect == "sqlite" and (self.mode == "dml" or self.gold.sql is None):
            raise ValueError("`dialect: sqlite` needs `gold.sql` and `mode: query`")
        return self

    @model_validator(mode="after")
    def _dml_compares_tables(self) -> SqlSpec:
        if self.mode == "dml":
            if self.gold.sql is None:
                raise ValueError("`mode: dml` needs `gold.sql`")
            if {"order", "duplicates", "columns"} & self.model_fields_set:
                raise ValueError("`mode: dml` compares tables; leave `order`, `duplicates` and `columns` out")
        return self
