"""docs/packs.md is run: its files are written, its commands executed, its output compared (… stands for anything)."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from veredicto_verifier.__main__ import app
from veredicto_verifier.packs.lints import LINTS

PAGE = (Path(__file__).parent.parent / "docs" / "packs.md").read_text(encoding="utf-8")
FENCES = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def matches(expected: str, printed: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in expected.rstrip("\n").split("…"))
    return re.fullmatch(pattern, printed.rstrip("\n"), re.DOTALL) is not None


def test_the_walk_from_a_csv_to_a_scored_answer_is_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    ran = 0
    for kind, name, content in FENCES:
        if name:
            Path(name).write_text(content, encoding="utf-8")
        if kind != "console":
            continue
        command, _, expected = content.partition("\n")
        program, *arguments = shlex.split(command.removeprefix("$ "))
        if program == "veredicto":
            printed = CliRunner().invoke(app, arguments, catch_exceptions=False).stdout
        else:
            printed = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout
        assert matches(expected, printed), f"{command}\n{printed}"
        ran += 1
    assert ran == 6


def test_the_page_names_every_lint() -> None:
    sources = (Path(__file__).parent.parent / "services/veredicto_verifier/packs/lints.py").read_text(encoding="utf-8")
    codes = set(re.findall(r"\"(lint\.\w+)\"", sources))
    assert LINTS
    assert [code for code in codes if f"`{code}`" not in PAGE] == []
