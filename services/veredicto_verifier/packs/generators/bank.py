"""A small bank for the pack demo-sql: three tables, their seeded rows, and the SQL script of a fixture.

Every literal that a question may compare with stands in every column of its kind, so `>` and `>=` differ; texts and
amounts repeat, some are NULL, some accounts belong to nobody and some customers have none.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

Cell = int | str | None
"""Numbers are held in hundredths, so that every sum is exact."""
Row = dict[str, Cell]
Rows = dict[str, list[Row]]
"""The rows of one fixture, by table."""

SMALL = tuple(range(20, 70, 5))
"""Literals for ages, scores and points."""
LARGE = tuple(range(150, 1150, 100))
"""Literals for money. No literal of a column is a prefix of another one's digits."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its key, the key of its parent (if any), text columns with their values, number columns."""

    name: str
    singular: str
    key: str
    parent: str | None
    texts: dict[str, tuple[str, ...]]
    numbers: dict[str, tuple[int, ...]]
    num_rows: int


TABLES = {
    "customers": Table(
        "customers",
        "customer",
        "customer_id",
        None,
        {"city": ("Lima", "Quito", "Bogota", "Puebla"), "segment": ("retail", "premium", "business")},
        {"age": SMALL, "score": SMALL, "income": LARGE},
        44,
    ),
    "accounts": Table(
        "accounts",
        "account",
        "account_id",
        "customers",
        {"product": ("savings", "payroll", "credit"), "branch": ("north", "centre", "south", "airport")},
        {"balance": LARGE, "overdraft": LARGE, "tenure": SMALL},
        56,
    ),
    "movements": Table(
        "movements",
        "movement",
        "movement_id",
        "accounts",
        {"channel": ("app", "card", "teller"), "status": ("posted", "pending", "reversed", "disputed")},
        {"amount": LARGE, "fee": SMALL, "points": SMALL},
        64,
    ),
}

MONEY = frozenset({"income", "balance", "overdraft", "amount", "fee"})
NULLABLE = frozenset({"city", "income", "branch", "overdraft", "fee", "channel"})
NUM_NULLS = 3


def draw_rows(seed: str) -> Rows:
    """The rows of one fixture, the same for the same seed."""
    rng = random.Random(seed)
    rows: Rows = {}
    for table in TABLES.values():
        columns: dict[str, list[Cell]] = {table.key: list(range(1, table.num_rows + 1))}
        if table.parent:
            columns[TABLES[table.parent].key] = _foreign_keys(table, rng)
        for name, texts in table.texts.items():
            columns[name] = _some_null(name, [rng.choice(texts) for _ in range(table.num_rows)], rng)
        for name, literals in table.numbers.items():
            columns[name] = _some_null(name, _numbers(name, literals, table.num_rows, rng), rng)
        rows[table.name] = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    return rows


def _foreign_keys(table: Table, rng: random.Random) -> list[Cell]:
    """Parents of a table's rows: most have one, some parents have several or none, two rows are orphans."""
    assert table.parent is not None
    num_parents = TABLES[table.parent].num_rows
    keys: list[Cell] = [rng.randint(1, num_parents) for _ in range(table.num_rows - 2)]
    return [*keys, num_parents + 1, num_parents + 7]


def _numbers(name: str, literals: Sequence[int], num_rows: int, rng: random.Random) -> list[Cell]:
    """Each literal twice (the boundary and a duplicate of it), the rest from the whole range, shuffled."""
    step = literals[1] - literals[0]
    values: list[Cell] = [100 * literal for literal in literals for _ in range(2)]
    while len(values) < num_rows:
        whole = rng.randint(literals[0] - step, literals[-1] + step)
        cents = rng.choice((0, 25, 50, 75)) if name in MONEY else 0
        values.append(100 * whole + cents)
    rng.shuffle(values)
    return values


def _some_null(name: str, values: list[Cell], rng: random.Random) -> list[Cell]:
    """The values with a few NULLs in a nullable column; a literal's two boundary rows never both go."""
    if name in NULLABLE:
        seen = [index for index, value in enumerate(values) if values.index(value) != index]
        for index in rng.sample(seen, NUM_NULLS):
            values[index] = None
    return values


def fixture_script(rows: Rows, title: str) -> str:
    """The rows as a DuckDB script: CREATE TABLE and INSERT statements."""
    parts = [f"-- {title}\n"]
    for table in TABLES.values():
        names = list(rows[table.name][0])
        columns = ", ".join(f"{name} {_column_type(table, name)}" for name in names)
        tuples = ",\n".join("  (" + ", ".join(_literal(row, name) for name in names) + ")" for row in rows[table.name])
        parts.append(f"CREATE TABLE {table.name} ({columns});\nINSERT INTO {table.name} VALUES\n{tuples};\n")
    return "\n".join(parts)


def _column_type(table: Table, name: str) -> str:
    if name in table.texts:
        return "VARCHAR"
    return "DECIMAL(10, 2)" if name in MONEY else "INTEGER"


def _literal(row: Row, name: str) -> str:
    value = row[name]
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return f"'{value}'"
    if name.endswith("_id"):
        return str(value)
    return f"{value // 100}.{value % 100:02d}" if name in MONEY else str(value // 100)
