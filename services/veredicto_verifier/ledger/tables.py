"""The audit's answers as rich tables and text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from veredicto_verifier.ledger.redaction import Redaction
from veredicto_verifier.ledger.replay import Difference, Replay
from veredicto_verifier.ledger.rows import RecordDetail, RunRow, RunSummary
from veredicto_verifier.ledger.verification import Verification

_MOST_SHOWN = 20


def runs(rows: Sequence[RunRow]) -> Iterator[RenderableType]:
    """The list of runs."""
    table = _table("runs", "run", "steps", "records", "mean reward", "scored", "invalid", "infra", "last record")
    for row in rows:
        counts = (row.scored, row.invalid_task, row.infra_error)
        table.add_row(
            _plain(row.run),
            str(row.steps),
            str(row.records),
            _reward(row.mean_reward),
            *map(str, counts),
            row.last[:19],
        )
    yield table


def summary(found: RunSummary) -> Iterator[RenderableType]:
    """One run in figures."""
    yield Text(
        f"run {found.run}: {found.records} records, {found.scored} scored, {found.passed} passed, "
        f"mean reward {_reward(found.mean_reward)}, {found.cached_share:.0%} cached\n{found.first} to {found.last}"
    )
    steps = _table("steps", "phase", "step", "records", "scored", "passed", "mean reward")
    for step in found.steps:
        counts = (step.records, step.scored, step.passed)
        steps.add_row(step.phase, _plain(step.step), *map(str, counts), _reward(step.mean_reward))
    yield steps
    categories = _table("categories", "category", "records", "scored", "passed", "mean reward")
    for row in found.categories:
        counts = (row.records, row.scored, row.passed)
        categories.add_row(_plain(row.category), *map(str, counts), _reward(row.mean_reward))
    yield categories
    for title in ("outcomes", "verifiers", "codes", "flags"):
        yield from _counts(title, getattr(found, title))


def detail(found: RecordDetail) -> Iterator[RenderableType]:
    """One record with its texts."""
    row = found.row
    facts = _table(f"record {row.record}", "field", "value")
    for name in row.__slots__:
        value = getattr(row, name)
        if value not in (None, ()):
            facts.add_row(name, Text(str(value)))
    yield facts
    checks = _table("checks", "name", "code", "score", "weight", "reason")
    for check in found.checks:
        checks.add_row(*(Text(_plain(check[key])) for key in ("name", "code", "score", "weight", "reason")))
    yield checks
    for flag in found.flags:
        yield Text(f"flag {flag['name']}: {flag['evidence']}")
    if found.message:
        yield Text(f"error {row.error}: {found.message}")
    for name in ("prompt", "completion", "answer"):
        text = getattr(found, name)
        if text is not None:
            yield Panel(Text(text), title=name, title_align="left")
    for name, time in found.redacted.items():
        yield Text(f"{name}: redacted {time}")
    for name in found.missing:
        yield Text(f"{name}: missing; run `veredicto audit verify`")


def verification(found: Verification, head: str | None) -> Iterator[RenderableType]:
    """What a walk of the chains found."""
    yield Text(
        f"{found.writers} writers, {found.segments} segments, {found.records} records, {found.texts} texts, "
        f"{found.redacted} mentions of redacted texts"
    )
    for note in found.notes:
        yield Text(f"note: {note}", style="yellow")
    for fault in found.faults:
        yield Text(f"FAULT {fault}", style="bold red")
    if found.faults:
        yield Text("The ledger does not verify.", style="bold red")
        return
    yield Text("The ledger verifies.", style="bold green")
    if head:
        yield Text(f"It contains {head}, and everything its writer recorded before.")
    else:
        yield Text(
            "Removal of the newest records cannot be seen without a head: keep one of these and give it to --head."
        )
    for last in found.heads[-_MOST_SHOWN:]:
        yield Text(f"head {last}")


def replay(found: Replay) -> Iterator[RenderableType]:
    """What a replay found."""
    table = _table("replay", "what", "records")
    for name, number in (
        ("equal", found.equal),
        ("FAULT: same verifier digest, another verdict", len(found.faults)),
        ("drift: another verifier digest, another verdict", len(found.drift)),
        ("near its limit, equal", found.near_limit_equal),
        ("near its limit, different", found.near_limit_different),
        ("recorded as infra_error", found.was_infra),
        ("infra_error now: replay again", len(found.unjudged)),
        ("text redacted", found.redacted),
        ("text missing: run verify", len(found.missing)),
        ("item without a task", found.without_task),
        ("all", found.records),
    ):
        table.add_row(name, str(number))
    yield table
    for title, differences in (("FAULT", found.faults), ("drift", found.drift)):
        for difference in differences[:_MOST_SHOWN]:
            yield Text(f"{title} {_difference(difference)}")


def redaction(found: Redaction) -> Iterator[RenderableType]:
    """What a redaction removed."""
    for name in found.digests:
        yield Text(f"redacted {name}")
    if not found.digests:
        yield Text("nothing left to redact: it was done before")
    yield Text(f"{len(found.records)} records named these texts; {found.answers} kept answers were removed")


def _difference(found: Difference) -> str:
    return f"{found.record} {found.verifier} {found.recorded_digest[:19]} → {found.current_digest[:19]}: " + "; ".join(
        found.what
    )


def _counts(title: str, counts: Mapping[str, int]) -> Iterator[RenderableType]:
    if counts:
        table = _table(title, title.removesuffix("s"), "records")
        for name, number in counts.items():
            table.add_row(Text(name), str(number))
        yield table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=position == 0 and len(columns) > 2)
    return table


def _plain(value: object) -> str:
    return "" if value is None else str(value)


def _reward(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
