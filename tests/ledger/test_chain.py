"""Appending, rotating, recovering; what verification finds and what it cannot."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ledger.entries import open_writer, passed, record, scored, segment_files
from veredicto_verifier.errors import LedgerFault, LedgerUnavailable, NotFound
from veredicto_verifier.ledger.digests import digest, wide
from veredicto_verifier.ledger.lines import RecordId, compose, hash_of, read_fields
from veredicto_verifier.ledger.records import Entry, Failure
from veredicto_verifier.ledger.segments import last_line, lines, segments
from veredicto_verifier.ledger.verification import Verification, verify
from veredicto_verifier.ledger.writer import LedgerWriter
from veredicto_verifier.verifier import Check, Fixture, Flag

ODD_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
CHECKS = st.lists(
    st.builds(Check, ODD_TEXT, st.booleans(), st.floats(0, 1), st.none() | ODD_TEXT, ODD_TEXT, st.floats(0, 9)),
    max_size=3,
).map(tuple)
SCORED = st.builds(
    Entry,
    request_id=ODD_TEXT,
    run=st.none() | ODD_TEXT,
    step=st.none() | st.integers(0, 10**20),
    phase=st.sampled_from(["train", "eval", "probe"]),
    item_id=st.none() | ODD_TEXT,
    group=st.none() | ODD_TEXT,
    metadata=st.none() | st.dictionaries(ODD_TEXT, ODD_TEXT | st.integers() | st.booleans() | st.none(), max_size=3),
    prompt=st.none() | ODD_TEXT,
    completion=ODD_TEXT,
    completion_is_messages=st.booleans(),
    answer=st.none() | ODD_TEXT,
    category=st.none() | ODD_TEXT,
    verifier=st.sampled_from(["echo", "unknown"]) | ODD_TEXT,
    outcome=st.just("scored"),
    reward=st.floats(0, 1),
    passed=st.booleans(),
    checks=CHECKS,
    flags=st.lists(st.builds(Flag, st.sampled_from(["lucky", "near_limit"]), ODD_TEXT), max_size=2).map(tuple),
    queue_ms=st.floats(0, 1e6),
)
REFUSED = st.builds(
    Entry,
    request_id=ODD_TEXT,
    outcome=st.just("invalid_task"),
    error=st.builds(Failure, st.just("task.malformed"), ODD_TEXT),
)


def faults(folder: Path, head: str | None = None) -> list[str]:
    return [str(fault) for fault in verify(folder, head=head).faults]


def clean(found: Verification) -> bool:
    return found.holds and not found.notes


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(SCORED | REFUSED, min_size=1, max_size=4), min_size=1, max_size=3), st.data())
def test_any_entries_make_a_chain_that_verifies_until_a_byte_is_flipped(
    batches: list[list[Entry]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ids = record(folder, *batches, segment_bytes=1500)
        assert all(clean(verify(folder, head=head)) for head in ids)
        assert verify(folder).records == len(ids)
        path = data.draw(st.sampled_from(segment_files(folder)))
        content = bytearray(path.read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(content)
        assert not clean(verify(folder))


def test_every_flipped_byte_of_a_small_ledger_is_found(tmp_path: Path) -> None:
    record(tmp_path, [scored(1)], [passed(2)])
    (path,) = segment_files(tmp_path)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert not clean(verify(tmp_path, with_texts=False)), place
    path.write_bytes(content)
    assert clean(verify(tmp_path))


def test_a_line_rewritten_with_a_fitting_checksum_breaks_the_next_link(tmp_path: Path) -> None:
    record(tmp_path, [scored(number) for number in range(5)])
    (path,) = segment_files(tmp_path)
    content = path.read_bytes().splitlines()
    forged = read_fields(content[2])
    forged["reward"] = 1.0
    body = json.dumps({key: forged[key] for key in forged if key not in ("n", "t", "prev", "crc")}).encode()[1:-1]
    content[2] = compose(2, forged["t"], forged["prev"], body)
    path.write_bytes(b"\n".join(content) + b"\n")
    (fault,) = faults(tmp_path)
    assert fault.startswith(f"{path.name} line 4: the chain is broken")
    assert read_fields(content[3])["prev"] in fault
    assert hash_of(content[2]) in fault
    with pytest.raises(LedgerFault, match="line 4"):
        verify(tmp_path).demand()


@pytest.mark.parametrize("change", ["swapped", "removed", "repeated"])
def test_moved_removed_and_repeated_lines_are_found(tmp_path: Path, change: str) -> None:
    record(tmp_path, [scored(number) for number in range(6)])
    (path,) = segment_files(tmp_path)
    content = path.read_bytes().splitlines(keepends=True)
    if change == "swapped":
        content[2], content[3] = content[3], content[2]
    elif change == "removed":
        del content[3]
    else:
        content.insert(3, content[2])
    path.write_bytes(b"".join(content))
    assert any("the chain is broken" in fault for fault in faults(tmp_path))


def test_segments_rotate_by_size_and_their_chain_goes_on(tmp_path: Path) -> None:
    ids = record(tmp_path, *([scored(number)] for number in range(12)), segment_bytes=2_000)
    found = segments(tmp_path)
    assert len(found) > 2
    assert [segment.number for segment in found] == list(range(1, len(found) + 1))
    assert verify(tmp_path).records == len(ids) == 12
    assert verify(tmp_path).heads == ids[-1:]


def test_segments_rotate_by_age(tmp_path: Path) -> None:
    record(tmp_path, [scored(1)], [scored(2)], segment_age_s=0.0)
    assert len(segments(tmp_path)) == 2


def test_a_missing_segment_in_the_middle_is_named(tmp_path: Path) -> None:
    record(tmp_path, *([scored(number)] for number in range(12)), segment_bytes=2_000)
    gone = segments(tmp_path)[1]
    gone.path.unlink()
    (fault,) = faults(tmp_path)
    assert "segment is missing" in fault
    assert f"expected segment 2 of writer {gone.writer}" in fault


def test_a_removed_tail_is_found_only_with_a_head(tmp_path: Path) -> None:
    ids = record(tmp_path, [scored(number) for number in range(6)])
    (path,) = segment_files(tmp_path)
    content = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(content[:4]))
    assert faults(tmp_path) == []
    assert faults(tmp_path, head=ids[2]) == []
    (fault,) = faults(tmp_path, head=ids[5])
    assert "gone or altered" in fault


def test_another_writers_header_is_a_head(tmp_path: Path) -> None:
    record(tmp_path, [scored(number) for number in range(4)])
    (first,) = segment_files(tmp_path)
    record(tmp_path, [scored(9)])
    content = first.read_bytes().splitlines(keepends=True)
    first.write_bytes(b"".join(content[:3]))
    (fault,) = faults(tmp_path)
    assert "saw another line here" in fault
    first.unlink()
    assert any("no such line" in fault for fault in faults(tmp_path))


def test_a_renamed_segment_is_found(tmp_path: Path) -> None:
    record(tmp_path, [scored(1)])
    (path,) = segment_files(tmp_path)
    path.rename(path.with_name("0123456789ab-000001.jsonl"))
    assert any("renamed or replaced" in fault for fault in faults(tmp_path))


def test_a_torn_last_line_is_told_apart_from_a_fault_and_ignored(tmp_path: Path) -> None:
    ids = record(tmp_path, [scored(1), scored(2)])
    (path,) = segment_files(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"n":3,"t":17960705')
    found = verify(tmp_path, head=ids[-1])
    assert found.holds
    assert len(found.notes) == 1
    assert found.records == 2
    more = record(tmp_path, [scored(3)])
    assert verify(tmp_path, head=more[0]).holds
    assert last_line(path) == list(lines(path))[2]


def test_a_head_that_is_no_record_id_is_refused(tmp_path: Path) -> None:
    record(tmp_path, [scored(1)])
    for head in ("x", "0123456789ab-1-1-zz", "0123456789ab-0-1-0123456789abcdef"):
        with pytest.raises(NotFound, match="is not a record id"):
            verify(tmp_path, head=head)


def test_a_record_id_anchors_its_line(tmp_path: Path) -> None:
    ids = record(tmp_path, [scored(1), scored(2)])
    (path,) = segment_files(tmp_path)
    for number, name in enumerate(ids, 1):
        parsed = RecordId.parse(name)
        assert str(parsed) == name
        assert parsed == RecordId.of(path.name[:12], 1, number, digest(path.read_bytes().splitlines()[number]))


def test_concurrent_requests_get_their_own_records_in_order(tmp_path: Path) -> None:
    async def append_all() -> list[list[str]]:
        batches = [[scored(10 * batch + number) for number in range(batch % 4 + 1)] for batch in range(60)]
        return await asyncio.gather(*(writer.append(batch) for batch in batches))

    writer = open_writer(tmp_path, segment_bytes=20_000)
    answers = asyncio.run(append_all())
    writer.close()
    found = verify(tmp_path)
    assert clean(found)
    assert found.records == sum(len(ids) for ids in answers) == len({name for ids in answers for name in ids})
    for batch, ids in enumerate(answers):
        positions = [RecordId.parse(name) for name in ids]
        assert positions == sorted(positions)
        for number, position in enumerate(positions):
            path = tmp_path / "ledger" / f"{position.writer}-{position.segment:06d}.jsonl"
            fields = read_fields(path.read_bytes().splitlines()[position.seq])
            assert fields["item"] == f"item-{10 * batch + number}"


def test_two_writers_at_once_keep_one_ledger(tmp_path: Path) -> None:
    async def append_all() -> None:
        for number in range(30):
            await asyncio.gather(first.append([scored(number)]), second.append([passed(number)]))

    first, second = open_writer(tmp_path, segment_bytes=3_000), open_writer(tmp_path, segment_bytes=3_000)
    asyncio.run(append_all())
    first.close()
    second.close()
    found = verify(tmp_path)
    assert clean(found)
    assert (found.writers, found.records) == (2, 60)


def test_a_wrong_entry_fails_alone(tmp_path: Path) -> None:
    async def append_all() -> list[object]:
        wrong = scored(1, reward=None)
        return await asyncio.gather(
            *(writer.append([entry]) for entry in (scored(0), wrong, scored(2))), return_exceptions=True
        )

    writer = open_writer(tmp_path)
    good, wrong, other = asyncio.run(append_all())
    writer.close()
    assert isinstance(good, list)
    assert isinstance(wrong, ValueError)
    assert isinstance(other, list)
    assert verify(tmp_path).records == 2


def test_a_closed_writer_refuses(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    writer.close()
    writer.close()
    assert not writer.healthy
    with pytest.raises(LedgerUnavailable, match="closed"):
        asyncio.run(writer.append([scored(1)]))


def test_a_name_too_long_for_a_line_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorten"):
        LedgerWriter(tmp_path, verifiers={"v" * 25: {"version": "1", "digest": "x"}}, service_version="0")


def test_a_data_directory_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(LedgerUnavailable, match="cannot be written"):
        open_writer(tmp_path / "file")


def test_fixtures_are_kept_once_and_a_changed_one_stops_its_verdicts(tmp_path: Path) -> None:
    source = tmp_path / "bank.sql"
    source.write_text("CREATE TABLE t(a INT)")
    name = wide(digest(source.read_bytes()))
    task = json.dumps({"fixtures": {"p/bank": name}, "spec": {}, "verifier": "echo"}).encode()
    entry = scored(1, task=task, fixtures={"p/bank": Fixture(source, name)})
    record(tmp_path / "data", [entry, entry], [entry])
    (kept,) = (tmp_path / "data" / "fixtures").iterdir()
    assert kept.read_text() == source.read_text()
    assert clean(verify(tmp_path / "data"))
    source.write_text("CREATE TABLE t(b INT)")
    record(tmp_path / "data", [entry])
    with pytest.raises(LedgerUnavailable, match="restore the file"):
        record(tmp_path / "other", [entry])
    kept.write_text("CREATE TABLE t(c INT)")
    assert any("a fixture was altered" in fault for fault in faults(tmp_path / "data"))
    kept.unlink()
    assert any("a fixture that the line names is missing" in fault for fault in faults(tmp_path / "data"))
