"""The verifier `sql` under `mode: dml`: a change is judged by the rows it removes and adds, and is rolled back."""

from __future__ import annotations

from typing import Any

import pytest

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context, Grade, reward
from veredicto_verifier.verifiers.sql import VERIFIER

SCRIPT = """
CREATE TABLE accounts(id INTEGER PRIMARY KEY, branch VARCHAR, balance DECIMAL(12,2), rate DOUBLE, opened DATE);
INSERT INTO accounts VALUES (1, 'Lima', 10.00, 0.1, '2024-01-01'), (2, 'Lima', 5.50, 0.2, '2024-02-01'),
  (3, 'Quito', 7.25, NULL, '2024-03-01'), (4, NULL, 0.00, 0.3, NULL);
CREATE TABLE log(id INTEGER, note VARCHAR);
INSERT INTO log VALUES (1, 'a'), (1, 'a'), (2, 'b');
CREATE SCHEMA other;
CREATE TABLE other.accounts AS FROM accounts;
CREATE VIEW rich AS SELECT * FROM accounts WHERE balance > 6;
"""
UPDATE = "UPDATE accounts SET balance = balance + 1 WHERE branch = 'Lima'"


def graded(gold: str, *answers: str, **fields: Any) -> list[Grade]:
    raw = {"fixtures": [{"script": SCRIPT}], "gold": {"sql": gold}, "mode": "dml", **fields}
    task = VERIFIER.prepare(VERIFIER.spec.model_validate(raw), Context())
    return [VERIFIER.grade(task, Answer(answer, Completion(answer))) for answer in answers]


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        (UPDATE, "UPDATE accounts SET balance = 1.00 + balance WHERE id IN (1, 2);"),
        (UPDATE, "UPDATE accounts SET balance = CASE WHEN branch = 'Lima' THEN balance + 1 ELSE balance END -- all"),
        (UPDATE, "WITH l AS (SELECT id FROM rich) UPDATE accounts SET balance = balance + 1 WHERE branch = 'Lima'"),
        ("DELETE FROM log WHERE note = 'a'", "DELETE FROM log WHERE id < 2"),
        ("INSERT INTO log VALUES (3, 'c')", "INSERT INTO log (note, id) SELECT 'c', max(id) + 1 FROM log"),
        ("UPDATE accounts SET rate = rate * 3", "UPDATE accounts SET rate = rate + rate + rate"),
        ("DELETE FROM accounts", "DELETE FROM accounts WHERE true"),
        ("DELETE FROM accounts", "TRUNCATE accounts;"),
        ("TRUNCATE TABLE accounts", "DELETE FROM accounts"),
        (UPDATE, UPDATE + "; -- done; \u00e9"),
        (UPDATE, "-- first;\n" + UPDATE + " /* 'a */ ; ;\n/* ; */"),
        (UPDATE + "; -- gold", UPDATE + " RETURNING id, balance;"),
        (UPDATE, "UPDATE MEMORY.Main.Accounts SET balance = balance + 1 WHERE branch = 'Lima'"),
        ("UPDATE other.accounts SET balance = 0", "UPDATE Memory.other.ACCOUNTS SET balance = balance - balance"),
        ("UPDATE accounts SET branch = 'a;--'", "UPDATE accounts SET branch = $$a;--$$;;"),
    ],
)
def test_another_change_with_the_same_rows_is_right(gold: str, answer: str) -> None:
    (grade,) = graded(gold, answer)
    assert grade.passed, grade.checks


@pytest.mark.parametrize(
    ("gold", "answer", "code"),
    [
        (UPDATE, "UPDATE accounts SET balance = balance + 1", "sql.row_count"),
        (UPDATE, "UPDATE accounts SET balance = balance + 2 WHERE branch = 'Lima'", "sql.values"),
        (UPDATE, "UPDATE accounts SET balance = balance WHERE branch = 'Lima'", "sql.row_count"),
        (UPDATE, "DELETE FROM log", "sql.other_table"),
        ("DELETE FROM log WHERE id = 1", "DELETE FROM log", "sql.row_count"),
        ("INSERT INTO log VALUES (1, 'a')", "INSERT INTO log VALUES (1, 'a'), (1, 'a')", "sql.row_count"),
        (UPDATE, "SELECT * FROM accounts", "sql.not_write"),
        (UPDATE, "CREATE TABLE z AS SELECT 1 AS a", "sql.not_write"),
        (UPDATE, "DROP TABLE accounts", "sql.not_write"),
        (UPDATE, "TRUNCATE accounts", "sql.values"),
        (UPDATE, "COPY accounts TO '/tmp/x.csv'", "sql.not_write"),
        (UPDATE, "UPDATE accounts SET balance = 1 RETURNING *", "sql.row_count"),
        (UPDATE, "MERGE INTO accounts USING log ON accounts.id = log.id WHEN MATCHED THEN DELETE", "sql.not_write"),
        (UPDATE, "BEGIN", "sql.not_write"),
        (UPDATE, "COMMIT", "sql.not_write"),
        (UPDATE, UPDATE + " RETURNING 1) SELECT count(*) FROM (SELECT 1); --", "sql.syntax"),
        (UPDATE, "UPDATE other.accounts SET balance = balance + 1 WHERE branch = 'Lima'", "sql.other_table"),
        (UPDATE, "UPDATE accounts SET branch = current_schema WHERE branch = 'Lima'", "sql.metadata"),
        ("UPDATE other.accounts SET balance = 0", "UPDATE other.accounts SET balance = 1", "sql.row_count"),
        ("UPDATE other.accounts SET balance = 0", "DELETE FROM other.accounts", "sql.row_count"),
        ("UPDATE other.accounts SET balance = 0", "DELETE FROM accounts WHERE false", "sql.other_table"),
        ("UPDATE other.accounts SET balance = 0", "UPDATE accounts SET balance = 0", "sql.other_table"),
        (UPDATE, UPDATE + "; DELETE FROM log", "sql.statements"),
        (UPDATE, "WITH d AS (DELETE FROM log RETURNING *) " + UPDATE, "sql.write"),
        (UPDATE, "WITH veredicto_change AS (DELETE FROM log RETURNING *) " + UPDATE, "sql.write"),
        (UPDATE, "UPDATE accounts SET balance = random()", "sql.nondeterministic"),
        (UPDATE, "INSERT INTO log SELECT 1, content FROM read_text('/etc/passwd')", "sql.function"),
        (UPDATE, "INSERT INTO log SELECT 1, table_name FROM duckdb_tables()", "sql.metadata"),
        (UPDATE, "UPDATE nowhere SET a = 1", "sql.failed"),
        (UPDATE, "UPDATE rich SET balance = 1", "sql.failed"),
        (UPDATE, "UPDATE accounts SET id = 1", "sql.failed"),
        (UPDATE, "DELETE FROM accounts /* open", "sql.syntax"),
        (
            "INSERT INTO log VALUES (3, 'c')",
            "INSERT INTO log SELECT range, 'x' FROM range(5000)",
            "sql.huge_result",
        ),
    ],
)
def test_what_is_no_such_change_earns_nothing(gold: str, answer: str, code: str) -> None:
    (grade,) = graded(gold, answer)
    assert not grade.passed
    assert grade.checks[-1].code == code, grade.checks[-1]


def test_no_change_outlives_its_answer() -> None:
    answers = ["DELETE FROM accounts", "DELETE FROM nowhere", "UPDATE accounts SET id = 1", UPDATE, "DELETE FROM log"]
    passed = [grade.passed for grade in graded(UPDATE, UPDATE, *answers, UPDATE)]
    assert passed == [True, False, False, False, True, False, True]


def test_a_change_that_runs_out_of_time_is_rolled_back() -> None:
    raw = {"fixtures": [{"script": SCRIPT}], "gold": {"sql": UPDATE}, "mode": "dml", "limits": {"cpu_s": 0.5}}
    task = VERIFIER.prepare(VERIFIER.spec.model_validate(raw), Context())
    endless = "INSERT INTO log SELECT count(*), 'x' FROM " + ", ".join(f"log l{i}" for i in range(40))
    with pytest.raises(LimitExceeded):
        VERIFIER.grade(task, Answer(endless, Completion(endless)))
    assert VERIFIER.grade(task, Answer(UPDATE, Completion(UPDATE))).passed


def test_partial_credit_counts_changed_rows_only() -> None:
    gold = "DELETE FROM accounts WHERE id <= 3"
    answers = ["DELETE FROM accounts WHERE id <= 2", "DELETE FROM log WHERE false", "DELETE FROM accounts WHERE id = 4"]
    grades = graded(gold, *answers, reward="shaped")
    spec = parse_spec("sql", {"fixtures": [{"script": SCRIPT}], "gold": {"sql": gold}, "reward": "shaped"},
                      {"sql": VERIFIER})  # fmt: skip
    assert [round(reward(spec, grade), 3) for grade in grades] == [0.18, 0.0, 0.0]


@pytest.mark.parametrize(
    ("gold", "code", "more"),
    [
        ("SELECT 1 FROM log", "task.gold_failed", ""),
        ("UPDATE accounts SET id = 1", "task.gold_failed", ""),
        ("UPDATE accounts SET opened = current_date", "task.gold_volatile", ""),
        (UPDATE, "task.gold_volatile", "CREATE SEQUENCE s; CREATE TABLE c(a BIGINT DEFAULT nextval('s'));"),
    ],
)
def test_a_gold_that_is_no_repeatable_change_is_a_broken_task(gold: str, code: str, more: str) -> None:
    with pytest.raises(TaskFault) as fault:
        graded(gold, fixtures=[{"script": SCRIPT + more}])
    assert fault.value.code == code


def test_a_fixture_with_triggers_is_refused_since_one_table_is_compared() -> None:
    trigger = "CREATE TRIGGER x AFTER INSERT ON log FOR EACH STATEMENT DELETE FROM accounts;"
    with pytest.raises(TaskFault) as fault:
        graded("INSERT INTO log VALUES (3, 'c')", fixtures=[{"script": SCRIPT + trigger}])
    assert fault.value.code == "task.spec_invalid"
    assert fault.value.message.startswith("$.fixtures[0]: ")


@pytest.mark.parametrize("field", [{"columns": "by_name"}, {"order": "always"}, {"duplicates": "set"}])
def test_options_of_queries_are_refused(field: dict[str, str]) -> None:
    raw = {"fixtures": [{"script": SCRIPT}], "gold": {"sql": UPDATE}, "mode": "dml", **field}
    with pytest.raises(TaskFault) as fault:
        parse_spec("sql", raw, {"sql": VERIFIER})
    assert fault.value.code == "task.spec_invalid"
