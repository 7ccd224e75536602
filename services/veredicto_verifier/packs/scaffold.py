"""Make a pack from a team's own material: CSV files of data (for sql) and a file of questions with answers.

The questions file is CSV or JSONL with the fields `question` and `answer`, optionally `category`, `difficulty` (0 to
1), `split` (else every fifth question goes to test) and, for python, `entry`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from veredicto_verifier.errors import PackFault
from veredicto_verifier.packs.loading import PACK_NAME, SPLIT_NAME
from veredicto_verifier.packs.tables import Table, read_table, vary

VARIATIONS = 2
"""Fixtures with other rows beside the one that holds the data as given."""
TEST_EVERY = 5

Question = Mapping[str, Any]


def scaffold(
    name: str,
    verifier: str,
    *,
    data: Sequence[Path],
    questions: Path,
    language: str = "en",
    licence: str = "proprietary",
) -> dict[str, str]:
    """The files of a new pack, by relative path.

    Raises:
        PackFault: a file cannot be read, a question lacks a field, or the verifier has no scaffold.
    """
    if not re.fullmatch(PACK_NAME, name):
        raise PackFault(f"{name[:60]!r} cannot name a pack; use at most 60 of a-z, 0-9, - and _")
    if verifier not in SPECS:
        raise PackFault(f"no scaffold for verifier {verifier!r}; choose from {', '.join(SPECS)}, or write the files")
    if verifier == "sql" and not data:
        raise PackFault("a pack of SQL questions needs its data: give --data FILE.csv, once per table")
    if verifier != "sql" and data:
        raise PackFault(f"--data is for sql; {verifier} tasks carry all they need in the questions file")
    tables = [read_table(path) for path in data]
    rows = read_questions(questions)
    files = {"pack.toml": _manifest(name, language, licence)}
    files |= _fixtures(tables)
    names = [f"{name}/{Path(path).stem}" for path in files if path.startswith("fixtures/")]
    splits: dict[str, list[str]] = {"train": [], "test": []}
    for index, row in enumerate(rows):
        where = f"{questions}: question {index + 1}"
        split = row.get("split") or ("test" if index % TEST_EVERY == TEST_EVERY - 1 else "train")
        if not re.fullmatch(SPLIT_NAME, split):
            raise PackFault(f"{where}: {split[:60]!r} cannot name a split; use train or test")
        task = _task(f"{index + 1:04d}", verifier, row, tables, names, where)
        splits.setdefault(split, []).append(json.dumps(task, ensure_ascii=False))
    files |= {f"tasks/{split}.jsonl": "\n".join(lines) + "\n" for split, lines in splits.items() if lines}
    return files


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write a new pack's files.

    Raises:
        PackFault: the folder holds something already, or cannot be written.
    """
    try:
        if folder.exists() and any(folder.iterdir()):
            raise PackFault(f"{folder}: holds files already; choose a new folder with --to")
        for relative, content in files.items():
            path = folder / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
    except OSError as error:
        raise PackFault(f"{folder}: cannot be written: {error.strerror}") from error


def read_questions(path: Path) -> list[Question]:
    """The rows of a questions file, each with at least `question` and `answer`.

    Raises:
        PackFault: unreadable, or a row without one of the two.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".jsonl":
            rows: list[Any] = [json.loads(line) for line in text.split("\n") if line.strip()]
        else:
            rows = list(csv.DictReader(text.splitlines(keepends=True), strict=True))
    except OSError as error:
        raise PackFault(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise PackFault(f"{path}: neither CSV nor JSONL in UTF-8: {error}") from error
    for number, row in enumerate(rows, start=1):
        missing = [
            field for field in ("question", "answer") if not isinstance(row, dict) or row.get(field) in (None, "")
        ]
        if missing:
            raise PackFault(f"{path}: question {number} has no {' and no '.join(missing)}")
    if not rows:
        raise PackFault(f"{path}: holds no questions")
    return rows


def sql_spec(row: Question, fixtures: Sequence[str], _where: str) -> dict[str, Any]:
    """The answer is the gold query, run on every fixture."""
    return {"fixtures": list(fixtures), "gold": {"sql": str(row["answer"]).strip().rstrip(";")}}


def math_spec(row: Question, _fixtures: Sequence[str], _where: str) -> dict[str, Any]:
    """The answer is the value."""
    return {"answer": str(row["answer"]).strip()}


def json_spec(row: Question, _fixtures: Sequence[str], where: str) -> dict[str, Any]:
    """The answer is a JSON object, of which every field must be equal."""
    answer = row["answer"]
    try:
        expected = json.loads(answer) if isinstance(answer, str) else answer
    except ValueError as error:
        raise PackFault(f"{where}: the answer of a json task is a JSON object: {error}") from error
    if not isinstance(expected, dict):
        raise PackFault(f"{where}: the answer of a json task is a JSON object")
    return {"schema": {"type": "object", "required": sorted(expected)}, "expected": expected}


def python_spec(row: Question, _fixtures: Sequence[str], where: str) -> dict[str, Any]:
    """The answer is assert lines (or a `check` function) about the function named by `entry`."""
    if not row.get("entry"):
        raise PackFault(f"{where}: a python task names the function it asks for in `entry`")
    return {"format": "asserts", "entry": row["entry"], "tests": str(row["answer"])}


SPECS: dict[str, Callable[[Question, Sequence[str], str], dict[str, Any]]] = {
    "sql": sql_spec,
    "math": math_spec,
    "json": json_spec,
    "python": python_spec,
}

ASKS = {
    "sql": "{schema}\n\n{question}\nAnswer with one DuckDB SELECT statement.",
    "math": "{question}\nEnd with the answer alone, in \\boxed{{}}.",
    "json": "{question}\nAnswer with one JSON object.",
    "python": "{question}\nAnswer with one Python code block that defines `{entry}`.",
}
"""The prompts of a scaffold, by verifier; edit the JSONL to ask in other words."""


def _task(
    task_id: str, verifier: str, row: Question, tables: Sequence[Table], fixtures: Sequence[str], where: str
) -> dict[str, Any]:
    schema = "\n".join(table.create for table in tables)
    prompt = ASKS[verifier].format(schema=schema, question=row["question"].strip(), entry=row.get("entry"))
    task: dict[str, Any] = {"id": task_id, "prompt": prompt}
    if row.get("category"):
        task["category"] = row["category"]
    if row.get("difficulty") not in (None, ""):
        task["difficulty"] = _difficulty(row["difficulty"], where)
    return task | {"verifier": verifier, "spec": SPECS[verifier](row, fixtures, where)}


def _difficulty(value: Any, where: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise PackFault(f"{where}: difficulty is a number") from error


def _fixtures(tables: Sequence[Table]) -> dict[str, str]:
    """`fixtures/data_a.sql` with the rows as given, `data_b`, `data_c` with other rows under the same columns."""
    if not tables:
        return {}
    files = {"fixtures/data_a.sql": "\n".join(table.script() for table in tables)}
    for seed in range(1, VARIATIONS + 1):
        files[f"fixtures/data_{'abc'[seed]}.sql"] = "\n".join(vary(table, seed).script() for table in tables)
    return files


def _manifest(name: str, language: str, licence: str) -> str:
    fields = {"name": name, "version": "0.1.0", "licence": licence, "language": language, "description": ""}
    return "".join(f"{field} = {json.dumps(value, ensure_ascii=False)}\n" for field, value in fields.items())
