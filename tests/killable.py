"""Training runs in processes of their own, forked from one that has torch loaded, so that tests can kill them."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.killable", "veredicto_trainer.loop", "veredicto_trainer.report"])
PATIENCE_S = 100


def start(config: Path, log: Path, *, max_file_bytes: int | None = None) -> multiprocessing.process.BaseProcess:
    """`veredicto-train run CONFIG` as a process; what it prints goes to a file."""
    return program(log, "run", config, max_file_bytes=max_file_bytes)


def program(
    log: Path, *arguments: str | Path, max_file_bytes: int | None = None
) -> multiprocessing.process.BaseProcess:
    """`veredicto-train` with some arguments as a process; what it prints goes to a file."""
    process = CONTEXT.Process(target=_run, args=([*map(str, arguments)], str(log), max_file_bytes), daemon=True)
    process.start()
    return process


def until(condition: Callable[[], bool], process: multiprocessing.process.BaseProcess, log: Path) -> None:
    """Wait for something to happen in a run."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.exitcode is None, log.read_text(encoding="utf-8")
        assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
        time.sleep(0.001)


def kill(process: multiprocessing.process.BaseProcess) -> None:
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(PATIENCE_S)
    assert process.exitcode == -signal.SIGKILL


def finished(process: multiprocessing.process.BaseProcess, log: Path, status: int = 0) -> str:
    """Wait for the end of a run; returns what it printed."""
    process.join(PATIENCE_S)
    text = log.read_text(encoding="utf-8")
    assert process.exitcode == status, text
    return text


def _run(arguments: list[str], log: str, max_file_bytes: int | None) -> None:
    with open(log, "w", encoding="utf-8") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    if max_file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    from veredicto_trainer.__main__ import main

    sys.argv = ["veredicto-train", *arguments]
    main()
