"""The verifier `sql` under `dialect: sqlite`: SQLite runs gold and answer, behind an authorizer and a budget."""

from __future__ import annotations

from typing import Any

import pytest

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.sql import VERIFIER
from veredicto_verifier.verifiers.sql.verifier import SqlTask

SCRIPT = """
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, d TEXT, x REAL);
INSERT INTO t VALUES (1, 'ABC', '2024-05-06', 0.1), (2, 'abc', '2024-12-31', 0.2), (3, NULL, '2025-01-31', NULL),
  (4, 'abc', '2024-02-29', 0.2);
CREATE VIEW v AS SELECT a FROM t WHERE a > 1;
"""
OTHER = SCRIPT.replace("(1, 'ABC'", "(7, 'ABC'").replace("0.1", "0.7")
GOLD = "SELECT a, b FROM t WHERE b LIKE 'abc'"


def prepared(gold: str = GOLD, **fields: Any) -> SqlTask:
    raw = {
        "fixtures": [{"script": SCRIPT}, {"script": OTHER}], "gold": {"sql": gold}, "dialect": "sqlite", **fields,
    }  # fmt: skip
    return VERIFIER.prepare(VERIFIER.spec.model_validate(raw), Context())


def graded(answer: str, gold: str = GOLD, **fields: Any) -> Grade:
    return VERIFIER.grade(prepared(gold, **fields), Answer(answer, Completion(answer)))


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (GOLD, "select b, a from t where lower(b) = 'abc';"),
        ("SELECT 7/2 AS h, a FROM t", "SELECT 3, a FROM t"),
        ("SELECT strftime('%Y-%m-%d', d) FROM t", "SELECT d FROM t"),
        ("SELECT sum(x) FROM t", "SELECT total(x) + 1e-12 FROM t"),
        ("SELECT date(d, '+1 month') FROM t", "SELECT date(d, '1 months') FROM t -- overflow stays as it is"),
        ("SELECT a FROM t WHERE 1 = '1'", "SELECT a FROM t WHERE 0"),
        ("SELECT b, COUNT(*) FROM t GROUP BY b",
         "/* c */ WITH z AS (SELECT b FROM t) SELECT count(*), b FROM z GROUP BY 2"),
        ("SELECT a FROM t ORDER BY b, a", "SELECT a FROM t ORDER BY 1 = 0, b, a"),
        ("SELECT b FROM t ORDER BY x", "SELECT b FROM t ORDER BY x, a DESC"),
        ("SELECT a FROM v", "SELECT a FROM t WHERE a >= 2"),
        ("SELECT b, a FROM t", "SELECT a, b FROM t;; -- 'done\n/* ; */ ;"),
        ("SELECT a, ';--' FROM t", "SELECT a, ';--' FROM t -- ';"),
        ("SELECT a FROM t", "SELECT json_object('k', a) ->> '$.k' + 0 FROM t"),
        ("SELECT a FROM t", "SELECT value FROM t, json_each(json_array(a))"),
        ("SELECT b FROM t ORDER BY b COLLATE NOCASE", "SELECT b FROM t ORDER BY lower(b), b"),
        ("SELECT b FROM t ORDER BY b COLLATE NOCASE", "SELECT b FROM t ORDER BY lower(b), b DESC"),
    ],
)  # fmt: skip
def test_another_query_with_the_same_result_is_right(gold: str, answer: str) -> None:
    grade = graded(answer, gold)
    assert grade.passed, grade.checks


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("SELECT a, b FROM t WHERE b = 'abc'", "sql.row_count"),
        ("SELECT a FROM t", "sql.column_count"),
        ("", "sql.empty"),
        ("-- nothing", "sql.empty"),
        ("SELEC a FROM t", "sql.not_select"),
        ("SELECT a FRM t WHERE", "sql.syntax"),
        ("SELECT '\x00' FROM t", "sql.syntax"),
        ("SELECT a FROM t;" + " " * 20_000, "sql.too_long"),
        ("SELECT a, b FROM t; SELECT 1", "sql.statements"),
        ("SELECT " + "(" * 3000 + "a" + ")" * 3000 + " FROM t", "sql.too_complex"),
        ("SELECT a, ? FROM t", "sql.parameter"),
        ("SELECT 1, 'ABC'", "sql.no_table"),
        ("VALUES (1, 'ABC')", "sql.no_table"),
        ("WITH t AS (SELECT 1 AS a) SELECT count(*), 'x' FROM t", "sql.no_table"),
        ("SELECT a, c FROM t", "sql.failed"),
        ("DELETE FROM t", "sql.not_select"),
        ("PRAGMA table_info(t)", "sql.not_select"),
        ("ATTACH '/tmp/x.db' AS x", "sql.not_select"),
        ("WITH x AS (SELECT 1) DELETE FROM t", "sql.write"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT 9, 'x', 'y', 1", "sql.write"),
        ("SELECT name, sql FROM sqlite_master", "sql.metadata"),
        ("SELECT name, type FROM pragma_table_info('t')", "sql.function"),
        ("SELECT value, 'ABC' FROM json_each('[1]')", "sql.no_table"),
        ("SELECT a, date(CAST('now' AS BLOB)) FROM t", "sql.nondeterministic"),
        ("SELECT a, date('now' || char(0) || 'x') FROM t", "sql.nondeterministic"),
        ("SELECT a, strftime('%Y', x'6e6f77') FROM t", "sql.nondeterministic"),
        ("SELECT a, unixepoch(x'737562736563') FROM t", "sql.nondeterministic"),
        ("SELECT a, date('2024-01-01', CAST('localtime' AS BLOB)) FROM t", "sql.nondeterministic"),
        ("SELECT a, datetime('2024-01-01', 'utc' || char(0)) FROM t", "sql.nondeterministic"),
        ("SELECT a, load_extension('x') FROM t", "sql.function"),
        ("SELECT a, readfile('/etc/passwd') FROM t", "sql.failed"),
        ("SELECT a, random() FROM t", "sql.nondeterministic"),
        ("SELECT a, CURRENT_DATE FROM t", "sql.nondeterministic"),
        ("SELECT a, date('now') FROM t", "sql.nondeterministic"),
        ("SELECT a, date('no' || 'w') FROM t", "sql.nondeterministic"),
        ("SELECT a, datetime() FROM t", "sql.nondeterministic"),
        ("SELECT a, strftime('%s') FROM t", "sql.nondeterministic"),
        ("SELECT a, datetime(d, 'localtime') FROM t", "sql.nondeterministic"),
        ("SELECT a, replace(printf('%999999d', a), ' ', 'xxxx') FROM t", "sql.failed"),
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 9000) SELECT n, b FROM r, t",
         "sql.huge_result"),
    ],
)  # fmt: skip
def test_a_bad_answer_earns_nothing_with_a_reason(answer: str, code: str) -> None:
    grade = graded(answer)
    assert not grade.passed
    assert grade.checks[-1].code == code, grade.checks[-1]


def test_order_counts_by_golds_outermost_query_with_ties_in_any_order() -> None:
    gold = "SELECT b, a FROM t WHERE b IS NOT NULL ORDER BY x"
    assert graded("SELECT b, a FROM t WHERE b IS NOT NULL ORDER BY x, a DESC", gold).passed
    grade = graded("SELECT b, a FROM t WHERE b IS NOT NULL ORDER BY x DESC", gold)
    assert grade.checks[-1].code == "sql.row_order"
    assert graded("SELECT a FROM t ORDER BY a DESC", "SELECT a FROM (SELECT a FROM t ORDER BY a)").passed


def test_an_endless_query_is_stopped_and_the_next_one_runs() -> None:
    task = prepared(limits={"cpu_s": 0.3})
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*), max(b) FROM r, t"
    with pytest.raises(LimitExceeded):
        VERIFIER.grade(task, Answer(endless, Completion(endless)))
    assert VERIFIER.grade(task, Answer(GOLD, Completion(GOLD))).passed


@pytest.mark.parametrize(
    ("gold", "script", "code"),
    [
        ("SELECT c FROM t", SCRIPT, "task.gold_failed"),
        ("SELECT date('now'), a FROM t", SCRIPT, "task.gold_volatile"),
        ("SELECT random() FROM t", SCRIPT, "task.gold_volatile"),
        (GOLD, "CREATE TABEL t(a)", "task.spec_invalid"),
        (GOLD, SCRIPT + "ATTACH '/tmp/veredicto-other.db' AS o;", "task.spec_invalid"),
        (GOLD, SCRIPT + "VACUUM INTO '/tmp/veredicto-other.db';", "task.spec_invalid"),
        (GOLD, SCRIPT + "INSERT INTO t(d) VALUES (CURRENT_DATE);", "task.gold_volatile"),
        (GOLD, SCRIPT + "INSERT INTO t(d) VALUES (date('no' || 'w'));", "task.gold_volatile"),
        (GOLD, SCRIPT + "INSERT INTO t(d) VALUES (datetime('2024-01-01', 'localtime'));", "task.gold_volatile"),
    ],
)
def test_a_broken_task_is_refused(gold: str, script: str, code: str) -> None:
    with pytest.raises(TaskFault) as fault:
        prepared(gold, fixtures=[{"script": script}])
    assert fault.value.code == code


@pytest.mark.parametrize("field", [{"mode": "dml"}, {"gold": {"columns": ["a"], "types": ["INTEGER"], "rows": [[1]]}}])
def test_what_sqlite_tasks_cannot_have_is_refused(field: dict[str, Any]) -> None:
    raw = {"fixtures": [{"script": SCRIPT}], "gold": {"sql": GOLD}, "dialect": "sqlite", **field}
    with pytest.raises(TaskFault) as fault:
        parse_spec("sql", raw, {"sql": VERIFIER})
    assert fault.value.code == "task.spec_invalid"
