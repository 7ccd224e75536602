"""How much time a child is charged: its CPU clock, and wall time less what it spent waiting for a free core.

A noisy machine must not turn a right answer into a wrong one. The kernel counts, per thread, how long it was ready
to run but had no core (`/proc/PID/task/*/schedstat`); that is taken off the wall clock.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

from veredicto_verifier.errors import InfraFault, LimitExceeded
from veredicto_verifier.sandbox.zygote import MAX_PROCESSES

STARVED_FACTOR = 10
"""Raw wall time beyond this many times the limit is our failure, not the program's."""

_LONGEST_NAP_S = 0.25


def process_cpu_s(pid: int) -> float:
    """CPU seconds a live or unreaped process has used, all its threads included; 0 when it is gone."""
    # The clock id of another process, as clock_getcpuclockid(3) makes it; Python has no name for it.
    with contextlib.suppress(OSError):
        return time.clock_gettime((~pid << 3) | 2)
    return 0.0


def queue_wait_s(pid: int) -> float:
    """Seconds that the live threads of a process waited for a core; 0 when it is gone."""
    total = 0
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
                total += int(file.read().split()[1])
    return total / 1e9


class Meter:
    """Counts from its creation; `check` raises once a limit is passed.

    Args:
        pids: the processes that are charged.
        cpu_s: CPU seconds for all of them together.
        wall_s: wall seconds net of run-queue wait.
    """

    def __init__(self, pids: Sequence[int], *, cpu_s: float, wall_s: float) -> None:
        self._pids = pids
        self._limit_cpu_s = cpu_s
        self._limit_wall_s = wall_s
        self._cpu_at_start = self._cpu()
        self._wait_at_start = self._wait()
        self._started = time.monotonic()

    @property
    def cpu_s(self) -> float:
        """CPU seconds used since the start."""
        return max(0.0, self._cpu() - self._cpu_at_start)

    @property
    def wall_s(self) -> float:
        """Wall seconds since the start, net of run-queue wait."""
        waited = self._wait() - self._wait_at_start
        return max(0.0, time.monotonic() - self._started - max(0.0, waited))

    def check(self) -> float:
        """Seconds until the next check is due.

        Raises:
            LimitExceeded: `cpu` or `wall`.
            InfraFault: the machine is so busy that no fair verdict is possible.
        """
        cpu_left = self._limit_cpu_s - self.cpu_s
        if cpu_left <= 0:
            raise LimitExceeded("cpu")
        raw = time.monotonic() - self._started
        wall_left = self._limit_wall_s - raw
        if wall_left <= 0:
            wall_left = self._limit_wall_s - self.wall_s
            if wall_left <= 0:
                raise LimitExceeded("wall")
            if raw > STARVED_FACTOR * self._limit_wall_s:
                raise InfraFault("infra.starved", "the machine is too busy to judge fairly; send the item again")
        return max(0.001, min(cpu_left / 2, wall_left, _LONGEST_NAP_S))

    def _cpu(self) -> float:
        return sum(map(process_cpu_s, self._pids))

    def _wait(self) -> float:
        return sum(map(queue_wait_s, self._pids))


class TreeMeter(Meter):
    """Counts everything that a zygote's one child has started, also what no longer hangs on that child.

    Args:
        root: the zygote.
        cpu_s: CPU seconds for all of them together.
        wall_s: wall seconds net of run-queue wait.
    """

    def __init__(self, root: int, *, cpu_s: float, wall_s: float) -> None:
        self._root = root
        self._seen: dict[int, float] = {}
        self._waited: dict[int, float] = {}
        super().__init__([root], cpu_s=cpu_s, wall_s=wall_s)

    def check(self) -> float:
        """Seconds until the next check is due.

        Raises:
            LimitExceeded, InfraFault: as with one process.
            TooManyProcesses: more than `MAX_PROCESSES` run.
        """
        due_s = super().check()
        if len(descendants(self._root)) >= MAX_PROCESSES:
            raise TooManyProcesses
        return min(due_s, 0.05)

    def _cpu(self) -> float:
        for pid in descendants(self._root):
            self._seen[pid] = max(self._seen.get(pid, 0.0), process_cpu_s(pid))
        return sum(self._seen.values())

    def _wait(self) -> float:
        for pid in descendants(self._root):
            self._waited[pid] = max(self._waited.get(pid, 0.0), queue_wait_s(pid))
        return sum(self._waited.values())


class TooManyProcesses(Exception):
    """A program has started more processes than any honest one needs."""


def descendants(root: int) -> list[int]:
    """A process and everything that it has started and that still hangs on it."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            waiting += map(int, file.read().split())
    return found
