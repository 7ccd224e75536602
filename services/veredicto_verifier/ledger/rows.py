"""What the ledger tells of runs and records, as frozen rows for the audit routes, the command line and replay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from veredicto_verifier.ledger.digests import wide
from veredicto_verifier.ledger.lines import RecordId

MOVABLE = ("item", "request", "category", "policy", "flags", "ms", "group", "step", "verifier")
"""Fields of a line that may stand in its notes instead (see `records.py`)."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run: how much it has recorded and how it fared. `mean_reward` is over scored records."""

    run: str | None
    steps: int
    records: int
    mean_reward: float | None
    scored: int
    invalid_task: int
    infra_error: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of a run in one phase."""

    phase: str
    step: int | None
    records: int
    scored: int
    mean_reward: float | None
    passed: int


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """One category of a run."""

    category: str | None
    records: int
    scored: int
    mean_reward: float | None
    passed: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in figures; `codes` are the 20 most frequent causes of failure, by number of records."""

    run: str
    records: int
    scored: int
    mean_reward: float | None
    passed: int
    cached_share: float
    first: str
    last: str
    outcomes: Mapping[str, int]
    verifiers: Mapping[str, int]
    steps: tuple[StepRow, ...]
    categories: tuple[CategoryRow, ...]
    codes: Mapping[str, int]
    flags: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One record without its texts. A field that stands in the notes (very long identifiers) is None here."""

    record: str
    time: str
    run: str | None
    step: int | None
    phase: str
    request_id: str | None
    item_id: str | None
    group: str | None
    policy_version: int | None
    category: str | None
    verifier: str | None
    verifier_version: str | None
    verifier_digest: str | None
    task_digest: str | None
    outcome: str
    reward: float | None
    passed: bool | None
    codes: tuple[str, ...]
    flags: tuple[str, ...]
    error: str | None
    cached: bool
    queue_ms: float
    exec_ms: float


@dataclass(frozen=True, slots=True)
class RecordPage:
    """One page of records, newest first."""

    records: tuple[RecordRow, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class RecordDetail:
    """One record with its texts; never the task's own text, which holds gold.

    `redacted` tells when each removed text was removed (`prompt`, `completion`, `notes`); `missing` names texts that
    should be there and are not.
    """

    row: RecordRow
    prompt: str | None
    completion: str | None
    completion_is_messages: bool
    answer: str | None
    checks: tuple[Mapping[str, Any], ...]
    flags: tuple[Mapping[str, str], ...]
    message: str | None
    metadata: Mapping[str, Any] | None
    digests: Mapping[str, str]
    redacted: Mapping[str, str]
    missing: tuple[str, ...]
    line: str


def iso(time_ms: int) -> str:
    """A time in UTC, to the millisecond."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds")


def outcome_of(fields: Mapping[str, Any]) -> str:
    """The outcome of a line: its error code tells whose fault it was."""
    if "error" not in fields:
        return "scored"
    return "infra_error" if fields["error"].startswith("infra.") else "invalid_task"


def row_of(record: RecordId, fields: Mapping[str, Any], verifiers: Mapping[str, Mapping[str, str]]) -> RecordRow:
    """The row of a line.

    Args:
        record: its id.
        fields: what the line says (with what its notes say, if they were read).
        verifiers: the table of its segment's header.
    """
    scored = "error" not in fields
    name = fields.get("verifier")
    stamp = verifiers.get(name, {}) if name else {}
    checks = checks_of(fields)
    queue_ms, exec_ms = fields.get("ms", (0.0, 0.0))
    return RecordRow(
        record=str(record),
        time=iso(fields["t"]),
        run=fields.get("run"),
        step=fields.get("step"),
        phase=fields.get("phase", "train"),
        request_id=fields.get("request"),
        item_id=fields.get("item"),
        group=fields.get("group"),
        policy_version=fields.get("policy"),
        category=fields.get("category"),
        verifier=name,
        verifier_version=stamp.get("version"),
        verifier_digest=stamp.get("digest"),
        task_digest=wide(fields["task"]) if "task" in fields else None,
        outcome=outcome_of(fields),
        reward=fields.get("reward"),
        passed=fields.get("passed", False) if scored else None,
        codes=tuple(dict.fromkeys(check["code"] for check in checks if check["code"] is not None)),
        flags=tuple(fields.get("flags", ())),
        error=fields.get("error"),
        cached=fields.get("cached", False),
        queue_ms=queue_ms,
        exec_ms=exec_ms,
    )


def checks_of(fields: Mapping[str, Any], reasons: list[str] | None = None) -> list[dict[str, Any]]:
    """The checks of a line with their defaults filled in, and their reasons where the notes gave them."""
    checks = []
    for position, check in enumerate(fields.get("checks", ())):
        code = check.get("code")
        passed = check.get("passed", code is None)
        checks.append(
            {
                "name": check["name"],
                "code": code,
                "passed": passed,
                "score": check.get("score", 1.0 if passed else 0.0),
                "weight": check.get("weight", 1.0),
                "reason": reasons[position] if reasons else "",
            }
        )
    return checks
