"""The bank of the pack bank-sql: its tables, seeded rows and the DuckDB script of a fixture.

Around every literal that a question compares a column with there are rows exactly on it, a cent or a day beside it and
one beside it; values repeat, nullable columns have NULLs, some children have no parent and some parents no child.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

Cell = int | str | Decimal | date | None
Rows = dict[str, list[dict[str, Cell]]]

DATES = ("2023-01-01", "2023-06-30", "2024-02-29", "2024-07-01", "2024-12-31", "2025-03-15")
"""Days that questions ask about."""
NUMBERS: dict[str, tuple[str, ...]] = {
    "income": ("800", "1500", "2500", "4000"),
    "risk_score": ("30", "45", "60", "75"),
    "balance": ("500", "1000", "2500", "5000"),
    "overdraft": ("100", "250", "500"),
    "movements.amount": ("50", "120", "300", "750"),
    "fee": ("1.50", "2.50", "4.00"),
    "principal": ("2000", "5000", "10000", "20000"),
    "rate": ("8.50", "12.00", "15.50", "24.00"),
    "term_months": ("12", "24", "36", "48"),
    "instalments.amount": ("150", "300", "600"),
    "credit_limit": ("1000", "2500", "5000", "8000"),
}
"""Literals by column (with its table where two tables have a column of that name)."""

CITIES = ("Lima", "Bogotá", "Quito", "Puebla", "Córdoba", "Valparaíso")
COUNTRIES = ("MX", "CO", "PE", "CL", "AR")
FIRST = ("Ana", "Luis", "María", "José", "Sofía", "Diego", "Lucía", "Mateo", "Elena", "Tomás", "Inés", "Raúl")
LAST = ("Quispe", "García", "Rojas", "Muñoz", "Pérez", "Silva", "Flores", "Castro", "Núñez", "Vargas")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its DuckDB type, its values if they are few, the share of NULLs."""

    name: str
    kind: str
    choices: tuple[str, ...] = ()
    nulls: float = 0.0
    parent: str = ""
    """The table whose key it holds."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; its first column is the primary key."""

    name: str
    num_rows: int
    columns: tuple[Column, ...]


TABLES = (
    Table(
        "branches",
        14,
        (
            Column("branch_id", "INTEGER"),
            Column("name", "VARCHAR"),
            Column("city", "VARCHAR", CITIES),
            Column("country", "VARCHAR", COUNTRIES),
        ),
    ),
    Table(
        "customers",
        260,
        (
            Column("customer_id", "INTEGER"),
            Column("name", "VARCHAR"),
            Column("segment", "VARCHAR", ("retail", "premium", "business")),
            Column("city", "VARCHAR", CITIES, nulls=0.15),
            Column("country", "VARCHAR", COUNTRIES),
            Column("birth_date", "DATE"),
            Column("since", "DATE"),
            Column("income", "DECIMAL(12,2)", nulls=0.1),
            Column("risk_score", "INTEGER"),
        ),
    ),
    Table(
        "accounts",
        320,
        (
            Column("account_id", "INTEGER"),
            Column("customer_id", "INTEGER", parent="customers"),
            Column("branch_id", "INTEGER", parent="branches"),
            Column("product", "VARCHAR", ("savings", "payroll", "checking")),
            Column("currency", "VARCHAR", ("MXN", "USD", "PEN")),
            Column("status", "VARCHAR", ("active", "dormant", "closed")),
            Column("balance", "DECIMAL(14,2)"),
            Column("overdraft", "DECIMAL(12,2)", nulls=0.2),
            Column("opened", "DATE"),
            Column("closed", "DATE", nulls=0.5),
        ),
    ),
    Table(
        "movements",
        620,
        (
            Column("movement_id", "INTEGER"),
            Column("account_id", "INTEGER", parent="accounts"),
            Column("posted_at", "TIMESTAMP"),
            Column("kind", "VARCHAR", ("deposit", "withdrawal", "transfer", "payment")),
            Column("channel", "VARCHAR", ("app", "branch", "atm", "card"), nulls=0.12),
            Column("amount", "DECIMAL(12,2)"),
            Column("fee", "DECIMAL(8,2)", nulls=0.25),
        ),
    ),
    Table(
        "loans",
        200,
        (
            Column("loan_id", "INTEGER"),
            Column("customer_id", "INTEGER", parent="customers"),
            Column("branch_id", "INTEGER", parent="branches"),
            Column("product", "VARCHAR", ("mortgage", "car", "personal")),
            Column("status", "VARCHAR", ("current", "late", "paid")),
            Column("principal", "DECIMAL(12,2)"),
            Column("rate", "DECIMAL(5,2)"),
            Column("term_months", "INTEGER"),
            Column("granted", "DATE"),
        ),
    ),
    Table(
        "instalments",
        380,
        (
            Column("instalment_id", "INTEGER"),
            Column("loan_id", "INTEGER", parent="loans"),
            Column("due", "DATE"),
            Column("amount", "DECIMAL(12,2)"),
            Column("paid_amount", "DECIMAL(12,2)"),
            Column("paid_on", "DATE", nulls=0.3),
        ),
    ),
    Table(
        "cards",
        220,
        (
            Column("card_id", "INTEGER"),
            Column("account_id", "INTEGER", parent="accounts"),
            Column("brand", "VARCHAR", ("Visa", "Mastercard", "Carnet")),
            Column("kind", "VARCHAR", ("debit", "credit")),
            Column("status", "VARCHAR", ("active", "blocked", "expired")),
            Column("credit_limit", "DECIMAL(12,2)", nulls=0.2),
            Column("issued", "DATE"),
        ),
    ),
)


def schema() -> str:
    """The CREATE TABLE statements, one a table, as prompts show them."""
    statements = []
    for table in TABLES:
        columns = [
            f"{column.name} {column.kind}{' PRIMARY KEY' if index == 0 else '' if column.nulls else ' NOT NULL'}"
            for index, column in enumerate(table.columns)
        ]
        statements.append(f"CREATE TABLE {table.name} ({', '.join(columns)});")
    return "\n".join(statements)


def draw_rows(seed: str, scale: float) -> Rows:
    """The rows of one fixture, the same for the same seed; `scale` multiplies the tables' sizes."""
    chance = random.Random(seed)
    keys: dict[str, list[int]] = {}
    rows: Rows = {}
    for table in TABLES:
        count = table.num_rows if table.name == "branches" else round(table.num_rows * scale)
        keys[table.name] = chance.sample(range(1, 2 * count), count)
        rows[table.name] = [_row(table, key, keys, chance) for key in keys[table.name]]
    return rows


def script(rows: Rows) -> str:
    """The rows as a DuckDB script."""
    parts = [schema()]
    for table in TABLES:
        tuples = ",\n".join("(" + ", ".join(_literal(cell) for cell in row.values()) + ")" for row in rows[table.name])
        parts.append(f"INSERT INTO {table.name} VALUES\n{tuples};")
    return "\n".join(parts) + "\n"


def _row(table: Table, key: int, keys: dict[str, list[int]], chance: random.Random) -> dict[str, Cell]:
    row: dict[str, Cell] = {table.columns[0].name: key}
    for column in table.columns[1:]:
        null = column.nulls and chance.random() < column.nulls
        row[column.name] = None if null else _cell(table, column, keys, row, chance)
    return row


def _cell(
    table: Table, column: Column, keys: dict[str, list[int]], row: dict[str, Cell], chance: random.Random
) -> Cell:
    if column.parent:
        return _parent_key(keys[column.parent], chance)
    if column.choices:
        return chance.choice(column.choices)
    special = _SPECIAL.get(f"{table.name}.{column.name}")
    if special is not None:
        return special(row, chance)
    if column.kind == "DATE":
        return _day(chance)
    if column.kind == "TIMESTAMP":
        day = _day(chance)
        minutes = 0 if chance.random() < 0.3 else chance.randrange(24 * 60)
        return datetime(day.year, day.month, day.day) + timedelta(minutes=minutes)
    literals = NUMBERS.get(f"{table.name}.{column.name}") or NUMBERS[column.name]
    return _near(chance.choice(literals), column.kind, chance)


def _parent_key(parents: list[int], chance: random.Random) -> int:
    """A parent: one in 25 does not exist, the first tenth has most children, the last eighth has none."""
    if chance.random() < 0.04:
        return max(parents) + chance.randint(1, 5)
    if chance.random() < 0.35:
        return chance.choice(parents[: max(2, len(parents) // 10)])
    return chance.choice(parents[: len(parents) * 7 // 8])


def _near(literal: str, kind: str, chance: random.Random) -> Cell:
    """A number on a literal, just beside it, or anywhere around."""
    value = Decimal(literal)
    whole = kind == "INTEGER"
    cent = Decimal(1) if whole else Decimal("0.01")
    draw = chance.random()
    if draw < 0.35:
        near = value
    elif draw < 0.75:
        near = value + chance.choice((-1, 1)) * chance.choice((cent, Decimal("0.5") if not whole else cent, Decimal(1)))
    else:
        near = (value * chance.randint(30, 170) / 100).quantize(cent)
    return int(near) if whole else near.quantize(Decimal("0.01"))


def _day(chance: random.Random) -> date:
    draw = chance.random()
    day = date.fromisoformat(chance.choice(DATES))
    if draw < 0.35:
        return day
    if draw < 0.6:
        return day + timedelta(days=chance.choice((-1, 1)))
    return date(2022, 7, 1) + timedelta(days=chance.randrange(1100))


def _person(_row: dict[str, Cell], chance: random.Random) -> str:
    return f"{chance.choice(FIRST)} {chance.choice(LAST)}"


def _paid_on(row: dict[str, Cell], chance: random.Random) -> date:
    due = row["due"]
    assert isinstance(due, date)
    return due + timedelta(days=chance.choice((-9, -1, 0, 0, 1, 1, 14)))


def _paid(row: dict[str, Cell], chance: random.Random) -> Cell:
    amount = row["amount"]
    assert isinstance(amount, Decimal)
    return chance.choice((amount, amount, Decimal("0.00"), (amount / 2).quantize(Decimal("0.01")), amount + 1))


def _balance(row: dict[str, Cell], chance: random.Random) -> Cell:
    """Balances of a currency differ from those of another, on average."""
    weights = {"MXN": (1, 1, 2, 5), "USD": (1, 1, 1, 1), "PEN": (5, 2, 1, 1)}[str(row["currency"])]
    (literal,) = chance.choices(NUMBERS["balance"], weights)
    return _near(literal, "DECIMAL", chance)


def _born(_row: dict[str, Cell], chance: random.Random) -> date:
    return date(1950, 1, 1) + timedelta(days=chance.randrange(20_000))


_SPECIAL: dict[str, Callable[[dict[str, Cell], random.Random], Cell]] = {
    "branches.name": lambda row, _chance: f"Sucursal {row['branch_id']}",
    "customers.name": _person,
    "accounts.balance": _balance,
    "customers.birth_date": _born,
    "instalments.paid_on": _paid_on,
    "instalments.paid_amount": _paid,
}


def _literal(cell: Cell) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, int | Decimal):
        return str(cell)
    text = cell if isinstance(cell, str) else str(cell)
    return "'" + text.replace("'", "''") + "'"
