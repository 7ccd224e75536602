"""How a sandboxed process gives up its rights, in order, before it sees a line of untrusted code.

Runs inside the forked child, standard library only; what is allowed is decided by the judge (`policy.py`) and known to
the zygote. Each step raises on failure, and the judge starts nothing in a child that did not report back.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import signal
import sys
from typing import NamedTuple

CHANNEL_FD = 3
LANDLOCK_FD = 4
"""Where a child finds its channel, and a ruleset that it applies and closes."""

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_SYS_LANDLOCK_RESTRICT_SELF = 446
_CAPABILITY_VERSION_3 = 0x20080522


class Walls(NamedTuple):
    """How a child is confined, as far as it is the same for every program."""

    landlock: bool
    """A Landlock ruleset waits at `LANDLOCK_FD` (false only in degraded mode)."""
    seccomp: bytes
    """The BPF program; empty means none (degraded mode)."""


def die_with(parent: int) -> None:
    """Have the kernel end this process when its parent ends, and hide its memory from others of the same user.

    Raises:
        OSError: the parent is gone already.
    """
    libc = _libc()
    _call(libc, "prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        raise OSError("the parent process is gone")
    _call(libc, "prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of whatever this process's children leave behind."""
    _call(_libc(), "prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def enter(walls: Walls, parent: int) -> None:
    """Confine this freshly forked process, but for the system-call filter; what differs by task the judge adds.

    Raises:
        OSError: a step failed; the process must end, and the judge treats that as its own failure.
    """
    libc = _libc()
    os.setsid()
    die_with(parent)
    _limit()
    _drop_capabilities(libc)
    _call(libc, "prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if walls.landlock:
        _call(libc, "syscall", _SYS_LANDLOCK_RESTRICT_SELF, LANDLOCK_FD, 0)
    os.closerange(LANDLOCK_FD, 1 << 20)


def bound_tree(num_processes: int, cpu_s: int, memory_bytes: int) -> None:
    """Have the kernel refuse more processes to this one and all that it starts, and bound the time and memory of each.

    The kernel counts by user and exempts root, so under root this process becomes a user that nobody else is.

    Raises:
        OSError: it is root and may not change that; without this bound it must not start anything.
    """
    if os.getuid() == 0:
        own = _FIRST_OWN_USER + os.getpid()
        os.setgroups([])
        os.setresgid(own, own, own)
        os.setresuid(own, own, own)
    else:
        num_processes += _num_tasks_of(os.getuid())
    _set_limit(resource.RLIMIT_NPROC, num_processes)
    _set_limit(resource.RLIMIT_CPU, cpu_s)
    _set_limit(resource.RLIMIT_DATA, memory_bytes + _OWN_BYTES)


_FIRST_OWN_USER = 1_000_000
_OWN_BYTES = 64 * 1024 * 1024
"""What the forked interpreter holds before it becomes another program."""


def _num_tasks_of(user: int) -> int:
    total = 0
    for entry in os.scandir("/proc"):
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == user:
                total += len(os.listdir(f"/proc/{entry.name}/task"))
    return total


def filter_system_calls(walls: Walls) -> None:
    """The last step: from here on only the allowed system calls work."""
    if walls.seccomp:
        _filter_system_calls(_libc(), walls.seccomp)


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(libc: ctypes.CDLL, name: str, *arguments: int) -> None:
    # Variadic C functions need every argument at full width: a bare Python int would be passed as 32 bits.
    if getattr(libc, name)(*(ctypes.c_long(argument) for argument in arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def offer_to_the_oom_killer() -> None:
    """Best effort: where memory runs out for the whole container, this process and its children go before the judge."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def _limit() -> None:
    """The limits that no task changes; the judge sets those on CPU time and memory before it sends a program."""
    _set_limit(resource.RLIMIT_NOFILE, 64)
    for nothing in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MSGQUEUE, resource.RLIMIT_MEMLOCK):
        _set_limit(nothing, 0)


def _set_limit(which: int, value: int) -> None:
    # Never above what the container or the worker already imposes, which would be refused.
    _, ceiling = resource.getrlimit(which)
    top = value if ceiling == resource.RLIM_INFINITY else min(value, ceiling)
    resource.setrlimit(which, (top, top))


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Give up every capability, so that running as root grants nothing."""
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if libc.capset(ctypes.byref(header), nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _filter_system_calls(libc: ctypes.CDLL, bpf: bytes) -> None:
    program = _Program(len(bpf) // 8, bpf)
    status = libc.prctl(_PR_SET_SECCOMP, ctypes.c_long(_SECCOMP_MODE_FILTER), ctypes.byref(program), 0, 0)
    if status != 0:
        raise OSError(ctypes.get_errno(), "the system-call filter was refused")


def forget_the_service(root: str) -> None:
    """Take our package out of the module table and the search path, so that a program finds only its own world."""
    sys.path[:] = [entry for entry in sys.path if entry != root]
    for entry in [entry for entry in sys.path_importer_cache if entry.startswith(root)]:
        del sys.path_importer_cache[entry]
    for name in [name for name in sys.modules if name.split(".")[0] == "veredicto_verifier"]:
        del sys.modules[name]
    sys.argv[:] = ["solution.py"]
    sys.orig_argv[:] = ["python", "solution.py"]
