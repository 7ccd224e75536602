"""The verifier `sql` with `as_of`: gold and answers see one fixed moment, whenever they run."""

from __future__ import annotations

from typing import Any

import pytest

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.sql import VERIFIER

SCRIPT = "CREATE TABLE p(id INTEGER, born DATE); INSERT INTO p VALUES (1, '2000-03-01'), (2, '1990-02-28'), (3, NULL);"
AS_OF = "2024-02-29T13:45:10"


def graded(answer: str, gold: str, **fields: Any) -> Grade:
    raw = {"fixtures": [{"script": SCRIPT}], "gold": {"sql": gold}, "as_of": AS_OF, **fields}
    spec = parse_spec("sql", raw, {"sql": VERIFIER})
    return VERIFIER.grade(VERIFIER.prepare(spec, Context()), Answer(answer, Completion(answer)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gold", "constant"),
    [
        ("SELECT id, current_date AS d FROM p", "DATE '2024-02-29'"),
        ("SELECT id, today() FROM p", "DATE '2024-02-29'"),
        ("SELECT id, now() FROM p", "TIMESTAMPTZ '2024-02-29 13:45:10+00'"),
        ("SELECT id, CURRENT_TIMESTAMP FROM p", "TIMESTAMPTZ '2024-02-29 13:45:10+00'"),
        ("SELECT id, localtimestamp FROM p", "TIMESTAMP '2024-02-29 13:45:10'"),
        ("SELECT id, localtime FROM p", "TIME '13:45:10'"),
        ("SELECT id, year(now()) - year(born) FROM p", "2024 - year(born)"),
        ("SELECT id, date_diff('year', born, current_date) FROM p", "date_diff('year', born, DATE '2024-02-29')"),
    ],
)
def test_the_clock_shows_the_moment(gold: str, constant: str) -> None:
    for left, right in ((gold, f"SELECT id, {constant} FROM p"), (f"SELECT id, {constant} FROM p", gold)):
        assert graded(right, left).passed


def test_clocks_are_replaced_in_subqueries_ctes_and_order_by() -> None:
    gold = "WITH z AS (SELECT id FROM p WHERE born < current_date - INTERVAL 30 YEAR) SELECT id FROM z ORDER BY now()"
    assert graded("SELECT id FROM p WHERE id = 2", gold).passed
    assert not graded("SELECT id FROM p WHERE id = 1", gold).passed


def test_age_with_one_argument_counts_from_the_moment() -> None:
    assert graded("SELECT id, age(TIMESTAMP '2024-02-29 13:45:10', born) FROM p", "SELECT id, age(born) FROM p").passed


@pytest.mark.parametrize("as_of", ["2024-02-29T08:45:10-05:00", AS_OF])
def test_a_zone_is_brought_to_utc(as_of: str) -> None:
    answer = "SELECT id, TIMESTAMP '2024-02-29 13:45:10' FROM p"
    assert graded(answer, "SELECT id, localtimestamp FROM p", as_of=as_of).passed


def test_sqlite_sees_the_moment_too() -> None:
    gold = "SELECT id, CURRENT_DATE, date('now', '-1 day'), datetime(), strftime('%Y') FROM p"
    answer = "SELECT id, '2024-02-29', '2024-02-28', '2024-02-29 13:45:10', '2024' FROM p"
    assert graded(answer, gold, dialect="sqlite").passed
    assert graded(gold, answer, dialect="sqlite").passed


def test_randomness_stays_refused() -> None:
    assert graded("SELECT id, random() FROM p", "SELECT id, current_date FROM p").checks[-1].code == (
        "sql.nondeterministic"
    )


@pytest.mark.parametrize("field", [{"as_of": "yesterday"}, {"mode": "dml", "gold": {"sql": "DELETE FROM p"}}])
def test_a_bad_moment_is_refused(field: dict[str, Any]) -> None:
    raw = {"fixtures": [{"script": SCRIPT}], "gold": {"sql": "SELECT id FROM p"}, "as_of": AS_OF, **field}
    with pytest.raises(TaskFault) as fault:
        parse_spec("sql", raw, {"sql": VERIFIER})
    assert fault.value.code == "task.spec_invalid"
