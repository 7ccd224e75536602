"""The ledger's one writer: takes entries from concurrent requests, makes them durable together, answers record ids.

Order per commit: fixtures, then texts (one SQLite transaction), then lines (one write, one fdatasync). Nothing is
answered before; when the disk refuses, everyone who waits gets `LedgerUnavailable`.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

from veredicto_verifier.errors import LedgerUnavailable
from veredicto_verifier.ledger.chain import SegmentChain
from veredicto_verifier.ledger.fixtures import FixtureStore
from veredicto_verifier.ledger.records import MAX_VERIFIER_NAME_BYTES, Entry, Prepared, prepare
from veredicto_verifier.ledger.texts import TextStore

_RETRY_AFTER_S = 5
_MAX_ENTRIES_A_COMMIT = 8_192


class _Waiting(NamedTuple):
    """One request's entries, and where its record ids go."""

    entries: Sequence[Entry]
    answer: Future[list[str]]


class LedgerWriter:
    """Appends to the ledger of a data directory from one thread, with group commit.

    Args:
        folder: the data directory.
        verifiers: `{name: {"version": …, "digest": …}}`, written into every segment header.
        service_version: written there too.
        segment_bytes: a segment at least this long is followed by a new one.
        segment_age_s: so is a segment this many seconds old.

    Raises:
        LedgerUnavailable: the data directory cannot be written.
        ValueError: a verifier's name is too long for a line.
    """

    def __init__(
        self,
        folder: Path,
        *,
        verifiers: Mapping[str, Mapping[str, str]],
        service_version: str,
        segment_bytes: int = 64 << 20,
        segment_age_s: float = 86_400.0,
    ) -> None:
        long = [name for name in verifiers if len(name.encode()) > MAX_VERIFIER_NAME_BYTES]
        if long:
            raise ValueError(f"verifier names {long} are over {MAX_VERIFIER_NAME_BYTES} bytes; shorten them")
        self._verifiers = frozenset(verifiers)
        try:
            self._texts = TextStore.open(folder)
            self._chain = SegmentChain(
                folder,
                verifiers=verifiers,
                service_version=service_version,
                segment_bytes=segment_bytes,
                segment_age_s=segment_age_s,
            )
        except (OSError, sqlite3.Error) as error:
            raise _unavailable(f"the data directory {folder} cannot be written: {error}") from error
        self._fixtures = FixtureStore(folder)
        self._healthy = True
        self._closed = False
        self._gate = threading.Lock()
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)
        self._thread.start()

    @property
    def healthy(self) -> bool:
        """False from a failed append until one works again (`append([])` tries)."""
        return self._healthy and self._thread.is_alive()

    async def append(self, entries: Sequence[Entry]) -> list[str]:
        """Record verdicts; returns their record ids, in order, once they are durable.

        An empty list makes a small durable write, which tells whether the ledger can be written.

        Raises:
            LedgerUnavailable: nothing of it may be answered.
            ValueError: an entry contradicts the contract.
        """
        waiting = _Waiting(entries, Future())
        with self._gate:
            if self._closed:
                raise _unavailable("the ledger is closed")
            self._queue.put(waiting)
        return await asyncio.wrap_future(waiting.answer)

    def close(self) -> None:
        """Finish what waits, then close the files. Blocks."""
        with self._gate:
            self._closed = True
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            while batch := self._take():
                self._commit(batch)
        finally:
            with self._gate:
                self._closed = True
            while batch := self._drain():
                _refuse(batch, "the ledger is closed")
            self._chain.close()
            self._texts.close()

    def _take(self) -> list[_Waiting]:
        """Wait for a request, then take all that wait with it; empty when the writer closes."""
        first = self._queue.get()
        if first is None:
            return []
        return [first, *self._drain(len(first.entries))]

    def _drain(self, num_entries: int = 0) -> list[_Waiting]:
        batch: list[_Waiting] = []
        while num_entries < _MAX_ENTRIES_A_COMMIT:
            try:
                waiting = self._queue.get_nowait()
            except queue.Empty:
                break
            if waiting is None:  # nothing comes after it: see `close`
                self._queue.put(None)
                break
            batch.append(waiting)
            num_entries += len(waiting.entries)
        return batch

    def _commit(self, batch: Sequence[_Waiting]) -> None:
        ready = [(waiting, lines) for waiting in batch if (lines := self._prepared(waiting)) is not None]
        try:
            ids = iter(self._write([line for _, lines in ready for line in lines]) if ready else ())
        except (OSError, sqlite3.Error) as error:
            self._healthy = False
            _refuse(batch, f"the ledger cannot be written: {error}")
        else:
            self._healthy = self._healthy or bool(ready)
            for waiting, lines in ready:
                waiting.answer.set_result([next(ids) for _ in lines])
        finally:
            _refuse(batch, "the ledger failed")  # nobody is left waiting, whatever was raised

    def _write(self, lines: Sequence[Prepared]) -> list[str]:
        texts = {name: text for line in lines for name, text in line.texts.items()}
        if texts:
            self._texts.put(texts)
        else:
            self._texts.touch()
        return self._chain.append([line.body for line in lines])

    def _prepared(self, waiting: _Waiting) -> list[Prepared] | None:
        """One request's lines, its fixtures made durable; None when it was cancelled or got its own refusal."""
        if not waiting.answer.set_running_or_notify_cancel():
            return None
        try:
            lines = [prepare(entry, self._verifiers) for entry in waiting.entries]
            self._fixtures.put({name: path for line in lines for name, path in line.fixtures.items()})
        except (ValueError, TypeError, LedgerUnavailable) as error:
            waiting.answer.set_exception(error)
        except OSError as error:
            waiting.answer.set_exception(_unavailable(f"a fixture cannot be kept: {error}"))
        else:
            return lines
        return None


def _unavailable(detail: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"{detail}; no verdict is answered without its record, so make the disk writable and send the items again",
        retry_after_s=_RETRY_AFTER_S,
    )


def _refuse(batch: Sequence[_Waiting], detail: str) -> None:
    for waiting in batch:
        if not waiting.answer.done() and (waiting.answer.running() or waiting.answer.set_running_or_notify_cancel()):
            waiting.answer.set_exception(_unavailable(detail))
