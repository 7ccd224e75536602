"""The verifier `sql` in real workers: what is charged to an answer, and how soon a worker is well again."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.serving import RunningService
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import canonical_task, parse_spec, task_digest
from veredicto_verifier.verifiers.sql.fixtures import MAX_OPEN
from veredicto_verifier.worker import Died, Job, Worker

SLOW_TO_LOAD = "CREATE TABLE t AS SELECT count(*) AS n FROM range(60_000_000);"
"""A script of some 0.2 s of CPU whose table has one row."""


def job(script: str, completion: str, cpu_s: float) -> Job:
    raw = {"fixtures": [{"script": script}], "gold": {"sql": "SELECT n FROM t"}, "limits": {"cpu_s": cpu_s}}
    spec = parse_spec("sql", raw, VERIFIERS)
    digest = task_digest(canonical_task("sql", spec, {}))
    return Job("sql", "sql", raw, digest, spec.limits.wall_seconds, completion)


async def replies(jobs: list[Job]) -> list[dict[str, Any]]:
    worker = await Worker.start("sql", {})
    try:
        answers = [await worker.score(one) for one in jobs]
    finally:
        await worker.close()
    assert not any(isinstance(answer, Died) for answer in answers)
    return [answer for answer in answers if isinstance(answer, dict)]


def test_opening_an_evicted_fixture_again_is_not_charged_to_the_answer() -> None:
    slow = job(SLOW_TO_LOAD, "SELECT n FROM t", cpu_s=0.1)
    others = [job(f"CREATE TABLE t AS SELECT {n} AS n;", "SELECT n FROM t", cpu_s=5.0) for n in range(MAX_OPEN)]
    first, *_, again = asyncio.run(replies([slow, *others, slow]))
    assert (first["kind"], again["kind"]) == ("graded", "graded"), again
    assert first["reward"] == again["reward"] == 1.0
    assert first["flags"] == again["flags"] == []


ENDLESS = (
    "SELECT count(*) FROM " + ", ".join(f"t a{i}" for i in range(20)),
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r, t",
    "SELECT a.n FROM t a, t b, t c ORDER BY a.n * b.n - c.n",
    "SELECT list(a.n) FROM t a, t b, t c",
    "SELECT " + "+".join(f"len(list_sort(range({900_000 + i})))" for i in range(40)) + " FROM t",
)
"""Runaway queries; the last one does not look at the interrupt, so its worker is killed."""


def test_honest_answers_beside_and_after_runaway_ones_are_judged_right(service: RunningService) -> None:
    def item(completion: str, cpu_s: float) -> dict[str, Any]:
        script = {"script": "CREATE TABLE t AS SELECT range AS n FROM range(2000)"}
        spec = {"fixtures": [script], "gold": {"sql": "SELECT count(*) FROM t"}, "limits": {"cpu_s": cpu_s}}
        return {"completion": completion, "task": {"verifier": "sql", "spec": spec}}

    honest = [item(f"SELECT {'sum(n)' if n % 2 else 'count(*)'} FROM t WHERE n >= {-n}", 5.0) for n in range(10)]
    runaways = [item(f"{query} -- run away", 0.2) for query in ENDLESS]
    beside = [one for pair in zip(runaways, honest, strict=False) for one in pair]
    results = service.score([*beside, *honest])
    verdicts = [(result["outcome"], result["reward"]) for result in results]
    wanted = [("scored", float(n % 2 == 0)) for n in range(10)]
    assert verdicts[0:10:2] == [("scored", 0.0)] * 5
    assert verdicts[1:10:2] == wanted[:5]
    assert verdicts[10:] == wanted
    codes = {results[index]["checks"][-1]["code"] for index in range(0, 10, 2)}  # type: ignore[index]
    assert codes <= {"sql.timeout", "sql.memory", "sql.crash"}
