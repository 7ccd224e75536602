"""The parts of the verifier `sql`: comparing, opening fixtures, the engine's own defences, running out of budget."""

from __future__ import annotations

import hashlib
import itertools
import random
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context, Fixture, Grade
from veredicto_verifier.verifiers.sql import VERIFIER
from veredicto_verifier.verifiers.sql.comparison import Comparison, Expected, Rules, compare
from veredicto_verifier.verifiers.sql.fixtures import OpenFixture, OpenFixtures
from veredicto_verifier.verifiers.sql.functions import ALLOWED, CLOCK_WORDS, VOLATILE, volatile_words
from veredicto_verifier.verifiers.sql.gates import Admitted, admit
from veredicto_verifier.verifiers.sql.matching import Closeness, distinct, matched
from veredicto_verifier.verifiers.sql.running import Budget, QueryFailed
from veredicto_verifier.verifiers.sql.sources import Source
from veredicto_verifier.verifiers.sql.spec import SqlSpec
from veredicto_verifier.verifiers.sql.values import Row, Table

SCRIPT = "CREATE TABLE t(a INTEGER, b VARCHAR); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (2, 'y');"
CLOSE = Closeness(1e-6, 1e-9)


def source(script: str = SCRIPT, memory_mb: int = 256) -> Source:
    return Source("$.fixtures[0]", script, hashlib.sha256(script.encode()).hexdigest(), memory_mb)


@pytest.fixture(scope="module")
def fixture() -> OpenFixture:
    return OpenFixtures().get(source())


def spec_of(**fields: Any) -> SqlSpec:
    raw = {"fixtures": [{"script": SCRIPT}], "gold": {"sql": "SELECT a, b FROM t"}, **fields}
    return SqlSpec.model_validate(raw)


def rules_of(**fields: Any) -> Rules:
    return Rules.of(spec_of(**fields))


def table_of(rows: list[Row], width: int, approximate: bool = False) -> Table:
    return Table(tuple(f"c{i}" for i in range(width)), (approximate,) * width, rows)


def compared(gold: list[Row], answer: list[Row], width: int, **fields: Any) -> Comparison:
    rules = rules_of(**fields)
    expected = table_of(gold, width)
    return compare(Expected(table_of(rules.rows(expected), width), None), table_of(answer, width), rules, measure=True)


def graded(answer: str, context: Context | None = None, **fields: Any) -> Grade:
    spec = parse_spec("sql", spec_of(**fields).model_dump(exclude_defaults=True), {"sql": VERIFIER})
    assert isinstance(spec, SqlSpec)
    return VERIFIER.grade(VERIFIER.prepare(spec, context or Context()), Answer(answer, Completion(answer)))


# Comparing

cells = st.one_of(st.none(), st.integers(-2, 2), st.sampled_from(["", "x", "X"]), st.booleans().map(lambda b: ("b", b)))
numbers = st.floats(-3, 3).map(lambda x: round(x, 1)) | st.sampled_from([1e-10, 1 + 1e-9, 2 - 1e-8, 0.0, float("inf")])


def bags(width: int, items: st.SearchStrategy[Any] = cells) -> st.SearchStrategy[list[Row]]:
    return st.lists(st.tuples(*[items] * width), max_size=7)


@given(bags(2), st.randoms(use_true_random=False))
def test_a_result_equals_itself_in_any_order_of_rows_and_columns(rows: list[Row], chance: random.Random) -> None:
    shuffled = [row[::-1] for row in rows]
    chance.shuffle(shuffled)
    assert compared(rows, shuffled, 2).code is None


@given(bags(2), bags(2))
def test_comparing_is_symmetric(left: list[Row], right: list[Row]) -> None:
    one, other = compared(left, right, 2), compared(right, left, 2)
    assert (one.code is None) == (other.code is None)
    assert one.closeness == pytest.approx(other.closeness)


@given(bags(3), bags(3))
def test_the_search_for_a_permutation_finds_what_trying_all_finds(left: list[Row], right: list[Row]) -> None:
    tried = [matched(left, [tuple(row[j] for j in p) for row in right], (False,) * 3, CLOSE)
             for p in itertools.permutations(range(3))]  # fmt: skip
    total = len(left) + len(right)
    found = compared(left, right, 3)
    best = 2 * max(tried) / total if total else 1.0
    assert (found.code is None) == (best == 1.0)
    assert found.closeness == pytest.approx(best if best > 0.5 else 0.0)


@given(bags(2), cells, cells)
def test_a_bag_counts_repetitions_and_a_set_does_not(rows: list[Row], a: Any, b: Any) -> None:
    once, twice = [*rows, (a, b)], [*rows, (a, b), (a, b)]
    assert compared(once, twice, 2).code == "sql.row_count"
    assert compared(once, twice, 2, duplicates="set").code is None
    assert compared(twice, once, 2, duplicates="set").code is None


@given(bags(2), bags(2))
def test_a_result_with_a_row_of_gold_more_is_never_further_away(gold: list[Row], answer: list[Row]) -> None:
    missing = [row for row in gold if answer.count(row) < gold.count(row)]
    if not missing:
        return
    before, after = (
        compared(gold, rows, 2, columns="positional").closeness for rows in (answer, [*answer, missing[0]])
    )
    assert after >= before


@given(bags(2, numbers), bags(2, numbers), st.randoms(use_true_random=False))
def test_matching_with_a_tolerance_is_symmetric_and_blind_to_order(
    left: list[Row], right: list[Row], chance: random.Random
) -> None:
    rough = (True, True)
    paired = matched(left, right, rough, CLOSE)
    mixed_left, mixed_right = left[:], right[:]
    chance.shuffle(mixed_left)
    chance.shuffle(mixed_right)
    assert matched(mixed_right, mixed_left, rough, CLOSE) == paired
    assert matched(left, left, rough, CLOSE) == len(left)


@given(bags(2, numbers), st.lists(st.floats(-5e-7, 5e-7), min_size=14, max_size=14))
def test_noise_below_the_tolerance_changes_nothing(rows: list[Row], noise: list[float]) -> None:
    shaken = [tuple(x * (1 + e) for x, e in zip(row, noise[2 * i : 2 * i + 2], strict=True))
              for i, row in enumerate(rows)]  # fmt: skip
    assert matched(rows, shaken, (True, True), CLOSE) == len(rows)


def test_matching_moves_a_pair_aside_for_another() -> None:
    step = Closeness(0, 1.0)
    left = [(0.0, 0.0), (1.5, 0.0)]
    right = [(0.75, 0.0), (-0.75, 0.0)]
    assert matched(left, right, (True, True), step) == 2
    assert matched([(0.0,), (1.5,)], [(0.75,), (-0.75,)], (True,), step) == 2


def test_a_set_merges_rows_within_the_tolerance() -> None:
    rows = [(1.0, "x"), (1.0 + 1e-9, "x"), (1.0, "y")]
    assert distinct(rows, (True, False), CLOSE) == [(1.0, "x"), (1.0, "y")]


def test_numbers_compare_by_value_and_big_integers_exactly() -> None:
    assert compared([(1, Decimal("2.50"))], [(1.0, 2.5)], 2).code is None
    assert compared([(2**53, 0)], [(2**53 + 1, 0)], 2).code == "sql.values"


def test_wide_results_compare_by_position() -> None:
    row = tuple(range(9))
    assert compared([row], [row], 9).code is None
    assert compared([row], [row[::-1]], 9).code == "sql.values"


def test_a_search_through_columns_of_equal_content_ends() -> None:
    chance = random.Random(7)
    columns = [chance.sample(range(40), 40) for _ in range(16)]
    left, right = list(zip(*columns[:8], strict=True)), list(zip(*columns[8:], strict=True))
    assert compared(left, right, 8).code == "sql.values"


# The gates


def test_every_allowed_function_exists_and_is_not_volatile(fixture: OpenFixture) -> None:
    found = fixture.reader.execute(
        "SELECT lower(function_name), bool_or(stability = 'VOLATILE') FROM duckdb_functions() GROUP BY 1"
    ).fetchall()
    volatile = dict(found)
    windows = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"}
    windows |= {"first_value", "last_value", "nth_value"}
    assert ALLOWED - windows - set(volatile) == set()
    assert [name for name in sorted(ALLOWED) if volatile.get(name)] == []
    assert VOLATILE - CLOCK_WORDS - set(volatile) == set()
    assert not ALLOWED & VOLATILE


def test_every_window_function_of_the_list_runs(fixture: OpenFixture) -> None:
    calls = "row_number() rank() dense_rank() percent_rank() cume_dist() ntile(2) lag(a) lead(a) first_value(a) "
    for call in (calls + "last_value(a) nth_value(a,2)").split():
        gate = admit(f"SELECT {call} OVER (ORDER BY a) FROM t", fixture)
        assert isinstance(gate, Admitted), gate
        assert len(fixture.cursor().execute(gate.statement).fetchall()) == 3


def test_the_statement_that_was_read_is_the_one_that_runs(fixture: OpenFixture) -> None:
    gate = admit("SELECT 'a''b' || $$c$$ FROM t WHERE b = 'x'", fixture)
    assert isinstance(gate, Admitted)
    assert fixture.cursor().execute(gate.statement).fetchall() == [("a'bc",)]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("INSERT INTO t VALUES ('now()', 'it''s random()') -- uuid()", []),
        ("INSERT INTO t SELECT random ( )", ["random"]),
        ("CREATE VIEW v AS SELECT * FROM t WHERE d < CURRENT_DATE", ["current_date"]),
        ("CREATE TABLE t(random INTEGER, today DATE); /* now() */", []),
    ],
)
def test_a_script_is_volatile_only_by_its_code(script: str, words: list[str]) -> None:
    assert volatile_words(script) == words


# Fixtures and the engine's own defences


@pytest.mark.parametrize(
    "attack",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM sniff_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM 'https://127.0.0.1/x.parquet'",
        "COPY t TO '/tmp/veredicto-out.csv'",
        "COPY t FROM '/etc/passwd'",
        "EXPORT DATABASE '/tmp/veredicto-out'",
        "IMPORT DATABASE '/tmp/veredicto-out'",
        "ATTACH '/tmp/veredicto-other.duckdb' AS o",
        "ATTACH ':memory:' AS o",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '64GB'",
        "SET threads = 8",
        "SET enable_external_access = true",
        "SET TimeZone = 'America/Lima'",
        "RESET memory_limit",
        "PRAGMA threads = 8",
        "CREATE SECRET s (TYPE S3)",
        "SELECT * FROM SCRIPT",
        "SELECT * FROM fixture_rows",
        "INSERT INTO t VALUES (9, 'z')",
        "CREATE TABLE u(a INTEGER)",
        "DROP TABLE t",
        "WITH x AS (INSERT INTO t VALUES (9, 'z') RETURNING *) SELECT * FROM x",
        "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
        "DROP TABLE t; SELECT 1",
    ],
)
def test_the_engine_refuses_what_the_gates_would_have_refused(fixture: OpenFixture, attack: str) -> None:
    fixture_rows = [(1,)]  # a Python variable that a replacement scan could read
    with pytest.raises(duckdb.Error):
        fixture.cursor().execute(attack).fetchall()
    assert fixture.cursor().execute("SELECT count(*) FROM t").fetchall() == [(3,)]
    assert fixture_rows == [(1,)]


def test_the_settings_hold_in_an_open_fixture(fixture: OpenFixture) -> None:
    names = "threads async_threads temp_directory enable_external_access lock_configuration TimeZone".split()
    cursor = fixture.cursor()
    values = {name: cursor.execute(f"SELECT current_setting('{name}')").fetchall()[0][0] for name in names}
    assert values == {
        "threads": 1, "async_threads": 0, "temp_directory": "", "enable_external_access": False,
        "lock_configuration": True, "TimeZone": "UTC",
    }  # fmt: skip


def test_what_a_cursor_leaves_behind_is_not_seen_by_the_next(fixture: OpenFixture) -> None:
    cursor = fixture.cursor()
    cursor.execute("CREATE TEMP TABLE left_behind(a INTEGER); CREATE TEMP VIEW t AS SELECT 42 AS a")
    cursor.execute("SET VARIABLE x = 7")
    fresh = fixture.cursor()
    assert fresh.execute("SELECT count(*), getvariable('x') FROM t").fetchall() == [(3, None)]
    with pytest.raises(duckdb.CatalogException):
        fresh.execute("SELECT * FROM left_behind")


def test_no_more_than_the_limit_stay_open_and_a_closed_one_opens_again() -> None:
    opened = OpenFixtures(limit=2)
    sources = [source(f"CREATE TABLE t AS SELECT {i} AS a") for i in range(3)]
    values = [opened.get(one).cursor().execute("SELECT a FROM t").fetchall() for one in [*sources, sources[0]]]
    assert values == [[(0,)], [(1,)], [(2,)], [(0,)]]
    assert len(opened) == 2
    opened.discard(sources[0])
    assert len(opened) == 1
    assert opened.get(sources[2]) is opened.get(sources[2])


def pack_context(path: Path) -> Context:
    digest = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    return Context(fixtures={"bank/small": Fixture(path, digest)})


def test_a_fixture_of_a_pack_is_read_by_name_and_digest(tmp_path: Path) -> None:
    path = tmp_path / "small.sql"
    path.write_text(SCRIPT + "-- from a pack", encoding="utf-8")
    context = pack_context(path)
    assert graded("SELECT b, a FROM t", context, fixtures=("bank/small",)).passed
    path.write_text("CREATE TABLE t(a INTEGER, b VARCHAR)", encoding="utf-8")
    assert graded("SELECT b, a FROM t", context, fixtures=("bank/small",)).passed  # still open


@pytest.mark.parametrize(("name", "content"), [("x.csv", b"a\n1"), ("x.sql", b"\xff\xfe")])
def test_a_pack_fixture_that_is_no_sql_text_is_unknown(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TaskFault) as fault:
        graded("SELECT 1", pack_context(path), fixtures=("bank/small",))
    assert fault.value.code == "task.unknown_fixture"


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ({"fixtures": ["nope"]}, "$.fixtures[0]: "),
        ({"fixtures": [{"script": SCRIPT}, {"script": ""}]}, "$.fixtures[1]: "),
        ({"fixtures": [{"script": SCRIPT, "x": 1}]}, "$.fixtures[0]: "),
        ({"fixtures": [3]}, "$.fixtures[0]: "),
        ({"as_of": "2024-13-01"}, "$.as_of: "),
        ({"as_of": "0001-01-01T00:00:00+23:00"}, "$.as_of: "),
        ({"numeric": {"rel_tol": 5}}, "$.numeric.rel_tol: "),
        ({"gold": {}}, "$.gold: "),
    ],
)
def test_a_broken_spec_is_told_by_its_place(field: dict[str, Any], place: str) -> None:
    raw = {"fixtures": [{"script": SCRIPT}], "gold": {"sql": "SELECT a FROM t"}, **field}
    with pytest.raises(TaskFault) as fault:
        parse_spec("sql", raw, {"sql": VERIFIER})
    assert fault.value.code == "task.spec_invalid"
    assert fault.value.message.startswith(place)


def test_a_pack_fixture_that_changed_on_disk_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.sql"
    path.write_text("CREATE TABLE t(a INTEGER, b VARCHAR); -- as loaded", encoding="utf-8")
    context = pack_context(path)
    path.write_text(SCRIPT, encoding="utf-8")
    with pytest.raises(TaskFault) as fault:
        graded("SELECT 1", context, fixtures=("bank/small",))
    assert "changed on disk" in fault.value.message


def test_the_spec_names_the_pack_fixtures_it_needs() -> None:
    spec = spec_of(fixtures=["bank/small", {"script": SCRIPT}])
    assert list(VERIFIER.fixtures(spec)) == ["bank/small"]


# Running out of budget


def test_a_query_over_its_cpu_limit_is_interrupted_and_the_next_one_runs(fixture: OpenFixture) -> None:
    endless = "SELECT count(*) FROM " + ", ".join(f"t t{i}" for i in range(40))
    with pytest.raises(LimitExceeded) as limit, Budget(0.1, 60) as budget:
        budget.run(fixture.cursor(), endless, 10)
    assert limit.value.what == "cpu"
    with Budget(5, 60) as budget:
        result = budget.run(fixture.cursor(), "SELECT a FROM t ORDER BY a", 2)
    assert (result.names, result.types, result.rows) == (("a",), ("INTEGER",), [(1,), (2,)])


def test_a_used_up_budget_runs_nothing_more(fixture: OpenFixture) -> None:
    with Budget(1e-6, 60) as budget, pytest.raises(LimitExceeded):
        budget.run(fixture.cursor(), "SELECT 1", 1)


def test_a_failed_query_gives_a_short_reason(fixture: OpenFixture) -> None:
    with Budget(5, 60) as budget, pytest.raises(QueryFailed) as failed:
        budget.run(fixture.cursor(), f"SELECT {'x' * 500} FROM t", 1)
    assert len(failed.value.reason) <= 100
    assert not failed.value.broken


LEAKS = """
b::INTEGER
(b || '!')::DATE
sum(a)::TINYINT
sum(a) * 1e18::HUGEINT * 1e18::HUGEINT
strptime(b, '%Y')
make_date(a, a, a)
date_part(b, DATE '2024-01-01')
regexp_matches('x', '(' || b)
b::JSON -> 'a'
b::ENUM('q')
from_base64(b)
b::UUID
a::DECIMAL(3,1)
('it''s ' || b)::INTEGER
(chr(10) || b)::INTEGER
('"' || b)::DATE
"""


@pytest.mark.parametrize("expression", LEAKS.split("\n")[1:-1])
def test_no_reason_tells_what_the_fixture_holds(expression: str) -> None:
    script = "CREATE TABLE t(a INTEGER, b VARCHAR); INSERT INTO t VALUES (777123, 'it''s a secret');"
    grade = graded(f"SELECT {expression} FROM t", fixtures=[{"script": script}], gold={"sql": "SELECT a FROM t"})
    assert grade.checks[-1].code == "sql.failed"
    assert "777" not in grade.checks[-1].reason
    assert "secret" not in grade.checks[-1].reason


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("SELECT nope FROM t", 'Referenced column "nope" not found'),
        ("SELECT 'x12'::INTEGER FROM t", "Could not convert string 'x12' to INT32"),
        ("SELECT b::INTEGER FROM t", "Could not convert string …"),
        ("SELECT 300::TINYINT FROM t", "value 300 can't be cast"),
    ],
)
def test_a_reason_keeps_what_the_answer_itself_says(answer: str, shown: str) -> None:
    assert shown in graded(answer).checks[-1].reason


def test_gold_stays_outside_the_database_and_its_rows_out_of_every_reason() -> None:
    secret = "CREATE TABLE t(a INTEGER, b VARCHAR); INSERT INTO t VALUES (777123, 'x'), (2, 'y');"
    gold = {"sql": "SELECT a + 111111 AS a FROM t WHERE b = 'x'"}
    for answer in ("SELECT a FROM t WHERE b = 'y'", "SELECT a FROM t", "SELECT a, b FROM t", "SELECT c FROM t"):
        grade = graded(answer, fixtures=[{"script": secret}], gold=gold)
        assert not grade.passed
        assert "888234" not in repr(grade)


def test_the_timer_of_the_worker_ends_a_query_as_a_limit() -> None:
    def on_timer(_signal: int, _frame: object) -> None:
        raise LimitExceeded("cpu")

    before = signal.signal(signal.SIGPROF, on_timer)
    task = VERIFIER.prepare(spec_of(limits={"cpu_s": 30}), Context())
    endless = "SELECT count(*) FROM " + ", ".join(f"t t{i}" for i in range(40))
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.2)
        with pytest.raises(LimitExceeded):
            VERIFIER.grade(task, Answer(endless, Completion(endless)))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert VERIFIER.grade(task, Answer("SELECT b, a FROM t", Completion(""))).passed


# Classes of wrong answers


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("SELECT a FROM t", "SELECT t.a FROM t ORDER BY a DESC", True),
        ("SELECT a, 'z' FROM t", "SELECT a * 1.0, 'z' FROM t", True),
        ("SELECT a FROM t", "SELECT DISTINCT a FROM t", False),
        ("SELECT a, 'z' FROM t", "SELECT a, 'w' FROM t", False),
        ("SELECT b, a + 1 FROM t", "SELECT b, a + 1.0000001 FROM t", False),
    ],
)
def test_wrong_answers_with_the_same_result_are_one_class(left: str, right: str, same: bool) -> None:
    classes = [graded(answer).answer_class for answer in (left, right)]
    assert all(classes)
    assert (classes[0] == classes[1]) is same


@pytest.mark.parametrize("answer", ["SELECT nothing FROM t", "SELECT", "SELECT 1", "", "SELECT a / 0 FROM nowhere"])
def test_an_answer_that_returns_nothing_has_the_empty_class(answer: str) -> None:
    assert graded(answer).answer_class == ""


def test_a_right_answer_needs_no_class_and_giant_values_have_one() -> None:
    assert graded("SELECT a, b FROM t").answer_class is None
    giant = "SELECT a, repeat('9', 400)::BIGNUM FROM t"
    assert graded(giant).answer_class
