"""Answers kept for 24 hours under their `Idempotency-Key`: a retry gets the same records, also after a restart."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import zstandard

from veredicto_verifier.errors import KeyReused, LedgerUnavailable
from veredicto_verifier.ledger.digests import digest, encode
from veredicto_verifier.ledger.texts import connect, empty_write_ahead_log, transaction

KEEP_SECONDS = 86_400.0
_PURGE_EVERY_SECONDS = 600.0
_MAX_ANSWER_BYTES = 1 << 30
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, body_digest TEXT NOT NULL, stored_s REAL NOT NULL, answer BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS answers_by_age ON answers(stored_s);
"""


T = TypeVar("T")


@dataclass(slots=True)
class _Running:
    """A request under a key that has not been answered yet."""

    body_digest: str
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class IdempotencyStore:
    """The file `idempotency.sqlite` of a data directory; used from one event loop.

    Args:
        folder: the data directory.
        keep_s: seconds for which an answer is kept.
        now: seconds since 1970.

    Raises:
        LedgerUnavailable: the file cannot be opened.

    Example: `answer = await store.answer(key, digest_of_body, score_and_record)`
    """

    def __init__(self, folder: Path, *, keep_s: float = KEEP_SECONDS, now: Callable[[], float] = time.time) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._connection = connect(folder / "idempotency.sqlite")
            self._connection.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise LedgerUnavailable(f"the idempotency store in {folder} cannot be opened: {error}") from error
        self._keep_s = keep_s
        self._now = now
        self._purge_due = 0.0
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="idempotency")
        self._running: dict[str, _Running] = {}

    async def answer(self, key: str, body_digest: str, produce: Callable[[], Awaitable[bytes]]) -> tuple[bytes, bool]:
        """The answer to a request under a key: the stored one, or a new one that is stored before it is returned.

        Args:
            key: the header's value, prefixed by the caller's identity where keys are per caller.
            body_digest: digest of everything that shapes the answer (body, `Accept`).
            produce: scores, appends to the ledger and gives the response body.

        Returns:
            The response body, and whether it was stored before.

        Raises:
            KeyReused: the key came with another body within the last 24 hours.
            LedgerUnavailable: the answer could not be stored.
        """
        name = digest(encode(key))
        while running := self._running.get(name):
            _demand_same(running.body_digest, body_digest)
            await running.ended.wait()
        running = self._running[name] = _Running(body_digest)
        try:
            stored = await self._off_loop(self._load, name, body_digest)
            if stored is not None:
                return stored, True
            answer = await produce()
            await self._off_loop(self._store, name, body_digest, answer)
        except sqlite3.Error as error:
            raise LedgerUnavailable(f"the answer cannot be kept under its Idempotency-Key: {error}") from error
        else:
            return answer, False
        finally:
            del self._running[name]
            running.ended.set()

    def forget(self, record_ids: Collection[str]) -> int:
        """Remove every stored answer that holds one of these records (redaction); returns how many."""
        wanted = [encode(record) for record in record_ids]
        with self._lock:
            rows = self._connection.execute("SELECT key, answer FROM answers").fetchall()
            keys = [(key,) for key, answer in rows if _holds_any(_unpacked(answer), wanted)]
            with transaction(self._connection):
                self._connection.executemany("DELETE FROM answers WHERE key = ?", keys)
            empty_write_ahead_log(self._connection)
        return len(keys)

    def close(self) -> None:
        """Close the file."""
        self._thread.shutdown()
        with self._lock:
            self._connection.close()

    def _off_loop(self, call: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """Run a blocking call on the store's own thread, where no slow query can hold it up."""
        return asyncio.get_running_loop().run_in_executor(self._thread, call, *args)

    def _load(self, name: str, body_digest: str) -> bytes | None:
        with self._lock:
            self._purge()
            row = self._connection.execute(
                "SELECT body_digest, answer FROM answers WHERE key = ? AND stored_s > ?",
                (name, self._now() - self._keep_s),
            ).fetchone()
        if row is None:
            return None
        _demand_same(row[0], body_digest)
        return _unpacked(row[1])

    def _store(self, name: str, body_digest: str, answer: bytes) -> None:
        row = (name, body_digest, self._now(), zstandard.ZstdCompressor(level=3).compress(answer))
        with self._lock, transaction(self._connection):
            self._connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", row)

    def _purge(self) -> None:
        now = self._now()
        if now >= self._purge_due:
            with transaction(self._connection):
                self._connection.execute("DELETE FROM answers WHERE stored_s <= ?", (now - self._keep_s,))
            self._purge_due = now + _PURGE_EVERY_SECONDS


def _demand_same(stored: str, given: str) -> None:
    if stored != given:
        raise KeyReused("this Idempotency-Key came with another body in the last 24 hours; take a new key")


def _holds_any(answer: bytes, wanted: Collection[bytes]) -> bool:
    return any(record in answer for record in wanted)


def _unpacked(answer: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(answer, max_output_size=_MAX_ANSWER_BYTES)
