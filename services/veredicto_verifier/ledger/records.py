"""From a verdict to one ledger line: what stays in the line, and what lies beside it by digest.

A line holds no text of a prompt, completion, task or reason, and is at most 600 bytes plus its checks. Identifiers
over 40 bytes are kept by digest; if a line is still too long, whole fields move into its notes, least asked-for first.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from veredicto_verifier.ledger.digests import digest, encode, parse
from veredicto_verifier.verifier import Check, Fixture, Flag

MAX_LINE_BYTES = 600
"""Upper bound of a record line without its checks, newline included."""
MAX_IDENTIFIER_BYTES = 40
"""Identifiers that take more bytes in JSON are kept by digest."""
MAX_CHECK_NAME_BYTES = 120
MAX_VERIFIER_NAME_BYTES = 24
"""Names in the registry may not be longer, or the bound on a line would not hold."""

_FRAME_BYTES = 101
"""Bytes of a line around its fields: position (below 10^8), time, previous digest, checksum, newline."""
_NOTES_BYTES = 55
_EXACT_DIGITS = 10**15
_EXACT_INTEGER = 2**53 - 1
_MOVABLE = ("item", "request", "category", "policy", "flags", "ms", "group")
"""Fields that move into the notes when a line is too long, in this order."""


class Failure(NamedTuple):
    """Why an item has no reward; `code` is one of the contract's closed list."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the service hands over for one verdict.

    Example: `Entry(request_id="r1", completion="42", verifier="math", task=b"{…}", outcome="scored", reward=1.0,
    passed=True, checks=(Check("math.step", passed=True, score=1.0),))`
    """

    request_id: str
    run: str | None = None
    step: int | None = None
    phase: str = "train"
    item_id: str | None = None
    group: str | None = None
    policy_version: int | None = None
    metadata: Mapping[str, Any] | None = None
    prompt: str | None = None
    """Text, or canonical JSON of messages."""
    completion: str | None = None
    """Text, or canonical JSON of messages; None for an item so malformed that there is none."""
    completion_is_messages: bool = False
    """Whether `completion` is canonical JSON of messages (replay has to know)."""
    answer: str | None = None
    category: str | None = None
    verifier: str | None = None
    task: bytes | None = None
    """Canonical JSON of the task, whose SHA-256 is the task digest."""
    spec: bytes | None = None
    """The spec as it came, only where the canonical task does not read back equal (`exact_spec`)."""
    fixtures: Mapping[str, Fixture] = field(default_factory=dict)
    """The pack fixtures that the task names, with the SHA-256 of their content."""
    outcome: Literal["scored", "invalid_task", "infra_error"]
    reward: float | None = None
    passed: bool | None = None
    checks: tuple[Check, ...] = ()
    flags: tuple[Flag, ...] = ()
    error: Failure | None = None
    cached: bool = False
    queue_ms: float = 0.0
    exec_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """An entry ready to be chained: the line's own fields as JSON without braces, and what must be durable first."""

    body: bytes
    texts: Mapping[str, bytes]
    """Texts by digest."""
    fixtures: Mapping[str, Path]
    """Fixture files by digest."""


def prepare(entry: Entry, verifiers: Collection[str]) -> Prepared:
    """Turn an entry into a line's fields and the texts that it names.

    Args:
        entry: the verdict.
        verifiers: names in the segment header; another name (the client's own text) goes into the notes.

    Raises:
        ValueError: the entry contradicts the contract (a reward without `scored`, a NaN, …); a bug of the caller.
    """
    _check_outcome(entry)
    texts: dict[str, bytes] = {}
    fields = _fields(entry, texts)
    notes = _notes(entry)
    if entry.verifier is not None:
        (fields if entry.verifier in verifiers else notes)["verifier"] = entry.verifier
    _move_what_does_not_fit(fields, notes)
    if notes:
        fields["notes"] = _keep(texts, _canonical(notes))
    if entry.checks:
        fields["checks"] = [_check(check, texts) for check in entry.checks]
    fixtures = {parse(fixture.digest): fixture.path for fixture in entry.fixtures.values()}
    return Prepared(_json(fields)[1:-1], texts, fixtures)


def exact_spec(raw: Mapping[str, Any]) -> bytes | None:
    """A raw spec as JSON, where canonical JSON would turn one of its numbers into another type; else None.

    RFC 8785 writes 1.0 as 1, and integers beyond 2^53 become strings; a replay needs the number that was judged by.
    """
    if not _changes_in_canonical_form(raw):
        return None
    return encode(json.dumps(raw, ensure_ascii=False, separators=(",", ":")))


def identifier(text: str) -> str:
    """An identifier as it stands in a line: itself, or `sha256:…` when it is long or holds odd characters."""
    return _short_name(text, MAX_IDENTIFIER_BYTES, {})


def check_name(text: str) -> str:
    """A check's name as it stands in a line."""
    return _short_name(text, MAX_CHECK_NAME_BYTES, {})


def is_digested(name: object) -> bool:
    """Whether an identifier of a line stands for its text by digest (no plain one is as long)."""
    return isinstance(name, str) and name.startswith("sha256:") and len(name) == 50


def _fields(entry: Entry, texts: dict[str, bytes]) -> dict[str, Any]:
    """The fields of a line but its notes, checks and verifier; nulls and defaults are left out."""
    completion = None if entry.completion is None else _keep(texts, encode(entry.completion))
    form = "messages" if entry.completion_is_messages else "completion"
    fields = {
        "run": _name(entry.run, texts),
        "step": _count(entry.step),
        "phase": None if entry.phase == "train" else entry.phase,
        "request": _name(entry.request_id, texts),
        "item": _name(entry.item_id, texts),
        "group": _name(entry.group, texts),
        "policy": _count(entry.policy_version),
        "category": _name(entry.category, texts),
        "task": None if entry.task is None else _keep(texts, entry.task),
        "spec": None if entry.spec is None else _keep(texts, entry.spec),
        "prompt": None if entry.prompt is None else _keep(texts, encode(entry.prompt)),
        form: completion,
        "reward": entry.reward,
        "passed": entry.passed or None,
        "error": entry.error.code if entry.error else None,
        "flags": [flag.name for flag in entry.flags] or None,
        "cached": entry.cached or None,
        "ms": [round(entry.queue_ms, 1), round(entry.exec_ms, 1)],
    }
    return {key: value for key, value in fields.items() if value is not None}


def _notes(entry: Entry) -> dict[str, Any]:
    """Everything of a verdict that may echo model or caller text, in one document so that one redaction takes all."""
    notes = {
        "answer": entry.answer,
        "reasons": [check.reason for check in entry.checks] if any(check.reason for check in entry.checks) else None,
        "evidence": [flag.evidence for flag in entry.flags] if any(flag.evidence for flag in entry.flags) else None,
        "message": entry.error.message if entry.error else None,
        "metadata": dict(entry.metadata) if entry.metadata else None,
        "step": entry.step if _count(entry.step) != entry.step else None,
        "policy": entry.policy_version if _count(entry.policy_version) != entry.policy_version else None,
    }
    return {key: value for key, value in notes.items() if value is not None}


def _move_what_does_not_fit(fields: dict[str, Any], notes: dict[str, Any]) -> None:
    for key in _MOVABLE:
        if len(_json(fields)) + _FRAME_BYTES + _NOTES_BYTES <= MAX_LINE_BYTES:
            return
        if key in fields:
            notes.setdefault(key, fields.pop(key))


def _check(check: Check, texts: dict[str, bytes]) -> dict[str, Any]:
    """A check without its reason; `passed`, `score` and `weight` only where they are not what `code` implies."""
    line: dict[str, Any] = {"name": _short_name(check.name, MAX_CHECK_NAME_BYTES, texts)}
    if check.code is not None:
        line["code"] = _short_name(check.code, MAX_CHECK_NAME_BYTES, texts)
    if check.passed != (check.code is None):
        line["passed"] = check.passed
    if check.score != (1.0 if check.passed else 0.0):
        line["score"] = check.score
    if check.weight != 1.0:
        line["weight"] = check.weight
    return line


def _check_outcome(entry: Entry) -> None:
    scored = entry.outcome == "scored"
    if scored != (entry.reward is not None) or scored != (entry.passed is not None) or scored != (entry.error is None):
        raise ValueError(f"an entry of outcome {entry.outcome} has a reward exactly when scored, and else an error")
    if entry.error and not entry.error.code.startswith("task." if entry.outcome == "invalid_task" else "infra."):
        raise ValueError(f"error code {entry.error.code} does not belong to outcome {entry.outcome}")
    if not scored and (entry.checks or entry.flags or entry.answer is not None):
        raise ValueError(f"an entry of outcome {entry.outcome} has no checks, flags or answer")


def _name(text: str | None, texts: dict[str, bytes]) -> str | None:
    return None if text is None else _short_name(text, MAX_IDENTIFIER_BYTES, texts)


def _short_name(text: str, limit: int, texts: dict[str, bytes]) -> str:
    if text.isprintable() and len(_json(text)) - 2 <= limit:
        return text
    return "sha256:" + _keep(texts, encode(text))


def _count(number: int | None) -> int | None:
    return number if number is None or number < _EXACT_DIGITS else None


def _changes_in_canonical_form(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(_changes_in_canonical_form(inner) for inner in value.values())
    if isinstance(value, list | tuple):
        return any(_changes_in_canonical_form(inner) for inner in value)
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and abs(value) > _EXACT_INTEGER


def _keep(texts: dict[str, bytes], data: bytes) -> str:
    name = digest(data)
    texts[name] = data
    return name


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _canonical(value: object) -> bytes:
    return encode(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True))
