"""Start a confined process, drive it, and end it: the judge's side of the sandbox.

A child is one exec'd interpreter with a clean environment. It confines itself before it gets a program; the judge
sends nothing until it has said so. Whatever happens to the child happens to nothing else.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from veredicto_verifier.errors import InfraFault, LimitExceeded
from veredicto_verifier.sandbox.confine import CHANNEL_FD, LANDLOCK_FD, PEER_FD, Confinement
from veredicto_verifier.sandbox.meter import Meter, process_cpu_s
from veredicto_verifier.sandbox.policy import policy
from veredicto_verifier.sandbox.streams import Drain, Feed, Link, Stream

Role = Literal["candidate", "host"]

OUTPUT_CAP_BYTES = 1024 * 1024
_START_LIMIT_S = 60.0
_GRACE_S = 2.0

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""The child's whole environment. Its own options replace `-I`, which would ignore the fixed hash seed."""

_ISOLATED = ("-s", "-S", "-P", "-B")
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from veredicto_verifier.sandbox.{} import main; main()"


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
    """One confined process and our ends of its pipes. A context manager: leaving it kills and reaps the child.

    Args:
        role: `candidate` or `host`.
        quota: its limits.
        stdin: what it finds on its standard input.
        peer: a socket that the test host gets as its connection to the candidate.
    """

    def __init__(self, role: Role, quota: Quota, *, stdin: bytes = b"", peer: Link | None = None) -> None:
        ours, theirs = socket.socketpair()
        stdin_r, stdin_w = os.pipe()
        stdout_r, stdout_w = os.pipe()
        stderr_r, stderr_w = os.pipe()
        inherited = {0: stdin_r, 1: stdout_w, 2: stderr_w, CHANNEL_FD: theirs.fileno()}
        if peer is not None:
            inherited[PEER_FD] = peer.fileno()
        self._quota = quota
        self._keep_fds = PEER_FD + 1 if peer is not None else LANDLOCK_FD
        self.link = Link(ours)
        self.stdout = Drain(stdout_r, OUTPUT_CAP_BYTES)
        self.stderr = Drain(stderr_r, OUTPUT_CAP_BYTES)
        self.stdin = Feed(stdin_w, stdin)
        self.ending: Ending | None = None
        self._killed = False
        self._cpu_at_ready = 0.0
        self._cpu_total = 0.0
        try:
            self.pid = _spawn(role, inherited)
        except BaseException:
            self._close_streams()
            raise
        finally:
            theirs.close()
            for fd in (stdin_r, stdout_w, stderr_w):
                os.close(fd)
        self.exit_fd = os.pidfd_open(self.pid)
        """Readable once the process has ended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

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

    def confine(self) -> None:
        """Have the child confine itself; until then it has seen nothing of the task.

        Raises:
            InfraFault: it did not report that every wall stands.
        """
        walls = policy()
        backstop = process_cpu_s(self.pid) + self._quota.cpu_s + 1
        order = Confinement(
            parent=os.getpid(),
            cpu_s=int(backstop) + 1,
            memory_bytes=self._quota.memory_bytes,
            landlock=walls.landlock_fd >= 0,
            seccomp=walls.seccomp,
            keep_fds=self._keep_fds,
            preload=walls.preload,
        )
        self.link.send(["confine", order._asdict()])

    def await_ready(self) -> None:
        """Wait until the child has confined itself.

        Raises:
            InfraFault: it died, or took longer than any start should.
        """
        deadline = time.monotonic() + _START_LIMIT_S
        while not self.link.arrived and self.link.open and time.monotonic() < deadline:
            _poll(self.streams, 1.0)
        if not self.link.arrived or self.link.take() != ["ready"]:
            self.kill()
            tail = bytes(self.stderr.data[-200:]).decode("utf-8", "replace")
            raise InfraFault("infra.worker_lost", f"a sandboxed process did not start: {tail.strip()[-160:]}")
        self._cpu_at_ready = process_cpu_s(self.pid)

    def kill(self) -> Ending:
        """End it if it still runs, reap it, close our ends."""
        if self.ending is not None:
            return self.ending
        if not self.exited:
            self._killed = True
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.exit_fd, signal.SIGKILL)
        _, status, usage = os.wait4(self.pid, 0)
        self._cpu_total = usage.ru_utime + usage.ru_stime
        os.close(self.exit_fd)
        self._close_streams()
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
            select.select([self.exit_fd], [], [], _GRACE_S)
        ending = self.kill()
        if ending.signal == signal.SIGXCPU or (ending.signal == signal.SIGKILL and self.cpu_s >= self._quota.cpu_s):
            raise LimitExceeded("cpu")
        if ending.signal == signal.SIGKILL and not ending.killed:
            raise InfraFault("infra.memory", "a sandboxed process was killed from outside, probably for want of memory")
        return ending

    def _close_streams(self) -> None:
        for stream in self.streams:
            stream.close()


def _spawn(role: Role, inherited: dict[int, int]) -> int:
    """Start the interpreter with exactly the given file descriptors, `{number there: number here}`."""
    walls = policy()
    if walls.landlock_fd >= 0:
        inherited = {**inherited, LANDLOCK_FD: walls.landlock_fd}
    # Copies with high numbers first: otherwise one dup2 in the child could overwrite the source of the next.
    copies = {target: fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, 100) for target, source in inherited.items()}
    python = os.path.realpath(sys.executable)
    root = str(Path(__file__).resolve().parents[2])
    try:
        return os.posix_spawn(
            python,
            [python, *_ISOLATED, "-c", _BOOT.format(role), root],
            ENVIRONMENT,
            file_actions=[(os.POSIX_SPAWN_DUP2, copy, target) for target, copy in copies.items()],
            setsigmask=(),
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM),
        )
    except OSError as error:
        raise InfraFault("infra.worker_lost", f"a sandboxed process could not be started: {error.strerror}") from error
    finally:
        for copy in copies.values():
            os.close(copy)


def drive(children: Sequence[Child], meters: Sequence[Meter], done: Callable[[], bool]) -> None:
    """Keep every pipe moving until `done`.

    Raises:
        OutputLimit: a program wrote too much.
        LimitExceeded, InfraFault: from a meter.
    """
    while not done():
        nap_s = min(meter.check() for meter in meters)
        _poll([stream for child in children for stream in child.streams], nap_s, [child.exit_fd for child in children])
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
