"""Start the zygote: an isolated interpreter with a clean environment and exactly the file descriptors it needs."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
from pathlib import Path

from veredicto_verifier.errors import InfraFault
from veredicto_verifier.sandbox.confine import LANDLOCK_FD
from veredicto_verifier.sandbox.policy import Policy
from veredicto_verifier.sandbox.zygote import CONTROL_FD

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
    "MKL_NUM_THREADS": "1",
}
"""The whole environment of a child. Its own options replace `-I`, which would ignore the fixed hash seed."""

_ISOLATED = ("-s", "-S", "-P", "-B")
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from veredicto_verifier.sandbox.zygote import main; main()"


def spawn(control: socket.socket, walls: Policy) -> int:
    """The zygote's process id.

    Raises:
        InfraFault: it could not be started.
    """
    pipes = [os.pipe() for _ in range(3)]  # its standard streams are pipes, like those of its children
    inherited = {0: pipes[0][0], 1: pipes[1][1], 2: 2, CONTROL_FD: control.fileno()}
    if walls.landlock_fd >= 0:
        inherited[LANDLOCK_FD] = walls.landlock_fd
    # Copies with high numbers first: otherwise one dup2 in the child could overwrite the source of the next.
    copies = {target: fcntl.fcntl(source, fcntl.F_DUPFD_CLOEXEC, 100) for target, source in inherited.items()}
    python = os.path.realpath(sys.executable)
    root = str(Path(__file__).resolve().parents[2])
    try:
        return os.posix_spawn(
            python,
            [python, *_ISOLATED, "-c", _BOOT, root, str(os.getpid())],
            ENVIRONMENT,
            file_actions=[(os.POSIX_SPAWN_DUP2, copy, target) for target, copy in copies.items()],
            setsigmask=(),
            setsigdef=(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM),
        )
    except OSError as error:
        raise InfraFault("infra.worker_lost", f"a sandboxed process could not be started: {error.strerror}") from error
    finally:
        for fd in (*copies.values(), *(end for pipe in pipes for end in pipe)):
            os.close(fd)
