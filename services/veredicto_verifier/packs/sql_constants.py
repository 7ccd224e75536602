"""The answer that a cheat would write: gold's result on one fixture as constants, with a table read for show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from veredicto_verifier.verifiers.sql.comparison import Expected
from veredicto_verifier.verifiers.sql.gates import MAX_BYTES


def constants(expected: Sequence[Expected], table: str) -> Iterator[str]:
    """For each fixture a query that gives gold's rows there whatever the data; left out where it cannot be written."""
    for gold in expected:
        rows = gold.table.rows
        width = gold.table.width
        names = ", ".join(f"c{index}" for index in range(width))
        if not rows:
            yield f"SELECT {', '.join(['NULL'] * width)} FROM {table} WHERE FALSE"
            continue
        literals = [[_literal(value) for value in row] for row in rows]
        if any(text is None for row in literals for text in row):
            continue
        values = ", ".join(f"({', '.join(text or '' for text in row)})" for row in literals)
        query = f"SELECT * FROM (VALUES {values}) AS v({names}) WHERE (SELECT count(*) FROM {table}) >= 0"
        if len(query.encode()) <= MAX_BYTES:
            yield query


def _literal(value: Any) -> str | None:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime):  # the form of every date too
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, tuple) and value[0] == "bool":
        return str(value[1])
    return None
