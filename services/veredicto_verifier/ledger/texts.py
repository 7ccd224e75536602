"""Texts by SHA-256 beside the ledger, durable before the line that names them, and removable without touching a line.

One SQLite file. A redacted text leaves a tombstone with the time, and stays redacted if the same text comes again.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

import zstandard

from veredicto_verifier.errors import LedgerFault
from veredicto_verifier.ledger.digests import decode, raw, wide

_SCHEMA = """
CREATE TABLE IF NOT EXISTS texts (
    digest BLOB PRIMARY KEY, coding INTEGER NOT NULL, body BLOB, redacted_ms INTEGER
);
CREATE TABLE IF NOT EXISTS probe (id INTEGER PRIMARY KEY CHECK (id = 0), touched_ns INTEGER NOT NULL);
"""
_PLAIN, _ZSTD = 0, 1
_COMPRESS_FROM_BYTES = 200
_MAX_TEXT_BYTES = 1 << 30
_BUSY_SECONDS = 10.0
_REMEMBERED = 65_536


class Redacted(NamedTuple):
    """What is left of a redacted text."""

    time_ms: int


class TextStore:
    """The file `texts.sqlite` of a data directory. One thread at a time; processes may share the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._stored: OrderedDict[str, None] = OrderedDict()

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open for writing; makes the file if there is none.

        Raises:
            sqlite3.Error: it cannot be opened or is no database.
            OSError: the folder cannot be made.
        """
        folder.mkdir(parents=True, exist_ok=True)
        connection = connect(folder / "texts.sqlite")
        connection.executescript(_SCHEMA)
        return cls(connection)

    @classmethod
    def open_to_read(cls, folder: Path) -> Self:
        """Open an existing file read-only; a copy on a read-only disk works too.

        Raises:
            LedgerFault: there is no file, or SQLite cannot read it.
        """
        path = (folder / "texts.sqlite").absolute()
        if not path.is_file():
            raise LedgerFault(f"{path} is missing: without it no text can be shown or replayed; restore it")
        wal = path.with_name(path.name + "-wal")
        still = "" if wal.exists() and wal.stat().st_size else "&immutable=1"
        for options in ("mode=ro", f"mode=ro{still}"):
            connection = sqlite3.connect(
                f"{path.as_uri()}?{options}", uri=True, timeout=_BUSY_SECONDS, check_same_thread=False
            )
            try:
                connection.execute("SELECT 1 FROM texts LIMIT 1")
            except sqlite3.Error as error:
                connection.close()
                fault = error
            else:
                return cls(connection)
        raise LedgerFault(f"{path} cannot be read: {fault}") from fault

    def put(self, texts: Mapping[str, bytes]) -> None:
        """Make texts durable, in one transaction; those already there (or redacted) are left as they are.

        Raises:
            sqlite3.Error: none of them is stored.
        """
        new = [name for name in texts if name not in self._stored]
        if new:
            compressor = zstandard.ZstdCompressor(level=3)
            rows = [(raw(name), *_coded(texts[name], compressor)) for name in new]
            with transaction(self._connection):
                self._connection.executemany("INSERT OR IGNORE INTO texts(digest, coding, body) VALUES (?, ?, ?)", rows)
        self._remember(texts)

    def get(self, name: str) -> bytes | Redacted | None:
        """The text of a digest, or that it was redacted, or None if it was never stored.

        Raises:
            LedgerFault: what is stored has another digest.
        """
        row = self._connection.execute(
            "SELECT coding, body, redacted_ms FROM texts WHERE digest = ?", (raw(name),)
        ).fetchone()
        if row is None:
            return None
        if row[2] is not None:
            return Redacted(row[2])
        text = _intact(raw(name), row[0], row[1])
        if text is None:
            raise LedgerFault(f"the text stored as {wide(name)} has another content; restore texts.sqlite")
        return text

    def read(self, name: str) -> str | Redacted | None:
        """Like `get`, as text."""
        found = self.get(name)
        return decode(found) if isinstance(found, bytes) else found

    def holds(self, name: str) -> bool | Redacted:
        """Whether a text is there, without reading it."""
        row = self._connection.execute("SELECT redacted_ms FROM texts WHERE digest = ?", (raw(name),)).fetchone()
        return row is not None if row is None or row[0] is None else Redacted(row[0])

    def redact(self, names: Iterable[str], time_ms: int) -> list[str]:
        """Overwrite texts with zeros and leave tombstones; returns those that held a text until now.

        Raises:
            LedgerFault: a reader kept the write-ahead log busy, so old pages may remain there; run it again.
        """
        done = []
        with transaction(self._connection):
            for name in names:
                changed = self._connection.execute(
                    "UPDATE texts SET body = NULL, redacted_ms = ? WHERE digest = ? AND redacted_ms IS NULL",
                    (time_ms, raw(name)),
                )
                if changed.rowcount:
                    done.append(name)
        empty_write_ahead_log(self._connection)
        return done

    def damaged(self) -> Iterator[tuple[int, bytes | None]]:
        """Walk all stored texts: for each `(number so far, None)`, or its digest where the content has another."""
        rows = self._connection.execute("SELECT digest, coding, body FROM texts WHERE redacted_ms IS NULL")
        for number, (name, coding, body) in enumerate(rows, 1):
            yield number, bytes(name) if _intact(name, coding, body) is None else None

    def count(self) -> int:
        """Number of texts stored and not redacted."""
        return int(self._connection.execute("SELECT count(*) FROM texts WHERE redacted_ms IS NULL").fetchone()[0])

    def touch(self) -> None:
        """Make a durable write that changes nothing, to see whether the disk takes one.

        Raises:
            sqlite3.Error: it does not.
        """
        with transaction(self._connection):
            self._connection.execute("INSERT OR REPLACE INTO probe VALUES (0, ?)", (time.time_ns(),))

    def close(self) -> None:
        """Close the file (the last one out empties the write-ahead log)."""
        self._connection.close()

    def _remember(self, names: Iterable[str]) -> None:
        for name in names:
            self._stored[name] = None
            self._stored.move_to_end(name)
        while len(self._stored) > _REMEMBERED:
            self._stored.popitem(last=False)


def connect(path: Path) -> sqlite3.Connection:
    """A connection whose commits are durable on return and whose deletions overwrite what they delete."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def empty_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Move everything into the database file and cut its log to nothing, so that no deleted page remains there.

    Raises:
        LedgerFault: other connections kept it busy.
    """
    busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if busy:
        raise LedgerFault("the text is redacted, but a reader holds the database's log; run the redaction again")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit at the end; roll back when anything is raised."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:  # a full disk may have rolled back already
            connection.execute("ROLLBACK")


def _coded(data: bytes, compressor: zstandard.ZstdCompressor) -> tuple[int, bytes]:
    if len(data) < _COMPRESS_FROM_BYTES:
        return _PLAIN, data
    packed = compressor.compress(data)
    return (_ZSTD, packed) if len(packed) < len(data) else (_PLAIN, data)


def _intact(name: bytes, coding: int, body: bytes) -> bytes | None:
    """The text of a row, or None where it does not have the digest that it is stored under."""
    try:
        text = body if coding == _PLAIN else zstandard.ZstdDecompressor().decompress(body, _MAX_TEXT_BYTES)
        return bytes(text) if hashlib.sha256(text).digest() == name else None
    except (zstandard.ZstdError, TypeError, ValueError):
        return None
