"""Lints of an SQL task that run queries: mutants of gold, constants, shuffled rows, and rows that would kill a mutant.

A mutant counts when it differs from gold on at least one random database of the task's schema; it is accepted when the
grading fixtures do not tell it from gold.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.packs.sql_constants import constants
from veredicto_verifier.packs.sql_databases import (
    LintDatabases,
    Literals,
    TableShape,
    asked_for,
    asking,
    fill,
    make_databases,
    shapes_of,
)
from veredicto_verifier.packs.sql_mutants import Mutant, mutants
from veredicto_verifier.verifier import Answer, Completion
from veredicto_verifier.verifiers.sql.comparison import Expected, compare, compare_changes
from veredicto_verifier.verifiers.sql.fixtures import OpenFixture, connect, open_fixtures
from veredicto_verifier.verifiers.sql.gates import Admitted, admit
from veredicto_verifier.verifiers.sql.gold import run_gold
from veredicto_verifier.verifiers.sql.outcomes import outcome
from veredicto_verifier.verifiers.sql.prepared import build
from veredicto_verifier.verifiers.sql.running import Budget, QueryFailed
from veredicto_verifier.verifiers.sql.sources import Source
from veredicto_verifier.verifiers.sql.spec import SqlSpec
from veredicto_verifier.verifiers.sql.verifier import SqlTask, grade

MAX_ACCEPTED = 1
"""Mutants that a task's fixtures may fail to tell from gold."""
MAX_SHOWN = 300
"""Characters of a proposal of rows."""

Fate = Literal["accepted", "refused", "equivalent", "invalid"]
Tally = Counter[str]
"""Numbers of the report by name: `mutants.counted`, `mutants.accepted`, `kind.<kind>.counted`, …"""


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutant, what became of it, and the random database that told it from gold, if one did."""

    mutant: Mutant
    fate: Fate
    database: int | None = None


def lint_queries(spec: SqlSpec, task: SqlTask, tally: Tally) -> Iterator[tuple[Literal["error", "lint"], str, str]]:
    """The lints of one task; the numbers of the report are added to `tally`."""
    if spec.gold.sql is None:
        return
    judged = judge_mutants(spec, task) if spec.dialect == "duckdb" else None
    if judged is None:
        tally["tasks.without_mutants"] += 1
        yield "lint", "lint.not_mutated", "gold does not run on random databases of its schema, so no mutant is counted"
        if spec.dialect != "duckdb":
            return
    else:
        _count(judged, tally)
        accepted = [one for one in judged if one.fate == "accepted"]
        if len(accepted) > MAX_ACCEPTED:
            yield "lint", "lint.mutants", _survivors(spec, task, accepted)
    shown = task.expected if spec.mode == "query" else ()
    for number, constant in enumerate(constants(shown, _any_table(task))):
        if accepts(task, constant):
            tally["constants.accepted"] += 1
            yield (
                "lint",
                "lint.constant",
                f"the constant answer of fixture {number + 1} passes everywhere; vary the rows",
            )
            break
    if not _same_when_shuffled(spec, task):
        yield "lint", "lint.row_order", "gold's result changes when the fixtures' rows are shuffled; order it by a key"


def _any_table(task: SqlTask) -> str:
    return min(open_fixtures().get(task.sources[0]).tables, default="no_table")


def accepts(task: SqlTask, sql: str) -> bool:
    """Whether an answer passes on every fixture of the task."""
    try:
        return grade(task, Answer(sql, Completion(sql))).passed
    except LimitExceeded:
        return False


def judge_mutants(spec: SqlSpec, task: SqlTask) -> list[Judged] | None:
    """What becomes of each mutant of gold; None when gold cannot be run on random databases."""
    gold = spec.gold.sql or ""
    databases = databases_of(spec, task)
    expected: list[Expected] = []
    admitted = admit(gold, databases.databases[0], spec.mode, spec.as_of)
    if not isinstance(admitted, Admitted):
        return None
    try:
        for database in databases.databases:
            expected += run_gold(spec, admitted, [database])
    except (TaskFault, LimitExceeded):
        return None
    return [_judge(mutant, task, databases.databases, expected) for mutant in mutants(gold)]


def databases_of(spec: SqlSpec, task: SqlTask) -> LintDatabases:
    """The random databases of a task; tasks on the same fixtures share them unless gold asks for rare values."""
    shapes = _shapes(task.sources)
    reader = open_fixtures().get(task.sources[0]).cursor()
    asked = asked_for(shapes, _compared(spec.gold.sql or ""), reader)
    reader.close()
    return _databases(task.sources, asked)


@lru_cache(maxsize=8)
def _shapes(sources: tuple[Source, ...]) -> tuple[TableShape, ...]:
    return shapes_of([open_fixtures().get(source) for source in sources])


@lru_cache(maxsize=8)
def _databases(sources: tuple[Source, ...], asked: Literals) -> LintDatabases:
    views = [
        str(row[0])
        for row in open_fixtures()
        .get(sources[0])
        .cursor()
        .execute("SELECT sql FROM duckdb_views() WHERE NOT internal ORDER BY view_oid")
        .fetchall()
    ]
    return make_databases(asking(_shapes(sources), asked), views, sources[0].digest)


def _compared(gold: str) -> Literals:
    """Column names with the literals that gold compares them with."""
    try:
        tree = sqlglot.parse_one(gold, read="duckdb")
    except (SqlglotError, RecursionError):
        return frozenset()
    found: set[tuple[str, str]] = set()
    for node in tree.find_all(exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.Between, exp.In):
        if node.find(exp.Query) is None:
            names = [column.name for column in node.find_all(exp.Column)]
            literals = [str(literal.this) for literal in node.find_all(exp.Literal)]
            found.update((name, literal) for name in names for literal in literals)
    return frozenset(found)


def _judge(mutant: Mutant, task: SqlTask, databases: Sequence[OpenFixture], expected: Sequence[Expected]) -> Judged:
    admitted = admit(mutant.sql, databases[0], task.spec.mode, task.spec.as_of)
    if not isinstance(admitted, Admitted):
        return Judged(mutant, "invalid")
    try:
        for number, (database, gold) in enumerate(zip(databases, expected, strict=True)):
            if differs(admitted, task, database, gold):
                fate: Fate = "accepted" if accepts(task, mutant.sql) else "refused"
                return Judged(mutant, fate, number)
    except (QueryFailed, LimitExceeded):
        return Judged(mutant, "invalid")
    return Judged(mutant, "equivalent")


def differs(admitted: Admitted, task: SqlTask, database: OpenFixture, gold: Expected) -> bool:
    """Whether a statement differs from gold on one database.

    Raises:
        QueryFailed: it does not run there.
        LimitExceeded: it takes too long.
    """
    limits = task.spec.limits
    with Budget(limits.cpu_s, limits.wall_seconds) as budget:
        table = outcome(admitted, database, task.forms, 10 * len(gold.table.rows) + 1000, budget)
    compared = compare_changes if task.spec.mode == "dml" else compare
    return compared(gold, table, task.rules, measure=False).code is not None


def _count(judged: Sequence[Judged], tally: Tally) -> None:
    tally["tasks"] += 1
    for one in judged:
        tally[f"mutants.{one.fate}"] += 1
        if one.database is not None:
            tally["mutants.counted"] += 1
            tally[f"kind.{one.mutant.kind}.counted"] += 1
        if one.fate == "accepted":
            tally[f"kind.{one.mutant.kind}.accepted"] += 1
    tally["mutants.most_accepted"] = max(tally["mutants.most_accepted"], sum(one.fate == "accepted" for one in judged))


def _survivors(spec: SqlSpec, task: SqlTask, accepted: Sequence[Judged]) -> str:
    kinds = Counter(one.mutant.kind for one in accepted)
    listed = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    rows = propose_rows(spec, task, accepted[0])
    shown = rows if len(rows) <= MAX_SHOWN else rows[:MAX_SHOWN] + " …"
    advice = f"a fixture with these rows refuses the first: {shown}"
    return f"{len(accepted)} one-edit mutants of gold pass ({listed}); {advice}"


def propose_rows(spec: SqlSpec, task: SqlTask, judged: Judged) -> str:
    """INSERT statements of a small database that tells an accepted mutant from gold: one that did, with rows left out
    as long as it still does."""
    databases = databases_of(spec, task)
    assert judged.database is not None
    rows = {table: list(cells) for table, cells in databases.rows[judged.database].items()}
    with duckdb.connect(":memory:", config={"threads": "1"}) as instance:
        for table in rows:
            step = max(1, len(rows[table]) // 2)
            while step:
                start = 0
                while start < len(rows[table]):
                    fewer = {**rows, table: rows[table][:start] + rows[table][start + step :]}
                    if _still_differs(instance, databases.shapes, fewer, spec, task, judged.mutant):
                        rows = fewer
                    else:
                        start += step
                step //= 2
    return " ".join(
        f"INSERT INTO {shape.name} VALUES {', '.join(map(_tuple, rows[shape.name]))};"
        for shape in databases.shapes
        if rows[shape.name]
    )


def _still_differs(
    instance: duckdb.DuckDBPyConnection,
    shapes: Sequence[TableShape],
    rows: Mapping[str, Sequence[tuple[Any, ...]]],
    spec: SqlSpec,
    task: SqlTask,
    mutant: Mutant,
) -> bool:
    fill(instance, "tried", shapes, rows)
    database = OpenFixture(instance.cursor(), "tried")
    try:
        admitted, other = (admit(sql, database, spec.mode, spec.as_of) for sql in (spec.gold.sql or "", mutant.sql))
        if not isinstance(admitted, Admitted) or not isinstance(other, Admitted):
            return False
        (gold,) = run_gold(spec, admitted, [database])
        return differs(other, task, database, gold)
    except (TaskFault, QueryFailed, LimitExceeded):
        return False
    finally:
        database.close()


def _tuple(cells: Sequence[str | None]) -> str:
    quoted = ("NULL" if cell is None else "'" + cell.replace("'", "''") + "'" for cell in cells)
    return f"({', '.join(quoted)})"


@lru_cache(maxsize=32)
def _shuffled(source: Source) -> OpenFixture:
    """The fixture with the rows of each table in another order."""
    connection = duckdb.connect(":memory:", config={"threads": "1"})
    with tempfile.TemporaryDirectory(prefix="veredicto-lint-") as folder:
        path = f"{folder}/fixture.duckdb"
        build(source, path, connect)
        connection.execute(f"ATTACH '{path}' AS fixture (READ_ONLY)")
        connection.execute("COPY FROM DATABASE fixture TO memory")
        connection.execute("DETACH fixture")
    tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
    for (table,) in tables:
        query = f'SELECT * FROM "{table}" ORDER BY hash(rowid + 7)'
        connection.execute(f'CREATE OR REPLACE TABLE "{table}" AS {query}')
    return OpenFixture(connection)


def _same_when_shuffled(spec: SqlSpec, task: SqlTask) -> bool:
    for source, gold in zip(task.sources, task.expected, strict=True):
        try:
            shuffled = _shuffled(source)
            admitted = admit(spec.gold.sql or "", shuffled, spec.mode, spec.as_of)
            if not isinstance(admitted, Admitted) or differs(admitted, task, shuffled, gold):
                return False
        except (QueryFailed, LimitExceeded, duckdb.Error):
            return False
    return True
