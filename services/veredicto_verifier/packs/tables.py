"""From a CSV file to a DuckDB script: a fixture of a pack, and variations of it with other rows.

Types are taken from the values: BIGINT, DECIMAL, DATE, BOOLEAN, else VARCHAR. An empty cell is NULL.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from veredicto_verifier.errors import PackFault

INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.([0-9]+)")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MAX_DECIMAL_DIGITS = 38
_WORDS = """
    all and any as asc both case cast check collate column constraint create default deferrable desc describe distinct
    do else end except false fetch for foreign from grant group having in initially intersect into lateral leading
    limit not null offset on only or order pivot placing primary qualify references returning select show some
    summarize symmetric table then to trailing true union unique unpivot using variadic when where window with
"""
RESERVED = frozenset(_WORDS.split())
"""DuckDB's reserved words: a column of that name gets a `_` behind it, so that no query needs quotes."""


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file as a table: column names, their DuckDB types and rows of texts (None is NULL)."""

    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]

    @property
    def create(self) -> str:
        """The CREATE TABLE statement."""
        columns = ", ".join(f"{name} {kind}" for name, kind in zip(self.columns, self.types, strict=True))
        return f"CREATE TABLE {self.name} ({columns});"

    def script(self) -> str:
        """The statements that make the table in DuckDB."""
        rows = ",\n".join("  (" + ", ".join(map(_literal, row, self.types)) + ")" for row in self.rows)
        return f"{self.create}\nINSERT INTO {self.name} VALUES\n{rows};\n"


def read_table(path: Path) -> Table:
    """The table in a CSV file with a header; its name is the file's.

    Raises:
        PackFault: unreadable, no rows, a ragged row or two columns of one name.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *rows = [row for row in csv.reader(file, strict=True) if row]
    except OSError as error:
        raise PackFault(f"{path}: cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise PackFault(f"{path}: not a CSV file in UTF-8: {error}") from error
    except ValueError as error:
        raise PackFault(f"{path}: empty; the first line must name the columns") from error
    columns = tuple(_identifier(name) for name in header)
    if len(set(columns)) != len(columns):
        raise PackFault(f"{path}: two columns have one name (case and punctuation aside); rename one")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(columns):
            raise PackFault(f"{path}: row {number} has {len(row)} cells, the header {len(columns)}")
    if not rows:
        raise PackFault(f"{path}: has no rows below the header")
    cells = tuple(tuple(cell.strip() or None for cell in row) for row in rows)
    types = tuple(column_type([row[index] for row in cells]) for index in range(len(columns)))
    return Table(_identifier(path.stem), columns, types, cells)


def column_type(cells: Sequence[str | None]) -> str:
    """The narrowest DuckDB type that holds every value of a column."""
    values = [cell for cell in cells if cell is not None]
    if not values:
        return "VARCHAR"
    if all(INTEGER.fullmatch(value) for value in values):
        return "BIGINT"
    if all(INTEGER.fullmatch(value) or DECIMAL.fullmatch(value) for value in values):
        scale = max(len(value.partition(".")[2]) for value in values)
        whole = max(len(value.partition(".")[0].lstrip("-")) for value in values)
        if whole + scale <= MAX_DECIMAL_DIGITS:
            return f"DECIMAL({max(whole + scale, 18)}, {scale})"
    if all(_is_date(value) for value in values):
        return "DATE"
    if all(value in ("true", "false") for value in values):
        return "BOOLEAN"
    return "VARCHAR"


def vary(table: Table, seed: int) -> Table:
    """The same columns with other rows: a sample of them, every column but the keys shuffled among the rows.

    `id` and `*_id` columns stay with their row, so that tables still join.
    """
    chance = random.Random(f"{table.name}/{seed}")
    rows = [row for row in table.rows if chance.random() < KEPT] or [table.rows[0]]
    columns = [list(column) for column in zip(*rows, strict=True)]
    for name, column in zip(table.columns, columns, strict=True):
        if not (name == "id" or name.endswith("_id")):
            chance.shuffle(column)
    return replace(table, rows=tuple(zip(*columns, strict=True)))


KEPT = 0.6
"""Share of the rows that a variation keeps."""


def _is_date(value: str) -> bool:
    try:
        return DATE.fullmatch(value) is not None and date.fromisoformat(value) is not None
    except ValueError:
        return False


def _identifier(name: str) -> str:
    plain = re.sub(r"[^a-z0-9_]+", "_", name.strip().lower()).strip("_")
    if not plain:
        raise PackFault(f"{name[:60]!r} cannot name a table or column; use letters, digits and _")
    if plain in RESERVED:
        return f"{plain}_"
    return f"_{plain}" if plain[0].isdigit() else plain


def _literal(cell: str | None, kind: str) -> str:
    if cell is None:
        return "NULL"
    if kind in ("BIGINT", "BOOLEAN") or kind.startswith("DECIMAL"):
        return cell
    return "'" + cell.replace("'", "''") + "'"
