"""Ask ruff about programs: a process of its own, no configuration but the task's, no cache, no `noqa`.

ruff has no Python interface, and starting it costs far more than its work: answers to one task that wait together are
shown to one process. A rule that ruff does not know is the task's fault.
"""

from __future__ import annotations

import hashlib
import json
import resource
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from veredicto_verifier.errors import InfraFault, LimitExceeded, TaskFault
from veredicto_verifier.verifiers.static_code.outcome import summary

_CONTROL: Final = "x = 1\n"
_BROKEN: Final = "x = (\n"
_ENVIRONMENT: Final = {"NO_COLOR": "1", "RAYON_NUM_THREADS": "1"}
_FILE: Final = "answer.py"
BATCH_CHARS: Final = 262_144
"""A batch ends before the program with which it would be longer than this."""
BATCH_SECONDS: Final = 5.0
"""Wall seconds of a batch; longer, and its programs are judged one by one."""
OF_FILES: Final = ("A", "ALL", "EXE", "INP", "N", "TID")
"""Families with rules about the file itself (its name, mode or folder), which a batch could answer otherwise."""


@dataclass(frozen=True, slots=True)
class Report:
    """The rules that a program breaks, as `line 3: F401`, in short; None when ruff died of it. CPU in seconds."""

    broken: str | None
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


def batch(sources: Sequence[str], selectors: Sequence[str]) -> dict[bytes, Report]:
    """The reports of several programs by one process, by `key`; those that are missing must be asked for one by one.

    None is there when ruff fails or takes long, for then it is not known of which program it did.
    """
    chosen = _chosen(sources)
    if len(chosen) < 2 or any(selector.rstrip("0123456789") in OF_FILES for selector in selectors):
        return {}
    before = _children_cpu()
    try:
        with TemporaryDirectory() as folder:
            # A folder each, so that the file has the name that a program has when it is judged alone.
            files = [_written(Path(folder, str(number)), source) for number, source in enumerate([*chosen, _BROKEN])]
            done = _run("", selectors, BATCH_SECONDS, files)
    except (OSError, LimitExceeded):
        return {}
    broken = _by_file(done.stdout) if done.returncode in (0, 1) else {}
    if not broken.keys() <= set(files) or files[-1] not in broken:  # the last one is there to prove that all were read
        return {}
    cpu_s = (_children_cpu() - before) / len(chosen)
    return {key(source): Report(broken.get(file, ""), cpu_s) for source, file in zip(chosen, files, strict=False)}


def key(source: str) -> bytes:
    """What stands for a program: long ones need not be kept for their reports."""
    return hashlib.sha256(source.encode(errors="replace")).digest()


def _chosen(sources: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    room = BATCH_CHARS
    for source in dict.fromkeys(sources):
        room -= len(source)
        if room < 0:
            break
        chosen.append(source)
    return chosen


def _written(folder: Path, source: str) -> str:
    folder.mkdir()
    file = folder / _FILE
    file.write_bytes(source.encode(errors="replace"))  # half a surrogate pair is refused before lint is asked for
    return str(file)


def _by_file(output: bytes) -> dict[str, str]:
    """The broken rules of each file that breaks any."""
    found: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in json.loads(output):
        found[row["filename"]].append((row["location"]["row"], str(row["code"])))
    return {file: summary([f"line {line}: {code}" for line, code in sorted(rows)]) for file, rows in found.items()}


def _broken(output: bytes) -> str:
    return next(iter(_by_file(output).values()), "")


def _run(
    source: str, selectors: Sequence[str], wall_s: float, files: Sequence[str] = ()
) -> subprocess.CompletedProcess[bytes]:
    command = [
        *(_ruff(), "check", "--isolated", "--no-cache", "--ignore-noqa", "--quiet", "--target-version", "py311"),
        *("--output-format", "json", "--select", ",".join(selectors)),
        *(("--", *files) if files else ("--stdin-filename", _FILE, "-")),
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
