"""What the README tells people to run works as it stands, but for the address."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.serving import ROOT, RunningService, environment

ADDRESS = "http://127.0.0.1:8080"


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)


@pytest.mark.parametrize("page", ["README.md", "README.es.md"])
def test_the_curl_gives_the_right_answers_a_reward(service: RunningService, page: str) -> None:
    (command,) = [block for block in blocks(page, "") if "curl" in block]
    body = re.search(r"-d '(.*)'", command, flags=re.S)
    assert body is not None
    results = httpx.post(f"{service.url}/score", json=json.loads(body.group(1)), timeout=60).json()["results"]
    assert [result["reward"] for result in results] == [1.0] * len(results)


def test_the_sdk_snippet_prints_the_reward(service: RunningService) -> None:
    (snippet,) = blocks("README.md", "python")
    code = snippet.replace(ADDRESS, service.url)
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.0"


def test_every_file_that_the_readme_names_is_there() -> None:
    for page in ("README.md", "README.es.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text(encoding="utf-8")):
            assert (ROOT / link).exists(), link
    assert Path(ROOT / "Makefile").exists()


def test_a_file_is_scored_line_by_line_and_a_broken_line_is_its_own_fault(tmp_path: Path) -> None:
    good = {"completion": "42\u2028", "task": {"verifier": "math", "spec": {"answer": "42"}}}
    file = tmp_path / "items.jsonl"
    file.write_text(json.dumps(good, ensure_ascii=False) + "\nnot JSON\n" + json.dumps(good) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "veredicto_verifier", "score", str(file)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1, "an item that was not scored shows in the exit status"
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [result["reward"] for result in results] == [1.0, None, 1.0]
    assert results[1]["error"]["code"] == "task.malformed"
    assert [result["record"] for result in results] == [None] * 3
