"""What a sandboxed process may touch, and what this machine can enforce.

The judge builds the Landlock ruleset and the system-call filter once; each child only applies them (`confine.py`).
Both are required. `VEREDICTO_SANDBOX_DEGRADED=1` in the worker's environment, read here and nowhere else, lets a
development machine run without the one it lacks; verdicts of such a machine are not to be trusted.
"""

from __future__ import annotations

import errno
import functools
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from veredicto_verifier.errors import InfraFault

DEGRADED_SWITCH = "VEREDICTO_SANDBOX_DEGRADED"

PRELOAD = (
    "abc", "array", "asyncio", "base64", "bisect", "calendar", "cmath", "collections", "contextlib", "copy", "csv",
    "dataclasses", "datetime", "decimal", "difflib", "encodings.idna", "enum", "fractions", "functools", "hashlib",
    "heapq", "inspect", "io", "itertools", "json", "locale", "math", "numbers", "operator", "queue", "random", "re",
    "statistics", "string", "struct", "textwrap", "threading", "time", "traceback", "typing", "unicodedata",
    "unittest",
)  # fmt: skip
"""What the zygote imports once for all children. Where Landlock is missing, files cannot be opened, so nothing else."""

SYSTEM_CALLS = frozenset(
    """
read write readv writev pread64 pwrite64 close fstat newfstatat stat lstat statx lseek fcntl dup dup2 dup3 pipe pipe2
poll ppoll select pselect6 epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 recvfrom recvmsg shutdown
futex set_robust_list get_robust_list rseq set_tid_address gettid getpid getppid getuid geteuid getgid getegid
getresuid getresgid getgroups getpgrp getpgid getsid brk mprotect munmap mremap madvise
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending sigaltstack alarm setitimer getitimer pause
clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times getrusage getrlimit getpriority
sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min
getcpu uname sysinfo getrandom membarrier exit exit_group restart_syscall
access faccessat faccessat2 readlink readlinkat getdents64 getcwd statfs fstatfs fadvise64
""".split()
)
"""Allowed without conditions. Not here, so refused: fork, exec, sockets, kill, ptrace, mount, chmod, unlink, …"""

OPENING_CALLS = ("open", "openat")

READABLE_SYSTEM = (
    "/lib64", "/usr/lib64", "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/locale",
    "/usr/lib/ssl/openssl.cnf", "/etc/ssl/openssl.cnf", "/dev/urandom", "/dev/zero",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What this machine can enforce."""

    landlock_abi: int
    """The kernel's Landlock version; 0 means it has none."""
    seccomp: bool
    """A system-call filter can be built (libseccomp is installed)."""
    degraded_allowed: bool
    """The operator accepts a sandbox with one wall missing."""

    @property
    def complete(self) -> bool:
        """Both walls stand."""
        return self.landlock_abi > 0 and self.seccomp


def capabilities() -> dict[str, Any]:
    """What the sandbox can enforce here, for `GET /capabilities`."""
    found = probe()
    level = "landlock+seccomp" if found.complete else "degraded" if found.degraded_allowed else "refused"
    return {**asdict(found), "isolation": level}


@functools.cache
def probe() -> Capabilities:
    """Ask the kernel and the loader once."""
    import landlockpy

    try:
        import pyseccomp
    except (RuntimeError, OSError):  # libseccomp.so.2 is not installed
        seccomp = False
    else:
        seccomp = pyseccomp.system_arch() != 0
    return Capabilities(landlockpy.abi_version(), seccomp, os.environ.get(DEGRADED_SWITCH) == "1")


@dataclass(frozen=True, slots=True)
class Policy:
    """The two walls, ready to be applied: an open Landlock ruleset (-1: none) and a BPF program in hex ("": none)."""

    landlock_fd: int
    seccomp: str
    preload: tuple[str, ...]
    """Modules that the zygote imports."""
    folders: tuple[str, ...] = ()
    """Where it finds libraries."""


LIBRARIES: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy", "numpy.random", "numpy.linalg", "numpy.fft", "numpy.polynomial", "numpy.ma", "numpy.testing"),
}
"""Third-party libraries that a task may ask for, and what the zygote imports of them."""


def require_walls(*, degraded: bool) -> Capabilities:
    """What this machine can enforce, if that is enough.

    Args:
        degraded: one wall is enough where the operator has accepted that.

    Raises:
        InfraFault: a wall is missing.
    """
    found = probe()
    if not found.complete and not (degraded and found.degraded_allowed):
        missing = "libseccomp" if found.landlock_abi else "Landlock"
        raise InfraFault(
            "infra.worker_lost",
            f"the sandbox needs {missing}, which this machine lacks; install it, use another kernel, or set "
            f"{DEGRADED_SWITCH}=1 on a development machine",
        )
    return found


@functools.cache
def policy(libraries: tuple[str, ...] = ()) -> Policy:
    """The policy of this machine, built at the first use and kept for the life of the process.

    Args:
        libraries: third-party libraries that programs may import.

    Raises:
        InfraFault: a wall is missing and the operator has not accepted that.
    """
    found = require_walls(degraded=True)
    landlock = _landlock_ruleset(libraries) if found.landlock_abi else -1
    seccomp = _system_call_filter(files=found.landlock_abi > 0) if found.seccomp else ""
    wanted = tuple(module for library in libraries for module in LIBRARIES[library])
    folders = tuple(sorted({str(path.parent) for path in library_paths(libraries)}))
    return Policy(landlock, seccomp, (*PRELOAD, *wanted), folders)


def library_paths(libraries: tuple[str, ...]) -> Iterator[Path]:
    """The folders of third-party libraries: of each its package, and the shared libraries that its wheel brings.

    Raises:
        InfraFault: one is not installed.
    """
    for name in libraries:
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            raise InfraFault("infra.worker_lost", f"the library {name} is not installed beside the service")
        package = Path(spec.submodule_search_locations[0])
        yield package
        shared = package.parent / f"{name}.libs"
        if shared.is_dir():
            yield shared


def _landlock_ruleset(libraries: tuple[str, ...]) -> int:
    """A ruleset that grants reading what the interpreter needs and nothing else; an open file descriptor."""
    from landlockpy import AccessFS, Ruleset, Scope

    every_scope = Scope.ABSTRACT_UNIX_SOCKET | Scope.SIGNAL
    with Ruleset(scoped=every_scope) as ruleset:
        for path in (*readable_paths(), *library_paths(libraries)):
            rights = AccessFS.READ_FILE | AccessFS.READ_DIR if path.is_dir() else AccessFS.READ_FILE
            ruleset.allow_path(path, rights)
        # Listing only: the names of installed packages are no secret, their contents (packs!) are.
        ruleset.allow_path(_stdlib(), AccessFS.READ_DIR)
        ruleset.allow_path("/dev/null", AccessFS.READ_FILE | AccessFS.WRITE_FILE)
        return os.dup(ruleset.fileno())


def readable_paths() -> Iterator[Path]:
    """The files and folders that a sandboxed interpreter may read: its standard library and shared libraries.

    Third-party packages are left out, since this service and its packs, gold included, are installed among them.
    """
    yield from (entry for entry in _stdlib().iterdir() if entry.name not in ("site-packages", "dist-packages"))
    folders = {sysconfig.get_config_var("LIBDIR"), str(Path(sys.base_prefix) / "lib")}
    for folder in folders:
        if folder is not None and Path(folder).is_dir():
            yield from Path(folder).glob("libpython*.so*")
    multiarch = sysconfig.get_config_var("MULTIARCH")
    system = [*READABLE_SYSTEM, *(f"{root}/{multiarch}" for root in ("/lib", "/usr/lib") if multiarch)]
    yield from (path for path in map(Path, system) if path.exists())


def _stdlib() -> Path:
    return Path(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix, "installed_base": sys.base_prefix}))


def _system_call_filter(*, files: bool) -> str:
    """The allow-list as a BPF program in hex.

    Args:
        files: let files be opened (Landlock says which).
    """
    import pyseccomp as sc

    rules = sc.SyscallFilter(sc.ERRNO(errno.EPERM))
    for name in (*sorted(SYSTEM_CALLS), *(OPENING_CALLS if files else ())):
        add_rule(rules, name)
    # A new thread, never a new process; clone3 hides its flags in memory, and "not implemented" makes libc use clone.
    add_rule(rules, "clone", sc.Arg(0, sc.MASKED_EQ, 0x10000, 0x10000))
    add_rule(rules, "clone3", action=sc.ERRNO(errno.ENOSYS))
    # Shared mappings would not count as data, so memory could grow past its limit.
    add_rule(rules, "mmap", sc.Arg(3, sc.MASKED_EQ, 0x01, 0x00))
    # asyncio wakes itself through a stream socket pair; a destination address is refused.
    add_rule(rules, "socketpair", sc.Arg(0, sc.EQ, 1), sc.Arg(1, sc.MASKED_EQ, 0xF, 1))
    add_rule(rules, "sendto", sc.Arg(4, sc.EQ, 0))
    # Reading limits of oneself, not setting them.
    add_rule(rules, "prlimit64", sc.Arg(0, sc.EQ, 0), sc.Arg(2, sc.EQ, 0))
    for request in (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451):  # terminal size and blocking mode
        add_rule(rules, "ioctl", sc.Arg(1, sc.EQ, request))
    return exported(rules)


def exported(rules: Any) -> str:
    """A filter as a BPF program in hex."""
    with open(os.memfd_create("filter"), "w+b") as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read().hex()


def add_rule(target: Any, name: str, *conditions: Any, action: int | None = None) -> None:
    """Allow a system call, or have the filter answer it with another action."""
    import pyseccomp as sc

    number = sc.resolve_syscall(sc.Arch.NATIVE, name)
    if number >= 0:  # negative: this architecture has no such call
        target.add_rule(sc.ALLOW if action is None else action, number, *conditions)
