"""The lints of SQL tasks that run queries: mutants, constants, shuffled rows, proposed rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

from veredicto_verifier.packs.builtin import materialise
from veredicto_verifier.packs.checking import check_task
from veredicto_verifier.packs.lints import lint_task
from veredicto_verifier.packs.loading import load_pack
from veredicto_verifier.packs.pack import Pack
from veredicto_verifier.packs.sql_lints import accepts, judge_mutants, propose_rows
from veredicto_verifier.packs.sql_mutants import KINDS, mutants
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.verifier import Context
from veredicto_verifier.verifiers.sql import VERIFIER
from veredicto_verifier.verifiers.sql.spec import SqlSpec
from veredicto_verifier.verifiers.sql.verifier import SqlTask

TABLE = "CREATE TABLE t(id INTEGER PRIMARY KEY, g VARCHAR, v INTEGER NOT NULL);"
STRICT = TABLE + (
    "INSERT INTO t SELECT range, CASE range % 4 WHEN 0 THEN 'a' WHEN 1 THEN 'b' WHEN 2 THEN 'c' END, range % 11 "
    "FROM range({n});"
)
WEAK = TABLE + "INSERT INTO t VALUES (1, 'a', 2), (2, 'b', 9), ({n}, 'b', 9);"


def prepared(gold: str, *scripts: str, **fields: Any) -> tuple[SqlSpec, SqlTask]:
    raw = {"fixtures": [{"script": script} for script in scripts], "gold": {"sql": gold}, **fields}
    spec = SqlSpec.model_validate(raw)
    return spec, VERIFIER.prepare(spec, Context())


def found(gold: str, *scripts: str, **fields: Any) -> dict[str, str]:
    spec, task = prepared(gold, *scripts, **fields)
    return {code: message for _level, code, message in lint_task("sql", spec, task, Counter())}


@pytest.mark.parametrize(
    ("kind", "gold", "mutant"),
    [
        ("drop_where", "SELECT a FROM t WHERE b > 1", "SELECT a FROM t"),
        ("drop_condition", "SELECT a FROM t WHERE b > 1 AND c = 2", "SELECT a FROM t WHERE b > 1"),
        ("and_or", "SELECT a FROM t WHERE b > 1 AND c = 2", "SELECT a FROM t WHERE b > 1 OR c = 2"),
        ("strictness", "SELECT a FROM t WHERE b > 1", "SELECT a FROM t WHERE b >= 1"),
        ("comparison", "SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b <> 1"),
        ("number", "SELECT a FROM t WHERE b > 1.50", "SELECT a FROM t WHERE b > 2.50"),
        ("next_day", "SELECT a FROM t WHERE b > '2024-02-29'", "SELECT a FROM t WHERE b > '2024-03-01'"),
        ("half_open", "SELECT a FROM t WHERE b BETWEEN 1 AND 2", "SELECT a FROM t WHERE (b >= 1 AND b < 2)"),
        ("negate", "SELECT a FROM t WHERE b IS NULL", "SELECT a FROM t WHERE NOT b IS NULL"),
        ("drop_having", "SELECT a FROM t GROUP BY a HAVING COUNT(*) > 1", "SELECT a FROM t GROUP BY a"),
        ("drop_group_key", "SELECT a FROM t GROUP BY a, b", "SELECT a FROM t GROUP BY a"),
        ("drop_order", "SELECT a FROM t ORDER BY a", "SELECT a FROM t"),
        ("direction", "SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a DESC"),
        ("drop_limit", "SELECT a FROM t LIMIT 3", "SELECT a FROM t"),
        ("one_row_more", "SELECT a FROM t LIMIT 3", "SELECT a FROM t LIMIT 4"),
        ("distinct", "SELECT DISTINCT a FROM t", "SELECT a FROM t"),
        ("count_distinct", "SELECT COUNT(DISTINCT a) FROM t", "SELECT COUNT(a) FROM t"),
        ("max_min", "SELECT MAX(a) FROM t", "SELECT MIN(a) FROM t"),
        ("sum_avg", "SELECT SUM(a) FROM t", "SELECT AVG(a) FROM t"),
        ("join_side", "SELECT a FROM t LEFT JOIN u USING (b)", "SELECT a FROM t JOIN u USING (b)"),
        ("drop_output", "SELECT a, b FROM t", "SELECT b FROM t"),
        ("select_star", "SELECT a FROM t", "SELECT * FROM t"),
        ("set_all", "SELECT a FROM t UNION SELECT a FROM u", "SELECT a FROM t UNION ALL SELECT a FROM u"),
        ("set_operation", "SELECT a FROM t EXCEPT SELECT a FROM u", "SELECT a FROM t INTERSECT SELECT a FROM u"),
        ("coalesce", "SELECT COALESCE(a, 0) FROM t", "SELECT a FROM t"),
        ("arithmetic", "SELECT a + b FROM t", "SELECT a - b FROM t"),
        ("partition", "SELECT RANK() OVER (PARTITION BY a ORDER BY b) FROM t",
         "SELECT RANK() OVER (ORDER BY b) FROM t"),
        ("window_order", "SELECT SUM(a) OVER (ORDER BY b) FROM t", "SELECT SUM(a) OVER () FROM t"),
        ("rank", "SELECT RANK() OVER (ORDER BY b) FROM t", "SELECT DENSE_RANK() OVER (ORDER BY b) FROM t"),
        ("lag_lead", "SELECT LAG(a) OVER (ORDER BY b) FROM t", "SELECT LEAD(a) OVER (ORDER BY b) FROM t"),
        ("time_unit", "SELECT DATE_TRUNC('month', a) FROM t", "SELECT DATE_TRUNC('YEAR', a) FROM t"),
        ("calendar", "SELECT YEAR(a) FROM t", "SELECT MONTH(a) FROM t"),
        ("drop_assignment", "UPDATE t SET a = 1, b = 2", "UPDATE t SET b = 2"),
    ],
)  # fmt: skip
def test_each_kind_makes_its_mutant(kind: str, gold: str, mutant: str) -> None:
    assert (kind, mutant) in [(one.kind, one.sql) for one in mutants(gold)]


def test_every_kind_is_in_the_table_above_and_gold_is_no_mutant_of_itself() -> None:
    marks = test_each_kind_makes_its_mutant.pytestmark  # type: ignore[attr-defined]
    assert {case[0] for case in marks[0].args[1]} == set(KINDS)
    gold = "SELECT a FROM t WHERE b > 1 AND c = 2 ORDER BY a LIMIT 3"
    texts = [one.sql for one in mutants(gold)]
    assert gold not in texts
    assert len(set(texts)) == len(texts)
    assert mutants("SELECT (((") == []


def test_strict_fixtures_refuse_every_mutant_and_weak_ones_are_named_with_rows_that_help() -> None:
    gold = "SELECT id, g FROM t WHERE v > 5 AND g <> 'a'"
    scripts = [STRICT.format(n=n) for n in (40, 55, 63)]
    assert found(gold, *scripts) == {}
    assert "strictness" in found(gold, WEAK.format(n=3), WEAK.format(n=4))["lint.mutants"]


def test_proposed_rows_refuse_the_mutant_that_they_were_made_for() -> None:
    gold = "SELECT id, g FROM t WHERE v > 5 AND g <> 'a'"
    weak = [WEAK.format(n=3), WEAK.format(n=4)]
    spec, task = prepared(gold, *weak)
    survivor = next(one for one in judge_mutants(spec, task) or [] if one.fate == "accepted")
    rows = propose_rows(spec, task, survivor)
    assert rows.startswith("INSERT INTO t VALUES")
    _, stricter = prepared(gold, *weak, TABLE + rows)
    assert accepts(task, survivor.mutant.sql)
    assert not accepts(stricter, survivor.mutant.sql)
    assert accepts(stricter, gold)


def test_an_equivalent_mutant_does_not_count() -> None:
    spec, task = prepared("SELECT id FROM t WHERE v >= 0", STRICT.format(n=30), STRICT.format(n=40))
    fates = {one.mutant.sql: one.fate for one in judge_mutants(spec, task) or []}
    assert fates["SELECT DISTINCT id FROM t WHERE v >= 0"] == "equivalent"  # id is the key
    assert fates["SELECT * FROM t WHERE v >= 0"] == "refused"


def test_a_constant_that_passes_everywhere_is_found() -> None:
    scripts = [STRICT.format(n=n) for n in (44, 88)]
    assert "lint.constant" in found("SELECT DISTINCT g, v FROM t WHERE v < 3 AND g IS NOT NULL", *scripts)
    assert "lint.constant" not in found("SELECT g, COUNT(*) FROM t GROUP BY g", *scripts)


def test_gold_that_depends_on_the_order_of_rows_is_found() -> None:
    scripts = [STRICT.format(n=n) for n in (44, 88)]
    assert "lint.row_order" in found("SELECT id FROM t LIMIT 3", *scripts)
    assert "lint.row_order" not in found("SELECT id FROM t ORDER BY id LIMIT 3", *scripts)


def test_changes_are_mutated_too() -> None:
    gold = "UPDATE t SET v = v + 1 WHERE g = 'a' AND v > 5"
    spec, task = prepared(gold, *[STRICT.format(n=n) for n in (40, 55)], mode="dml")
    judged = judge_mutants(spec, task) or []
    assert {"drop_where", "strictness", "arithmetic", "number"} <= {one.mutant.kind for one in judged}
    assert [one.mutant.sql for one in judged if one.fate == "accepted"] == []


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return load_pack(materialise("bank-sql", tmp_path_factory.mktemp("packs")), VERIFIERS)


def test_the_bank_has_its_tasks_categories_languages_and_rows(bank: Pack, tmp_path: Path) -> None:
    tasks = [task for split in bank.tasks.values() for task in split.values()]
    assert len(tasks) >= 400
    assert set(bank.tasks) == {"train", "test"}
    for split in bank.tasks.values():
        per = Counter(task.category for task in split.values())
        assert len(per) == 8
        assert min(per.values()) >= 12
    assert len({task.spec["gold"]["sql"] for task in tasks}) == len(tasks)
    assert all(len(task.spec["fixtures"]) >= 5 for task in tasks)
    spanish = sum(str(task.prompt).startswith("Escribe") for task in tasks)
    assert 0.5 < spanish / len(tasks) < 0.8
    for fixture in bank.fixtures.values():
        with duckdb.connect(str(tmp_path / f"{fixture.path.stem}.duckdb")) as connection:
            connection.execute(fixture.path.read_text(encoding="utf-8"))
            query = "SELECT sum(estimated_size) FROM duckdb_tables()"
            assert connection.execute(query).fetchall()[0][0] >= 1_000


def test_a_task_of_each_category_of_the_bank_is_clean(bank: Pack) -> None:
    tally: Counter[str] = Counter()
    first = {task.category: task for task in bank.tasks["test"].values()}
    for task in first.values():
        assert check_task(task, bank, VERIFIERS, tally) == []
    assert tally["tasks"] == 8
    assert tally["mutants.counted"] >= 8 * 8
    assert tally["constants.accepted"] == 0
