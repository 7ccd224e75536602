"""`make demo`: a verifier service, a policy that learns SQL from its verdicts, and an audit of every reward."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY_SECONDS = 120
BIN = Path(sys.executable).parent


def main() -> int:
    """Run the demo; the exit status is the trainer's or the audit's first failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="configs/demo.toml")
    parser.add_argument("--output", type=Path, default=Path("runs/demo"), help="replaced if it exists")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    shutil.rmtree(options.output, ignore_errors=True)
    data_dir = options.output / "service"
    data_dir.mkdir(parents=True)
    with _service(data_dir) as url:
        print(f"verifier service: {url} (dashboard {url}/, API {url}/docs)\n", flush=True)
        status = _run(
            "veredicto-train", "run", options.config, "--url", url, "--output", options.output, "--seed", options.seed
        )
    if status == 0:
        print("\nThe audit: what the ledger says of this run", flush=True)
        status = _run("veredicto", "audit", "runs", "--data-dir", data_dir) or _run(
            "veredicto", "audit", "verify", "--data-dir", data_dir
        )
    if status == 0:
        print(f"\nreport:        {options.output}/report.json")
    else:
        print(f"\nthe demo failed with status {status}; the service's log is {options.output}/service.log")
    print(f"look again:    {BIN}/veredicto serve --data-dir {data_dir}   then open http://127.0.0.1:8080/")
    print(f"ask the audit: {BIN}/veredicto audit --help")
    return status


@contextmanager
def _service(data_dir: Path) -> Iterator[str]:
    """A service on a free port, stopped at the end."""
    log = data_dir.parent / "service.log"
    command = [BIN / "veredicto", "serve", "--port", "0", "--data-dir", data_dir]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with log.open("wb") as stderr, subprocess.Popen(command, stderr=stderr, env=environment) as process:
        try:
            yield _ready(log, process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def _ready(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        found = re.search(r"http://\S+", log.read_text())
        if found and _answers(found.group(0) + "/readyz"):
            return found.group(0)
        if process.poll() is not None:
            break
        time.sleep(0.3)
    raise SystemExit(f"the service did not get ready; its log ends:\n{log.read_text()[-3000:]}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 (our own loopback address)
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def _run(program: str, *arguments: object) -> int:
    return subprocess.run([BIN / program, *map(str, arguments)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
