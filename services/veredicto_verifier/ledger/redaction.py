"""Remove texts from beside the ledger on request; the chain stays whole, and a tombstone tells when it was done."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veredicto_verifier.errors import LedgerFault, NotFound
from veredicto_verifier.ledger.chain import now_ms
from veredicto_verifier.ledger.digests import parse, wide
from veredicto_verifier.ledger.fixtures import FixtureStore
from veredicto_verifier.ledger.idempotency import IdempotencyStore
from veredicto_verifier.ledger.lines import RecordId, hash_of, is_whole, read_fields
from veredicto_verifier.ledger.segments import line_at, lines, segment_path, segments
from veredicto_verifier.ledger.texts import TextStore

_OF_A_RECORD = ("prompt", "completion", "messages", "notes")
_ECHOED = ("completion", "messages")


@dataclass(frozen=True, slots=True)
class Redaction:
    """What a redaction removed. `records` are all that named one of the texts, so they show less from now on."""

    digests: tuple[str, ...]
    records: tuple[str, ...]
    answers: int
    """Answers under an Idempotency-Key that held one of the records."""


def redact(folder: Path, what: str) -> Redaction:
    """Remove a text (by digest) or the texts of a record (prompt, completion, answer and reasons; not its task).

    With a completion go the notes of every record that has it, since they echo it. A text that several records
    share is gone for all of them, and stays redacted when it comes again.

    Args:
        folder: the data directory.
        what: a digest in either form, or a record id.

    Raises:
        NotFound: the ledger names no such digest or record.
        LedgerFault: the texts cannot be overwritten fully now; run it again.
    """
    wanted = _wanted(folder, what)
    for _, fields in _records(folder):
        if wanted & _named(fields, _ECHOED):
            wanted |= _named(fields, ("notes",))
    named = (*_OF_A_RECORD, "task", "spec")
    return _remove(
        folder, sorted(wanted), [record for record, fields in _records(folder) if wanted & _named(fields, named)]
    )


def _remove(folder: Path, names: list[str], records: list[str]) -> Redaction:
    time_ms = now_ms()
    if not (folder / "texts.sqlite").is_file():
        raise LedgerFault(f"{folder} holds no texts.sqlite; give the service's data directory")
    with closing(TextStore.open(folder)) as texts:
        known = [name for name in names if texts.holds(name) is not False]
        done = texts.redact(known, time_ms)
    fixtures = FixtureStore(folder)
    files = [name for name in names if fixtures.holds(name) is not False]
    done += [name for name in files if fixtures.redact(name, time_ms)]
    if not known and not files:
        raise NotFound(
            "the ledger holds no text or fixture of this digest; `audit show RECORD` gives a record's digests"
        )
    return Redaction(tuple(wide(name) for name in done), tuple(records), _forget_answers(folder, records))


def _forget_answers(folder: Path, records: list[str]) -> int:
    if not (folder / "idempotency.sqlite").is_file():
        return 0
    with closing(IdempotencyStore(folder)) as answers:
        return answers.forget(records)


def _texts_of_record(folder: Path, record: RecordId) -> set[str]:
    line = line_at(segment_path(folder, record.writer, record.segment), record.seq)
    if line is None or RecordId.of(*record[:3], hash_of(line)) != record:
        raise NotFound(f"the ledger holds no record {record}")
    return _named(read_fields(line), _OF_A_RECORD)


def _records(folder: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    for segment in segments(folder):
        for line in lines(segment.path):
            if line.seq > 0 and is_whole(line.data):
                record = RecordId.of(segment.writer, segment.number, line.seq, hash_of(line.data))
                yield str(record), read_fields(line.data)


def _named(fields: dict[str, Any], keys: Iterable[str]) -> set[str]:
    return {fields[key] for key in keys if key in fields}


def _wanted(folder: Path, what: str) -> set[str]:
    try:
        return {parse(what)}
    except ValueError as error:
        try:
            record = RecordId.parse(what)
        except NotFound:
            raise NotFound(f"{error}; or give a record id") from error
        return _texts_of_record(folder, record)
