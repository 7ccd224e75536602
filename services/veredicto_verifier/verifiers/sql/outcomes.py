"""What a statement does to one fixture, as a table: a result, or the rows that a change removes and adds."""

from __future__ import annotations

from collections import Counter

import duckdb

from veredicto_verifier.verifiers.sql.fixtures import OpenFixture
from veredicto_verifier.verifiers.sql.gates import Admitted
from veredicto_verifier.verifiers.sql.running import Budget, QueryFailed
from veredicto_verifier.verifiers.sql.values import Forms, Row, Table


def outcome(admitted: Admitted, fixture: OpenFixture, forms: Forms, max_rows: int, budget: Budget) -> Table:
    """What an admitted statement does, in comparable form: at most `max_rows` rows of it.

    Raises:
        LimitExceeded: time or memory ran out.
        QueryFailed: DuckDB refused or stopped it.
    """
    if admitted.target is not None:
        return _change(admitted.statement, admitted.target, fixture, forms, max_rows, budget)
    cursor = fixture.cursor()
    try:
        return _table(budget, cursor, admitted.statement, forms, max_rows)
    finally:
        cursor.close()


def _change(
    statement: duckdb.Statement,
    target: tuple[str, ...],
    fixture: OpenFixture,
    forms: Forms,
    max_rows: int,
    budget: Budget,
) -> Table:
    """The rows that a change removes from its table (first column `-`) and adds to it (`+`); it is rolled back."""
    path = fixture.path_of(target)
    select = "SELECT * FROM " + ".".join('"' + part.replace('"', '""') + '"' for part in path)
    cursor = fixture.cursor()
    try:
        before = _unchanged(select, cursor, fixture, forms)
        cursor.execute("BEGIN TRANSACTION")
        try:
            budget.run(cursor, statement, 1)
            after = _table(budget, cursor, select, forms, len(before.rows) + max_rows)
        finally:
            _roll_back(cursor)
    finally:
        cursor.close()
    left, right = Counter(before.rows), Counter(after.rows)
    rows: list[Row] = [("-", *row) for row in (left - right).elements()]
    rows += [("+", *row) for row in (right - left).elements()]
    return Table((".".join(path).lower(), *before.names), (False, *before.approximate), rows)


def _unchanged(select: str, cursor: duckdb.DuckDBPyConnection, fixture: OpenFixture, forms: Forms) -> Table:
    """A table as the fixture holds it, read once."""
    key = (select, forms)
    found = fixture.memo.get(key)
    if not isinstance(found, Table):
        try:
            cursor.execute(select)
        except duckdb.Error as error:
            raise QueryFailed("the table that it changes does not exist", broken=False) from error
        names, types = [str(column[0]) for column in cursor.description], [str(c[1]) for c in cursor.description]
        found = fixture.memo[key] = forms.table(names, types, cursor.fetchall())
    return found


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    try:
        cursor.execute("ROLLBACK")
    except duckdb.Error as error:
        raise QueryFailed("the change could not be rolled back", broken=True) from error


def _table(
    budget: Budget, cursor: duckdb.DuckDBPyConnection, query: duckdb.Statement | str, forms: Forms, max_rows: int
) -> Table:
    result = budget.run(cursor, query, max_rows)
    return forms.table(result.names, result.types, result.rows)
