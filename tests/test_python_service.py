"""The python lane of a running service: a killed zygote, and its canaries in the readiness probe."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.serving import RunningService, serving

TASK = {
    "verifier": "python",
    "spec": {
        "format": "calls",
        "entry": "f",
        "cases": [{"args": [n], "expected": n + 1} for n in range(3)],
        "limits": {"cpu_s": 5},
    },
}
RIGHT = "```python\nimport time\ndef f(x):\n    time.sleep(0.05)\n    return x + 1  # {}\n```"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder: Path = tmp_path_factory.mktemp("python") / "data"
    with serving(folder, VEREDICTO_WORKERS="1") as running:
        yield running


def zygotes(service: RunningService) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(service.pid).children(recursive=True):
        try:
            if "sandbox.zygote" in " ".join(child.cmdline()) and "worker_loop" in " ".join(child.parent().cmdline()):
                found.append(child)
        except (psutil.NoSuchProcess, AttributeError):
            continue
    return found


def test_zygotes_killed_while_twenty_jobs_run_make_no_zero(service: RunningService) -> None:
    results: list[dict[str, object]] = []
    items: list[dict[str, object]] = [{"completion": RIGHT.format(n), "task": TASK} for n in range(20)]
    scoring = threading.Thread(target=lambda: results.extend(service.score(items)))
    scoring.start()
    killed = 0
    while scoring.is_alive() and killed < 3:
        for zygote in zygotes(service):
            if scoring.is_alive() and killed < 3:
                zygote.kill()
                killed += 1
        time.sleep(0.3)
    scoring.join()
    assert killed >= 1
    assert len(results) == 20
    assert {(result["outcome"], result["reward"]) for result in results} <= {("scored", 1.0), ("infra_error", None)}
    [after] = service.score([{"completion": RIGHT.format("after"), "task": TASK}])
    assert after["reward"] == 1.0
