"""What runaway queries leave behind: honest verdicts that stay right, goodput two timeouts later, a slot answering."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from figures import Figure, publish
from service import ready

NUM_RUNAWAYS = 50
NUM_KILLS = 5
CPU_S = 0.5
"""The timeout of each."""
FIXTURE = {"script": "CREATE TABLE t AS SELECT range AS n, range % 7 AS g FROM range(2000)"}
RUNAWAYS = (
    "SELECT count(*) FROM " + ", ".join(f"t a{i}" for i in range(20)),
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r, t",
    "SELECT a.n FROM t a, t b, t c ORDER BY a.n * b.n - c.n",
    "SELECT list(a.n) FROM t a, t b, t c",
    "SELECT " + "+".join(f"len(list_sort(range({900_000 + i})))" for i in range(40)) + " FROM t",
)
"""The last one does not look at the interrupt for some 9 s of CPU."""


def main() -> None:
    with service(2) as client:
        figures = recovery(client)
    with service(1) as client:
        figures.append(slot_recovery(client))
    publish("sql_recovery", figures)


@contextlib.contextmanager
def service(num_workers: int) -> Iterator[httpx.Client]:
    """A service of its own, without a cache of verdicts."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-m", "veredicto_verifier", "serve", "--port", "0", "--data-dir", f"{folder}/data"]
        environment = {**os.environ, "VEREDICTO_CACHE_SIZE": "0"}
        with log.open("wb") as stderr, subprocess.Popen(
            [*command, "--workers", str(num_workers)], stderr=stderr, env=environment
        ) as process:  # fmt: skip
            try:
                yield httpx.Client(base_url=ready(log), timeout=600)
            finally:
                process.terminate()


def recovery(client: httpx.Client) -> list[Figure]:
    before = [goodput(client, start)[0] for start in range(0, 500, 100)]
    items = [item(f"{RUNAWAYS[n % len(RUNAWAYS)]} -- {n}", CPU_S) for n in range(NUM_RUNAWAYS)]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        flood = pool.submit(client.post, "/score", json={"items": items})
        right: list[bool] = []
        start = 1000
        while not flood.done():
            right += goodput(client, start)[1]
            start += 100
    results = flood.result().json()["results"]
    refused = sum(result["outcome"] == "scored" and result["reward"] == 0.0 for result in results)
    time.sleep(2 * CPU_S)
    after = []
    for start in range(50_000, 50_500, 100):
        rate, verdicts = goodput(client, start)
        after.append(rate)
        right += verdicts
    print(f"{len(right)} honest verdicts; codes {sorted({result['checks'][-1]['code'] for result in results})}")
    ratio = statistics.median(after) / statistics.median(before)
    return [
        Figure("runaways_scored_zero", refused, "at least", NUM_RUNAWAYS),
        Figure("honest_correct_share", sum(right) / len(right), "at least", 1.0),
        Figure("goodput_after_over_before", ratio, "at least", 0.95, "x"),
    ]


def slot_recovery(client: httpx.Client) -> Figure:
    """The longest that an honest query waits right after a runaway that had to be killed, on the only slot there is."""
    longest = 0.0
    for n in range(NUM_KILLS):
        (killed,) = client.post("/score", json={"items": [item(f"{RUNAWAYS[-1]} -- {n}", CPU_S)]}).json()["results"]
        assert killed["checks"][-1]["code"] in ("sql.timeout", "sql.memory"), killed
        begin = time.perf_counter()
        (honest,) = client.post(
            "/score", json={"items": [item(f"SELECT count(*) FROM t WHERE n >= {-n}", 5.0)]}
        ).json()["results"]
        longest = max(longest, time.perf_counter() - begin)
        assert honest["reward"] == 1.0, honest
    return Figure("next_query_after_kill_s", longest, "at most", 2.0, "s")


def goodput(client: httpx.Client, start: int) -> tuple[float, list[bool]]:
    """Verdicts per second of 60 honest answers, half of them wrong, and whether each verdict is right."""
    wanted, items = [], []
    for n in range(start, start + 60):
        good = n % 2 == 0
        wanted.append(1.0 if good else 0.0)
        items.append(item(f"SELECT {'count(*)' if good else 'sum(n)'} FROM t WHERE n >= {-n}", 5.0))
    begin = time.perf_counter()
    results = client.post("/score", json={"items": items}).json()["results"]
    rate = len(items) / (time.perf_counter() - begin)
    return rate, [result["reward"] == reward for result, reward in zip(results, wanted, strict=True)]


def item(completion: str, cpu_s: float) -> dict[str, Any]:
    spec = {"fixtures": [FIXTURE], "gold": {"sql": "SELECT count(*) FROM t"}, "limits": {"cpu_s": cpu_s}}
    return {"completion": completion, "task": {"verifier": "sql", "spec": spec}}


if __name__ == "__main__":
    main()
