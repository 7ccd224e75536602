"""Commands of the compose test: the engine, `docker compose`, and how a claim is printed or ends the test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = f"veredicto-test-{os.getpid()}"


class Failed(Exception):
    """A claim of the compose file does not hold."""


def say(text: str) -> None:
    """Tell what is being done."""
    print(f"compose-test: {text}", flush=True)  # noqa: T201


def claim(holds: bool, what: str) -> None:
    """Print what was proved, or end the test."""
    if not holds:
        raise Failed(what)
    say(f"ok    {what}")


def run(*command: str, timeout: float = 120, check: bool = True) -> str:
    """Output of a command (stdout and stderr together)."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False
    )
    if check and done.returncode:
        raise Failed(f"{' '.join(command)[:200]} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


@contextmanager
def engine() -> Iterator[None]:
    """The Docker Engine that answers, or one of our own for the time of the test."""
    if shutil.which("docker") and not subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        say("using the Docker Engine that answers")
        yield
        return
    script = ROOT / "deploy" / "engine.sh"
    exports = subprocess.run([str(script), "up"], stdout=subprocess.PIPE, text=True, check=False)
    if exports.returncode:
        raise Failed("no Docker Engine answers and none could be prepared; see the lines above")
    os.environ.update(re.findall(r"(\w+)=(\S+)", exports.stdout))
    try:
        yield
    finally:
        subprocess.run([str(script), "down"], check=False)


def compose(*arguments: str, timeout: float = 180, check: bool = True) -> str:
    """Run `docker compose`, or the stand-alone program where there is no plugin."""
    plugin = not subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode
    program = ("docker", "compose") if plugin else ("docker-compose",)
    return run(*program, "-p", PROJECT, *arguments, timeout=timeout, check=check)


def fails(*arguments: str) -> bool:
    """Whether a compose command ends with an error."""
    try:
        compose(*arguments)
    except Failed:
        return True
    return False


def inside(service: str, program: str, *arguments: str) -> str:
    """Output of a Python program in a running container."""
    return compose("exec", "-T", service, "python3", "-c", program, *arguments)
