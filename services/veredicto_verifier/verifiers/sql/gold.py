"""Run gold once on each fixture; its rows and their tie groups live here, never in a database that answers see."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import duckdb

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.verifiers.sql.comparison import Expected, Rules
from veredicto_verifier.verifiers.sql.fixtures import OpenFixture, OpenFixtures
from veredicto_verifier.verifiers.sql.gates import Admitted, admit
from veredicto_verifier.verifiers.sql.ordering import order_of, tie_groups
from veredicto_verifier.verifiers.sql.outcomes import outcome
from veredicto_verifier.verifiers.sql.running import Budget, QueryFailed
from veredicto_verifier.verifiers.sql.sources import Source
from veredicto_verifier.verifiers.sql.spec import Gold, SqlSpec
from veredicto_verifier.verifiers.sql.values import Forms, Table

MAX_GOLD_ROWS = 100_000
"""Rows that gold may return on one fixture."""
GOLD_SHARE = 10
"""Gold must need at most one such part of the CPU limit: answers are rarely as fast."""


def expected_results(spec: SqlSpec, sources: Sequence[Source], opened: OpenFixtures) -> tuple[Expected, ...]:
    """Gold's result on each fixture.

    Raises:
        TaskFault: gold is refused by the gates that answers pass, fails, is volatile or needs too long.
    """
    fixtures = [opened.get(source) for source in sources]
    if spec.gold.sql is None:
        table = _given(spec.gold, fixtures[0], spec)
        return tuple(expected_of(table, None, spec) for _ in sources)
    admitted = _admit_gold(spec, fixtures[0])
    try:
        return run_gold(spec, admitted, fixtures)
    except LimitExceeded:
        pass  # once more: the first query on a fixture pays for warming up
    try:
        return run_gold(spec, admitted, fixtures)
    except LimitExceeded as limit:
        if limit.what == "memory":
            raise TaskFault("task.gold_failed", "$.gold.sql: gold needs more memory than limits.memory_mb") from limit
        share = f"a tenth of limits.cpu_s ({spec.limits.cpu_s:g} s)"
        raise TaskFault("task.gold_timeout", f"$.gold.sql: gold needs more than {share}; raise it") from limit


def _admit_gold(spec: SqlSpec, fixture: OpenFixture) -> Admitted:
    gate = admit(spec.gold.sql or "", fixture, spec.mode, spec.as_of)
    if isinstance(gate, Admitted):
        return gate
    if gate.code == "sql.nondeterministic":
        raise TaskFault("task.gold_volatile", f"$.gold.sql: {gate.reason}")
    raise TaskFault("task.gold_failed", f"$.gold.sql: {gate.reason}")


def run_gold(spec: SqlSpec, admitted: Admitted, fixtures: Sequence[OpenFixture]) -> tuple[Expected, ...]:
    """What an admitted gold gives on each of these databases.

    Raises:
        TaskFault: it fails, or gives too many rows.
        LimitExceeded: it needs more than its share of the limits.
    """
    forms = Forms.of(spec)
    with Budget(spec.limits.cpu_s / GOLD_SHARE, spec.limits.wall_seconds) as budget:
        tables = [_run(admitted, fixture, forms, budget, index) for index, fixture in enumerate(fixtures)]
        if spec.mode == "dml" and tables != [_run(admitted, fixture, forms, budget, 0) for fixture in fixtures]:
            raise TaskFault("task.gold_volatile", "$.gold.sql: gold changes other rows when it runs again")
    order = order_of(admitted.tree) if spec.order != "never" else None
    expected = []
    for fixture, table in zip(fixtures, tables, strict=True):
        ties = tie_groups(order, admitted.tree, fixture, table, forms) if order is not None else None
        expected.append(expected_of(table, ties, spec))
    return tuple(expected)


def _run(admitted: Admitted, fixture: OpenFixture, forms: Forms, budget: Budget, index: int) -> Table:
    try:
        table = outcome(admitted, fixture, forms, MAX_GOLD_ROWS + 1, budget)
    except QueryFailed as failure:
        message = f"$.gold.sql: gold fails on fixture {index + 1}: {failure.reason}"
        raise TaskFault("task.gold_failed", message) from failure
    if len(table.rows) > MAX_GOLD_ROWS:
        raise TaskFault("task.gold_failed", f"$.gold.sql: over {MAX_GOLD_ROWS:,} rows; aggregate or limit them")
    return table


def expected_of(table: Table, ties: tuple[int, ...] | None, spec: SqlSpec) -> Expected:
    """Gold's rows that count, with their tie groups under the spec's `order` and `duplicates`.

    Raises:
        TaskFault: columns of one name under `columns: by_name`.
    """
    if spec.columns == "by_name" and len({name.lower() for name in table.names}) < table.width:
        raise TaskFault("task.gold_failed", "$.gold: `columns: by_name` needs distinct column names; add aliases")
    if spec.order == "always" and ties is None:
        ties = tuple(range(len(table.rows)))
    rules = Rules.of(spec)
    rows = rules.rows(table)
    if ties is not None and len(rows) < len(table.rows):
        first = dict(zip(reversed(table.rows), reversed(ties), strict=True))
        ties = tuple(first[row] for row in rows)
    return Expected(Table(table.names, table.approximate, rows), ties)


def _given(gold: Gold, fixture: OpenFixture, spec: SqlSpec) -> Table:
    """Gold's rows as given, cast by DuckDB to the given types."""
    names, rows = gold.columns or (), gold.rows or ()
    columns = [[_literal(row[i]) for row in rows] for i in range(len(names))]
    casts = ", ".join(f"CAST(c{i} AS {name})" for i, name in enumerate(gold.types or ()))
    lists = ", ".join(f"unnest(${i + 1}::VARCHAR[]) AS c{i}" for i in range(len(columns)))
    cursor = fixture.cursor()
    try:
        cursor.execute(f"SELECT {casts} FROM (SELECT {lists})", columns)
        types = [str(column[1]) for column in cursor.description]
        cast = cursor.fetchall()
    except (duckdb.Error, ValueError, OverflowError) as error:
        first = str(error).splitlines()[0][:100]
        raise TaskFault("task.gold_failed", f"$.gold: the values do not cast to the types: {first}") from error
    finally:
        cursor.close()
    return Forms.of(spec).table(names, types, cast)


def _literal(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
