"""The verifier `sql`: an answer is right when its result equals gold's on every fixture."""

from __future__ import annotations

from dataclasses import dataclass

from veredicto_verifier.verifier import Answer, Check, Context, Flag, Grade, Verifier
from veredicto_verifier.verifiers.sql.answer_class import answer_class
from veredicto_verifier.verifiers.sql.comparison import Comparison, Expected, Rules, compare, compare_changes
from veredicto_verifier.verifiers.sql.fixtures import open_fixtures
from veredicto_verifier.verifiers.sql.gates import Admitted, Refusal, admit
from veredicto_verifier.verifiers.sql.gold import expected_results
from veredicto_verifier.verifiers.sql.outcomes import outcome
from veredicto_verifier.verifiers.sql.running import Budget, QueryFailed, timer_as_limit
from veredicto_verifier.verifiers.sql.sources import Source, sources
from veredicto_verifier.verifiers.sql.spec import Script, SqlSpec
from veredicto_verifier.verifiers.sql.sqlite_running import (
    SqliteAdmitted,
    admit_sqlite,
    expected_from_sqlite,
    sqlite_outcome,
)
from veredicto_verifier.verifiers.sql.values import Forms, Table

Gate = Admitted | SqliteAdmitted
"""A statement that may run, on either engine."""
STAGES = ("sql.parse", "sql.gate", "sql.run", "sql.columns", "sql.rows")
"""The checks, in the order in which an answer meets them; the first that fails is the last one given."""
FLOOR = 0.5
"""Row-F1 up to which a wrong answer earns nothing."""
MIN_ROW_CAP = 1_000
"""Rows fetched at least; more than ten times gold's rows are never fetched."""


@dataclass(frozen=True, slots=True)
class SqlTask:
    """A prepared task: where its fixtures come from and what gold gave on each."""

    spec: SqlSpec
    sources: tuple[Source, ...]
    expected: tuple[Expected, ...]
    forms: Forms
    rules: Rules

    def evicted(self) -> bool:
        """Whether tasks with other fixtures have pushed one of this task's out of the cache."""
        return not all(source in open_fixtures() for source in self.sources)

    def reopen(self) -> None:
        """Open the fixtures that are not open."""
        _open_all(self)


def prepare(spec: SqlSpec, context: Context) -> SqlTask:
    """Open the fixtures and run gold.

    Raises:
        TaskFault: a fixture is unknown or fails, or gold is refused, fails, is volatile or too slow.
    """
    found = sources(spec, context)
    with timer_as_limit():
        if spec.dialect == "sqlite":
            expected = expected_from_sqlite(spec, [open_fixtures().sqlite(source) for source in found])
        else:
            expected = expected_results(spec, found, open_fixtures())
    return SqlTask(spec, found, expected, Forms.of(spec), Rules.of(spec))


def grade(task: SqlTask, answer: Answer) -> Grade:
    """Read the answer, run it on every fixture and compare.

    Raises:
        LimitExceeded: its CPU, wall time or memory ran out.
    """
    _open_all(task)
    limits = task.spec.limits
    with timer_as_limit(), Budget(limits.cpu_s, limits.wall_seconds) as budget:
        gate = _admit(answer.text, task)
        if isinstance(gate, Refusal):
            if gate.broken:
                open_fixtures().discard(task.sources[0])
            return Grade(False, _checks(gate.check, gate.code, gate.reason), flags=gate.flags, answer_class="")
        return _grade_runs(task, gate, budget)


def _open_all(task: SqlTask) -> None:
    for source in task.sources:
        if source.sqlite:
            open_fixtures().sqlite(source)
        else:
            open_fixtures().get(source)


def _admit(sql: str, task: SqlTask) -> Gate | Refusal:
    if task.spec.dialect == "sqlite":
        return admit_sqlite(sql, open_fixtures().sqlite(task.sources[0]))
    return admit(sql, open_fixtures().get(task.sources[0]), task.spec.mode, task.spec.as_of)


def _grade_runs(task: SqlTask, gate: Gate, budget: Budget) -> Grade:
    """Run on fixture after fixture; the checks tell of the first that differs, the score of the worst."""
    shaped = task.spec.reward == "shaped"
    first: tuple[str, str, str] | None = None
    flags, worst = gate.flags, 1.0
    count = len(task.sources)
    tables: list[Table] = []
    for index in range(count):
        check, outcome, more = _run_one(task, gate, index, budget, tables)
        budget.check()
        flags += more
        worst = min(worst, outcome.closeness)
        if outcome.code is not None and first is None:
            where = f" (fixture {index + 1} of {count})" if count > 1 else ""
            first = (check, outcome.code, outcome.reason + where)
        if first is not None and (not shaped or worst <= FLOOR):
            break
    if first is None:
        return Grade(True, tuple(Check(name, True, 1.0) for name in STAGES), flags=flags)
    score = max(0.0, (worst - FLOOR) / FLOOR) if shaped else 0.0
    ran = first[0] != "sql.run"
    same = answer_class(tables) if ran else ""
    return Grade(False, _checks(*first, score=score), score=score, flags=_unique(flags), answer_class=same)


def _run_one(
    task: SqlTask, gate: Gate, index: int, budget: Budget, tables: list[Table]
) -> tuple[str, Comparison, tuple[Flag, ...]]:
    """Run on one fixture: the check that tells of it, how the result compares, and further flags."""
    expected = task.expected[index]
    cap = max(10 * len(expected.table.rows), MIN_ROW_CAP)
    try:
        table = _run(task, index, gate, cap + 1, budget)
    except QueryFailed as failure:
        return "sql.run", Comparison(failure.code, failure.reason, 0.0), ()
    tables.append(table)
    if len(table.rows) > cap:
        flag = Flag("huge_result", f"more than {cap:,} rows on fixture {index + 1}")
        return "sql.rows", Comparison("sql.huge_result", "far more rows than gold", 0.0), (flag,)
    if task.spec.mode == "dml":
        return "sql.rows", compare_changes(expected, table, task.rules, measure=task.spec.reward == "shaped"), ()
    comparison = compare(expected, table, task.rules, measure=task.spec.reward == "shaped")
    names = comparison.code in {"sql.column_count", "sql.column_names"}
    return "sql.columns" if names else "sql.rows", comparison, ()


def _run(task: SqlTask, index: int, gate: Gate, max_rows: int, budget: Budget) -> Table:
    """Run on one fixture; when its instance turns out to be broken, once more on a fresh one.

    An earlier answer may have broken it, and no verdict may depend on a neighbour.
    """
    try:
        return _attempt(task, index, gate, max_rows, budget)
    except QueryFailed as failure:
        if not failure.broken:
            raise
    return _attempt(task, index, gate, max_rows, budget)


def _attempt(task: SqlTask, index: int, gate: Gate, max_rows: int, budget: Budget) -> Table:
    source = task.sources[index]
    if isinstance(gate, SqliteAdmitted):
        return sqlite_outcome(gate, open_fixtures().sqlite(source), task.forms, max_rows, budget)
    try:
        return outcome(gate, open_fixtures().get(source), task.forms, max_rows, budget)
    except QueryFailed as failure:
        if failure.broken:
            open_fixtures().discard(source)
        raise


def _checks(failed: str, code: str, reason: str, *, score: float = 0.0) -> tuple[Check, ...]:
    """The checks up to and including the one that failed."""
    passed = STAGES[: STAGES.index(failed)]
    return (*(Check(name, True, 1.0) for name in passed), Check(failed, False, score, code, reason))


def _unique(flags: tuple[Flag, ...]) -> tuple[Flag, ...]:
    return tuple({flag.name: flag for flag in reversed(flags)}.values())[::-1]


def _pack_fixtures(spec: SqlSpec) -> tuple[str, ...]:
    return tuple(fixture for fixture in spec.fixtures if not isinstance(fixture, Script))


CODES = {
    "sql.empty": "The answer is empty or holds only comments.",
    "sql.syntax": "DuckDB cannot parse the answer.",
    "sql.too_long": "The answer is longer than 16 KiB.",
    "sql.statements": "The answer holds more than one statement.",
    "sql.not_select": "The statement is not a SELECT.",
    "sql.not_write": "Under `mode: dml`, the statement is not one INSERT, UPDATE or DELETE (a MERGE is none).",
    "sql.write": "The query changes data or settings, for example in a CTE.",
    "sql.function": "The query calls a function that is not on the allow list, or builds a giant value.",
    "sql.metadata": "The query reads the catalog or the settings.",
    "sql.nondeterministic": "The query uses the clock, randomness or a sample.",
    "sql.parameter": "The query has parameters without values.",
    "sql.too_complex": "The query nests too deeply, or has too many table references once its CTEs are expanded.",
    "sql.no_table": "The query reads no table.",
    "sql.failed": "DuckDB refused or stopped the query; the reason is the first line of its message.",
    "sql.column_count": "The result has another number of columns than gold.",
    "sql.column_names": "Under `columns: by_name`, the column names are not gold's.",
    "sql.other_table": "Under `mode: dml`, another table changes than under gold.",
    "sql.row_count": "The result has another number of rows than gold.",
    "sql.values": "The result has as many rows as gold, but not the same ones.",
    "sql.row_order": "The rows are right, their order is not, and gold orders them.",
    "sql.huge_result": "The result has more than ten times gold's rows (and more than 1,000).",
    "sql.timeout": "The query used up its CPU or wall time, twice.",
    "sql.memory": "The query used up its memory, twice.",
    "sql.crash": "The query crashed its worker process, twice.",
}

FLAGS = {
    "constant_select": "No item of the outermost select list depends on the data.",
    "metadata_read": "The query reads the catalog or the settings.",
    "huge_result": "The result has more than ten times gold's rows (and more than 1,000).",
}

_ACCOUNTS = "CREATE TABLE accounts(id INTEGER, branch VARCHAR, balance DECIMAL(12,2));"

VERIFIER: Verifier[SqlSpec, SqlTask] = Verifier(
    name="sql",
    version="1.4.2",
    lane="sql",
    spec=SqlSpec,
    auto=lambda _spec: "fence:sql",
    prepare=prepare,
    grade=grade,
    codes=CODES,
    flags=FLAGS,
    example={
        "fixtures": [
            {"script": _ACCOUNTS + "INSERT INTO accounts VALUES (1,'Lima',10.00),(2,'Lima',5.50),(3,'Quito',7.25);"},
            {"script": _ACCOUNTS + "INSERT INTO accounts VALUES (1,'Quito',3.00),(2,'Cusco',8.00),(3,'Cusco',8.00);"},
        ],
        "gold": {"sql": "SELECT branch, SUM(balance) AS total FROM accounts GROUP BY branch"},
    },
    good="```sql\nSELECT branch, SUM(balance) FROM accounts GROUP BY branch ORDER BY branch\n```",
    bad="```sql\nSELECT branch, MAX(balance) FROM accounts GROUP BY branch\n```",
    sources=("veredicto_verifier.verifiers.sql",),
    distributions=("duckdb", "sqlglot"),
    fixtures=_pack_fixtures,
)
