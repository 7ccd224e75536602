"""The python lane of a running service: a killed zygote, and its canaries in the readiness probe."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.serving import READY_SECONDS, RunningService, serving

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


@pytest.mark.timeout(400)
def test_the_service_is_not_ready_while_a_canary_passes_and_is_again_once_all_fail(tmp_path: Path) -> None:
    file = tmp_path / "canaries.json"

    def write(program: str) -> None:
        file.write_text(json.dumps({"a loose end": {"spec": TASK["spec"], "program": program}}), encoding="utf-8")

    item: dict[str, object] = {"completion": RIGHT.format("x"), "task": TASK}
    write("def f(x):\n    return x + 1\n")
    with serving(tmp_path / "data", ready=False, VEREDICTO_WORKERS="1", VEREDICTO_CANARIES=str(file)) as service:
        answer = httpx.get(f"{service.url}/readyz", timeout=100)
        assert answer.status_code == 503
        assert "python" in answer.json()["detail"]
        [refused] = service.score([item])
        assert (refused["outcome"], refused["reward"]) == ("infra_error", None)
        write("def f(x):\n    return x\n")
        deadline = time.monotonic() + READY_SECONDS
        while httpx.get(f"{service.url}/readyz", timeout=100).status_code != 200:
            assert time.monotonic() < deadline, "a service whose canaries all fail stays not ready"
        [scored] = service.score([item])
        assert scored["reward"] == 1.0
