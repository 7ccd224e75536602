"""What a ledger line holds, and how long it may get."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ledger.entries import VERIFIERS, flagged, passed, refused, scored
from veredicto_verifier.ledger.digests import digest, encode, parse, wide
from veredicto_verifier.ledger.lines import compose, hash_of, is_whole, read_fields
from veredicto_verifier.ledger.records import (
    MAX_LINE_BYTES,
    MAX_VERIFIER_NAME_BYTES,
    Entry,
    Failure,
    exact_spec,
    prepare,
)
from veredicto_verifier.verifier import Check, Flag

ODD_TEXT = st.text(st.characters(exclude_categories=()), max_size=120)
WORST_NAMES = ["x" * 256, "ñ" * 200, "\U0001f600" * 60, '"' * 40, "\\" * 40, "\x00" * 8, "\ud800", "x" * 40, "ñ" * 20]


def ascii_id(name: str) -> str:
    return f"{len(name)}-{name[0]!a}"


LONGEST_NAME = "v" * MAX_VERIFIER_NAME_BYTES


def line_of(entry: Entry, seq: int = 99_999_999) -> bytes:
    return compose(seq, 9_999_999_999_999, digest(b"before"), prepare(entry, {*VERIFIERS, LONGEST_NAME}).body) + b"\n"


def bytes_without_checks(entry: Entry) -> int:
    line = line_of(entry)
    checks = read_fields(line).get("checks")
    written = json.dumps(checks, ensure_ascii=False, separators=(",", ":"))
    return len(line) - (len(f',"checks":{written}'.encode()) if checks else 0)


def worst(name: str, **changes: Any) -> Entry:
    names = dict.fromkeys(("request_id", "run", "item_id", "group", "category"), name)
    return scored(
        **names,
        step=10**15 - 1,
        phase="probe",
        policy_version=10**15 - 1,
        metadata={"key": "v" * 900},
        prompt="p" * 5000,
        completion="c" * 5000,
        answer="a" * 5000,
        spec=b'{"exact":1.0}',
        reward=0.30000000000000004,
        checks=tuple(Check(f"echo.{i}", False, 0.1 + 0.2, f"echo.code_{i}", "r" * 300, 0.7) for i in range(30)),
        flags=tuple(Flag(f"a_rather_long_flag_name_{i}", "e" * 300) for i in range(12)),
        cached=True,
        verifier=LONGEST_NAME,
        queue_ms=86_399_999.9,
        exec_ms=86_399_999.9,
        **changes,
    )


@pytest.mark.parametrize("name", WORST_NAMES, ids=ascii_id)
def test_the_worst_scored_line_stays_within_its_limit(name: str) -> None:
    assert bytes_without_checks(worst(name)) <= MAX_LINE_BYTES


@pytest.mark.parametrize("name", WORST_NAMES, ids=ascii_id)
@pytest.mark.parametrize("code", ["task.unknown_verifier", "infra.worker_lost"])
def test_the_worst_refused_line_stays_within_its_limit(name: str, code: str) -> None:
    outcome = "infra_error" if code.startswith("infra") else "invalid_task"
    changes = {"outcome": outcome, "reward": None, "passed": None, "answer": None, "checks": (), "flags": ()}
    for verifier in (LONGEST_NAME, name):
        whole = worst(name)
        facts = {field: getattr(whole, field) for field in whole.__slots__}
        entry = Entry(**{**facts, **changes, "verifier": verifier, "error": Failure(code, "m" * 5000)})
        assert bytes_without_checks(entry) <= MAX_LINE_BYTES


def test_a_usual_line_keeps_everything_askable_in_the_line() -> None:
    uuid = "0b9f7a3e-8f3d-4a51-9d62-7a1e3f0c9b11"
    line = read_fields(line_of(flagged(request_id=uuid, group=uuid, item_id="s-17", metadata={"k": 1})))
    assert {"run", "step", "request", "item", "group", "policy", "category", "flags", "verifier", "task"} <= set(line)
    assert len(line_of(flagged())) < MAX_LINE_BYTES


def test_defaults_and_nulls_are_left_out() -> None:
    line = read_fields(line_of(Entry(request_id="r", outcome="scored", reward=1.0, passed=True)))
    assert set(line) == {"n", "t", "prev", "request", "reward", "passed", "ms", "crc"}


def test_no_text_of_a_verdict_stands_in_its_line() -> None:
    entry = flagged(
        prompt="PROMPT-TEXT", completion="COMPLETION-TEXT", answer="ANSWER-TEXT", metadata={"who": "METADATA-TEXT"}
    )
    lines = [line_of(entry), line_of(refused())]
    for text in (b"-TEXT", b"GOLD-7431", b"another value", b"it is 0", b"could not be judged"):
        assert all(text not in line for line in lines)


def test_everything_left_out_of_a_line_is_in_a_text_that_it_names() -> None:
    entry = worst("x" * 256)
    prepared = prepare(entry, VERIFIERS)
    fields = read_fields(compose(1, 0, None, prepared.body))
    notes = json.loads(prepared.texts[fields["notes"]])
    told = {**fields, **notes}
    assert prepared.texts[parse(told["run"])] == b"x" * 256
    assert prepared.texts[parse(told["item"])] == b"x" * 256
    assert told["flags"] == [flag.name for flag in entry.flags]
    assert told["policy"] == 10**15 - 1
    assert notes["answer"] == entry.answer
    assert notes["metadata"] == entry.metadata
    assert notes["reasons"] == [check.reason for check in entry.checks]
    assert prepared.texts[fields["completion"]] == b"c" * 5000


@pytest.mark.parametrize(
    ("raw", "is_kept"),
    [
        ({"a": 1, "b": [0.5, "1.0", None, True, 2**53 - 1]}, False),
        ({"a": {"b": [1.0]}}, True),
        ({"a": [2**53]}, True),
        ({"a": -(2**60)}, True),
    ],
)
def test_a_spec_is_kept_where_its_canonical_form_would_not_read_back_equal(raw: dict[str, Any], is_kept: bool) -> None:
    kept = exact_spec(raw)
    assert (kept is not None) == is_kept
    if kept is not None:
        back = json.loads(kept)
        assert (back, repr(back)) == (raw, repr(raw))


def test_numbers_beyond_a_line_stand_in_the_notes() -> None:
    prepared = prepare(scored(step=10**4000, policy_version=10**15), VERIFIERS)
    notes = json.loads(prepared.texts[read_fields(compose(1, 0, None, prepared.body))["notes"]], parse_int=str)
    assert notes["step"] == "1" + "0" * 4000
    assert notes["policy"] == str(10**15)


@given(ODD_TEXT, ODD_TEXT, ODD_TEXT)
def test_any_text_gives_a_line_of_plain_utf8_and_comes_back(name: str, text: str, reason: str) -> None:
    checks = (Check(f"echo.{name}", False, 0.0, "echo.other", reason),)
    prepared = prepare(scored(run=name, group=name, completion=text, answer=text, checks=checks), VERIFIERS)
    line = compose(1, 0, None, prepared.body)
    fields = json.loads(line.decode("utf-8"))
    assert prepared.texts[fields["completion"]] == encode(text)
    assert json.loads(prepared.texts[fields["notes"]].decode("utf-8", "surrogatepass"))["answer"] == text
    assert fields["run"] == name or prepared.texts[parse(fields["run"])] == encode(name)
    assert b"\n" not in line


@given(st.binary(max_size=200), st.integers(0, 10_000))
def test_a_flipped_byte_breaks_the_checksum_of_a_line(text: bytes, position: int) -> None:
    line = compose(1, 0, None, b'"x":"' + text.hex().encode() + b'"')
    place = position % len(line)
    for bit in range(8):
        flipped = line[:place] + bytes([line[place] ^ 1 << bit]) + line[place + 1 :]
        assert is_whole(line)
        assert not is_whole(flipped)


@pytest.mark.parametrize(
    "changes",
    [
        {"reward": None},
        {"passed": None},
        {"error": Failure("task.malformed", "x")},
        {"outcome": "invalid_task"},
        {"reward": float("nan")},
    ],
)
def test_an_entry_that_contradicts_the_contract_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"outcome|reward|JSON"):
        prepare(scored(**changes), VERIFIERS)


def test_an_error_code_belongs_to_its_outcome() -> None:
    with pytest.raises(ValueError, match="does not belong"):
        prepare(refused(outcome="infra_error"), VERIFIERS)


def test_a_digest_is_read_in_every_form() -> None:
    name = digest(b"text")
    assert {parse(form) for form in (name, wide(name), wide(name)[7:], f"sha256:{name}")} == {name}
    with pytest.raises(ValueError, match="is not a digest"):
        parse("sha256:abc")


def test_a_line_is_hashed_as_written() -> None:
    line = line_of(passed())[:-1]
    respaced = json.dumps(json.loads(line)).encode()
    assert hash_of(line) != hash_of(respaced)
