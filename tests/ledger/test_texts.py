"""Texts beside the ledger, and their redaction."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ledger.entries import open_writer, record, scored
from veredicto_verifier.errors import LedgerFault, NotFound
from veredicto_verifier.ledger.digests import digest, wide
from veredicto_verifier.ledger.idempotency import IdempotencyStore
from veredicto_verifier.ledger.reading import LedgerReader
from veredicto_verifier.ledger.redaction import redact
from veredicto_verifier.ledger.texts import Redacted, TextStore
from veredicto_verifier.ledger.verification import verify
from veredicto_verifier.verifier import Check, Fixture, Flag

NOISE = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=150))
"""Too random and too short to be compressed, so that it can be looked for in the files."""


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.binary(max_size=600), min_size=1, max_size=6))
def test_texts_come_back_by_digest(tmp_path_factory: pytest.TempPathFactory, texts: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("texts")
    store = TextStore.open(folder)
    store.put({digest(text): text for text in texts})
    store.put({digest(text): text for text in texts})
    store.close()
    store = TextStore.open_to_read(folder)
    assert [store.get(digest(text)) for text in texts] == texts
    assert store.get(digest(b"never stored" * 99)) is None
    assert store.count() == len(set(texts))
    store.close()


def test_a_text_is_on_disk_before_its_line(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    (name,) = asyncio.run(writer.append([scored(1)]))
    other = sqlite3.connect(tmp_path / "texts.sqlite")
    assert other.execute("SELECT count(*) FROM texts").fetchone()[0] == 4
    other.close()
    assert LedgerReader(tmp_path).record(name).completion == "I think it is 1."
    writer.close()


def test_an_altered_text_is_found_and_never_shown(tmp_path: Path) -> None:
    (name,) = record(tmp_path, [scored(1)])
    database = sqlite3.connect(tmp_path / "texts.sqlite")
    database.execute(
        "UPDATE texts SET body = CAST('I think it is 9.' AS BLOB) WHERE body = CAST('I think it is 1.' AS BLOB)"
    )
    database.commit()
    database.close()
    (fault,) = verify(tmp_path).faults
    assert "a text was altered" in str(fault)
    assert verify(tmp_path, with_texts=False).holds
    with pytest.raises(LedgerFault, match="another content"):
        LedgerReader(tmp_path).record(name)


def test_a_missing_text_is_a_fault_and_a_missing_store_too(tmp_path: Path) -> None:
    (name,) = record(tmp_path, [scored(1)])
    database = sqlite3.connect(tmp_path / "texts.sqlite")
    database.execute("DELETE FROM texts WHERE body = CAST('I think it is 1.' AS BLOB)")
    database.commit()
    database.close()
    (fault,) = verify(tmp_path).faults
    assert "missing" in fault.what
    assert fault.expected == wide(digest(b"I think it is 1."))
    assert fault.line == 2
    assert LedgerReader(tmp_path).record(name).missing == ("completion",)
    (tmp_path / "texts.sqlite").unlink()
    with pytest.raises(LedgerFault, match="is missing"):
        verify(tmp_path)


def secret_entry() -> dict[str, object]:
    return {
        "prompt": f"prompt {NOISE}",
        "completion": f"completion {NOISE}",
        "answer": NOISE,
        "metadata": {"who": NOISE},
        "checks": (Check("echo.value", False, 0.0, "echo.other", f"saw {NOISE}"),),
        "flags": (Flag("lucky", NOISE),),
    }


def bytes_on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_redacting_a_record_removes_every_echo_and_leaves_the_chain_whole(tmp_path: Path) -> None:
    ids = record(tmp_path, [scored(0), scored(1, **secret_entry()), scored(2, completion=f"completion {NOISE}")])
    store = IdempotencyStore(tmp_path)

    async def answer() -> bytes:
        return json.dumps({"answer": NOISE, "record": ids[1]}).encode()

    asyncio.run(store.answer("key", "body", answer))
    store.close()
    assert NOISE.encode() in bytes_on_disk(tmp_path)
    found = redact(tmp_path, ids[1])
    assert NOISE.encode() not in bytes_on_disk(tmp_path)
    assert set(found.records) == {ids[1], ids[2]}
    assert found.answers == 1
    assert len(found.digests) == 4
    verified = verify(tmp_path, head=ids[2])
    assert verified.holds
    assert verified.redacted == 5
    detail = LedgerReader(tmp_path).record(ids[1])
    assert (detail.prompt, detail.completion, detail.answer, detail.metadata) == (None, None, None, None)
    assert set(detail.redacted) == {"prompt", "completion", "notes"}
    assert detail.checks[0]["code"] == "echo.other"
    assert LedgerReader(tmp_path).record(ids[0]).completion == "I think it is 0."


def test_a_redacted_text_stays_redacted_when_it_comes_again(tmp_path: Path) -> None:
    record(tmp_path, [scored(1)])
    name = wide(digest(b"I think it is 1."))
    assert name in redact(tmp_path, name).digests
    assert redact(tmp_path, name).digests == ()
    (again,) = record(tmp_path, [scored(1)])
    assert LedgerReader(tmp_path).record(again).completion is None
    assert b"I think it is 1." not in bytes_on_disk(tmp_path)
    store = TextStore.open_to_read(tmp_path)
    assert isinstance(store.get(digest(b"I think it is 1.")), Redacted)
    store.close()


def test_redaction_works_beside_a_running_writer(tmp_path: Path) -> None:
    writer = open_writer(tmp_path)
    asyncio.run(writer.append([scored(1, **secret_entry())]))
    redact(tmp_path, wide(digest(f"completion {NOISE}".encode())))
    asyncio.run(writer.append([scored(2)]))
    writer.close()
    assert verify(tmp_path).holds
    assert bytes_on_disk(tmp_path).count(NOISE.encode()) == 1, "the prompt only"


def test_a_task_and_a_fixture_can_be_redacted(tmp_path: Path) -> None:
    source = tmp_path / "bank.sql"
    source.write_text(NOISE)
    name = wide(digest(NOISE.encode()))
    task = json.dumps({"fixtures": {"p/bank": name}, "spec": {}, "verifier": "echo"}).encode()
    record(tmp_path / "data", [scored(1, task=task, fixtures={"p/bank": Fixture(source, name)})])
    assert redact(tmp_path / "data", name).digests == (name,)
    assert NOISE.encode() not in bytes_on_disk(tmp_path / "data")
    record(tmp_path / "data", [scored(1, task=task, fixtures={"p/bank": Fixture(source, name)})])
    assert NOISE.encode() not in bytes_on_disk(tmp_path / "data")
    assert verify(tmp_path / "data").holds
    assert redact(tmp_path / "data", wide(digest(task))).digests == (wide(digest(task)),)
    assert verify(tmp_path / "data").holds


@pytest.mark.parametrize("what", ["x", "sha256:" + "0" * 64, "0123456789ab-1-1-0123456789abcdef"])
def test_what_the_ledger_does_not_hold_cannot_be_redacted(tmp_path: Path, what: str) -> None:
    record(tmp_path, [scored(1)])
    with pytest.raises(NotFound):
        redact(tmp_path, what)
