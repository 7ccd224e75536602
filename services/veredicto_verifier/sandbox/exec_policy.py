"""The walls around programs that are not Python: they may start programs of the system, and nothing else is granted.

A list of what is denied, not of what is allowed: shells and node need far more of the kernel than one interpreter
does. Landlock still decides which files can be read or executed, and nothing can be written.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import importlib.metadata
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from veredicto_verifier.errors import InfraFault
from veredicto_verifier.sandbox.policy import LIBRARIES, READABLE_SYSTEM, Policy, add_rule, exported, require_walls

INTERPRETERS: dict[str, tuple[str, ...]] = {
    "bash": ("/usr/bin/bash", "/bin/bash"),
    "node": ("/usr/local/bin/node", "/usr/bin/node"),
}
"""Where the interpreter of a language is looked for."""

DENIED = frozenset(
    """
socket connect bind listen accept accept4 sendmsg sendmmsg recvmmsg ptrace process_vm_readv process_vm_writev
process_madvise process_mrelease kcmp pidfd_open pidfd_getfd pidfd_send_signal unshare setns mount umount2 pivot_root
chroot fsopen fsconfig fsmount fspick open_tree move_mount mount_setattr bpf perf_event_open userfaultfd io_uring_setup
io_uring_enter io_uring_register keyctl add_key request_key init_module finit_module delete_module kexec_load
kexec_file_load reboot swapon swapoff acct quotactl quotactl_fd syslog settimeofday clock_settime clock_adjtime adjtimex
sethostname setdomainname iopl ioperm personality nfsservctl lookup_dcookie fanotify_init name_to_handle_at
open_by_handle_at mknod mknodat setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset
setrlimit sched_setaffinity setpriority ioprio_set mbind set_mempolicy migrate_pages move_pages shmget shmat shmctl
msgget semget mq_open memfd_create memfd_secret remap_file_pages vhangup uselib ustat sysfs seccomp
""".split()
)
_NEW_NAMESPACE = 0x7E020000 | 0x00000080
"""The flags of `clone` that make name spaces."""
_SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")
_SCOPED_SIGNALS_ABI = 6


def interpreter(language: str) -> str:
    """The path of a language's interpreter.

    Raises:
        InfraFault: this machine has none.
    """
    for path in INTERPRETERS[language]:
        if os.access(path, os.X_OK):
            return path
    raise InfraFault("infra.worker_lost", f"this machine has no {language}; run the service's image that has it")


@functools.cache
def interpreter_digests() -> dict[str, str]:
    """What decides verdicts and is no part of this package: digests of the interpreters, numpy's version.

    What is not installed is left out.
    """
    found = {}
    for language, paths in INTERPRETERS.items():
        path = next((path for path in paths if os.access(path, os.X_OK)), None)
        if path is not None:
            with open(path, "rb") as file:
                found[language] = hashlib.file_digest(file, "sha256").hexdigest()
    for library in LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[library] = importlib.metadata.version(library)
    return found


@functools.cache
def exec_policy() -> Policy:
    """The policy for programs that may start programs.

    Raises:
        InfraFault: a wall is missing; this profile has no degraded mode.
    """
    found = require_walls(degraded=False)
    return Policy(_landlock_ruleset(), _system_call_filter(scoped=found.landlock_abi >= _SCOPED_SIGNALS_ABI), ())


def _landlock_ruleset() -> int:
    from landlockpy import AccessFS, Ruleset, Scope

    with Ruleset(scoped=Scope.ABSTRACT_UNIX_SOCKET | Scope.SIGNAL) as ruleset:
        for path in _readable_paths():
            rights = AccessFS.READ_FILE | AccessFS.EXECUTE | (AccessFS.READ_DIR if path.is_dir() else AccessFS(0))
            ruleset.allow_path(path, rights)
        ruleset.allow_path("/dev/null", AccessFS.READ_FILE | AccessFS.WRITE_FILE)
        return os.dup(ruleset.fileno())


def _readable_paths() -> Iterator[Path]:
    """Programs and shared libraries of the system; not `/usr/lib` as a whole, where Python packages may lie."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    names = [
        "/bin",
        "/usr/bin",
        "/usr/local/bin/node",
        "/usr/share/nodejs",
        f"/lib/{multiarch}",
        f"/usr/lib/{multiarch}",
    ]
    yield from (path for path in map(Path, (*names, *READABLE_SYSTEM)) if path.exists())


def _system_call_filter(*, scoped: bool) -> str:
    """The deny-list as a BPF program in hex.

    Args:
        scoped: Landlock keeps signals inside, so that they need not be denied.
    """
    import pyseccomp as sc

    rules = sc.SyscallFilter(sc.ALLOW)
    refused = sc.ERRNO(errno.EPERM)
    for name in (*sorted(DENIED), *(() if scoped else _SIGNALS)):
        add_rule(rules, name, action=refused)
    for bit in range(32):
        if _NEW_NAMESPACE >> bit & 1:
            add_rule(rules, "clone", sc.Arg(0, sc.MASKED_EQ, 1 << bit, 1 << bit), action=refused)
    add_rule(rules, "clone3", action=sc.ERRNO(errno.ENOSYS))
    # Nobody may outlive the zygote by disclaiming its death signal, or move a limit.
    add_rule(rules, "prctl", sc.Arg(0, sc.EQ, 1), action=refused)
    add_rule(rules, "prlimit64", sc.Arg(2, sc.NE, 0), action=refused)
    return exported(rules)
