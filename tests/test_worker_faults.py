"""Whose fault a dead worker is gets decided: real processes are killed, and no verdict changes."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.serving import RunningService, serving
from veredicto_verifier.attribution import FRESH_TRIES
from veredicto_verifier.keys import Keys
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.scheduler import Scheduler
from veredicto_verifier.verdict import Verdict
from veredicto_verifier.worker import probe_jobs

SPIN = "SELECT sum(a.n * b.n * c.n) FROM t a, t b, t c, t d, t e"
FIXTURE = {"script": "CREATE TABLE t AS SELECT range AS n FROM range(2000)"}


def sql(completion: str, *, cpu_s: float = 5.0) -> dict[str, Any]:
    spec = {"fixtures": [FIXTURE], "gold": {"sql": "SELECT count(*) FROM t"}, "limits": {"cpu_s": cpu_s}}
    return {"completion": completion, "task": {"verifier": "sql", "spec": spec}}


def kill_now_and_then(service: RunningService, lane: str, stop: threading.Event, killed: list[int]) -> None:
    """SIGKILL a worker of the lane every now and then, as an operator or the kernel would.

    Not more often than an item is tried again: on a busy machine all of them may meet the same one.
    """
    while len(killed) < FRESH_TRIES and not stop.wait(0.7):
        for pid in service.worker_pids(lane)[:1]:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)


def test_workers_killed_in_the_middle_of_a_batch_change_no_verdict(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "2", VEREDICTO_CACHE_SIZE="0") as service:
        heavy = "(SELECT count(*) FROM t a, t b WHERE a.n * b.n % 7 = {})"
        items = [
            sql(f"SELECT {'count(*)' if n % 3 else 'sum(n)'} FROM t WHERE {heavy.format(n % 7)} >= 0")
            for n in range(60)
        ]
        calm = [result["reward"] for result in service.score(items)]
        stop, killed = threading.Event(), list[int]()
        killer = threading.Thread(target=kill_now_and_then, args=(service, "sql", stop, killed))
        killer.start()
        try:
            disturbed = [result["reward"] for result in service.score(items * 3)]
        finally:
            stop.set()
            killer.join()
        assert killed
        assert disturbed == calm * 3
        assert set(calm) == {0.0, 1.0}


def test_an_answer_that_never_ends_is_scored_zero_and_its_neighbours_are_judged(service: RunningService) -> None:
    first, endless, last = service.score([sql("SELECT count(*) FROM t"), sql(SPIN, cpu_s=0.3), sql("SELECT 1 FROM t")])
    assert (first["reward"], last["reward"]) == (1.0, 0.0)
    assert (endless["outcome"], endless["reward"]) == ("scored", 0.0)
    checks: Any = endless["checks"]
    assert [check["code"] for check in checks] == ["sql.timeout"]


def test_no_worker_outlives_the_service(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "1") as service:
        pids = [pid for lane in ("sql", "light", "xml", "python") for pid in service.worker_pids(lane)]
        assert len(pids) >= 4
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(psutil.pid_exists(pid) for pid in pids):
        time.sleep(0.1)
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


def test_a_full_queue_is_503_with_retry_after_and_nothing_is_started(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "1", VEREDICTO_MAX_QUEUED="20") as service:
        answer = httpx.post(f"{service.url}/score", json={"items": [sql("SELECT 1")] * 21}, timeout=60)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        assert service.score([sql("SELECT count(*) FROM t")])[0]["reward"] == 1.0


def test_with_a_key_made_every_route_but_health_asks_for_it(tmp_path: Path) -> None:
    with serving(tmp_path / "data", "--workers", "1") as service:
        keys = Keys(service.data_dir)
        secret = keys.create("trainer")
        known = {"Authorization": f"Bearer {secret}"}
        assert httpx.get(f"{service.url}/healthz").status_code == 200
        assert "<title>Veredicto</title>" in httpx.get(f"{service.url}/").text
        assert httpx.get(f"{service.url}/packs").status_code == 401
        assert httpx.post(f"{service.url}/score", json={"items": [sql("SELECT 1")]}).status_code == 401
        assert httpx.get(f"{service.url}/packs", headers={"Authorization": "Bearer wrong"}).status_code == 403
        assert httpx.get(f"{service.url}/packs", headers=known).status_code == 200
        assert secret not in (service.data_dir / "keys.json").read_text()
        with pytest.raises(ValueError, match="exists"):
            keys.create("trainer")
        other = {"Authorization": f"Bearer {keys.create('other')}"}
        body = {"items": [sql("SELECT count(*) FROM t")]}
        records = [
            httpx.post(
                f"{service.url}/score", json=body, headers={**caller, "Idempotency-Key": "same"}, timeout=60
            ).json()["results"][0]["record"]
            for caller in (known, known, other)
        ]
        assert records[0] == records[1] != records[2]
        assert keys.revoke("trainer")
        assert keys.revoke("other")
        assert httpx.get(f"{service.url}/packs", headers=known).status_code == 403, "no key left: closed, not open"
        (service.data_dir / "keys.json").write_text("{")
        assert httpx.get(f"{service.url}/packs", headers=known).status_code == 503


def test_an_item_for_which_no_worker_can_be_started_is_our_failure() -> None:
    async def run() -> tuple[Verdict, Verdict]:
        scheduler = Scheduler(num_workers=1, max_queued=10)
        await scheduler.start(["light"])
        (job, _), _ = probe_jobs("format")
        before = await scheduler.submit([job])[0]
        lane = scheduler.lanes["light"]
        lane.environment = {"PYTHONHOME": "/nowhere", "PYTHONPATH": ""}
        killed = [lane.workers[0].pid, *[pid for pid in children() if pid != lane.workers[0].pid]]
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        after = await scheduler.submit([job])[0]
        await scheduler.stop()
        return before, after

    before, after = asyncio.run(run())
    assert before.reward == 1.0
    assert (after.outcome, after.reward, after.error_code) == ("infra_error", None, "infra.worker_lost")


def test_equal_answers_of_one_batch_are_judged_once_unless_the_verdict_may_not_be_remembered() -> None:
    (good, _), (bad, _) = probe_jobs("json")
    broken = dataclasses.replace(good, task="broken", spec={**good.spec, "schema": {"type": "no such type"}})
    jobs = [dataclasses.replace(job, twin=name) for job, name in ((good, b"a"), (bad, b"b"), (broken, b"c"))]

    async def run() -> tuple[list[Verdict], Verdict]:
        scheduler = Scheduler(num_workers=1, max_queued=20)
        await scheduler.start(["light"])
        verdicts = await asyncio.gather(*scheduler.submit(jobs * 3))
        first, second = scheduler.submit([jobs[0], jobs[0]])
        first.cancel()
        left_alone = await second
        assert scheduler.num_pending == 0
        await scheduler.stop()
        return verdicts, left_alone

    verdicts, left_alone = asyncio.run(run())
    assert [verdict.reward for verdict in verdicts] == [1.0, 0.0, None] * 3
    assert [verdict.cached for verdict in verdicts] == [False, False, False, True, True, False, True, True, False]
    assert {verdict.outcome for verdict in verdicts[2::3]} == {"invalid_task"}
    assert left_alone.reward == 1.0, "the one that its twin waited for was dropped by its caller"


def children() -> list[int]:
    lines = {child.pid: " ".join(child.cmdline()) for child in psutil.Process().children()}
    return [pid for pid, line in lines.items() if "worker_loop light" in line]


def test_one_worker_or_several_give_the_same_verdicts(service: RunningService, tmp_path: Path) -> None:
    items = [
        {"completion": completion, "task": {"verifier": name, "spec": dict(verifier.example)}}
        for name, verifier in VERIFIERS.items()
        for completion in (verifier.good, verifier.bad, "", "SELECT", "```json\n{}\n```", "<think>\n42\n</think>")
    ]
    several = [verdict_of(result) for result in service.score(items * 2)]
    with serving(tmp_path / "data", "--workers", "1", VEREDICTO_CACHE_SIZE="0") as alone:
        one = [verdict_of(result) for result in alone.score(items)]
    assert several == one * 2


def verdict_of(result: dict[str, object]) -> dict[str, object]:
    varying = {"queue_ms", "exec_ms", "record", "cached", "answer_class"}
    return {name: value for name, value in result.items() if name not in varying}
