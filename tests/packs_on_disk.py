"""Packs written by tests, and a verifier small enough to be seen through: the answer equals the spec's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.verifier import Answer, Check, Context, Grade, Spec, Verifier


class EqualSpec(Spec):
    """What the answer must be."""

    answer: str
    fixtures: tuple[str, ...] = ()


def prepare(spec: EqualSpec, context: Context) -> str:
    if spec.answer == "broken":
        raise TaskFault("task.gold_failed", "the gold is broken")
    while spec.answer == "endless":
        pass
    if spec.answer == "huge":
        raise LimitExceeded("memory")
    return spec.answer


def grade(task: str, answer: Answer) -> Grade:
    same = task == answer.text
    return Grade(same, (Check("equal", same, float(same), None if same else "equal.differs"),))


EQUAL: Verifier[EqualSpec, str] = Verifier(
    name="equal",
    version="1.0.0",
    lane="light",
    spec=EqualSpec,
    auto=lambda _spec: "raw",
    prepare=prepare,
    grade=grade,
    codes={"equal.differs": "The answer is another text."},
    example={"answer": "a"},
    good="a",
    bad="b",
    fixtures=lambda spec: spec.fixtures,
)
VERIFIERS: dict[str, Verifier[Any, Any]] = {"equal": EQUAL}

MANIFEST = 'name = "small"\nversion = "1.0.0"\nlicence = "CC0-1.0"\nlanguage = "en"\n'


def task(task_id: str, **fields: Any) -> str:
    """A line of tasks/*.jsonl."""
    line = {"id": task_id, "prompt": f"Question {task_id}?", "verifier": "equal", "spec": {"answer": "42"}}
    return json.dumps(line | fields)


def write_pack(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A pack with a manifest, unless `files` brings another one."""
    for relative, content in {"pack.toml": MANIFEST, **files}.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
