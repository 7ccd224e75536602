"""The verifier `sql` in real workers: what is charged to an answer, and how soon a worker is well again."""

from __future__ import annotations

import asyncio
from typing import Any

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
