"""The pack `demo-sql` is the same at every build, disjoint, right by DuckDB; its demonstrations run, most are wrong."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from veredicto_verifier.packs.generators.bank import TABLES, draw_rows
from veredicto_verifier.packs.generators.bank_queries import FORMS, Answer, Query, answers, family
from veredicto_verifier.packs.generators.demo_sql import FIXTURES, SEED, build, combination, draw_split
from veredicto_verifier.packs.loading import load_pack
from veredicto_verifier.registry import VERIFIERS

FILES = build()
ROWS = [draw_rows(f"{SEED}/{name}") for name in FIXTURES]
SPLIT = draw_split(ROWS)
TOLERANCE = 1e-9


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILES[path].splitlines()]


TRAIN, TEST = lines("tasks/train.jsonl"), lines("tasks/test.jsonl")
DEMONSTRATIONS, EXAMPLES = lines("demonstrations/train.jsonl"), lines("examples.jsonl")


def gold(task: dict[str, Any]) -> str:
    sql = task["spec"]["gold"]["sql"]
    assert isinstance(sql, str)
    return sql


def normalised(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9_]+", text.lower()))


@pytest.fixture(scope="module")
def banks() -> Iterator[list[duckdb.DuckDBPyConnection]]:
    opened = []
    for name in FIXTURES:
        bank = duckdb.connect(config={"threads": 1})
        bank.execute(FILES[f"fixtures/{name}.sql"])
        opened.append(bank)
    yield opened
    for bank in opened:
        bank.close()


def bag(bank: duckdb.DuckDBPyConnection, sql: str) -> Counter[tuple[Any, ...]]:
    return Counter(bank.execute(sql).fetchall())


def test_two_builds_are_the_same() -> None:
    assert build() == FILES


def test_it_has_enough_questions_in_five_even_categories() -> None:
    assert len(TRAIN) >= 2_000
    assert len(TEST) >= 200
    for tasks in (TRAIN, TEST):
        counts = Counter(task["category"] for task in tasks)
        assert set(counts) == set(FORMS)
        assert len(set(counts.values())) == 1
        assert len({task["id"] for task in tasks}) == len(tasks)


def test_train_and_test_share_no_text_no_gold_and_no_combination() -> None:
    train_texts = [normalised(task["prompt"]) for task in TRAIN]
    test_texts = [normalised(task["prompt"]) for task in TEST]
    assert len(set(train_texts)) == len(train_texts)
    assert len(set(test_texts)) == len(test_texts)
    assert not set(train_texts) & set(test_texts)
    trained, tested = ({combination(q.query) for q in part} for part in (SPLIT.train, SPLIT.test))
    assert not trained & tested
    assert tested <= SPLIT.held_out


def test_no_test_gold_occurs_in_anything_that_is_shown_or_trained() -> None:
    public = "\n".join(
        text
        for shown in (*DEMONSTRATIONS, *EXAMPLES)
        for text in (normalised(shown["prompt"]), shown["completion"] + "\n")
    )
    trained = "\n".join(gold(task) + "\n" for task in TRAIN)
    for task in TEST:
        assert gold(task) not in public
        assert gold(task) not in trained


def test_every_gold_runs_everywhere_and_differs_between_the_fixtures(banks: list[duckdb.DuckDBPyConnection]) -> None:
    for task in (*TRAIN, *TEST):
        results = [bag(bank, gold(task)) for bank in banks]
        assert all(results), task
        assert any(result != results[0] for result in results[1:]), task


def test_every_demonstration_and_example_executes(banks: list[duckdb.DuckDBPyConnection]) -> None:
    for sql in {shown["completion"] for shown in (*DEMONSTRATIONS, *EXAMPLES)}:
        for bank in banks:
            bank.execute(sql).fetchall()


def test_demonstrations_answer_every_train_question_and_most_are_wrong() -> None:
    assert [shown["prompt"] for shown in DEMONSTRATIONS] == [task["prompt"] for task in TRAIN]
    pairs = list(zip(DEMONSTRATIONS, TRAIN, strict=True))
    right = sum(shown["completion"] == gold(task) for shown, task in pairs) / len(pairs)
    assert 0.10 < right < 0.20
    for form in FORMS:
        of_form = [shown["completion"] == gold(task) for shown, task in pairs if task["category"] == form]
        assert 0.02 < sum(of_form) / len(of_form) < 0.5, form


def test_computed_answers_are_those_of_duckdb(banks: list[duckdb.DuckDBPyConnection]) -> None:
    every = [query for form in FORMS for query in family(form)]
    queries = every[:: len(every) // 600]
    assert {query.form for query in queries} == set(FORMS)
    for query, results in answers(queries, ROWS).items():
        for bank, computed in zip(banks, results, strict=True):
            assert same(computed, bag(bank, query.sql()), query), query.sql()


def same(computed: Answer, executed: Counter[tuple[Any, ...]], query: Query) -> bool:
    width = 2 if query.form == "group" else 1
    rows = [(row if width == 2 else (row,), times) for row, times in computed]
    if len(rows) != len(executed):
        return False
    return all(any(times == n and equal(row, other) for other, n in executed.items()) for row, times in rows)


def equal(row: Any, other: tuple[Any, ...]) -> bool:
    """Computed numbers are in hundredths."""
    for mine, theirs in zip(row, other, strict=True):
        if isinstance(mine, int | Fraction):
            if theirs is None or abs(float(mine) / 100 - float(theirs)) > TOLERANCE * max(1.0, abs(float(theirs))):
                return False
        elif mine != theirs:
            return False
    return True


def test_no_other_query_of_the_form_gives_what_a_question_asks_for() -> None:
    asked = {question.query for question in (*SPLIT.train, *SPLIT.test)}
    for form in FORMS:
        found = answers(family(form), ROWS)
        times = Counter(found.values())
        assert all(times[found[query]] == 1 for query in asked if query.form == form), form


def test_every_fixture_holds_boundaries_duplicates_nulls_and_orphans(banks: list[duckdb.DuckDBPyConnection]) -> None:
    for bank in banks:
        for table in TABLES.values():
            for column, literals in table.numbers.items():
                values = [row[0] for row in bank.execute(f"SELECT {column} FROM {table.name}").fetchall()]
                assert {Decimal(literal) for literal in literals} <= {Decimal(v) for v in values if v is not None}
                assert len(set(values)) < len(values)
        for child, parent, key in (("accounts", "customers", "customer_id"), ("movements", "accounts", "account_id")):
            missing = f"SELECT count(*) FROM {child} WHERE {key} NOT IN (SELECT {key} FROM {parent})"
            childless = f"SELECT count(*) FROM {parent} WHERE {key} NOT IN (SELECT {key} FROM {child})"
            assert bank.execute(missing).fetchall()[0][0] > 0
            assert bank.execute(childless).fetchall()[0][0] > 0
        for table_name, column in (("customers", "city"), ("accounts", "overdraft"), ("movements", "fee")):
            nulls = f"SELECT count(*) FROM {table_name} WHERE {column} IS NULL"
            assert bank.execute(nulls).fetchall()[0][0] > 0


def test_the_pack_loads_without_a_refusal(tmp_path: Path) -> None:
    for relative, content in FILES.items():
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    pack = load_pack(tmp_path, VERIFIERS)
    assert pack.refused == ()
    assert {split: len(tasks) for split, tasks in pack.tasks.items()} == {"train": len(TRAIN), "test": len(TEST)}
    assert len(pack.demonstrations) == len(DEMONSTRATIONS)
    assert len(pack.examples) == len(EXAMPLES)
