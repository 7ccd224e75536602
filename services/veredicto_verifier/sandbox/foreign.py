"""The untrusted half for programs that are not Python: become the interpreter of their language.

Runs in its own confined process, which may start others (`exec_policy.py`); all of them end with the case.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from veredicto_verifier.sandbox.channel import Channel
from veredicto_verifier.sandbox.confine import CHANNEL_FD

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8", "TZ": "UTC"}


def become(channel: Channel, first: list[Any]) -> int:
    """Replace this process by a command; its channel closes with that, or says what went wrong."""
    _, number, command = first
    os.set_inheritable(CHANNEL_FD, False)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execve(command[0], command, _ENVIRONMENT)
    except OSError as error:
        channel.send(["refused", number, error.strerror or "it cannot be executed"])
    return 127
