"""How a sandboxed process gives up its rights, in order, before it sees a line of untrusted code.

Runs inside the child, standard library only; what is allowed is decided by the judge (`policy.py`) and comes in the
first frame. Each step raises on failure, and the judge starts nothing in a child that did not report back.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from typing import NamedTuple

from veredicto_verifier.sandbox.channel import Channel

CHANNEL_FD = 3
LANDLOCK_FD = 4
PEER_FD = 5
"""Where the test host finds its connection to the candidate."""

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_SYS_LANDLOCK_RESTRICT_SELF = 446
_CAPABILITY_VERSION_3 = 0x20080522

_ADDRESS_SPACE_SLACK = 2 * 1024**3


class Confinement(NamedTuple):
    """What the judge asks of a child; crosses as the first frame. (A dataclass would cost a fifth of a start.)"""

    parent: int
    cpu_s: int
    memory_bytes: int
    landlock: bool
    seccomp: str
    """The BPF program in hex; empty means none (degraded mode)."""
    keep_fds: int
    """File descriptors below this number stay open."""
    preload: tuple[str, ...] = ()
    """Modules to import before the file system disappears (degraded mode)."""


def enter(channel: Channel) -> None:
    """Confine this process as the first frame says, then report `ready`.

    Raises:
        OSError: a step failed; the process must end, and the judge treats that as its own failure.
    """
    kind, fields = channel.receive()
    if kind != "confine":
        raise OSError(f"expected the frame `confine`, got {kind!r}")
    order = Confinement(**fields)
    for name in order.preload:
        __import__(name)
    _apply(order)
    channel.send(["ready"])


def _apply(order: Confinement) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    os.setsid()
    _call(libc, "prctl", _PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != order.parent:
        raise OSError("the judge is gone")
    _offer_to_the_oom_killer()
    _limit(order)
    _drop_capabilities(libc)
    _call(libc, "prctl", _PR_SET_DUMPABLE, 0, 0, 0, 0)
    _call(libc, "prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if order.landlock:
        _call(libc, "syscall", _SYS_LANDLOCK_RESTRICT_SELF, LANDLOCK_FD, 0)
        os.close(LANDLOCK_FD)
    os.closerange(order.keep_fds, 1 << 20)
    if order.seccomp:
        _filter_system_calls(libc, bytes.fromhex(order.seccomp))


def _call(libc: ctypes.CDLL, name: str, *arguments: int) -> None:
    # Variadic C functions need every argument at full width: a bare Python int would be passed as 32 bits.
    if getattr(libc, name)(*(ctypes.c_long(argument) for argument in arguments)) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}{arguments}: {os.strerror(number)}")


def _offer_to_the_oom_killer() -> None:
    # Best effort: where memory runs out for the whole container, this process should go first, not the judge.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")


def _limit(order: Confinement) -> None:
    data, total = _memory_in_use()
    # DATA is the limit; AS only a backstop: threads reserve far more address space than they use.
    _set_limit(resource.RLIMIT_DATA, data + order.memory_bytes)
    _set_limit(resource.RLIMIT_AS, total + 4 * order.memory_bytes + _ADDRESS_SPACE_SLACK)
    _set_limit(resource.RLIMIT_CPU, order.cpu_s, order.cpu_s + 1)
    _set_limit(resource.RLIMIT_NOFILE, 64)
    for nothing in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MSGQUEUE, resource.RLIMIT_MEMLOCK):
        _set_limit(nothing, 0)


def _memory_in_use() -> tuple[int, int]:
    """Bytes of private data and of address space that the bare interpreter holds."""
    held = {"VmData": 0, "VmSize": 0}
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in held:
                held[name] = int(rest.split()[0]) * 1024
    return held["VmData"], held["VmSize"]


def _set_limit(which: int, soft: int, hard: int | None = None) -> None:
    # Never above what the container or the worker already imposes, which would be refused.
    _, ceiling = resource.getrlimit(which)
    wanted = soft if hard is None else hard
    top = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
    resource.setrlimit(which, (min(soft, top), top))


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


def forget_the_service() -> None:
    """Take our package out of the module table and the search path, so that a program finds only its own world."""
    root = sys.argv[1]
    sys.path[:] = [entry for entry in sys.path if entry != root]
    for entry in [entry for entry in sys.path_importer_cache if entry.startswith(root)]:
        del sys.path_importer_cache[entry]
    for name in [name for name in sys.modules if name.split(".")[0] == "veredicto_verifier"]:
        del sys.modules[name]
    sys.argv[:] = ["solution.py"]
