"""Segment files on disk: names, lines, the last whole line of each; read-only and safe on a growing file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from veredicto_verifier.ledger.lines import is_whole

_NAME = re.compile(r"([0-9a-f]{12})-([0-9]{6})\.jsonl")
_BLOCK = 1 << 16


class Segment(NamedTuple):
    """One file `<writer>-<number>.jsonl`; numbers of a writer start at 1 and have no gap."""

    writer: str
    number: int
    path: Path

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name


class Line(NamedTuple):
    """One line of a segment: its position (the header is 0) and its bytes without the newline."""

    seq: int
    data: bytes
    torn: bool = False
    """A last line that has no newline and no valid checksum: it was never answered."""


def lines_folder(folder: Path) -> Path:
    """Where a data directory keeps its segments."""
    return folder / "ledger"


def segment_path(folder: Path, writer: str, number: int) -> Path:
    """The file of one segment of a data directory."""
    return lines_folder(folder) / f"{writer}-{number:06d}.jsonl"


def segments(folder: Path) -> list[Segment]:
    """Every segment of a data directory, by writer and number."""
    if not lines_folder(folder).is_dir():
        return []
    found = [(_NAME.fullmatch(entry.name), entry) for entry in lines_folder(folder).iterdir()]
    return sorted(Segment(name[1], int(name[2]), entry) for name, entry in found if name)


def latest(folder: Path) -> dict[str, Segment]:
    """The last segment of every writer."""
    return {segment.writer: segment for segment in segments(folder)}


def lines(path: Path) -> Iterator[Line]:
    """The lines of a segment, in order; a torn last line is marked."""
    with path.open("rb") as file:
        for seq, data in enumerate(file):
            if data.endswith(b"\n"):
                yield Line(seq, data[:-1])
            else:
                yield Line(seq, data, torn=not is_whole(data))


def line_at(path: Path, seq: int) -> bytes | None:
    """The bytes of one line, or None where the segment does not reach so far."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        for position, data in enumerate(file):
            if position == seq:
                return data.removesuffix(b"\n")
    return None


def last_line(path: Path) -> Line | None:
    """The last whole line of a segment (read from its end), or None if there is none."""
    tail = _tail(path, 2)
    while tail and not is_whole(tail[-1]):
        tail.pop()
    if not tail:
        return None
    found = re.match(rb'\{"n":([0-9]{1,9}),', tail[-1])
    return Line(int(found[1]), tail[-1]) if found else None


def _tail(path: Path, num_lines: int) -> list[bytes]:
    """At most the last `num_lines` lines of a file, without reading all of it; empty ones are left out."""
    data = b""
    with path.open("rb") as file:
        position = file.seek(0, os.SEEK_END)
        while position > 0 and data.count(b"\n") <= num_lines:
            step = min(_BLOCK, position)
            position -= step
            file.seek(position)
            data = file.read(step) + data
    parts = [part for part in data.split(b"\n") if part]
    return parts[-num_lines:]
