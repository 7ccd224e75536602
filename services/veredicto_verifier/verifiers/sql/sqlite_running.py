"""Read, run and order queries under `dialect: sqlite`; gold runs here too, and SQLite itself reads every answer."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.verifier import Flag
from veredicto_verifier.verifiers.sql.comparison import Expected
from veredicto_verifier.verifiers.sql.gates import Refusal, unreadable
from veredicto_verifier.verifiers.sql.gold import GOLD_SHARE, MAX_GOLD_ROWS, expected_of
from veredicto_verifier.verifiers.sql.running import Budget, QueryFailed
from veredicto_verifier.verifiers.sql.spec import SqlSpec
from veredicto_verifier.verifiers.sql.sqlite_fixtures import SqliteFixture
from veredicto_verifier.verifiers.sql.values import Forms, Table

_PIECES = re.compile(
    r"""'[^']*' | "[^"]*" | `[^`]*` | \[[^\]]*\] | (?P<behind> --[^\n]* | /\*(?:(?!\*/).)*(?:\*/)? | [\s;]+ ) | .""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class SqliteAdmitted:
    """A query that may run."""

    sql: str
    flags: tuple[Flag, ...] = ()


def admit_sqlite(sql: str, fixture: SqliteFixture) -> SqliteAdmitted | Refusal:
    """Let SQLite prepare a query behind its authorizer and decide whether it may run; it is not run."""
    refusal = unreadable(sql)
    if refusal is not None:
        return refusal
    sql = _without_end(sql)
    if not sql:
        return Refusal("sql.parse", "sql.empty", "the answer holds no statement")
    tree = _parsed(sql)
    flags = [Flag("constant_select", "no item of its select list depends on the data")] if _is_constant(tree) else []
    if _first_word(sql) not in ("select", "with", "values"):
        return Refusal("sql.gate", "sql.not_select", "it does not begin with SELECT, WITH or VALUES; write one SELECT")
    try:
        seen = fixture.read(sql)
    except sqlite3.Error as error:
        return _refusal(error, fixture, flags)
    if not any(name in fixture.tables and (sure or name not in _cte_names(tree)) for name, sure in seen.tables):
        reason = "it reads no table of the database, so its result does not depend on the data"
        return Refusal("sql.gate", "sql.no_table", reason, tuple(flags))
    return SqliteAdmitted(sql, tuple(flags))


def sqlite_outcome(
    admitted: SqliteAdmitted, fixture: SqliteFixture, forms: Forms, max_rows: int, budget: Budget
) -> Table:
    """The first rows of a query, in comparable form; see `SqliteFixture.run`."""
    result = fixture.run(admitted.sql, max_rows, budget)
    return forms.table(result.names, result.types, result.rows)


def expected_from_sqlite(spec: SqlSpec, fixtures: Sequence[SqliteFixture]) -> tuple[Expected, ...]:
    """Gold's result on each fixture.

    Raises:
        TaskFault: gold is refused by the gates that answers pass, fails, is volatile or needs too long.
    """
    gate = admit_sqlite(spec.gold.sql or "", fixtures[0])
    if isinstance(gate, Refusal):
        volatile = gate.code == "sql.nondeterministic"
        raise TaskFault("task.gold_volatile" if volatile else "task.gold_failed", f"$.gold.sql: {gate.reason}")
    forms = Forms.of(spec)
    expected = []
    try:
        with Budget(spec.limits.cpu_s / GOLD_SHARE, spec.limits.wall_seconds) as budget:
            for fixture in fixtures:
                table = sqlite_outcome(gate, fixture, forms, MAX_GOLD_ROWS + 1, budget)
                if len(table.rows) > MAX_GOLD_ROWS:
                    raise TaskFault("task.gold_failed", f"$.gold.sql: over {MAX_GOLD_ROWS:,} rows; aggregate them")
                ties = None if spec.order == "never" else _ties(gate.sql, table, fixture, forms, budget)
                expected.append(expected_of(table, ties, spec))
    except QueryFailed as failure:
        volatile = failure.code == "sql.nondeterministic"
        message = f"$.gold.sql: gold fails: {failure.reason}"
        raise TaskFault("task.gold_volatile" if volatile else "task.gold_failed", message) from failure
    except LimitExceeded as limit:
        share = f"a tenth of limits.cpu_s ({spec.limits.cpu_s:g} s)"
        raise TaskFault("task.gold_timeout", f"$.gold.sql: gold needs more than {share}; raise it") from limit
    return tuple(expected)


def _refusal(error: sqlite3.Error, fixture: SqliteFixture, flags: list[Flag]) -> Refusal:
    message = (str(error).splitlines() or [""])[0][:100]
    seen = fixture.seen
    if seen.metadata is not None:
        flags.append(Flag("metadata_read", f"reads {seen.metadata[:60]}"))
    if seen.fault is not None:
        return Refusal("sql.gate", *seen.fault, tuple(flags))
    if "one statement" in message:
        return Refusal("sql.gate", "sql.statements", "more than one statement; write exactly one SELECT", tuple(flags))
    if "bindings" in message:
        reason = "it has parameters without values; write the values"
        return Refusal("sql.gate", "sql.parameter", reason, tuple(flags))
    if "syntax error" in message or "incomplete input" in message or "unrecognized token" in message:
        return Refusal("sql.parse", "sql.syntax", f"SQLite cannot parse it: {message}")
    if "too many" in message or "too large" in message or "parser stack overflow" in message:
        return Refusal("sql.gate", "sql.too_complex", f"SQLite refuses its size: {message}")
    return Refusal("sql.run", "sql.failed", message, tuple(flags))


def _without_end(sql: str) -> str:
    """A statement without the semicolons and comments behind it; in front of them they stay."""
    end = 0
    for piece in _PIECES.finditer(sql):
        if not piece["behind"]:
            end = piece.end()
    return sql[:end]


def _first_word(sql: str) -> str:
    """The first word behind comments and blanks, lower case."""
    text = sql.lstrip()
    while text.startswith(("--", "/*")):
        _comment, _end, text = text.partition("\n" if text.startswith("--") else "*/")
        text = text.lstrip()
    word = "".join(character if character.isalpha() else " " for character in text[:16]).split(" ")[0]
    return word.lower()


def _parsed(sql: str) -> exp.Expr | None:
    try:
        return sqlglot.parse_one(sql, read="sqlite")
    except (SqlglotError, RecursionError):
        return None


def _cte_names(tree: exp.Expr | None) -> frozenset[str]:
    return frozenset() if tree is None else frozenset(cte.alias.lower() for cte in tree.find_all(exp.CTE))


def _is_constant(tree: exp.Expr | None) -> bool:
    """Does every item of the outermost select list hold neither a column nor a count nor a subquery?"""
    if not isinstance(tree, exp.Select):
        return False
    kinds = (exp.Column, exp.Star, exp.Count, exp.Subquery, exp.Window, exp.Exists)
    return bool(tree.expressions) and all(item.find(*kinds) is None for item in tree.expressions)


def _ties(sql: str, table: Table, fixture: SqliteFixture, forms: Forms, budget: Budget) -> tuple[int, ...] | None:
    """The tie group of each row under gold's outermost ORDER BY, None if it has none."""
    tree = _parsed(sql)
    if tree is None:
        raise TaskFault("task.gold_failed", "$.gold.sql: its ORDER BY cannot be read; set `order` to always or never")
    order = tree.args.get("order")
    if order is None:
        return None
    columns = [_output_column(item.this, tree, table) for item in order.expressions]
    hidden = [_key(item) for item, column in zip(order.expressions, columns, strict=True) if column is None]
    wide = table
    if hidden:
        if not isinstance(tree, exp.Select):
            return tuple(range(len(table.rows)))
        wider = tree.select(*hidden).sql("sqlite")
        wide = sqlite_outcome(SqliteAdmitted(wider), fixture, forms, MAX_GOLD_ROWS + 1, budget)
        if [row[: table.width] for row in wide.rows] != table.rows:
            return tuple(range(len(table.rows)))
    shown = [column for column in columns if column is not None]
    keys = [(*(row[i] for i in shown), *row[table.width :]) for row in wide.rows]
    ties: list[int] = []
    for index, key in enumerate(keys):
        ties.append(ties[-1] if index and key == keys[index - 1] else index)
    return tuple(ties)


def _key(item: exp.Expr) -> exp.Expr:
    """What equal sort keys share: the expression, or its rank where a collation decides what is equal."""
    if isinstance(item.this, exp.Collate):
        ranked: exp.Expr = sqlglot.parse_one(f"DENSE_RANK() OVER (ORDER BY {item.sql('sqlite')})", read="sqlite")
        return ranked
    expression: exp.Expr = item.this
    return expression.copy()


def _output_column(item: exp.Expr, tree: exp.Expr, table: Table) -> int | None:
    """The output column that an ORDER BY item names by number, by name or by repeating it."""
    if isinstance(item, exp.Literal) and not item.is_string and str(item.this).isdigit():
        return int(str(item.this)) - 1
    names = [name.lower() for name in table.names]
    if isinstance(item, exp.Column) and not item.table and names.count(item.name.lower()) == 1:
        return names.index(item.name.lower())
    shown = [one.unalias() for one in tree.expressions] if isinstance(tree, exp.Select) else []
    return shown.index(item) if len(shown) == table.width and item in shown else None
