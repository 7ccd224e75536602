"""A pack's golds are judged by themselves when it loads: what fails is refused alone, with its name and JSON path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.packs_on_disk import task, write_pack
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.packs import golds
from veredicto_verifier.packs.shelf import Shelf
from veredicto_verifier.registry import VERIFIERS

READ = {"type": "object", "properties": {"a": {"type": "integer"}}}
CRITERIA = [
    {"name": "a", "verifier": "format", "spec": {}},
    {"name": "b", "verifier": "math", "spec": {"answer": "1/0"}},
]
BROKEN: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "math": ("math", {"answer": "x +"}, "task.gold_failed", "$.answer"),
    "number": ("math", {"answer": "1/0"}, "task.gold_failed", "$.answer"),
    "latex": ("math", {"answer": "\\int", "kind": "latex"}, "task.gold_failed", "$.answer"),
    "json": ("json", {"schema": READ, "expected": {"a": "x"}}, "task.gold_failed", "$.expected"),
    "schema": ("json", {"schema": {"type": 5}}, "task.spec_invalid", "$.schema"),
    "tools": (
        "tools",
        {"tools": [{"name": "f", "parameters": READ}], "expected": [{"name": "f", "arguments": {"a": "x"}}]},
        "task.gold_failed",
        "$.expected[0].arguments",
    ),
    "static": ("static", {"language": "sql", "require": ["node:Loop"]}, "task.spec_invalid", "$.require[0]"),
    "all": ("all", {"criteria": CRITERIA}, "task.gold_failed", "$.criteria[1].spec.answer"),
}
LINES = "\n".join(
    [task("good", verifier="math", spec={"answer": "42"})]
    + [task(name, verifier=verifier, spec=spec) for name, (verifier, spec, _code, _path) in BROKEN.items()]
)


def shelf(tmp_path: Path, cache: Path | None = None) -> Shelf:
    if not (tmp_path / "p").is_dir():
        write_pack(tmp_path / "p", {"tasks/train.jsonl": LINES})
    return Shelf.load([tmp_path / "p"], cache=cache, verifiers=VERIFIERS)


def test_a_gold_that_fails_is_refused_when_the_pack_loads(tmp_path: Path) -> None:
    found = shelf(tmp_path)
    assert list(found.packs["small"].tasks["train"]) == ["good"]
    assert found.infos()[0].refused == len(BROKEN)
    for line, (name, (_verifier, _spec, code, path)) in enumerate(BROKEN.items(), start=2):
        with pytest.raises(TaskFault) as raised:
            found.find(f"small/train/{name}")
        assert raised.value.code == code
        assert raised.value.message.startswith(path), raised.value.message
        assert raised.value.message.endswith(f"(small/train/{name}, tasks/train.jsonl:{line})")


def test_the_outcome_is_remembered_by_content(tmp_path: Path) -> None:
    pack = shelf(tmp_path).packs["small"]
    whole = Shelf.load([tmp_path / "p"], cache=None, verifiers={**VERIFIERS}).packs["small"]
    assert whole.refused == pack.refused
    memory = tmp_path / "golds"
    first = golds.sound(whole, VERIFIERS, memory)
    (entry,) = memory.iterdir()
    assert json.loads(entry.read_text()) == []  # nothing was left to refuse
    entry.write_text(json.dumps([{"where": "tasks/train.jsonl:1", "code": "task.gold_failed", "message": "$.answer",
                                  "split": "train", "id": "good"}]))  # fmt: skip
    assert golds.sound(whole, VERIFIERS, memory).tasks == {"train": {}}
    entry.write_text("{")
    assert golds.sound(whole, VERIFIERS, memory) == first


def test_a_gold_that_is_not_cheap_is_left_to_the_workers(tmp_path: Path) -> None:
    spec = {"fixtures": [{"script": "CREATE TABLE t(a INT)"}], "gold": {"sql": "SELECT nowhere FROM t"}}
    criteria = [{"name": "a", "verifier": "sql", "spec": spec}]
    lines = "\n".join([task("a", verifier="sql", spec=spec), task("b", verifier="all", spec={"criteria": criteria})])
    write_pack(tmp_path / "p", {"tasks/train.jsonl": lines})
    assert list(shelf(tmp_path).packs["small"].tasks["train"]) == ["a", "b"]
