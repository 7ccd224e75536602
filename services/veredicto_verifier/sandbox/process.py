"""Start a confined process, drive it, and end it: the judge's side of the sandbox.

A child is forked by the zygote (`launcher.py`) and confines itself before it gets a program; the judge sends nothing
until it has said so. Whatever happens to the child happens to nothing else.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from veredicto_verifier.errors import InfraFault, LimitExceeded
from veredicto_verifier.sandbox.launcher import EXEC, take
from veredicto_verifier.sandbox.meter import Meter, process_cpu_s
from veredicto_verifier.sandbox.streams import Drain, Feed, Link, Stream

OUTPUT_CAP_BYTES = 1024 * 1024
_GRACE_S = 2.0
_ADDRESS_SPACE_SLACK = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Quota:
    """Limits of one child."""

    cpu_s: float
    """CPU seconds for its whole life after the start, enforced by the kernel as a backstop."""
    memory_bytes: int
    """Data beyond what the bare interpreter holds."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended."""

    code: int | None
    """Its exit status; None when a signal ended it."""
    signal: int | None
    killed: bool
    """We ended it."""


class OutputLimit(Exception):
    """The program wrote more than `OUTPUT_CAP_BYTES` to its output."""


class Child:
    """One confined process and our ends of its pipes. A context manager: leaving it kills the child.

    The process has confined itself and waits; it gets nothing of the task before its limits are set.

    Args:
        quota: its limits.
        stdin: what it finds on its standard input.
        profile: what it may do, see `launcher.take`.

    Raises:
        InfraFault: no process could be started.
    """

    def __init__(self, quota: Quota, *, stdin: bytes = b"", profile: str = "python") -> None:
        parked = take(profile, (int(quota.cpu_s) + 2, quota.memory_bytes))
        self.pid = parked.pid
        self.exit_fd = parked.exit_fd
        """Readable once the process has ended."""
        self.link = Link(parked.ends.channel)
        self.stdout = Drain(parked.ends.stdout, OUTPUT_CAP_BYTES)
        self.stderr = Drain(parked.ends.stderr, OUTPUT_CAP_BYTES)
        self.stdin = Feed(parked.ends.stdin, stdin)
        self.ending: Ending | None = None
        self.num_asked = 0
        """Questions so far; an answer must carry the number of its question."""
        self._zygote = parked.zygote
        self._quota = quota
        self._killed = False
        self._lost = False
        self._cpu_at_ready = process_cpu_s(self.pid)
        self._cpu_total = 0.0
        try:
            if profile != EXEC:  # that one has another user, so we may not
                _limit(self.pid, quota, self._cpu_at_ready)
        except BaseException:
            self.discard()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    @property
    def tree_root(self) -> int:
        """The process under which everything stays that the child starts."""
        return self._zygote.pid

    @property
    def streams(self) -> tuple[Stream, ...]:
        """What the judge must keep moving while the child runs."""
        return (self.link, self.stdout, self.stderr, self.stdin)

    @property
    def exited(self) -> bool:
        """The process has ended (it may not be reaped yet)."""
        return self.ending is not None or bool(select.select([self.exit_fd], [], [], 0)[0])

    @property
    def cpu_s(self) -> float:
        """CPU seconds it used after it was ready; the start is not charged."""
        total = self._cpu_total if self.ending else process_cpu_s(self.pid)
        return max(0.0, total - self._cpu_at_ready)

    def discard(self) -> None:
        """End it without waiting for how: for a child that has said all that matters."""
        if self.ending is None:
            self._cpu_total = process_cpu_s(self.pid)
            self._zygote.end(self.pid, wanted=False)
            self.ending = Ending(None, signal.SIGKILL, killed=True)
            self._close()

    def kill(self) -> Ending:
        """End it if it still runs, close our ends, and say how it ended."""
        if self.ending is not None:
            return self.ending
        self._killed = not self.exited
        self._cpu_total = process_cpu_s(self.pid)
        self._zygote.end(self.pid, wanted=True)
        found = self._zygote.ending(self.pid)
        self._lost = found is None
        status, self._cpu_total = found if found is not None else (signal.SIGKILL, self._cpu_total)
        self._close()
        signalled = os.WIFSIGNALED(status)
        self.ending = Ending(
            code=None if signalled else os.waitstatus_to_exitcode(status),
            signal=os.WTERMSIG(status) if signalled else None,
            killed=self._killed,
        )
        return self.ending

    def post_mortem(self) -> Ending:
        """How it ended, for a child whose channel closed: waits a moment for the exit, then kills.

        Raises:
            LimitExceeded: the kernel ended it for its CPU time.
            InfraFault: someone else killed it.
        """
        if self.ending is None:
            self._await_exit()
        ending = self.kill()
        if self._lost:
            raise InfraFault("infra.worker_lost", "a sandboxed process was lost with the process that started it")
        if ending.signal == signal.SIGXCPU or (ending.signal == signal.SIGKILL and self.cpu_s >= self._quota.cpu_s):
            raise LimitExceeded("cpu")
        if ending.signal == signal.SIGKILL and not ending.killed:
            raise InfraFault("infra.memory", "a sandboxed process was killed from outside, probably for want of memory")
        return ending

    def _await_exit(self) -> None:
        # Net of its wait for a core: how it ended must not depend on how busy the machine is.
        meter = Meter([self.pid], cpu_s=_GRACE_S, wall_s=_GRACE_S)
        with contextlib.suppress(LimitExceeded):
            while not self.exited:
                select.select([self.exit_fd], [], [], meter.check())

    def _close(self) -> None:
        os.close(self.exit_fd)
        for stream in self.streams:
            stream.close()


def _limit(pid: int, quota: Quota, cpu_used_s: float) -> None:
    """Set what the task decides, from outside: the child itself can no longer change a limit."""
    try:
        _apply(pid, quota, cpu_used_s)
    except OSError as error:
        raise InfraFault("infra.worker_lost", f"a child's limits could not be set: {error.strerror}") from error


def _apply(pid: int, quota: Quota, cpu_used_s: float) -> None:
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
        size = statm.read().split()
    page = os.sysconf("SC_PAGE_SIZE")
    total, data = int(size[0]) * page, int(size[5]) * page
    cpu_s = int(cpu_used_s + quota.cpu_s + 1) + 1
    # DATA is the limit; AS only a backstop: threads reserve far more address space than they use.
    limits = {
        resource.RLIMIT_DATA: (data + quota.memory_bytes,) * 2,
        resource.RLIMIT_AS: (total + 4 * quota.memory_bytes + _ADDRESS_SPACE_SLACK,) * 2,
        resource.RLIMIT_CPU: (cpu_s, cpu_s + 1),
    }
    for which, (soft, hard) in limits.items():
        _, ceiling = resource.prlimit(pid, which)
        top = hard if ceiling == resource.RLIM_INFINITY else min(hard, ceiling)
        resource.prlimit(pid, which, (min(soft, top), top))


def drive(children: Sequence[Child], meters: Sequence[Meter], done: Callable[[], bool]) -> None:
    """Keep every pipe moving until `done`.

    Raises:
        OutputLimit: a program wrote too much.
        LimitExceeded, InfraFault: from a meter.
    """
    while not done():
        nap_s = min(meter.check() for meter in meters)
        _poll([stream for child in children for stream in child.streams], nap_s, [child.exit_fd for child in children])
        _check_output(children)
    # What a program wrote before it answered counts, whether or not it was read before the answer.
    for child in children:
        child.stdout.catch_up()
        child.stderr.catch_up()
    _check_output(children)


def _check_output(children: Sequence[Child]) -> None:
    if any(child.stdout.overflowed or child.stderr.overflowed for child in children):
        raise OutputLimit


def _poll(streams: Sequence[Stream], timeout_s: float, exits: Sequence[int] = ()) -> None:
    """Wait until something can move (or a process exits), then move it."""
    poller = select.poll()
    by_fd = {stream.fileno(): stream for stream in streams if stream.open}
    for fd, stream in by_fd.items():
        poller.register(fd, stream.events())
    for fd in exits:
        poller.register(fd, select.POLLIN)
    for fd, _ in poller.poll(timeout_s * 1000):
        if fd in by_fd:
            by_fd[fd].advance()
