"""Score recorded items again and compare: same verifier digest and another verdict is a fault, another digest is drift.

Timings are not compared. A verdict near its limit, and one that failed for our own reasons, is counted apart.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veredicto_verifier.ledger.digests import decode, parse, wide
from veredicto_verifier.ledger.fixtures import FixtureStore
from veredicto_verifier.ledger.lines import RecordId, hash_of, is_whole, read_fields
from veredicto_verifier.ledger.records import check_name, identifier
from veredicto_verifier.ledger.rows import checks_of, outcome_of
from veredicto_verifier.ledger.segments import lines, segments
from veredicto_verifier.ledger.texts import TextStore
from veredicto_verifier.verifier import Check, Fixture, Flag

_BATCH = 256
NEAR_LIMIT = "near_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayItem:
    """One recorded item to score again."""

    record: str
    verifier: str
    spec: Mapping[str, Any]
    """As it came where that was kept, else as the canonical task holds it (defaults left out)."""
    fixtures: Mapping[str, Fixture]
    """The pack fixtures that the task names, from beside the ledger."""
    completion: str
    """Text, or canonical JSON of messages."""
    completion_is_messages: bool
    task_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayVerdict:
    """Today's verdict on a `ReplayItem`; `error` is the code."""

    outcome: str
    reward: float | None = None
    checks: tuple[Check, ...] = ()
    flags: tuple[Flag, ...] = ()
    error: str | None = None
    verifier_digest: str


Rescore = Callable[[Sequence[ReplayItem]], Awaitable[Sequence[ReplayVerdict]]]
"""Scores items without recording them: same length, same order."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One record whose verdict is another one today."""

    record: str
    verifier: str
    recorded_digest: str
    current_digest: str
    what: tuple[str, ...]


@dataclass(slots=True)
class Replay:
    """What a replay found. Every selected record is in exactly one of the counts."""

    equal: int = 0
    faults: list[Difference] = field(default_factory=list)
    """Same verifier digest, another verdict."""
    drift: list[Difference] = field(default_factory=list)
    """Another verifier digest, another verdict."""
    near_limit_equal: int = 0
    near_limit_different: int = 0
    """A verdict that came close to its time limit, then or now."""
    was_infra: int = 0
    """Recorded as `infra_error`: there is no verdict to compare with."""
    unjudged: list[str] = field(default_factory=list)
    """Records that ended as `infra_error` now: replay them again."""
    redacted: int = 0
    missing: list[str] = field(default_factory=list)
    """Records whose texts are gone without a tombstone: `verify` says which."""
    without_task: int = 0
    """Items too malformed to have a task or a completion."""

    @property
    def records(self) -> int:
        """Number of records selected."""
        counts = self.equal + self.near_limit_equal + self.near_limit_different + self.was_infra + self.redacted
        lists = (self.faults, self.drift, self.unjudged, self.missing)
        return counts + self.without_task + sum(len(found) for found in lists)

    @property
    def holds(self) -> bool:
        """Whether every record that can be compared was, and none under its own digest differs."""
        return not (self.faults or self.unjudged or self.missing)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A line, and what its segment's header says of its verifier."""

    record: str
    fields: Mapping[str, Any]
    verifier_digest: str


async def replay(
    folder: Path,
    rescore: Rescore,
    *,
    run: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Replay:
    """Score recorded items again and compare reward, checks (name, code, score), flags, outcome and error code.

    Args:
        folder: the data directory.
        rescore: scores items without recording them.
        run: only this run's records.
        sample: at most so many records, drawn by `seed`.
        seed: another seed draws others.
        progress: called with records done and to do.

    Raises:
        LedgerFault: a stored text has another content, or the texts cannot be read.
    """
    found = Replay()
    if not segments(folder):
        return found
    chosen = _sample(folder, run, sample, seed) if sample is not None else _recorded(folder, run)
    total = sum(1 for _ in _recorded(folder, run)) if sample is None else sample
    with closing(TextStore.open_to_read(folder)) as texts:
        reader = _Items(texts, FixtureStore(folder), found)
        batch: list[tuple[_Recorded, ReplayItem]] = []
        for recorded in chosen:
            item = reader.item(recorded)
            if item is not None:
                batch.append((recorded, item))
            if len(batch) == _BATCH:
                await _compare_batch(batch, rescore, texts, found)
                batch.clear()
                progress(found.records, total)
        await _compare_batch(batch, rescore, texts, found)
        progress(found.records, found.records)
    return found


class _Items:
    """Puts a recorded item together again from the texts beside the ledger."""

    def __init__(self, texts: TextStore, fixtures: FixtureStore, found: Replay) -> None:
        self._texts = texts
        self._fixtures = fixtures
        self._found = found

    def item(self, recorded: _Recorded) -> ReplayItem | None:
        """The item, or None where it is counted as not replayable."""
        line = recorded.fields
        form = "messages" if "messages" in line else "completion"
        if outcome_of(line) == "infra_error":
            self._found.was_infra += 1
        elif "task" not in line or form not in line:
            self._found.without_task += 1
        else:
            names = [line[key] for key in ("task", form, "spec") if key in line]
            texts = [self._texts.get(name) for name in names]
            there = [text for text in texts if isinstance(text, bytes)]
            if len(there) == len(names):
                return self._with_fixtures(recorded, *there)
            self._lost(recorded, *texts)
        return None

    def _with_fixtures(
        self, recorded: _Recorded, canonical: bytes, completion: bytes, exact: bytes | None = None
    ) -> ReplayItem | None:
        task = json.loads(canonical)
        names = {name: parse(found) for name, found in task.get("fixtures", {}).items()}
        there = [self._fixtures.holds(name) for name in names.values()]
        if any(state is not True for state in there):
            self._lost(recorded, *(None if state is False else state for state in there))
            return None
        return ReplayItem(
            record=recorded.record,
            verifier=task["verifier"],
            spec=task["spec"] if exact is None else json.loads(decode(exact)),
            fixtures={name: Fixture(self._fixtures.path(short), wide(short)) for name, short in names.items()},
            completion=decode(completion),
            completion_is_messages="messages" in recorded.fields,
            task_digest=wide(recorded.fields["task"]),
        )

    def _lost(self, recorded: _Recorded, *states: object) -> None:
        if any(state is None for state in states):
            self._found.missing.append(recorded.record)
        else:
            self._found.redacted += 1


async def _compare_batch(
    batch: Sequence[tuple[_Recorded, ReplayItem]], rescore: Rescore, texts: TextStore, found: Replay
) -> None:
    if batch:
        verdicts = await rescore([item for _, item in batch])
        for (recorded, item), verdict in zip(batch, verdicts, strict=True):
            _compare(recorded, item, verdict, texts, found)


def _compare(recorded: _Recorded, item: ReplayItem, verdict: ReplayVerdict, texts: TextStore, found: Replay) -> None:
    if verdict.outcome == "infra_error":
        found.unjudged.append(recorded.record)
        return
    then, now = _recorded_verdict(recorded.fields, texts), _verdict(verdict)
    what = tuple(f"{key}: {then[key]} → {now[key]}" for key in then if then[key] != now[key])
    difference = Difference(recorded.record, item.verifier, recorded.verifier_digest, verdict.verifier_digest, what)
    if NEAR_LIMIT in (*then["flags"], *now["flags"]):
        found.near_limit_equal += not what
        found.near_limit_different += bool(what)
    elif not what:
        found.equal += 1
    elif recorded.verifier_digest == verdict.verifier_digest:
        found.faults.append(difference)
    else:
        found.drift.append(difference)


def _recorded_verdict(line: Mapping[str, Any], texts: TextStore) -> dict[str, Any]:
    flags = line.get("flags")
    if flags is None and "notes" in line:  # a very long line keeps its flags in the notes
        notes = texts.get(line["notes"])
        flags = json.loads(decode(notes)).get("flags") if isinstance(notes, bytes) else None
    return {
        "outcome": outcome_of(line),
        "error": line.get("error"),
        "reward": line.get("reward"),
        "checks": [(check["name"], check["code"], check["score"]) for check in checks_of(line)],
        "flags": flags or [],
    }


def _verdict(verdict: ReplayVerdict) -> dict[str, Any]:
    return {
        "outcome": verdict.outcome,
        "error": verdict.error,
        "reward": verdict.reward,
        "checks": [(check_name(check.name), check.code, check.score) for check in verdict.checks],
        "flags": [flag.name for flag in verdict.flags],
    }


def _recorded(folder: Path, run: str | None) -> Iterator[_Recorded]:
    """The whole lines of the ledger, of one run if it is given; damaged ones are the business of `verification.py`."""
    name = None if run is None else identifier(run)
    for segment in segments(folder):
        verifiers: Mapping[str, Mapping[str, str]] = {}
        for line in lines(segment.path):
            if not is_whole(line.data):
                continue
            fields = read_fields(line.data)
            if line.seq == 0:
                verifiers = fields["verifiers"]
            elif name is None or fields.get("run") == name:
                record = RecordId.of(segment.writer, segment.number, line.seq, hash_of(line.data))
                stamp = verifiers.get(fields.get("verifier", ""), {})
                yield _Recorded(str(record), fields, stamp.get("digest", "unknown"))


def _sample(folder: Path, run: str | None, num_records: int, seed: int) -> list[_Recorded]:
    def drawn(recorded: _Recorded) -> bytes:
        return hashlib.sha256(f"{seed} {recorded.record}".encode()).digest()

    return heapq.nsmallest(num_records, _recorded(folder, run), key=drawn)
