"""Make an SQLite pack from a DuckDB pack: gold is translated here, offline, and kept only where both engines agree.

sqlglot's translation is never trusted: a task stays only if the translated gold, run by SQLite on every fixture, gives
what the original gives in DuckDB. Answers are never translated.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot.errors import SqlglotError

from veredicto_verifier.errors import LimitExceeded, PackFault, TaskFault
from veredicto_verifier.packs.pack import Pack, PackTask
from veredicto_verifier.packs.scaffold import write_files
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Context
from veredicto_verifier.verifiers.sql.comparison import Expected, compare
from veredicto_verifier.verifiers.sql.spec import SqlSpec
from veredicto_verifier.verifiers.sql.values import Table
from veredicto_verifier.verifiers.sql.verifier import SqlTask

Fate = str
"""`kept`, or why a task was left out: `not_sql`, `dml`, `untranslated`, `refused` by SQLite, or `differs`."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A task with its spec for SQLite (None when it is left out) and what became of it."""

    task: PackTask
    spec: dict[str, Any] | None
    fate: Fate


def transpile(pack: Pack, name: str, folder: Path) -> Counter[Fate]:
    """Write the SQLite twin of a pack into a new folder; says what became of its tasks.

    Raises:
        PackFault: the folder holds files, or no task is kept.
    """
    fates: Counter[Fate] = Counter()
    files = {"pack.toml": _manifest(pack, name)}
    for split, tasks in pack.tasks.items():
        lines = []
        for task in tasks.values():
            translated = translate(task, pack, name)
            fates[translated.fate] += 1
            if translated.spec is not None:
                lines.append(_line(task, translated.spec))
        files[f"tasks/{split}.jsonl"] = "".join(lines)
    if not fates["kept"]:
        raise PackFault(f"{pack.name}: no task gives the same in SQLite; nothing is written")
    for fixture in pack.fixtures.values():
        files[f"fixtures/{fixture.path.name}"] = fixture.path.read_text(encoding="utf-8")
    write_files(files, folder)
    return fates


def translate(task: PackTask, pack: Pack, name: str) -> Translated:
    """One task for SQLite, if both engines agree on every fixture."""
    if task.verifier != "sql" or "sql" not in task.spec.get("gold", {}):
        return Translated(task, None, "not_sql")
    if task.spec.get("mode") == "dml":
        return Translated(task, None, "dml")
    try:
        gold = sqlglot.transpile(task.spec["gold"]["sql"], read="duckdb", write="sqlite")[0]
    except (SqlglotError, RecursionError):
        return Translated(task, None, "untranslated")
    spec = {**task.spec, "gold": {"sql": gold}, "dialect": "sqlite"}
    try:
        left, right = (_prepared(one, pack) for one in (task.spec, spec))
    except (TaskFault, LimitExceeded):
        return Translated(task, None, "refused")
    if not all(_agree(a, b, left) for a, b in zip(left.expected, right.expected, strict=True)):
        return Translated(task, None, "differs")
    fixtures = [f"{name}/{one.partition('/')[2]}" if isinstance(one, str) else one for one in task.spec["fixtures"]]
    return Translated(task, {**spec, "fixtures": fixtures}, "kept")


def _prepared(raw: Any, pack: Pack) -> SqlTask:
    spec = parse_spec("sql", raw, VERIFIERS)
    assert isinstance(spec, SqlSpec)
    task = VERIFIERS["sql"].prepare(spec, Context(pack.fixtures, VERIFIERS))
    assert isinstance(task, SqlTask)
    return task


def _agree(left: Expected, right: Expected, task: SqlTask) -> bool:
    """Whether two engines give the same rows (dates as text, since SQLite has no other) in the same order of ties."""
    columns = left.table.width
    approximate = (True,) * columns
    one, other = (
        Table(table.names, approximate, [tuple(map(_plain, row)) for row in table.rows])
        for table in (left.table, right.table)
    )
    return compare(Expected(one, left.ties), other, task.rules, measure=False).code is None


def _plain(value: Any) -> Any:
    """A value as SQLite would hold it."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        text = value.isoformat(sep=" ")
        return text.removesuffix(" 00:00:00")
    if isinstance(value, tuple) and value and value[0] == "bool":
        return int(value[1])
    return value


def _line(task: PackTask, spec: dict[str, Any]) -> str:
    """The task's line; a prompt that names DuckDB names SQLite instead."""
    asked: dict[str, Any] = (
        {"prompt": task.prompt.replace("DuckDB", "SQLite")}
        if isinstance(task.prompt, str)
        else {"messages": list(task.prompt)}
    )
    entry = {"id": task.id, **asked, "category": task.category, "difficulty": task.difficulty}
    kept = {key: value for key, value in entry.items() if value is not None}
    return json.dumps({**kept, "verifier": "sql", "spec": spec}, ensure_ascii=False) + "\n"


def _manifest(pack: Pack, name: str) -> str:
    fields = {
        "name": name,
        "version": pack.version,
        "licence": pack.licence,
        "language": pack.language,
        "description": f"The tasks of {pack.name} {pack.version} whose gold gives the same in SQLite.",
    }
    return "".join(f"{field} = {json.dumps(value, ensure_ascii=False)}\n" for field, value in fields.items())
