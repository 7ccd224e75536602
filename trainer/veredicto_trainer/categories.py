"""How each category of tasks does: for reports and for sampling, never an advantage group."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from veredicto_trainer.intervals import Interval, effective_count, wilson

NONE = "(none)"
STARVED_BELOW = 0.02
"""Share of mixed groups at or below which a category no longer learns."""
SOLVED_ABOVE = 0.9
"""Pass rate from which that is no matter."""


@dataclass(frozen=True, slots=True)
class CategoryReport:
    """One category over some steps."""

    category: str
    groups: int
    completions: int
    pass_rate: float
    interval: Interval
    """Wilson's, over an effective number of trials: the completions of a group are not independent."""
    mixed_share: float
    """Share of the groups whose rewards differ."""
    mean_abs_advantage: float
    gradient_share: float
    """Its part of the sum over all completions of |advantage| times tokens."""
    clipped_share: float
    vetoed_share: float
    """Of its tokens in groups with a signal."""
    age_mean: float
    age_max: int
    starved: bool
    """It learns nothing (hardly a mixed group) although it is not solved."""

    def to_json(self) -> dict[str, Any]:
        """As JSON types."""
        return asdict(self)


def category_reports(rows: Iterable[Mapping[str, Any]]) -> list[CategoryReport]:
    """The report of each category over rows of `rollouts.jsonl`, by name."""
    known: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["group_state"] != "replaced":
            known.setdefault(row["category"] or NONE, []).append(row)
    total = sum(_force(row) for each in known.values() for row in each)
    return [_report(name, known[name], total) for name in sorted(known)]


def age_histogram(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many completions were trained at each age."""
    counts: dict[int, int] = {}
    for row in rows:
        if row["advantage"] is not None:
            counts[row["age"]] = counts.get(row["age"], 0) + 1
    return {str(age): counts[age] for age in sorted(counts)}


def age_reports(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What was clipped and vetoed at each age, over the completions that an update learnt from."""
    known: dict[int, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["advantage"]:
            known.setdefault(row["age"], []).append(row)
    reports = []
    for age, some in sorted(known.items()):
        tokens = max(1, sum(row["num_tokens"] for row in some))
        reports.append(
            {
                "age": age,
                "completions": len(some),
                "clipped_share": sum(row["clipped_tokens"] for row in some) / tokens,
                "vetoed_share": sum(row["vetoed_tokens"] for row in some) / tokens,
                "vetoed_completions": sum(row["vetoed_tokens"] > 0 for row in some),
            }
        )
    return reports


def category_table(reports: Sequence[Mapping[str, Any]]) -> Table:
    """The reports as a table for a terminal."""
    table = Table("category", "groups", "pass rate", "95 %", "mixed", "gradient", "clipped", "vetoed", "age", "")
    for each in reports:
        low, high = each["interval"]
        table.add_row(
            each["category"],
            f"{each['groups']}",
            f"{each['pass_rate']:.3f}",
            f"{low:.3f} to {high:.3f}",
            f"{each['mixed_share']:.0%}",
            f"{each['gradient_share']:.0%}",
            f"{each['clipped_share']:.1%}",
            f"{each['vetoed_share']:.1%}",
            f"{each['age_mean']:.1f}",
            "learns nothing" if each["starved"] else "",
        )
    return table


def _report(name: str, rows: Sequence[Mapping[str, Any]], total: float) -> CategoryReport:
    groups: dict[tuple[int, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["step"], row["group"]), []).append(row)
    passed = [[row["passed"] for row in group if row["passed"] is not None] for group in groups.values()]
    passed = [group for group in passed if group]
    count = sum(map(len, passed))
    rate = sum(map(sum, passed)) / count if count else 0.0
    mixed = sum(group[0]["group_state"] == "mixed" for group in groups.values()) / len(groups)
    tokens = sum(row["num_tokens"] for row in rows if row["group_state"] == "mixed")
    ages = [row["age"] for row in rows]
    return CategoryReport(
        name,
        len(groups),
        len(rows),
        rate,
        wilson(rate, effective_count(passed)),
        mixed,
        statistics.fmean([abs(row["advantage"] or 0.0) for row in rows]),
        sum(map(_force, rows)) / total if total else 0.0,
        sum(row["clipped_tokens"] for row in rows) / tokens if tokens else 0.0,
        sum(row["vetoed_tokens"] for row in rows) / tokens if tokens else 0.0,
        statistics.fmean(ages),
        max(ages),
        mixed <= STARVED_BELOW and rate < SOLVED_ABOVE,
    )


def _force(row: Mapping[str, Any]) -> float:
    weight: float = abs(row["advantage"] or 0.0) * row["num_tokens"]
    return weight
