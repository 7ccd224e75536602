"""Random small databases with the schema of a task's fixtures, on which a mutant must differ from gold to count.

They keep what the schema declares (types, NOT NULL, keys) and nothing else that happens to hold in the fixtures: keys
have orphans, values repeat, and every literal that gold compares a column with stands in that column.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from veredicto_verifier.verifiers.sql.fixtures import OpenFixture

NUM_DATABASES = 30
NUM_ROWS = 60
"""Rows of a table; of one with a key at most as many as its key has values."""
NUM_KEYS = 30
"""Values that a database uses of a key column, wherever it occurs."""
NUM_COMMON, NUM_RARE = 8, 5
"""Values that a database uses of any other column: of those that every fixture holds, and of the rest."""
NULL_SHARE = 0.12

Cell = str | None
Literals = frozenset[tuple[str, str]]
"""Column name and literal of each comparison of gold."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the schema with the values it may hold, as texts.

    `common` are values that every fixture holds (what questions ask about), `rare` the others of the fixtures, `asked`
    those that gold compares the column with and that are not common.
    """

    name: str
    kind: str
    nullable: bool
    common: tuple[str, ...]
    rare: tuple[str, ...]
    asked: tuple[str, ...] = ()

    def pool(self, chance: random.Random) -> list[str]:
        """The values that one database uses."""
        common = chance.sample(self.common, min(NUM_COMMON, len(self.common)))
        return [*self.asked, *common, *chance.sample(self.rare, min(NUM_RARE, len(self.rare)))]


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table of the schema: its columns and the names of its unique ones."""

    name: str
    columns: tuple[Column, ...]
    unique: frozenset[str]


@dataclass(slots=True)
class LintDatabases:
    """The databases of one schema, in one instance, a schema each; `rows` are kept to propose them as fixtures."""

    shapes: tuple[TableShape, ...]
    databases: list[OpenFixture] = field(default_factory=list)
    rows: list[dict[str, list[tuple[Cell, ...]]]] = field(default_factory=list)

    def close(self) -> None:
        """Release the instance."""
        for database in self.databases:
            database.close()


def shapes_of(fixtures: Sequence[OpenFixture]) -> tuple[TableShape, ...]:
    """The tables of the fixtures' schema, with the values that occur in the fixtures."""
    reader = fixtures[0].cursor()
    tables = reader.execute(
        "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND schema_name = 'main' ORDER BY table_name"
    ).fetchall()
    found = []
    for (table,) in tables:
        rows = reader.execute(
            "SELECT column_name, data_type, is_nullable FROM duckdb_columns() "
            "WHERE table_name = $1 AND NOT internal ORDER BY column_index",
            [table],
        ).fetchall()
        columns = tuple(Column(name, kind, nullable, *_values(fixtures, table, name)) for name, kind, nullable in rows)
        found.append(TableShape(table, columns, _unique(reader, table)))
    return tuple(found)


def asked_for(shapes: Iterable[TableShape], literals: Literals, reader: duckdb.DuckDBPyConnection) -> Literals:
    """The comparisons of gold whose literal is common in no column of that name, the literal as the column's text."""
    columns = [column for shape in shapes for column in shape.columns]
    found: set[tuple[str, str]] = set()
    for name, literal in literals:
        named = [column for column in columns if column.name == name]
        casts = {column.kind: _cast(literal, column.kind, reader) for column in named}
        if not any(casts[column.kind] in column.common for column in named):
            found.update((name, text) for text in casts.values() if text is not None)
    return frozenset(found)


def _cast(literal: str, kind: str, reader: duckdb.DuckDBPyConnection) -> Cell:
    row = reader.execute(f"SELECT CAST(TRY_CAST($1 AS {kind}) AS VARCHAR)", [literal]).fetchone()
    return None if row is None else row[0]


def asking(shapes: Iterable[TableShape], asked: Literals) -> tuple[TableShape, ...]:
    """The shapes with these literals in the columns of their name."""
    return tuple(
        replace(
            shape,
            columns=tuple(
                replace(column, asked=tuple(sorted(text for name, text in asked if name == column.name)))
                for column in shape.columns
            ),
        )
        for shape in shapes
    )


def make_databases(shapes: tuple[TableShape, ...], views: Sequence[str], seed: str) -> LintDatabases:
    """The random databases, the same for the same seed."""
    made = LintDatabases(shapes)
    instance = duckdb.connect(":memory:", config={"threads": "1"})
    for number in range(NUM_DATABASES):
        chance = random.Random(f"{seed}/{number}")
        pools: dict[str, list[str]] = {}
        rows = {shape.name: list(_rows(shape, pools, _keys_of(shapes), chance)) for shape in shapes}
        schema = f"lint{number}"
        fill(instance, schema, shapes, rows)
        for view in views:
            instance.execute(view)
        made.databases.append(OpenFixture(instance.cursor(), schema))
        made.rows.append(rows)
    return made


def fill(
    instance: duckdb.DuckDBPyConnection,
    schema: str,
    shapes: Iterable[TableShape],
    rows: Mapping[str, Sequence[tuple[Cell, ...]]],
) -> None:
    """Make a schema with these rows (texts, cast by DuckDB) and make it the current one."""
    instance.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    instance.execute(f"SET schema = '{schema}'")
    for shape in shapes:
        columns = ", ".join(f'"{column.name}" {column.kind}' for column in shape.columns)
        instance.execute(f'CREATE OR REPLACE TABLE "{shape.name}" ({columns})')
        if rows[shape.name]:
            casts = ", ".join(f"CAST(c{i} AS {column.kind})" for i, column in enumerate(shape.columns))
            lists = ", ".join(f"unnest(${i + 1}::VARCHAR[]) AS c{i}" for i in range(len(shape.columns)))
            values = [list(cells) for cells in zip(*rows[shape.name], strict=True)]
            instance.execute(f'INSERT INTO "{shape.name}" SELECT {casts} FROM (SELECT {lists})', values)


def _values(fixtures: Sequence[OpenFixture], table: str, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The values of a column that all fixtures hold, and the others."""
    held = []
    for fixture in fixtures:
        cursor = fixture.cursor()
        query = f'SELECT DISTINCT CAST("{name}" AS VARCHAR) FROM "{table}" WHERE "{name}" IS NOT NULL'
        held.append({row[0] for row in cursor.execute(query).fetchall()})
        cursor.close()
    common = set.intersection(*held)
    return tuple(sorted(common)), tuple(sorted(set.union(*held) - common))


def _unique(reader: duckdb.DuckDBPyConnection, table: str) -> frozenset[str]:
    rows = reader.execute(
        "SELECT constraint_column_names FROM duckdb_constraints() "
        "WHERE table_name = $1 AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')",
        [table],
    ).fetchall()
    return frozenset(names[0] for (names,) in rows if len(names) == 1)


def _keys_of(shapes: Iterable[TableShape]) -> dict[str, tuple[str, ...]]:
    """The values of each column that is a key somewhere, by name: it joins wherever that name occurs."""
    keys: dict[str, set[str]] = {}
    for shape in shapes:
        for name in shape.unique:
            keys.setdefault(name, set())
    for shape in shapes:
        for column in shape.columns:
            if column.name in keys:
                keys[column.name].update(column.common, column.rare)
    return {name: tuple(sorted(values)) for name, values in keys.items()}


def _rows(
    shape: TableShape, pools: dict[str, list[str]], keys: Mapping[str, tuple[str, ...]], chance: random.Random
) -> Iterator[tuple[Cell, ...]]:
    cells = []
    count = NUM_ROWS
    for column in shape.columns:
        if column.name in keys and column.name not in pools:
            domain = keys[column.name]
            pools[column.name] = chance.sample(domain, min(NUM_KEYS, len(domain)))
        if column.name in shape.unique:
            count = min(count, max(1, len(pools[column.name]) * 4 // 5))
    for column in shape.columns:
        pool = pools.get(column.name) or column.pool(chance)
        if column.name in shape.unique:
            cells.append(chance.sample(pool, count))
        else:
            cells.append([_cell(column, pool, chance) for _ in range(count)])
    return zip(*cells, strict=True)


def _cell(column: Column, pool: Sequence[str], chance: random.Random) -> Any:
    if not pool or (column.nullable and chance.random() < NULL_SHARE):
        return None
    return chance.choice(pool)
