"""Print what a bench found: a table for people, and as last line one JSON object for machines."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
SENSES = {"at most": operator.le, "at least": operator.ge}


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    sense: str
    """`at most` or `at least`."""
    goal: float
    unit: str = ""

    @property
    def ok(self) -> bool:
        return bool(SENSES[self.sense](self.value, self.goal))


def publish(bench: str, figures: Sequence[Figure]) -> None:
    table = Table("figure", "seen", "goal", "holds", title=bench)
    for figure in figures:
        seen = f"{figure.value:.3g} {figure.unit}"
        table.add_row(figure.name, seen, f"{figure.sense} {figure.goal:g}", "yes" if figure.ok else "NO")
    Console().print(table)
    body = {figure.name: {"value": figure.value, "goal": figure.goal, "ok": figure.ok} for figure in figures}
    line = json.dumps(body)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{bench}.json").write_text(line + "\n", encoding="utf-8")
    print(line)
