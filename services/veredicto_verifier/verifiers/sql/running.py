"""Run one query under a budget of CPU and wall seconds: a watchdog thread interrupts the cursor that overruns it.

DuckDB runs a query in the calling thread (`threads=1`), so that thread's CPU clock is the query's. What ignores the
interrupt (constant folding, planning) is left to the process limits and the scheduler.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Protocol

import duckdb

from veredicto_verifier.errors import LimitExceeded
from veredicto_verifier.verifiers.sql.reasons import engine_reason

_REPEAT_S = 0.005
"""Seconds between two interrupts: DuckDB clears the flag when a query starts, so one can be lost."""


@dataclass(frozen=True, slots=True)
class Result:
    """The first rows of a result, with the column names and DuckDB's type names."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]


BROKEN = (duckdb.InternalException, duckdb.FatalException, duckdb.IOException)
"""After these an instance may be unusable for everyone."""


class QueryFailed(Exception):
    """The engine refused or stopped the query; `broken` says that the instance must not be used again."""

    def __init__(self, reason: str, *, broken: bool, code: str = "sql.failed") -> None:
        super().__init__(reason)
        self.reason = reason
        self.broken = broken
        self.code = code


class Interruptible(Protocol):
    """A cursor or connection whose running query another thread can stop."""

    def interrupt(self) -> None:
        """Stop it."""


@contextmanager
def timer_as_limit() -> Iterator[None]:
    """Undo what DuckDB makes of the exception that the worker's CPU timer raises in a signal handler.

    While DuckDB runs, that exception comes out as `RuntimeError("Query interrupted")`.
    """
    try:
        yield
    except RuntimeError as error:
        if "interrupted" not in str(error).lower():
            raise
        raise LimitExceeded("cpu") from error


class Budget:
    """CPU and wall seconds that one answer may use on all its fixtures; a context manager.

    Args:
        cpu_s: CPU seconds of the calling thread.
        wall_s: wall seconds, net of the time the thread waited for a core.
    """

    def __init__(self, cpu_s: float, wall_s: float) -> None:
        self._cpu_s, self._wall_s = cpu_s, wall_s
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._task = threading.get_native_id()
        self._cursor: Interruptible | None = None
        self._done = threading.Event()
        self._exceeded: Literal["cpu", "wall"] | None = None

    def __enter__(self) -> Budget:
        self._cpu_start, self._wall_start = time.clock_gettime(self._clock), time.monotonic()
        self._wait_start = self._waited()
        self._watchdog = threading.Thread(target=self._watch, name="sql-watchdog", daemon=True)
        self._watchdog.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._done.set()
        self._watchdog.join()

    @property
    def cpu_used_s(self) -> float:
        """CPU seconds used since the budget was opened."""
        return time.clock_gettime(self._clock) - self._cpu_start

    def check(self) -> None:
        """Raise `LimitExceeded` if the budget is used up."""
        exceeded = self._exceeded or self._overrun()
        if exceeded is not None:
            raise LimitExceeded(exceeded)

    def exceeded(self) -> bool:
        """Whether the budget is used up."""
        return (self._exceeded or self._overrun()) is not None

    @contextmanager
    def interrupting(self, running: Interruptible) -> Iterator[None]:
        """What the watchdog interrupts when the budget is used up inside this block."""
        self._cursor = running
        try:
            yield
        finally:
            self._cursor = None

    def run(self, cursor: duckdb.DuckDBPyConnection, query: duckdb.Statement | str, max_rows: int) -> Result:
        """The first `max_rows` rows of a query.

        Raises:
            LimitExceeded: time or memory ran out.
            QueryFailed: anything else that DuckDB objects to.
        """
        self.check()
        try:
            with self.interrupting(cursor):
                cursor.execute(query)
                names = tuple(str(column[0]) for column in cursor.description)
                types = tuple(str(column[1]) for column in cursor.description)
                result = Result(names, types, cursor.fetchmany(max_rows))
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise LimitExceeded("memory") from error
        except duckdb.InterruptException as error:
            raise LimitExceeded(self._exceeded or "cpu") from error
        except BROKEN as error:
            raise QueryFailed(engine_reason(error, _text(query)), broken=True) from error
        except (duckdb.Error, ValueError, OverflowError) as error:
            raise QueryFailed(engine_reason(error, _text(query)), broken=False) from error
        self.check()
        return result

    def _watch(self) -> None:
        while not self._done.wait(self._pause()):
            self._exceeded = self._exceeded or self._overrun()
            cursor = self._cursor
            if self._exceeded is not None and cursor is not None:
                cursor.interrupt()

    def _pause(self) -> float:
        if self._exceeded is not None:
            return _REPEAT_S
        cpu_left = self._cpu_s - self.cpu_used_s
        wall_left = self._wall_s - (time.monotonic() - self._wall_start)
        return max(min(cpu_left, wall_left), _REPEAT_S)

    def _overrun(self) -> Literal["cpu", "wall"] | None:
        if self.cpu_used_s >= self._cpu_s:
            return "cpu"
        wall = time.monotonic() - self._wall_start
        if wall >= self._wall_s and wall - (self._waited() - self._wait_start) >= self._wall_s:
            return "wall"
        return None

    def _waited(self) -> float:
        """Seconds that the thread has been runnable without a core (0 where the kernel does not say)."""
        try:
            with open(f"/proc/self/task/{self._task}/schedstat", encoding="ascii") as file:
                return int(file.read().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0


def _text(query: duckdb.Statement | str) -> str:
    return query if isinstance(query, str) else query.query
