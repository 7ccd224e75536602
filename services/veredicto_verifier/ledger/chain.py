"""One writer's chain of segments: append lines so that they are durable on return, rotate, recover from a full disk.

Nothing rewrites a durable line. After a failed write the segment is cut back to its last durable line and closed;
the next append starts a new segment, whose header continues the chain.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from veredicto_verifier.ledger.lines import RecordId, compose, hash_of
from veredicto_verifier.ledger.segments import last_line, latest, lines_folder, segment_path

FORMAT = 1


def now_ms() -> int:
    """Milliseconds since 1970, UTC. The ledger stamps time; no verdict depends on it."""
    return time.time_ns() // 1_000_000


class SegmentChain:
    """The segments that one process writes, under a random writer id. Used by one thread.

    Args:
        folder: the data directory; segments lie in its `ledger/`.
        verifiers: `{name: {"version", "digest"}}` for the headers.
        service_version: for the headers.
        segment_bytes: a segment at least this long is followed by a new one.
        segment_age_s: so is a segment this many seconds old.

    Raises:
        OSError: the folder cannot be made.
    """

    def __init__(
        self,
        folder: Path,
        *,
        verifiers: Mapping[str, Mapping[str, str]],
        service_version: str,
        segment_bytes: int,
        segment_age_s: float,
    ) -> None:
        lines_folder(folder).mkdir(parents=True, exist_ok=True)
        self.writer = secrets.token_hex(6)
        self._folder = folder
        self._facts = {"verifiers": verifiers, "service": service_version}
        self._segment_bytes = segment_bytes
        self._segment_age_s = segment_age_s
        self._segment = 0
        self._previous: str | None = None
        self._seq = 0
        self._durable_bytes = 0
        self._begun = 0.0
        self._file: int | None = None
        self._torn: int | None = None

    def append(self, bodies: Sequence[bytes]) -> list[str]:
        """Chain the lines and make them durable; returns their record ids.

        With no bodies it only makes sure that there is a segment to write to, which tries the disk after a failure.

        Raises:
            OSError: nothing of it counts; the segment is cut back and a later append starts a new one.
        """
        file = self._writable()
        blob, digests = self._compose(bodies)
        if blob:
            with _locked(file):
                self._write(file, blob)
            self._previous = digests[-1]
        first = self._seq + 1
        self._seq += len(bodies)
        self._durable_bytes += len(blob)
        return [str(RecordId.of(self.writer, self._segment, first + i, name)) for i, name in enumerate(digests)]

    def close(self) -> None:
        """Close the open segment."""
        for file in (self._file, self._torn):
            if file is not None:
                os.close(file)
        self._file = self._torn = None

    def _compose(self, bodies: Sequence[bytes]) -> tuple[bytes, list[str]]:
        time_ms, previous = now_ms(), self._previous
        composed, digests = [], []
        for offset, body in enumerate(bodies):
            line = compose(self._seq + 1 + offset, time_ms, previous, body)
            previous = hash_of(line)
            composed.append(line + b"\n")
            digests.append(previous)
        return b"".join(composed), digests

    def _write(self, file: int, blob: bytes) -> None:
        try:
            _write_all(file, blob)
            os.fdatasync(file)
        except OSError:
            self._file, self._torn = None, file
            with contextlib.suppress(OSError):
                self._cut_back()
            raise

    def _writable(self) -> int:
        self._cut_back()
        old = self._durable_bytes >= self._segment_bytes or time.monotonic() - self._begun >= self._segment_age_s
        if self._file is None or (old and self._seq > 0):
            self._begin_segment()
        assert self._file is not None
        return self._file

    def _cut_back(self) -> None:
        """Remove what a failed write left after the last durable line."""
        if self._torn is not None:
            os.ftruncate(self._torn, self._durable_bytes)
            os.fsync(self._torn)
            os.close(self._torn)
            self._torn = None

    def _begin_segment(self) -> None:
        number = self._segment + 1
        path = segment_path(self._folder, self.writer, number)
        header = compose(0, now_ms(), self._previous, self._header(number))
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o640)
        try:
            _write_all(file, header + b"\n")
            os.fsync(file)
            sync_folder(path.parent)
        except OSError:
            os.close(file)
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        if self._file is not None:
            os.close(self._file)
        self._file, self._segment, self._seq = file, number, 0
        self._previous, self._durable_bytes, self._begun = hash_of(header), len(header) + 1, time.monotonic()

    def _header(self, number: int) -> bytes:
        facts = {"kind": "header", "format": FORMAT, "writer": self.writer, "segment": number, **self._facts}
        facts["heads"] = dict(self._heads())
        return json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode("utf-8")[1:-1]

    def _heads(self) -> Iterator[tuple[str, list[object]]]:
        """`writer: [segment, seq, digest]` of the last line of every other writer on disk."""
        for writer, segment in latest(self._folder).items():
            if writer == self.writer:
                continue
            with segment.path.open("rb") as file, _locked(file.fileno(), shared=True):
                os.fsync(file.fileno())  # a killed writer's last line may still be only in memory
                line = last_line(segment.path)
            if line is not None:
                yield writer, [segment.number, line.seq, hash_of(line.data)]


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


@contextlib.contextmanager
def _locked(file: int, *, shared: bool = False) -> Iterator[None]:
    """Hold the segment's lock: a header of another writer must not name a line that a failed write then cuts away."""
    fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
