"""How long a request takes: one `format` verdict with its record, and 64 answers of the demo in one request."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from figures import Figure, publish

TRIES = 300
BATCHES = 15
FORMAT = {"verifier": "format", "spec": {"sections": ["think", "answer"]}}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-m", "veredicto_verifier", "serve", "--port", "0", "--data-dir", f"{folder}/data"]
        with log.open("wb") as stderr, subprocess.Popen(command, stderr=stderr) as process:
            try:
                client = httpx.Client(base_url=ready(log), timeout=60)
                publish("service", [one_verdict(client), one_batch(client)])
            finally:
                process.terminate()


def ready(log: Path) -> str:
    for _ in range(600):
        found = re.search(r"http://\S+", log.read_text())
        if found:
            try:
                if httpx.get(f"{found.group(0)}/readyz", timeout=60).status_code == 200:
                    return found.group(0)
            except httpx.TransportError:
                pass
        time.sleep(0.2)
    raise SystemExit(f"the service did not get ready: {log.read_text()}")


def one_verdict(client: httpx.Client) -> Figure:
    """p50 of a request with one answer of 100 characters; each differs, so that none comes from the cache."""
    seconds = []
    for number in range(TRIES):
        text = f"<think>{number:06}{'x' * 50}</think><answer>{'y' * 14}</answer>"
        item = {"completion": text.ljust(100), "task": FORMAT}
        started = time.perf_counter()
        result = client.post("/score", json={"items": [item]}).json()["results"][0]
        seconds.append(time.perf_counter() - started)
        assert result["reward"] == 1.0, result
        assert result["record"], result
        assert not result["cached"], result
    return Figure("format_p50_ms", statistics.median(seconds) * 1e3, "at most", 10, "ms")


def one_batch(client: httpx.Client) -> Figure:
    """Wall time of 64 answers of demo-sql (8 questions, 8 different answers each) in one request."""
    seconds = []
    refs = [task["ref"] for task in client.get("/packs/demo-sql/tasks?split=train&limit=1000").json()["tasks"]]
    answers = [shown["completion"] for shown in client.get("/packs/demo-sql/demonstrations").json()["demonstrations"]]
    for batch in range(BATCHES):
        items = []
        for question in range(8):
            ref = refs[(batch * 8 + question) % len(refs)]
            for sample in range(8):
                answer = answers[(batch * 64 + question * 8 + sample) % len(answers)]
                items.append({"completion": answer, "task": {"ref": ref}})
        started = time.perf_counter()
        results = client.post("/score", json={"items": items}).json()["results"]
        seconds.append(time.perf_counter() - started)
        assert all(result["outcome"] == "scored" for result in results), results
    return Figure("demo_batch_64_p50_ms", statistics.median(seconds) * 1e3, "at most", 500, "ms")


if __name__ == "__main__":
    main()
