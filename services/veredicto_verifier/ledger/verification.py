"""Walk every chain of the ledger and say what does not hold: altered, moved, missing or cut lines, and lost texts.

Found without help: any change before a chain's last line, missing segments, damage of a last line, another writer's
head that is gone, texts that are missing or altered. Found only with a head (`head=`): removal of the newest lines,
or a rewrite of everything after them. What nobody holds a head of can be removed unseen.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from veredicto_verifier.errors import LedgerFault
from veredicto_verifier.ledger.digests import digest, parse, raw, wide
from veredicto_verifier.ledger.fixtures import FixtureStore
from veredicto_verifier.ledger.lines import RecordId, hash_of, is_whole, read_fields
from veredicto_verifier.ledger.records import is_digested
from veredicto_verifier.ledger.segments import Line, Segment, line_at, lines, segment_path, segments
from veredicto_verifier.ledger.texts import Redacted, TextStore

MAX_FAULTS = 100
"""So many are kept; the first ones tell where to look."""

TEXT_FIELDS = ("task", "spec", "prompt", "completion", "messages", "notes")
"""Fields of a line that are digests of texts."""

_UNKNOWN = "unknown"
"""Stands for the hash of a damaged line: the next one cannot be checked against it."""

Progress = Callable[[str, int, int], None]
"""Called with what is being walked, how far, and how much there is."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that does not hold. `line` counts from 1, as an editor does; 0 is the whole file."""

    segment: str
    line: int
    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.segment} line {self.line}: {self.what}: expected {self.expected}, found {self.found}"


@dataclass(slots=True)
class Verification:
    """What a walk found."""

    writers: int = 0
    segments: int = 0
    records: int = 0
    texts: int = 0
    redacted: int = 0
    """Texts and fixtures that were removed on purpose, counted once per line that names them."""
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is odd but explained: a torn last line after a crash."""
    heads: list[str] = field(default_factory=list)
    """The last record of each writer: keep one elsewhere, and `--head` proves later that the ledger still holds it."""

    @property
    def holds(self) -> bool:
        """Whether no fault was found."""
        return not self.faults

    def demand(self) -> None:
        """Raise if there is a fault.

        Raises:
            LedgerFault: with segment, line, expected and found of the first fault.
        """
        if self.faults:
            more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
            raise LedgerFault(f"{self.faults[0]}{more}")


@dataclass(frozen=True, slots=True)
class _Head:
    """A claim that a writer's segment has a line with this digest."""

    writer: str
    segment: int
    seq: int
    digest: str
    claimed_by: str


def verify(
    folder: Path, *, head: str | None = None, with_texts: bool = True, progress: Progress = lambda *_: None
) -> Verification:
    """Walk the ledger of a data directory; it may be written meanwhile.

    Args:
        folder: the data directory.
        head: a record id that somebody holds; the ledger must still contain it.
        with_texts: also read every stored text and compare its digest.
        progress: called as the walk goes on.

    Raises:
        NotFound: `head` is not a record id.
        LedgerFault: the texts cannot be read at all.
    """
    anchor = RecordId.parse(head) if head else None
    walk = _Walk(folder, progress)
    walk.chains()
    walk.claimed_heads()
    if anchor:
        walk.anchor(anchor)
    if with_texts and walk.found.segments:
        walk.stored_texts()
    return walk.found


class _Walk:
    """One walk: collects faults, and the heads that headers claim of other writers."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self.found = Verification()
        self._folder = folder
        self._progress = progress
        self._claims: list[_Head] = []
        self._fixtures = FixtureStore(folder)
        self._texts: TextStore | None = None
        self._known_tasks: dict[str, tuple[str, ...]] = {}

    def chains(self) -> None:
        """Every writer's segments in order, from the first header to the last line."""
        found = segments(self._folder)
        if not found:
            return
        self._texts = TextStore.open_to_read(self._folder)
        for number, (_, group) in enumerate(groupby(found, key=lambda segment: segment.writer)):
            self.found.writers += 1
            self._chain(list(group), done=number, total=len({segment.writer for segment in found}))

    def claimed_heads(self) -> None:
        """What headers say of other writers' chains, read after all segments so that growing ones have it by now."""
        by_segment: dict[tuple[str, int], list[_Head]] = defaultdict(list)
        for claim in self._claims:
            by_segment[claim.writer, claim.segment].append(claim)
        for (writer, number), claims in by_segment.items():
            path = segment_path(self._folder, writer, number)
            wanted = {claim.seq for claim in claims}
            there = {line.seq: hash_of(line.data) for line in _lines_or_none(path) if line.seq in wanted}
            for claim in claims:
                if there.get(claim.seq) != claim.digest:
                    what = f"the header of {claim.claimed_by} saw another line here, so this chain was cut or rewritten"
                    self._fault(path.name, claim.seq + 1, what, claim.digest, there.get(claim.seq, "no such line"))

    def anchor(self, head: RecordId) -> None:
        """The head that somebody holds."""
        path = segment_path(self._folder, head.writer, head.segment)
        line = line_at(path, head.seq)
        found = "no such line" if line is None else raw(digest(line)).hex()[:16]
        if found != head.hash16:
            self._fault(path.name, head.seq + 1, f"the record {head} is gone or altered", head.hash16, found)

    def stored_texts(self) -> None:
        """Every stored text and fixture against the digest it is stored under."""
        assert self._texts is not None
        total = self._texts.count()
        for number, damaged in self._texts.damaged():
            self.found.texts = number
            if damaged is not None:
                self._fault("texts.sqlite", 0, "a text was altered", "sha256:" + damaged.hex(), "other content")
            if number % 1_000 == 0:
                self._progress("texts", number, total)
        for name in self._fixtures.damaged():
            self._fault(f"fixtures/{name}", 0, "a fixture was altered", wide(name), "other content")
        self._texts.close()

    def _chain(self, own: Sequence[Segment], *, done: int, total: int) -> None:
        previous: str | None = None
        for position, segment in enumerate(own, 1):
            if segment.number != position:
                what = "a segment is missing before this one"
                self._fault(segment.name, 0, what, f"segment {position} of writer {segment.writer}", segment.name)
                return
            previous = self._segment(segment, previous, is_last=segment is own[-1])
            self._progress("chains", done, total)

    def _segment(self, segment: Segment, previous: str | None, *, is_last: bool) -> str | None:
        """Check one file's lines; returns what the next segment's header has to name."""
        self.found.segments += 1
        seq = -1
        for line in lines(segment.path):
            if line.torn and is_last:
                self._torn(segment, line)
                break
            seq = line.seq
            previous = self._line(segment, line, previous)
        if seq < 0 and not is_last:
            self._fault(segment.name, 0, "the segment is empty", "a header", "no whole line")
        if is_last and seq > 0 and previous not in (None, _UNKNOWN):
            self.found.heads.append(str(RecordId.of(segment.writer, segment.number, seq, str(previous))))
        return previous

    def _line(self, segment: Segment, line: Line, previous: str | None) -> str:
        """Check one line; returns the hash that the next one has to name."""
        at = (segment.name, line.seq + 1)
        if not is_whole(line.data):
            what = "the line was altered or damaged"
            self._fault(*at, what, "a line that fits its checksum", f"{line.data[-30:]!r} at its end")
            return _UNKNOWN
        try:
            fields = read_fields(line.data)
        except ValueError as error:
            self._fault(*at, "the line is not JSON", "one JSON object", str(error)[:100])
            return _UNKNOWN
        if previous not in (fields.get("prev"), _UNKNOWN):
            what = "the chain is broken: the line before was altered, moved or removed, or this one was put in"
            self._fault(*at, what, f"a line before with hash {fields.get('prev')}", f"hash {previous}")
        if fields.get("n") != line.seq:
            self._fault(*at, "the line is not where it was written", f"position {fields.get('n')}", f"{line.seq}")
        if line.seq == 0:
            self._header(segment, fields)
        else:
            self.found.records += 1
            self._named_texts(at, fields)
        return hash_of(line.data)

    def _header(self, segment: Segment, fields: dict[str, Any]) -> None:
        named = (fields.get("kind"), fields.get("writer"), fields.get("segment"))
        if named != ("header", segment.writer, segment.number):
            expected = f"the header of {segment.name}"
            self._fault(segment.name, 1, "the file was renamed or replaced", expected, str(named)[:100])
            return
        for writer, (number, seq, name) in fields["heads"].items():
            self._claims.append(_Head(writer, number, seq, name, segment.name))

    def _torn(self, segment: Segment, line: Line) -> None:
        self.found.notes.append(
            f"{segment.name} ends in {len(line.data)} bytes that are no whole line: a write that is going on, or that "
            f"a crash cut short, so never answered. A record id beyond line {line.seq} that somebody holds says "
            "otherwise: check it with --head"
        )

    def _named_texts(self, at: tuple[str, int], fields: dict[str, Any]) -> None:
        assert self._texts is not None
        for name in digests_in(fields):
            self._present(at, "text", name, self._texts.holds(name))
        for name in self._fixtures_of(fields.get("task")):
            self._present(at, "fixture", name, self._fixtures.holds(name))

    def _present(self, at: tuple[str, int], what: str, name: str, there: bool | Redacted) -> None:
        if isinstance(there, Redacted):
            self.found.redacted += 1
        elif not there:
            self._fault(*at, f"a {what} that the line names is missing", wide(name), "neither content nor tombstone")

    def _fixtures_of(self, task: str | None) -> tuple[str, ...]:
        if task is None:
            return ()
        if task not in self._known_tasks:
            assert self._texts is not None
            text = self._texts.get(task) if self._texts.holds(task) is True else None
            self._known_tasks[task] = fixtures_in(text) if isinstance(text, bytes) else ()
        return self._known_tasks[task]

    def _fault(self, segment: str, line: int, what: str, expected: str, found: str) -> None:
        if len(self.found.faults) < MAX_FAULTS:
            self.found.faults.append(Fault(segment, line, what, expected, found))


def digests_in(fields: Mapping[str, Any]) -> list[str]:
    """Every text that a line names, in short form."""
    named = [fields[key] for key in TEXT_FIELDS if key in fields]
    short = [fields.get(key) for key in ("run", "request", "item", "group", "category")]
    short += [check.get(key) for check in fields.get("checks", ()) for key in ("name", "code")]
    return named + [str(name).removeprefix("sha256:") for name in short if is_digested(name)]


def fixtures_in(task: bytes) -> tuple[str, ...]:
    """The digests of the fixtures that a canonical task names, in short form."""
    return tuple(parse(name) for name in json.loads(task).get("fixtures", {}).values())


def _lines_or_none(path: Path) -> Iterator[Line]:
    return lines(path) if path.is_file() else iter(())
