"""Start a real service on a real port and speak to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

ROOT = Path(__file__).parent.parent
SOURCE_ROOTS = [ROOT / "proto", ROOT / "services", ROOT / "trainer"]
READY_SECONDS = 100


@dataclass(frozen=True)
class RunningService:
    url: str
    data_dir: Path
    pid: int

    def worker_pids(self, lane: str) -> list[int]:
        children = psutil.Process(self.pid).children(recursive=True)
        lines = ((child.pid, " ".join(child.cmdline())) for child in children if child.is_running())
        return [pid for pid, line in lines if f"worker_loop {lane}" in line]

    def score(self, items: list[dict[str, object]], **fields: object) -> list[dict[str, object]]:
        answer = httpx.post(f"{self.url}/score", json={"items": items, **fields}, timeout=100)
        assert answer.status_code == 200, answer.text
        results: list[dict[str, object]] = answer.json()["results"]
        return results


def environment(**extra: str) -> dict[str, str]:
    paths = os.pathsep.join(str(path) for path in SOURCE_ROOTS)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VEREDICTO_")}
    return {**kept, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **extra}


@contextmanager
def serving(data_dir: Path, *flags: str, ready: bool = True, port: int = 0, **extra: str) -> Iterator[RunningService]:
    command = [sys.executable, "-m", "veredicto_verifier", "serve", "--port", str(port), "--data-dir", str(data_dir)]
    command += flags
    log = data_dir.parent / f"{data_dir.name}.log"
    with log.open("wb") as stderr, subprocess.Popen(command, env=environment(**extra), stderr=stderr) as process:
        try:
            yield RunningService(_wait(log, process, ready=ready), data_dir, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait(log: Path, process: subprocess.Popen[bytes], *, ready: bool) -> str:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        found = re.search(r"http://\S+", log.read_text())
        if found:
            url = found.group(0)
            try:
                if httpx.get(f"{url}/{'readyz' if ready else 'healthz'}", timeout=60).status_code == 200:
                    return url
            except httpx.TransportError:
                pass
        time.sleep(0.2)
    raise AssertionError(f"the service did not get ready: {log.read_text()[-4000:]}")
