"""The judge's side of the zygote: start it, keep children waiting, have them ended, replace it in time.

Children are asked for ahead and wait, confined, for a program; so a program does not wait for a fork. A zygote is
replaced after many children or when it has grown, and at once when anything goes wrong between it and us.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
from collections import deque
from dataclasses import dataclass
from typing import Any

from veredicto_verifier.errors import InfraFault
from veredicto_verifier.sandbox.channel import pack
from veredicto_verifier.sandbox.exec_policy import exec_policy
from veredicto_verifier.sandbox.policy import Policy, policy
from veredicto_verifier.sandbox.spawning import spawn
from veredicto_verifier.sandbox.zygote import MAX_MESSAGE_BYTES

NUM_PARKED = 2
"""Children that wait ahead: a program and the process with its tests."""
RECYCLE_AFTER = 2000
"""Children of one zygote before it is replaced."""
GROWTH_BYTES = 64 * 1024 * 1024
"""Growth of its resident memory before it is replaced."""
_START_LIMIT_S = 60.0
_READY = pack(["ready"])


@dataclass(frozen=True, slots=True)
class Ends:
    """Our ends of a child's pipes: its channel, and where its standard streams are written and read."""

    channel: socket.socket
    stdin: int
    stdout: int
    stderr: int

    def close(self) -> None:
        """Close them all."""
        self.channel.close()
        for fd in (self.stdin, self.stdout, self.stderr):
            os.close(fd)


@dataclass(frozen=True, slots=True)
class Parked:
    """A confined child that waits for its first frame."""

    zygote: Zygote
    pid: int
    exit_fd: int
    """Readable once the process has ended."""
    ends: Ends


EXEC = "exec"
"""The profile of programs that are not Python."""


def take(profile: str, limits: tuple[int, int]) -> Parked:
    """A confined child, from the zygote of a profile: `python`, `python+numpy`, or `exec` for other languages.

    Args:
        profile: which zygote.
        limits: CPU seconds and bytes of a child that may start others; any other child gets its limits later.

    Raises:
        InfraFault: none could be started.
    """
    zygote = _ZYGOTES.get(profile)
    if zygote is not None and zygote.worn:
        zygote.close()
    if zygote is None or zygote.broken:
        walls = exec_policy() if profile == EXEC else policy(tuple(profile.split("+")[1:]))
        zygote = _ZYGOTES[profile] = Zygote(walls, tree=profile == EXEC)
    return zygote.take(limits)


class Zygote:
    """One zygote and the children that it was asked for.

    Args:
        walls: what its children are confined by.
        tree: a child may start further processes, which all end with it; so there is one child at a time.

    Raises:
        InfraFault: it did not start.
    """

    def __init__(self, walls: Policy, *, tree: bool = False) -> None:
        self._num_parked = 0 if tree else NUM_PARKED
        self.broken = False
        """It is dead, or what it says no longer matches what it was asked; nothing more comes from it."""
        self._ordered: deque[Ends] = deque()
        self._forked: deque[tuple[int, int]] = deque()
        self._endings: dict[int, tuple[int, float]] = {}
        self._unwanted: set[int] = set()
        self._num_forked = 0
        self._num_live = 0
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.pid = spawn(theirs, walls)
        atexit.register(self.close)
        self._control.settimeout(_START_LIMIT_S)
        hello = {
            "landlock": walls.landlock_fd >= 0,
            "seccomp": walls.seccomp,
            "preload": walls.preload,
            "folders": walls.folders,
            "tree": tree,
        }
        self._say(hello)
        self._hear()
        self._resident_at_start = self._resident()

    @property
    def worn(self) -> bool:
        """It should be replaced, and nothing of it is in use."""
        if self._num_live or self.broken:
            return False
        return self._num_forked >= RECYCLE_AFTER or (
            self._num_forked % 64 == 0 and self._resident() > self._resident_at_start + GROWTH_BYTES
        )

    def take(self, limits: tuple[int, int]) -> Parked:
        """The child that waits longest; another is ordered in its place.

        Raises:
            InfraFault: the zygote is gone, or the child did not report that every wall stands.
        """
        if not self._ordered:
            self._order(limits)
        while not self._forked:
            self._hear()
        pid, exit_fd = self._forked.popleft()
        ends = self._ordered.popleft()
        self._num_live += 1
        parked = Parked(self, pid, exit_fd, ends)
        try:
            while len(self._ordered) < self._num_parked:
                self._order(limits)
        except BaseException:  # the zygote is gone, or a limit struck: nobody else knows of this child
            ends.close()
            os.close(exit_fd)
            raise
        _await_ready(parked)
        return parked

    def end(self, pid: int, *, wanted: bool) -> None:
        """Have a child killed, if it still runs, and reaped; `ending` tells how it ended, if that is wanted."""
        self._num_live -= 1
        if self.broken:
            return
        if not wanted:
            self._unwanted.add(pid)
        try:
            self._say(["end", pid])
        except InfraFault:
            return

    def ending(self, pid: int) -> tuple[int, float] | None:
        """The wait status and the CPU seconds of a child that was ended; None when the zygote is gone."""
        try:
            while pid not in self._endings and not self.broken:
                self._hear()
        except InfraFault:
            return None
        return self._endings.pop(pid, None)

    def close(self) -> None:
        """End it; its children end with it."""
        atexit.unregister(self.close)
        self._break()
        for ends in self._ordered:
            ends.close()
        for _, exit_fd in self._forked:
            os.close(exit_fd)
        self._ordered.clear()
        self._forked.clear()

    def _order(self, limits: tuple[int, int]) -> None:
        ours, theirs = socket.socketpair()
        pipes = [os.pipe() for _ in range(3)]
        (stdin_r, stdin_w), (stdout_r, stdout_w), (stderr_r, stderr_w) = pipes
        ends = Ends(ours, stdin_w, stdout_r, stderr_r)
        try:
            self._say(["fork", *limits], [stdin_r, stdout_w, stderr_w, theirs.fileno()])
        except BaseException:
            ends.close()
            raise
        finally:
            theirs.close()
            for fd in (stdin_r, stdout_w, stderr_w):
                os.close(fd)
        self._num_forked += 1
        self._ordered.append(ends)

    def _say(self, message: Any, fds: list[int] | None = None) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(message).encode()], fds or [])
        except OSError as error:
            self._break()
            raise _gone() from error
        except BaseException:  # a limit that strikes in between leaves us not knowing what was said
            self._break()
            raise

    def _hear(self) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 1)
        except OSError as error:
            self._break()
            raise _gone() from error
        except BaseException:
            self._break()
            raise
        match json.loads(data) if data else None:
            case ["ready"]:
                pass
            case ["forked", pid]:
                self._forked.append((pid, fds[0]))
            case ["ended", pid, status, cpu_s]:
                if pid in self._unwanted:
                    self._unwanted.discard(pid)
                else:
                    self._endings[pid] = (status, cpu_s)
            case _:
                self._break()
                raise _gone()

    def _break(self) -> None:
        if self.broken:
            return
        self.broken = True
        self._control.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def _resident(self) -> int:
        with open(f"/proc/{self.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


_ZYGOTES: dict[str, Zygote] = {}
"""The living zygote of this process for each profile."""


def _gone() -> InfraFault:
    return InfraFault("infra.worker_lost", "the process that starts sandboxed programs is gone; another is started")


def _await_ready(parked: Parked) -> None:
    """Wait until the child has confined itself.

    Raises:
        InfraFault: it died, or took longer than any start should.
    """
    channel, report = parked.ends.channel, b""
    channel.settimeout(_START_LIMIT_S)
    try:
        while len(report) < len(_READY):
            chunk = channel.recv(len(_READY) - len(report))
            if not chunk:
                break
            report += chunk
    except OSError:
        report = b""
    if report == _READY:
        return
    os.set_blocking(parked.ends.stderr, False)
    try:
        tail = os.read(parked.ends.stderr, 4096).decode("utf-8", "replace")
    except BlockingIOError:
        tail = ""
    parked.zygote.close()
    parked.ends.close()
    os.close(parked.exit_fd)
    raise InfraFault("infra.worker_lost", f"a sandboxed process did not start: {tail.strip()[-160:]}")
