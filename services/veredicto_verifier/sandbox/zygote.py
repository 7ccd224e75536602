"""The zygote: an interpreter that has imported the standard library once and forks a confined child per program.

It runs no untrusted code and holds no secret: it is told only how to confine, and gets the ends of pipes. A program and
its tests reach a child on the child's own channel, after the fork. It has one thread, since a fork copies only one.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from veredicto_verifier.sandbox import candidate, confine
from veredicto_verifier.sandbox.channel import Channel, ChannelClosed
from veredicto_verifier.sandbox.checker import serve_checks
from veredicto_verifier.sandbox.foreign import become
from veredicto_verifier.sandbox.host import serve_tests
from veredicto_verifier.sandbox.script import run_script

CONTROL_FD = 3
MAX_MESSAGE_BYTES = 65536
MAX_PROCESSES = 64
"""Processes of one program of another language; the kernel's bound stands a little higher, so that it is noticed."""


def main() -> None:
    """Get ready, then fork and reap as told until the judge closes the control socket."""
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fileno=CONTROL_FD)
    confine.offer_to_the_oom_killer()
    confine.die_with(int(sys.argv[2]))
    _lift_soft_limits()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hello = json.loads(control.recv(MAX_MESSAGE_BYTES))
    sys.path += hello["folders"]
    for name in hello["preload"]:
        importlib.import_module(name)
    walls = confine.Walls(landlock=hello["landlock"], seccomp=bytes.fromhex(hello["seccomp"]))
    num_threads = len(os.listdir("/proc/self/task"))
    if num_threads != 1:
        raise OSError(f"a preloaded module started {num_threads - 1} threads; a fork would not copy them")
    confine.forget_the_service(sys.argv[1])
    candidate.prepare_world()
    gc.collect()
    gc.freeze()
    gc.disable()
    _reply(control, ["ready"])
    if hello["tree"]:
        confine.adopt_orphans()
    while _obey(control, walls, tree=hello["tree"]):
        pass


def _lift_soft_limits() -> None:
    # The worker arms soft limits for the item that it judges; this process outlives the item.
    for which in (resource.RLIMIT_CPU, resource.RLIMIT_DATA):
        _, hard = resource.getrlimit(which)
        resource.setrlimit(which, (hard, hard))


def _obey(control: socket.socket, walls: confine.Walls, *, tree: bool) -> bool:
    """Do one request; False when the judge is gone."""
    try:
        data, fds, _, _ = socket.recv_fds(control, MAX_MESSAGE_BYTES, 8)
    except ConnectionResetError:  # it left without reading our last reply
        return False
    if not data:
        return False
    kind, *rest = json.loads(data)
    if kind == "fork":
        _fork(control, walls, fds, tuple(rest) if tree else None)
    elif kind == "end":
        _end(control, rest[0], tree=tree)
    return True


def _fork(control: socket.socket, walls: confine.Walls, fds: list[int], limits: tuple[int, ...] | None) -> None:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _live(control, walls, fds, parent, limits)
    for fd in fds:
        os.close(fd)
    exit_fd = os.pidfd_open(pid)
    _reply(control, ["forked", pid], [exit_fd])
    os.close(exit_fd)


def _end(control: socket.socket, pid: int, *, tree: bool) -> None:
    """Kill a child if it still runs, and reap it; only this process can, so its number is never another's."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    cpu_s = usage.ru_utime + usage.ru_stime
    if tree:
        cpu_s += _end_orphans()
    _reply(control, ["ended", pid, status, cpu_s])


def _end_orphans() -> float:
    """Kill and reap everything that the ended child left behind; the CPU seconds it used."""
    cpu_s = 0.0
    while children := Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split():
        for child in children:  # what these have started comes to us once they are dead
            os.kill(int(child), signal.SIGKILL)
            _, _, usage = os.wait4(int(child), 0)
            cpu_s += usage.ru_utime + usage.ru_stime
    return cpu_s


def _reply(control: socket.socket, message: list[Any], fds: list[int] | None = None) -> None:
    socket.send_fds(control, [json.dumps(message).encode()], fds or [])


def _live(
    control: socket.socket, walls: confine.Walls, fds: list[int], parent: int, limits: tuple[int, ...] | None
) -> NoReturn:
    """The child's whole life: give up all rights, say so, play one part, end without unwinding the zygote's stack."""
    try:
        control.detach()
        for target, fd in enumerate(fds):  # none of them is below 4, so no copy overwrites the source of another
            os.dup2(fd, target)
        if limits is not None:
            confine.bound_tree(MAX_PROCESSES + 8, *limits)
        confine.enter(walls, parent)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        gc.enable()
        channel = Channel(confine.CHANNEL_FD)
        confine.filter_system_calls(walls)
        channel.send(["ready"])
        status = _play(channel)
    except BaseException:  # noqa: BLE001  a broken child must not go on as a second zygote
        sys.__excepthook__(*sys.exc_info())
        sys.__stderr__.flush()  # type: ignore[union-attr]
        status = 70
    os._exit(status)


def _play(channel: Channel) -> int:
    """Be what the first frame asks for; the exit status."""
    try:
        first = channel.receive()
        while first[0] == "peer":  # a frame that only brings a file descriptor
            first = channel.receive()
        return _PARTS[first[0]](channel, first)
    except ChannelClosed:
        return 0


_PARTS: dict[str, Callable[[Channel, list[Any]], int]] = {
    "load": candidate.serve_program,
    "script": run_script,
    "host": serve_tests,
    "checker": serve_checks,
    "exec": become,
}
