"""The example of docs/verifiers.md judges in a real worker as an installed package; a bad one stops the start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import ROOT, environment

PAGE = (ROOT / "docs" / "verifiers.md").read_text(encoding="utf-8")


def installed(folder: Path, entry: str) -> dict[str, str]:
    """A folder as `pip install --target` leaves it, and an environment that sees it."""
    example = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    (folder / "iban_verifier.py").write_text(example[1], encoding="utf-8")
    metadata = folder / "iban_verifier-1.0.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: iban-verifier\nVersion: 1.0.0\n")
    (metadata / "entry_points.txt").write_text(f"[veredicto.verifiers]\n{entry}\n")
    paths = environment()["PYTHONPATH"]
    return environment(PYTHONPATH=f"{paths}:{folder}")


def test_the_documented_example_judges_as_an_installed_package(tmp_path: Path) -> None:
    entry = re.search(r'^(iban = )"(.*)"$', PAGE, re.MULTILINE)
    assert entry is not None
    env = installed(tmp_path, entry[1] + entry[2])
    task = {"verifier": "iban", "spec": {"country": "DE"}}
    answers = ["DE89 3704 0044 0532 0130 00", "DE88 3704 0044 0532 0130 00", "GB82 WEST 1234 5698 7654 32"]
    items = [json.dumps({"completion": answer, "task": task}) for answer in answers]
    items.append(json.dumps({"completion": "x", "task": {"verifier": "iban", "spec": {"country": "XX"}}}))
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(items))
    command = [sys.executable, "-m", "veredicto_verifier"]
    done = subprocess.run([*command, "score", str(file)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result["reward"] for result in results] == [1.0, 0.0, 0.0, None]
    assert [result["checks"][0]["code"] for result in results[:3]] == [None, "iban.check_digits", "iban.form"]
    assert results[3]["error"]["code"] == "task.spec_invalid"
    assert results[0]["verifier"]["digest"].startswith("sha256:")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("iban = iban_verifier:NOTHING", "cannot be loaded"),
        ("iban = nowhere:VERIFIER", "cannot be loaded"),
        ("iban = iban_verifier:LENGTHS", "is not a `Verifier`"),
        ("clabe = iban_verifier:VERIFIER", "of that name"),
    ],
)
def test_an_entry_point_that_cannot_join_stops_the_start(tmp_path: Path, entry: str, said: str) -> None:
    env = installed(tmp_path, entry)
    command = [sys.executable, "-m", "veredicto_verifier", "verifiers"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr
