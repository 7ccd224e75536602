"""The typed spec of an SQL task: fixtures, gold, and how two results are compared."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from veredicto_verifier.verifier import Spec

PARTIAL_CAP = 0.3
"""The most that a wrong query can earn: a reward for closeness must stay far below the reward for being right."""

FixtureName = Annotated[str, StringConstraints(pattern=r"^[^/\s]{1,128}/[^/\s]{1,128}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Script(_Part):
    """A fixture written in the spec itself."""

    script: Annotated[str, StringConstraints(min_length=1, max_length=4_194_304)]
    """DuckDB statements that create and fill the tables."""


class GoldQuery(_Part):
    """Gold as a query, run once on every fixture."""

    sql: Annotated[str, StringConstraints(min_length=1, max_length=16_384)]
    """One SELECT in DuckDB's dialect."""


class GoldRows(_Part):
    """Gold as rows, the same for every fixture."""

    columns: Annotated[tuple[str, ...], Field(min_length=1, max_length=256)]
    """Column names; they count only under `columns: by_name`."""
    types: tuple[str, ...]
    """One DuckDB type name a column; DuckDB casts the values."""
    rows: Annotated[tuple[tuple[Any, ...], ...], Field(max_length=100_000)]
    """The rows; decimals, big integers and dates as strings."""

    @model_validator(mode="after")
    def _is_rectangular(self) -> GoldRows:
        if len(self.types) != len(self.columns):
            raise ValueError(f"{len(self.columns)} columns but {len(self.types)} types")
        for name in self.types:
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_ ,()\[\]\"]{0,199}", name):
                raise ValueError(f"{name[:40]!r} is not a DuckDB type name")
        for index, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"row {index} has {len(row)} values for {len(self.columns)} columns")
        return self


class Tolerance(_Part):
    """Floating-point numbers are equal when they are close; integers and decimals only when equal."""

    rel_tol: Annotated[float, Field(ge=0, le=0.1)] = 1e-6
    """Largest difference relative to the larger magnitude."""
    abs_tol: Annotated[float, Field(ge=0)] = 1e-9
    """Largest difference in absolute terms."""


class Exact(_Part):
    """Numbers are equal when their decimal values are, after rounding half up to `scale` digits (for money)."""

    scale: Annotated[int, Field(ge=0, le=18)]
    """Digits after the decimal point."""


class SqlSpec(Spec):
    """What an SQL answer is judged by."""

    fixtures: Annotated[tuple[FixtureName | Script, ...], Field(min_length=1, max_length=8)]
    """The databases an answer runs on: `"pack/fixture"` or `{"script": "…"}`; it must be right on all of them."""
    gold: GoldQuery | GoldRows
    """What is right: `{"sql": "…"}`, or `{"columns", "types", "rows"}`."""
    order: Literal["auto", "always", "never"] = "auto"
    """Does row order count? `auto`: only if gold's outermost SELECT has ORDER BY; rows tied there come in any order."""
    duplicates: Literal["multiset", "set"] = "multiset"
    """Does it count how often a row occurs? `set`: no."""
    columns: Literal["any_permutation", "positional", "by_name"] = "any_permutation"
    """Which column answers which: one permutation for all rows (up to 8 columns), the position, or the name."""
    numeric: Tolerance | Exact = Tolerance()
    """How numbers compare: `{"rel_tol": 1e-6, "abs_tol": 1e-9}`, or `{"scale": 2}` for exact decimals."""
    bool_as_int: bool = False
    """`true` equals 1 and `false` equals 0."""
    dates_as_text: bool = False
    """A date or timestamp equals its ISO text."""
    partial_cap: Annotated[float, Field(ge=0, le=PARTIAL_CAP)] = PARTIAL_CAP
    """The most that a wrong answer can earn under `shaped`; at most 0.3."""
