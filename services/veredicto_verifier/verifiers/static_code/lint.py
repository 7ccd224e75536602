"""Ask ruff about one program: its own process, no configuration but the task's, no cache, no `noqa`.

ruff has no Python interface; starting it costs more than its work. A rule that ruff does not know is the task's fault.
"""

from __future__ import annotations

import json
import resource
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from veredicto_verifier.errors import InfraFault, LimitExceeded, TaskFault

_CONTROL: Final = "x = 1\n"
_ENVIRONMENT: Final = {"NO_COLOR": "1", "RAYON_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Report:
    """The rules that a program breaks, `line 3: F401`; None when ruff died of it. CPU in seconds."""

    broken: tuple[str, ...] | None
    cpu_s: float


def check_selectors(selectors: Sequence[str]) -> None:
    """Refuse rules that ruff does not have.

    Raises:
        TaskFault: `task.spec_invalid`.
    """
    if not _known(tuple(selectors)):
        raise TaskFault("task.spec_invalid", "$.lint: ruff does not know one of these rules")


@lru_cache(maxsize=64)
def _known(selectors: tuple[str, ...]) -> bool:
    return _run(_CONTROL, selectors, 60.0).returncode in (0, 1)


def report(source: str, selectors: Sequence[str], wall_s: float) -> Report:
    """What ruff says of a program; a failure counts only if it comes twice and the control runs between.

    Raises:
        LimitExceeded: ruff took longer than `wall_s`.
        InfraFault: ruff does not run here at all.
    """
    before = _children_cpu()
    done = _run(source, selectors, wall_s)
    if done.returncode not in (0, 1):
        if _run(_CONTROL, selectors, wall_s).returncode not in (0, 1):
            raise InfraFault("infra.worker_lost", "ruff does not run in this worker")
        done = _run(source, selectors, wall_s)
    broken = _broken(done.stdout) if done.returncode in (0, 1) else None
    return Report(broken, _children_cpu() - before)


def _broken(output: bytes) -> tuple[str, ...]:
    rows: list[dict[str, Any]] = json.loads(output)
    found = sorted((row["location"]["row"], str(row["code"])) for row in rows)
    return tuple(f"line {line}: {code}" for line, code in found)


def _run(source: str, selectors: Sequence[str], wall_s: float) -> subprocess.CompletedProcess[bytes]:
    command = [
        *(_ruff(), "check", "--isolated", "--no-cache", "--ignore-noqa", "--quiet", "--target-version", "py311"),
        *("--output-format", "json", "--stdin-filename", "answer.py", "--select", ",".join(selectors), "-"),
    ]
    try:
        return subprocess.run(
            command, input=source.encode(), capture_output=True, env=_ENVIRONMENT, cwd="/", timeout=wall_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise LimitExceeded("wall") from None


@lru_cache(maxsize=1)
def _ruff() -> str:
    from ruff import find_ruff_bin  # lazily: only tasks that lint need it

    return str(find_ruff_bin())


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
