"""Runs, summaries, pages of records and single records, while the ledger grows too."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.ledger.entries import TASK, VERIFIERS, flagged, open_writer, passed, record, refused, scored, segment_files
from veredicto_verifier.errors import InvalidRequest, NotFound
from veredicto_verifier.ledger.digests import digest, wide
from veredicto_verifier.ledger.reading import LedgerReader, RecordFilter
from veredicto_verifier.ledger.records import Entry, Failure

LONG = "a-run-whose-name-is-much-longer-than-forty-bytes-é"


@pytest.fixture
def mixed(tmp_path: Path) -> tuple[Path, list[str]]:
    ids = record(
        tmp_path,
        [scored(0), passed(1), flagged(2), refused(3), refused(4, "infra.starved"), scored(8, cached=True)],
        [passed(9, phase="eval"), scored(10, run=LONG, category=LONG), scored(11, run=None)],
        segment_bytes=1_000,
    )
    return tmp_path, ids


def test_an_empty_ledger_has_no_runs_and_no_records(tmp_path: Path) -> None:
    reader = LedgerReader(tmp_path)
    assert reader.runs() == []
    assert reader.records(RecordFilter()).records == ()
    with pytest.raises(NotFound, match="no record of run"):
        reader.summary("run-1")
    record(tmp_path, [])
    assert reader.runs() == []


def test_runs_are_counted_by_outcome(mixed: tuple[Path, list[str]]) -> None:
    rows = {row.run: row for row in LedgerReader(mixed[0]).runs()}
    assert set(rows) == {"run-1", LONG, None}
    one = rows["run-1"]
    assert (one.records, one.steps, one.scored, one.invalid_task, one.infra_error) == (7, 2, 5, 1, 1)
    assert one.mean_reward == pytest.approx(2 / 5)
    assert one.first.endswith("+00:00")


def test_a_summary_leaves_failures_of_ours_out_of_the_mean(mixed: tuple[Path, list[str]]) -> None:
    found = LedgerReader(mixed[0]).summary("run-1")
    assert (found.records, found.scored, found.passed) == (7, 5, 2)
    assert found.mean_reward == pytest.approx(0.4)
    assert found.outcomes == {"scored": 5, "infra_error": 1, "invalid_task": 1}
    assert found.codes == {"echo.other": 3, "infra.starved": 1, "task.malformed": 1}
    assert found.flags == {"lucky": 1}
    assert found.verifiers == {"echo": 7}
    assert found.cached_share == pytest.approx(1 / 7)
    steps = [(step.phase, step.step, step.records, step.scored, step.mean_reward, step.passed) for step in found.steps]
    assert steps == [
        ("train", 0, 5, 3, pytest.approx(1 / 3), 1),
        ("train", 1, 1, 1, 0.0, 0),
        ("eval", 1, 1, 1, 1.0, 1),
    ]
    assert {row.category: row.records for row in found.categories} == {"echoes": 4, "sums": 3}


def test_a_long_run_name_is_found_and_spelt_out(mixed: tuple[Path, list[str]]) -> None:
    reader = LedgerReader(mixed[0])
    assert reader.summary(LONG).categories[0].category == LONG
    (row,) = reader.records(RecordFilter(run=LONG)).records
    assert (row.run, row.category) == (LONG, LONG)
    assert reader.record(row.record).row.run == LONG


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        ({"run": "run-1"}, [0, 1, 2, 3, 4, 5, 6]),
        ({"step": 0}, [0, 1, 2, 3, 4]),
        ({"phase": "eval"}, [6]),
        ({"group": "group-0"}, [0, 1, 2, 3]),
        ({"verifier": "echo", "outcome": "scored"}, [0, 1, 2, 5, 6, 7, 8]),
        ({"outcome": "invalid_task"}, [3]),
        ({"code": "infra.starved"}, [4]),
        ({"code": "echo.other", "run": "run-1"}, [0, 2, 5]),
        ({"digest": wide(digest(b"I think it is 1."))}, [1]),
        ({"run": "no such run"}, []),
    ],
)
def test_records_are_filtered(mixed: tuple[Path, list[str]], wanted: dict[str, object], positions: list[int]) -> None:
    folder, ids = mixed
    found = LedgerReader(folder).records(RecordFilter(**wanted))  # type: ignore[arg-type]
    assert {row.record for row in found.records} == {ids[position] for position in positions}
    assert found.next_cursor is None


def test_pages_hold_every_record_once_newest_first(mixed: tuple[Path, list[str]]) -> None:
    folder, ids = mixed
    reader, cursor, seen = LedgerReader(folder), None, []
    while True:
        page = reader.records(RecordFilter(limit=2, cursor=cursor))
        seen += [row.record for row in page.records]
        record(folder, [scored(99)])
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == sorted(ids)
    times = [reader.record(name).row.time for name in seen]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("wanted", [{"limit": 0}, {"limit": 1001}, {"cursor": "x"}, {"cursor": "1:2"}, {"digest": "?"}])
def test_a_malformed_question_is_refused(tmp_path: Path, wanted: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        LedgerReader(tmp_path).records(RecordFilter(**wanted))  # type: ignore[arg-type]


def test_a_record_comes_with_its_texts_but_never_its_task(tmp_path: Path) -> None:
    (name,) = record(tmp_path, [flagged(7, metadata={"seed": 3})])
    found = LedgerReader(tmp_path).record(name)
    assert (found.prompt, found.completion, found.answer) == ("What is 1?", "I think it is 7.", "7")
    (check,) = found.checks
    assert check == {
        "name": "echo.value",
        "code": "echo.other",
        "passed": False,
        "score": 0.0,
        "weight": 1.0,
        "reason": "the answer 7 is another value",
    }
    assert found.flags == ({"name": "lucky", "evidence": "it is 7"},)
    assert found.metadata == {"seed": 3}
    assert found.row.verifier_digest == VERIFIERS["echo"]["digest"]
    assert found.row.task_digest == wide(digest(TASK))
    assert (found.redacted, found.missing) == ({}, ())
    assert "GOLD" not in str(asdict(found))


def test_a_refused_record_tells_its_error(tmp_path: Path) -> None:
    entry = Entry(
        request_id="r",
        verifier="no such\x00",
        outcome="invalid_task",
        error=Failure("task.unknown_verifier", "no verifier is named so"),
    )
    (name,) = record(tmp_path, [entry])
    found = LedgerReader(tmp_path).record(name)
    assert (found.row.outcome, found.row.reward, found.row.passed) == ("invalid_task", None, None)
    assert (found.row.error, found.message) == ("task.unknown_verifier", "no verifier is named so")
    assert found.row.verifier == "no such\x00"
    assert (found.prompt, found.completion, found.row.task_digest) == (None, None, None)


def test_lone_surrogates_come_back_as_escapes(tmp_path: Path) -> None:
    (name,) = record(tmp_path, [scored(1, completion="bad \ud800 text", item_id="\udfff")])
    found = LedgerReader(tmp_path).record(name)
    assert found.completion == "bad \\ud800 text"
    assert "\\udfff" in str(asdict(found)).encode("utf-8").decode()


@pytest.mark.parametrize("name", ["x", "0123456789ab-1-1-0123456789abcdef"])
def test_an_unknown_record_is_not_found(tmp_path: Path, name: str) -> None:
    ids = record(tmp_path, [scored(1)])
    reader = LedgerReader(tmp_path)
    for wrong in (name, ids[0][:-1] + ("0" if ids[0][-1] != "0" else "1")):
        with pytest.raises(NotFound):
            reader.record(wrong)


def test_a_damaged_line_hides_no_other(tmp_path: Path) -> None:
    record(tmp_path, [scored(number) for number in range(5)])
    (path,) = segment_files(tmp_path)
    content = path.read_bytes().splitlines(keepends=True)
    content[3] = b"\xff\x00garbage\n"
    path.write_bytes(b"".join(content) + b'{"n":6,"t":1,"ru')
    reader = LedgerReader(tmp_path)
    assert reader.runs()[0].records == 4
    assert len(reader.records(RecordFilter()).records) == 4


def test_questions_are_answered_while_the_ledger_grows(tmp_path: Path) -> None:
    async def append_all() -> None:
        for number in range(0, 1200, 3):
            await writer.append([scored(number), passed(number + 1), scored(number + 2)])

    writer = open_writer(tmp_path, segment_bytes=30_000)
    thread = threading.Thread(target=lambda: asyncio.run(append_all()))
    thread.start()
    reader, counts = LedgerReader(tmp_path), []
    while thread.is_alive():
        counts.append(sum(row.records for row in reader.runs()))
        reader.records(RecordFilter(limit=5))
    thread.join()
    writer.close()
    assert counts == sorted(counts)
    assert reader.summary("run-1").records == 1200
