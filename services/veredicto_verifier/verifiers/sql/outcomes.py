"""What a statement does to one fixture, as a table: its result."""

from __future__ import annotations

import duckdb

from veredicto_verifier.verifiers.sql.fixtures import OpenFixture
from veredicto_verifier.verifiers.sql.running import Budget
from veredicto_verifier.verifiers.sql.values import Forms, Table


def outcome(
    statement: duckdb.Statement | str, fixture: OpenFixture, forms: Forms, max_rows: int, budget: Budget
) -> Table:
    """The first `max_rows` rows of what a statement gives, in comparable form.

    Raises:
        LimitExceeded: time or memory ran out.
        QueryFailed: DuckDB refused or stopped it.
    """
    cursor = fixture.cursor()
    try:
        result = budget.run(cursor, statement, max_rows)
    finally:
        cursor.close()
    return forms.table(result.names, result.types, result.rows)
