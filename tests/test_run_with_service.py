"""Runs against the real service: every mode learns from its verdicts, and its death amid a run changes no weight."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.packs_on_disk import write_pack
from tests.serving import serving
from tests.tiny_policy import tiny_policy
from tests.training import config, go, weights
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.metrics import read_rows

DIGITS = [str(digit) for digit in range(8)]
PAIRS = [(a, b) for a in DIGITS for b in DIGITS if a != b]
MODES: dict[str, dict[str, Any]] = {
    "sync": {"name": "sync"},
    "staged": {"name": "staged", "stages": 2},
    "bounded": {"name": "bounded", "max_age": 2},
}


def numbers(folder: Path) -> Path:
    """A pack whose questions are two digits; the answer is the second."""
    lines: dict[str, list[str]] = {"train": [], "test": []}
    for index, (a, b) in enumerate(PAIRS):
        body = {"id": f"{index:04d}", "prompt": f"{a} {b}", "verifier": "math", "spec": {"answer": b}}
        lines["train" if index % 4 else "test"].append(json.dumps(body))
    manifest = 'name = "numbers"\nversion = "1.0.0"\nlicence = "CC0-1.0"\nlanguage = "en"\n'
    files = {f"tasks/{split}.jsonl": "\n".join(rows) + "\n" for split, rows in lines.items()}
    return write_pack(folder / "numbers", {"pack.toml": manifest, **files})


def run_of(folder: Path, url: str, mode: str, name: str) -> TrainerConfig:
    if not (folder / "tiny").exists():
        tiny_policy(folder / "tiny", vocabulary=DIGITS)
    sections = {"tasks": {"pack": "numbers"}, "mode": MODES[mode], "eval": {"questions": 14, "executes_check": "math"}}
    return config(folder, url, name=name, sections=sections, max_new_tokens=1)


@pytest.mark.timeout(300)
def test_every_mode_learns_from_the_verdicts_of_the_service_even_when_it_is_killed_meanwhile(tmp_path: Path) -> None:
    flags = ("--packs", str(numbers(tmp_path)), "--workers", "1")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ended: dict[str, str] = {}
    with serving(tmp_path / "data", *flags, port=port) as service:
        for mode in MODES:
            settings = run_of(tmp_path, service.url, mode, mode)
            ended[mode] = weights(go(settings))
            rollouts = read_rows(settings.output / "rollouts.jsonl")
            assert len(rollouts) == 6 * 6 * 6
            assert {row["verifier"].split("@")[0] for row in rollouts} == {"math"}
            for row in rollouts:
                asked = PAIRS[int(row["ref"].rsplit("/", 1)[1])]
                assert row["reward"] == float(row["text"].strip() == asked[1]), row
            assert read_rows(settings.output / "metrics.jsonl")[-1]["updates"] > 0
            run_name = json.loads((settings.output / "run.json").read_text(encoding="utf-8"))["run"]
            steps = httpx.get(f"{service.url}/audit/runs/{run_name}").json()["steps"]
            audited = [step["mean_reward"] for step in steps if step["phase"] == "train"]
            assert audited == pytest.approx([row["reward"] for row in read_rows(settings.output / "metrics.jsonl")])
        killed = threading.Event()
        settings = run_of(tmp_path, service.url, "sync", "killed")
        rows = settings.output / "metrics.jsonl"

        def kill_once() -> bool:
            if not killed.is_set() and rows.exists() and len(read_rows(rows)) >= 2:
                os.kill(service.pid, signal.SIGKILL)
                killed.set()
            return False

        results: list[Any] = []
        run = threading.Thread(target=lambda: results.append(go(settings, should_stop=kill_once)))
        run.start()
        assert killed.wait(100)
    with serving(tmp_path / "data", *flags, port=port):
        run.join(100)
    assert weights(results[0]) == ended["sync"]
    assert len(set(ended.values())) == 3
