"""A short run against a real verifier service, sampled by vLLM: it learns from what vLLM gave, with proven weights."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from veredicto_proto.client import Client
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.loop import train
from veredicto_trainer.metrics import read_rows

ROOT = Path(__file__).parent.parent
PYTHON = os.environ.get("VEREDICTO_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
"""An interpreter with the verifier's dependencies, which vLLM's virtual environment lacks."""
READY_SECONDS = 120


@pytest.fixture
def service_url(tmp_path: Path) -> Iterator[str]:
    command = [PYTHON, "-m", "veredicto_verifier", "serve", "--port", "0", "--data-dir", str(tmp_path / "data")]
    paths = os.pathsep.join(str(ROOT / name) for name in ("proto", "services", "trainer"))
    log = tmp_path / "service.log"
    with log.open("wb") as output:
        service = subprocess.Popen(command, stderr=output, env={**os.environ, "PYTHONPATH": paths})
        try:
            yield _address(log, service)
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait(60)


def _address(log: Path, service: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert service.poll() is None, log.read_text()
        found = re.search(r"http://\S+", log.read_text())
        try:
            if found and httpx.get(f"{found.group(0)}/readyz", timeout=60).status_code == httpx.codes.OK:
                return found.group(0)
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"the service did not get ready: {log.read_text()[-3000:]}")


def test_a_run_sampled_by_vllm_learns_with_proven_weights(service_url: str, tmp_path: Path) -> None:
    options = {
        "dtype": "float32",
        "enforce_eager": True,
        "max_model_len": 64,
        "distributed_executor_backend": "uni",
    }
    body = {
        "run": "vllm",
        "output": tmp_path / "run",
        "service": {"url": service_url},
        "tasks": {"pack": "demo-sql"},
        "policy": {"scratch": {"hidden": 128, "layers": 2, "heads": 4}},
        "warm_start": {"steps": 300},  # fewer, and no answer is right: nothing to learn from
        "engine": {"kind": "vllm", "tolerance": 1e-4, "options": options},
        "grpo": {"steps": 3, "prompts_per_step": 6, "group_size": 8, "max_new_tokens": 20, "lr": 5e-4},
        "eval": {"questions": 6, "samples": 1},
        "checkpoint": {"every": 3},
    }
    console = Console(file=io.StringIO(), width=120)
    with Client(service_url) as client:
        outcome = train(TrainerConfig.model_validate(body), client, console)
    assert outcome.after is not None
    assert outcome.before is not None
    assert outcome.after.weights != outcome.before.weights
    proofs = read_rows(tmp_path / "run" / "syncs.jsonl")
    assert [proof["version"] for proof in proofs] == [0, 1, 2]
    assert all(proof["holds"] and proof["logprob_gap"] <= 1e-4 for proof in proofs)
    steps = read_rows(tmp_path / "run" / "metrics.jsonl")
    assert [step["step"] for step in steps] == [1, 2, 3]
    assert any(step["grad_norm"] > 0 for step in steps)
