"""Questions to the ledger: runs, one run's summary, records by filter, one record with its texts (never its task).

DuckDB reads the segments of all writers together; a line that is being written or damaged is left out here and is
the business of `verification.py`. Task texts hold gold and are never returned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from veredicto_verifier.errors import InvalidRequest, NotFound
from veredicto_verifier.ledger import queries
from veredicto_verifier.ledger.digests import parse, wide
from veredicto_verifier.ledger.lines import RecordId, hash_of, read_fields
from veredicto_verifier.ledger.records import identifier, is_digested
from veredicto_verifier.ledger.rows import (
    MOVABLE,
    CategoryRow,
    RecordDetail,
    RecordPage,
    RecordRow,
    RunRow,
    RunSummary,
    StepRow,
    checks_of,
    iso,
    row_of,
)
from veredicto_verifier.ledger.segments import line_at, segment_path, segments
from veredicto_verifier.ledger.texts import Redacted, TextStore

MAX_PAGE = 1_000
_NO_NETWORK: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "threads": 2,
}

Named = TypeVar("Named", RunRow, RecordRow, CategoryRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Which records to list, newest first. `code` is a check's or an error's code; `digest` any text's."""

    run: str | None = None
    step: int | None = None
    phase: str | None = None
    group: str | None = None
    verifier: str | None = None
    code: str | None = None
    outcome: str | None = None
    digest: str | None = None
    limit: int = 50
    cursor: str | None = None


class LedgerReader:
    """Reads the ledger of a data directory, while it is being written too. Calls block; use them off the event loop.

    Args:
        folder: the data directory.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def runs(self) -> list[RunRow]:
        """Every run, the most recently active first; records without a run name come as run None."""
        found = self._ask(queries.RUNS)
        return self._with_names([RunRow(*(*row[:-2], iso(row[-2]), iso(row[-1]))) for row in found])

    def summary(self, run: str) -> RunSummary:
        """One run in figures.

        Raises:
            NotFound: the ledger holds no record of it.
        """
        with closing(duckdb.connect(":memory:", config=_NO_NETWORK)) as connection:
            if files := self._files():
                connection.execute(queries.ONE_RUN, {"files": files, "run": identifier(run)})
                total = connection.execute(queries.TOTALS).fetchall()[0]
            if not files or total[0] == 0:
                raise NotFound(f"the ledger holds no record of run {run[:100]!r}; `audit runs` lists the runs")
            ask = {name: connection.execute(sql).fetchall() for name, sql in _SUMMARY.items()}
        records, scored, mean_reward, passed, cached, first, last = total
        return RunSummary(
            run=run,
            records=records,
            scored=scored,
            mean_reward=mean_reward,
            passed=passed,
            cached_share=cached / records,
            first=iso(first),
            last=iso(last),
            outcomes=dict(ask["outcomes"]),
            verifiers=dict(ask["verifiers"]),
            steps=tuple(StepRow(*row) for row in ask["steps"]),
            categories=tuple(self._with_names([CategoryRow(*row) for row in ask["categories"]])),
            codes=dict(ask["codes"]),
            flags=dict(ask["flags"]),
        )

    def records(self, wanted: RecordFilter) -> RecordPage:
        """One page of the records that match every given field.

        Raises:
            InvalidRequest: the cursor or digest is malformed, or the limit is not 1 to 1,000.
        """
        if not 1 <= wanted.limit <= MAX_PAGE:
            raise InvalidRequest(f"limit must be 1 to {MAX_PAGE}, not {wanted.limit}")
        given = _given(wanted)
        names = [name for name in queries.FILTERS if name in given or (name == "cursor" and wanted.cursor)]
        found = self._ask(queries.records(names), {**given, "limit": wanted.limit + 1})
        read = [(json.loads(line), hash_of(line.encode()), Path(file)) for line, file in found[: wanted.limit]]
        headers = {path: self._header(path) for _, _, path in read}
        rows = [row_of(_record_id(path, line, name), line, headers[path]) for line, name, path in read]
        more = len(found) > wanted.limit
        return RecordPage(tuple(self._with_names(rows)), _cursor_after(*read[-1]) if more else None)

    def record(self, record_id: str) -> RecordDetail:
        """One record with prompt, completion, answer and reasons.

        Raises:
            NotFound: the ledger does not hold it (as it was when the id was given).
        """
        record = RecordId.parse(record_id)
        path = segment_path(self._folder, record.writer, record.segment)
        line = line_at(path, record.seq)
        if line is None or RecordId.of(*record[:3], hash_of(line)) != record:
            raise NotFound(
                f"the ledger holds no record {record_id}; if it was answered, run `audit verify --head` on it"
            )
        with closing(TextStore.open_to_read(self._folder)) as texts:
            detail = _Detail(texts, read_fields(line))
            found = detail.build(record, self._header(path), line)
            return replace(found, row=_with_full_names([found.row], texts)[0])

    def _ask(self, sql: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        files = self._files()
        if not files:
            return []
        with closing(duckdb.connect(":memory:", config=_NO_NETWORK)) as connection:
            found: list[tuple[Any, ...]] = connection.execute(sql, {"files": files, **(values or {})}).fetchall()
            return found

    def _files(self) -> list[str]:
        return [str(segment.path) for segment in segments(self._folder)]

    def _header(self, path: Path) -> Mapping[str, Mapping[str, str]]:
        header = line_at(path, 0)
        verifiers: Mapping[str, Mapping[str, str]] = read_fields(header)["verifiers"] if header else {}
        return verifiers

    def _with_names(self, rows: list[Named]) -> list[Named]:
        if not any(is_digested(value) for row in rows for value in _names_of(row)):
            return rows
        with closing(TextStore.open_to_read(self._folder)) as texts:
            return _with_full_names(rows, texts)


class _Detail:
    """Puts a line and its texts together, noting which texts were redacted or are missing."""

    def __init__(self, texts: TextStore, line: Mapping[str, Any]) -> None:
        self._texts = texts
        self._line = line
        self._form = "messages" if "messages" in line else "completion"
        self._redacted: dict[str, str] = {}
        self._missing: list[str] = []

    def build(self, record: RecordId, verifiers: Mapping[str, Mapping[str, str]], line: bytes) -> RecordDetail:
        prompt, completion = self._text("prompt"), self._text(self._form, "completion")
        notes = json.loads(self._text("notes") or "{}")
        facts = {**self._line, **{key: notes[key] for key in MOVABLE if key in notes}}
        evidence = notes.get("evidence", [""] * len(facts.get("flags", ())))
        names = {"prompt": "prompt", self._form: "completion", "task": "task", "notes": "notes"}
        return RecordDetail(
            row=row_of(record, facts, verifiers),
            prompt=prompt,
            completion=completion,
            completion_is_messages=self._form == "messages",
            answer=notes.get("answer"),
            checks=tuple(checks_of(facts, notes.get("reasons"))),
            flags=tuple({"name": n, "evidence": e} for n, e in zip(facts.get("flags", ()), evidence, strict=True)),
            message=notes.get("message"),
            metadata=notes.get("metadata"),
            digests={name: wide(self._line[key]) for key, name in names.items() if key in self._line},
            redacted=self._redacted,
            missing=tuple(self._missing),
            line=line.decode("utf-8"),
        )

    def _text(self, key: str, name: str | None = None) -> str | None:
        if key not in self._line:
            return None
        found = self._texts.read(self._line[key])
        if isinstance(found, Redacted):
            self._redacted[name or key] = iso(found.time_ms)
            return None
        if found is None:
            self._missing.append(name or key)
            return None
        return found.encode("utf-8", "backslashreplace").decode()  # lone surrogates cannot go over the wire


_SUMMARY = {
    "outcomes": queries.OUTCOMES,
    "verifiers": queries.VERIFIERS,
    "steps": queries.STEPS,
    "categories": queries.CATEGORIES,
    "codes": queries.CODES,
    "flags": queries.FLAGS,
}


def _given(wanted: RecordFilter) -> dict[str, Any]:
    """The filter's values as SQL parameters."""
    values = {f.name: getattr(wanted, f.name) for f in fields(wanted) if getattr(wanted, f.name) is not None}
    cursor = values.pop("cursor", None)
    for name in ("run", "group"):
        if name in values:
            values[name] = identifier(values[name])
    try:
        if "digest" in values:
            values["digest"] = parse(values["digest"])
        if cursor is not None:
            time_ms, file, seq = cursor.split(":")
            values |= {"cursor_t": int(time_ms), "cursor_file": file, "cursor_n": int(seq)}
    except ValueError as error:
        raise InvalidRequest(f"malformed digest or cursor (take `next_cursor` of the page before): {error}") from error
    return values


def _cursor_after(line: Mapping[str, Any], _digest: str, path: Path) -> str:
    return f"{line['t']}:{path.name}:{line['n']}"


def _record_id(path: Path, line: Mapping[str, Any], line_digest: str) -> RecordId:
    writer, number = path.stem.split("-")
    return RecordId.of(writer, int(number), line["n"], line_digest)


def _names_of(row: Named) -> list[object]:
    return [getattr(row, f.name) for f in fields(row) if f.name in _IDENTIFIERS]


def _with_full_names(rows: list[Named], texts: TextStore) -> list[Named]:
    """Rows whose digested identifiers are spelt out again, where their texts are still there."""
    spelt = []
    for row in rows:
        known = {f.name: getattr(row, f.name) for f in fields(row) if f.name in _IDENTIFIERS}
        full = {name: texts.read(parse(value)) for name, value in known.items() if is_digested(value)}
        texts_found: dict[str, Any] = {name: text for name, text in full.items() if isinstance(text, str)}
        spelt.append(replace(row, **texts_found))
    return spelt


_IDENTIFIERS = ("run", "request_id", "item_id", "group", "category")
