"""`veredicto audit …`: what each command prints, and how it exits."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from tests.ledger.entries import VERIFIERS, flagged, passed, record, refused, scored, segment_files
from tests.ledger.test_replay import FAILED, PASSED, Rescorer
from veredicto_verifier.ledger.cli import audit_app
from veredicto_verifier.ledger.lines import compose, read_fields
from veredicto_verifier.ledger.records import prepare


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(audit_app, list(arguments), env={"COLUMNS": "200"})


def audit_json(*arguments: str) -> Any:
    result = audit(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def ledger(tmp_path: Path) -> tuple[str, list[str]]:
    return str(tmp_path), record(tmp_path, [scored(number) for number in range(8)], [passed(8)])


def rescoring_that_says(verdict: Any, monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The module that owns the workers stands above the ledger; here the scores are the test's own."""
    asked: list[int | None] = []

    @asynccontextmanager
    async def rescorer(*, workers: int | None = None) -> AsyncIterator[Rescorer]:
        asked.append(workers)
        yield Rescorer(verdict)

    module = ModuleType("veredicto_verifier.rescoring")
    module.rescorer = rescorer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return asked


def test_runs_and_summary(ledger: tuple[str, list[str]]) -> None:
    folder, _ = ledger
    (row,) = audit_json("runs", "--data-dir", folder)
    assert (row["run"], row["records"], row["scored"]) == ("run-1", 9, 9)
    assert "run-1" in audit("runs", "--data-dir", folder).stdout
    found = audit_json("summary", "run-1", "--data-dir", folder)
    assert found["codes"] == {"echo.other": 8}
    assert [step["records"] for step in found["steps"]] == [8, 1]
    shown = audit("summary", "run-1", "--data-dir", folder)
    assert shown.exit_code == 0
    assert "echo.other" in shown.stdout
    unknown = audit("summary", "nope", "--data-dir", folder)
    assert unknown.exit_code == 2
    assert "no record of run" in unknown.stderr


def test_show(ledger: tuple[str, list[str]]) -> None:
    folder, ids = ledger
    found = audit_json("show", ids[3], "--data-dir", folder)
    assert found["completion"] == "I think it is 3."
    assert found["row"]["record"] == ids[3]
    shown = audit("show", ids[3], "--data-dir", folder)
    assert "I think it is 3." in shown.stdout
    assert "GOLD" not in shown.stdout + json.dumps(found)
    assert audit("show", "x", "--data-dir", folder).exit_code == 2


def test_verify_exits_zero_when_whole_and_one_when_altered(ledger: tuple[str, list[str]]) -> None:
    folder, ids = ledger
    found = audit_json("verify", "--data-dir", folder, "--head", ids[0])
    assert (found["holds"], found["records"], found["heads"]) == (True, 9, [ids[-1]])
    whole = audit("verify", "--data-dir", folder)
    assert whole.exit_code == 0
    assert "The ledger verifies." in whole.stdout
    assert ids[-1] in whole.stdout
    (path,) = segment_files(Path(folder))
    path.write_bytes(path.read_bytes().replace(b'"reward":0.0', b'"reward":1.0', 1))
    altered = audit("verify", "--data-dir", folder)
    assert altered.exit_code == 1
    assert f"FAULT {path.name} line 2" in altered.stdout
    assert json.loads(audit("verify", "--data-dir", folder, "--json").stdout)["faults"][0]["line"] == 2
    assert audit("verify", "--data-dir", folder, "--head", "nonsense").exit_code == 2


def test_verify_fails_for_a_head_that_is_gone(ledger: tuple[str, list[str]]) -> None:
    folder, ids = ledger
    (path,) = segment_files(Path(folder))
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert audit("verify", "--data-dir", folder).exit_code == 0
    assert audit("verify", "--data-dir", folder, "--head", ids[-2]).exit_code == 0
    assert audit("verify", "--data-dir", folder, "--head", ids[-1]).exit_code == 1


def test_replay_exits_one_when_a_verdict_changed(
    ledger: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, ids = ledger
    asked = rescoring_that_says(FAILED, monkeypatch)
    changed = audit("replay", "--data-dir", folder, "--workers", "2")
    assert changed.exit_code == 1
    assert ids[8] in changed.stdout
    assert asked == [2]
    rescoring_that_says(PASSED, monkeypatch)
    assert audit("replay", "--data-dir", folder, "--json", "--sample", "3").exit_code == 1
    record(Path(folder), [passed(1, run="good")])
    found = audit_json("replay", "--data-dir", folder, "--run", "good")
    assert (found["equal"], found["records"], found["holds"]) == (1, 1, True)


def test_redact_by_record(ledger: tuple[str, list[str]]) -> None:
    folder, ids = ledger
    found = audit_json("redact", ids[0], "--data-dir", folder)
    assert len(found["digests"]) == 3
    assert audit_json("show", ids[0], "--data-dir", folder)["completion"] is None
    assert "redacted" in audit("show", ids[0], "--data-dir", folder).stdout
    assert "done before" in audit("redact", ids[0], "--data-dir", folder).stdout
    assert audit("verify", "--data-dir", folder).exit_code == 0
    assert audit("redact", "x", "--data-dir", folder).exit_code == 2


@pytest.mark.parametrize(
    "command", [["runs"], ["summary", "r"], ["show", "x"], ["verify"], ["replay"], ["redact", "x"]]
)
def test_a_folder_without_a_ledger_is_named(tmp_path: Path, command: list[str]) -> None:
    result = audit(*command, "--data-dir", str(tmp_path))
    assert result.exit_code == 2
    assert "holds no ledger" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_page_names_every_command_option_and_field() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "ledger.md").read_text(encoding="utf-8")
    for name, command in get_command(audit_app).commands.items():  # type: ignore[attr-defined]
        assert f"veredicto audit {name}" in page
        for option in (option for parameter in command.params for option in parameter.opts if option[:2] == "--"):
            assert option in page or option == "--texts", option
    entry = flagged(1, phase="eval", cached=True, metadata={"k": 1})
    for written in (entry, refused(2)):
        fields = read_fields(compose(1, 0, None, prepare(written, VERIFIERS).body))
        assert [field for field in fields if f"`{field}`" not in page] == []


def test_the_sql_of_the_page_reads_the_segments(ledger: tuple[str, list[str]]) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "ledger.md").read_text(encoding="utf-8")
    statement = page.split("```sql\n")[1].split("```")[0].replace("DATA_DIR", ledger[0])
    assert sorted(duckdb.execute(statement).fetchall()) == [("run-1", 0, 0.0), ("run-1", 1, 1.0)]
