"""`veredicto pack transpile`: a task is kept only if SQLite and DuckDB give the same on every fixture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veredicto_verifier.errors import PackFault
from veredicto_verifier.packs.checking import check_pack
from veredicto_verifier.packs.loading import load_pack
from veredicto_verifier.packs.pack import Pack
from veredicto_verifier.packs.scaffold import write_files
from veredicto_verifier.packs.transpiling import translate, transpile
from veredicto_verifier.registry import VERIFIERS

TABLE = "CREATE TABLE t(a INTEGER, b VARCHAR, d DATE, m DECIMAL(10,2));"
FIXTURES = {
    "one": TABLE + "INSERT INTO t VALUES (1, 'abc', '2024-01-31', 1.10), (7, 'ABC', '2024-02-29', 2.75);",
    "two": TABLE + "INSERT INTO t VALUES (3, 'abd', '2023-12-31', 0.10), (4, NULL, NULL, NULL);",
}
GOLDS = {
    "SELECT a, m FROM t WHERE m > 1.10 OR b IS NULL": "kept",
    "SELECT d, COUNT(*) FROM t GROUP BY d": "kept",
    "SELECT SUM(m), AVG(a) FROM t": "kept",
    "SELECT a FROM t ORDER BY m DESC": "kept",
    "SELECT a / 2 FROM t": "kept",
    "SELECT a FROM t WHERE b LIKE 'abc'": "differs",
    "SELECT CAST(m AS INTEGER) FROM t": "differs",
    "SELECT list(a) FROM t": "refused",
    "SELECT a FROM t QUALIFY ROW_NUMBER() OVER (ORDER BY a) = 1": "kept",
    "DELETE FROM t WHERE a = 1": "dml",
}


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    lines = []
    for index, gold in enumerate(GOLDS):
        spec = {"fixtures": ["both/one", "both/two"], "gold": {"sql": gold}}
        spec |= {"mode": "dml"} if gold.startswith("DELETE") else {}
        lines.append(json.dumps({"id": f"{index}", "prompt": f"DuckDB {index}?", "verifier": "sql", "spec": spec}))
    lines.append(json.dumps({"id": "m", "prompt": "2+2?", "verifier": "math", "spec": {"answer": "4"}}))
    manifest = 'name = "both"\nversion = "1"\nlicence = "CC0-1.0"\nlanguage = "en"\n'
    files = {"pack.toml": manifest, "tasks/train.jsonl": "\n".join(lines)}
    write_files(files | {f"fixtures/{name}.sql": text for name, text in FIXTURES.items()}, tmp_path / "both")
    return load_pack(tmp_path / "both", VERIFIERS)


def test_each_task_is_kept_only_if_both_engines_agree(pack: Pack) -> None:
    fates = {str(task.spec["gold"]["sql"]): translate(task, pack, "lite").fate
             for task in pack.tasks["train"].values() if task.verifier == "sql"}  # fmt: skip
    assert fates == GOLDS


def test_the_new_pack_loads_and_its_gold_runs_in_sqlite(pack: Pack, tmp_path: Path) -> None:
    fates = transpile(pack, "lite", tmp_path / "lite")
    assert fates == {"kept": 6, "differs": 2, "refused": 1, "dml": 1, "not_sql": 1}
    made = load_pack(tmp_path / "lite", VERIFIERS)
    tasks = made.tasks["train"].values()
    assert [finding for finding in check_pack(made, VERIFIERS) if finding.level == "error"] == []
    assert {task.spec["dialect"] for task in tasks} == {"sqlite"}
    assert all(str(task.prompt).startswith("SQLite") for task in tasks)
    with pytest.raises(PackFault, match="holds files"):
        transpile(pack, "lite", tmp_path / "lite")
