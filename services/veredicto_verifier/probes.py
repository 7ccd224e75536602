"""Readiness: a known-good and a known-bad completion through every verifier and its real worker."""

from __future__ import annotations

import asyncio

from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.scheduler import Scheduler
from veredicto_verifier.worker import probe_jobs

PROBE_SECONDS = 20.0


async def failing_verifiers(scheduler: Scheduler) -> list[str]:
    """Names of the verifiers whose probes did not come out as they must, in time.

    Raises:
        Overloaded: the queue is full.
    """
    names = list(VERIFIERS)
    probes = [probe_jobs(name) for name in names]
    futures = scheduler.submit([job for pair in probes for job, _ in pair])
    finished, _ = await asyncio.wait(futures, timeout=PROBE_SECONDS)
    failing = set()
    wanted = [(name, reward) for name, pair in zip(names, probes, strict=True) for _, reward in pair]
    for future, (name, reward) in zip(futures, wanted, strict=True):
        if future not in finished or future.result().reward != reward:
            failing.add(name)
    return sorted(failing)
