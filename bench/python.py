"""How fast programs are judged, against a fresh process for each: same programs, same cases, in turns.

Each baseline is what a simple grader does: write nothing, start `python -I` (or `python -m pytest`) for every sample
and look at its exit status. Ratios count; absolute times depend on the machine.

    python bench/python.py            all figures, a few minutes
    python bench/python.py --short    fewer rounds, no soak and no run under load
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from figures import Figure, publish

from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.launcher import _ZYGOTES
from veredicto_verifier.sandbox.meter import Meter
from veredicto_verifier.sandbox.process import Child, Quota, drive
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context

PYTHON = os.path.realpath(sys.executable)
SHORT = "--short" in sys.argv
ROUNDS = 6 if SHORT else 20
PROGRAM = "def add(a, b):\n    return a + b\n"
CALLS: dict[str, Any] = {
    "format": "calls",
    "entry": "add",
    "cases": [{"args": [n, 2 * n], "expected": 3 * n} for n in range(10)],
}
ASSERTS: dict[str, Any] = {
    "format": "asserts",
    "entry": "add",
    "tests": [f"assert add({n}, {n}) == {2 * n}" for n in range(10)],
}
STDIO: dict[str, Any] = {
    "format": "stdio",
    "cases": [{"stdin": f"{n} {n}\n", "stdout": f"{2 * n}\n"} for n in range(5)],
}
SCRIPT = "a, b = map(int, input().split())\nprint(a + b)\n"
NUMPY = "import numpy as np\n\ndef add(a, b):\n    return int(np.sum(np.array([a, b])))\n"
FILE = (
    "import pytest\nfrom solution import add\n\n@pytest.mark.parametrize('n', range(10))\ndef test_add(n):\n"
    "    assert add(n, n) == 2 * n\n"
)
SITE = str(Path(__import__("pytest").__file__).parent.parent)


@dataclass(frozen=True)
class Job:
    """One program with its spec, judged here."""

    task: Any
    answer: Answer

    def run(self) -> None:
        grade = VERIFIERS["python"].grade(self.task, self.answer)
        assert grade.passed, grade.checks


def job(spec: dict[str, Any], program: str) -> Job:
    task = VERIFIERS["python"].prepare(parse_spec("python", spec, VERIFIERS), Context())
    made = Job(task, Answer(program, Completion(program)))
    made.run()
    return made


def fresh(source: str, *, stdin: str = "") -> Callable[[], None]:
    """A fresh interpreter that runs a source; numpy lies in our site folder, so that folder is on its path."""
    text = f"import sys; sys.path.append({SITE!r})\n{source}"

    def run() -> None:
        subprocess.run([PYTHON, "-I", "-c", text], input=stdin, text=True, check=True, capture_output=True)

    return run


def checks(spec: dict[str, Any]) -> str:
    """The cases of a spec as asserts, for a fresh interpreter."""
    if spec["format"] == "asserts":
        return "\n".join(spec["tests"])
    return "\n".join(f"assert add(*{case['args']}) == {case['expected']}" for case in spec["cases"])


def ratio(ours: Callable[[], None], theirs: Callable[[], None], rounds: int = ROUNDS) -> float:
    """Verdicts a second of ours over theirs: medians of batches in turns, so that load hits both.

    Ours come ten in a row, so that children forked ahead, during the other's turn, are the exception.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for run, count, into in ((ours, 10, times[0]), (theirs, 2, times[1])):
            started = time.perf_counter()
            for _ in range(count):
                run()
            into.append((time.perf_counter() - started) / count)
    return statistics.median(times[1]) / statistics.median(times[0])


def every_case() -> Callable[[], None]:
    """A fresh interpreter for each case of `STDIO`."""
    runs = [fresh(SCRIPT, stdin=case["stdin"]) for case in STDIO["cases"]]

    def run() -> None:
        for one in runs:
            one()

    return run


def pytest_process(folder: str) -> Callable[[], None]:
    """`python -m pytest` on the same test file."""
    Path(folder, "solution.py").write_text(PROGRAM)
    Path(folder, "test_solution.py").write_text(FILE)

    def run() -> None:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_solution.py"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    return run


def parked_ms() -> float:
    """Wall time from handing a program to a waiting child to its answer, in milliseconds: the lowest of many.

    The lowest, since on a machine that does other things the median says how busy it is.
    """
    times = []
    for _ in range(30 if SHORT else 200):
        with Child(Quota(5, 1 << 28)) as child:
            time.sleep(0.03)  # the next ones are being forked; an idle machine has done that before a program comes
            meter = Meter([child.pid], cpu_s=5, wall_s=20)
            started = time.perf_counter()
            for request in (["load", 1, "", PROGRAM, "add"], ["call", 2, "add", [1, 2], {}]):
                child.link.send(request)
                drive([child], [meter], lambda link=child.link: link.arrived)  # type: ignore[misc]
                reply = child.link.take()
            times.append(time.perf_counter() - started)
            assert codec.decode(reply[2], lambda form: form) == 3
    return min(times) * 1e3


BUSY = "def add(a, b):\n    n = 0\n    for i in range(1_500_000):\n        n += i\n    return a + b\n"


def slots() -> float:
    """Verdicts a second of two judges beside each other over those of one, for programs of some 50 ms of CPU.

    The median of several rounds, since even two bare loops beside each other are seldom twice one.
    """
    return statistics.median(slots_once() for _ in range(1 if SHORT else 5))


def slots_once() -> float:
    command = [sys.executable, __file__, "--slot", str(20 if SHORT else 60)]
    rates = []
    for count in (1, 2):
        started = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]
        for process in started:  # all are warm before any starts
            assert process.stdout is not None
            process.stdout.readline()
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        rates.append(sum(float(process.communicate()[0]) for process in started))
    return rates[1] / rates[0]


def one_slot(count: int) -> None:
    work = job({**CALLS, "cases": CALLS["cases"][:1]}, BUSY)
    print("warm", flush=True)
    sys.stdin.readline()
    started = time.perf_counter()
    for _ in range(count):
        work.run()
    print(count / (time.perf_counter() - started))


def soak(work: Job, num_jobs: int) -> list[Figure]:
    """What is left after many jobs: descriptors, processes, resident memory of the judge and of the zygote."""

    def state() -> tuple[int, int, int, int]:
        zygote = _ZYGOTES["python"].pid
        children = Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()
        memory = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 for pid in (os.getpid(), zygote)]
        return len(os.listdir("/proc/self/fd")), len(children), memory[0], memory[1]

    for _ in range(100):
        work.run()
    before = state()
    for _ in range(num_jobs):
        work.run()
    after = state()
    return [
        Figure("soak_more_descriptors", after[0] - before[0], "at most", 6),
        Figure("soak_more_processes", after[1] - before[1], "at most", 3),
        Figure("soak_judge_growth", (after[2] - before[2]) / 2**20, "at most", 8, "MiB"),
        Figure("soak_zygote_growth", (after[3] - before[3]) / 2**20, "at most", 8, "MiB"),
    ]


def under_load(works: list[Job], num_runs: int) -> Figure:
    """Right programs that did not pass beside eight busy processes."""
    busy = [subprocess.Popen([PYTHON, "-I", "-c", "while True: pass"]) for _ in range(8)]
    wrong = 0
    try:
        for number in range(num_runs):
            work = works[number % len(works)]
            wrong += not VERIFIERS["python"].grade(work.task, work.answer).passed
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return Figure("wrong_zeros_under_load", wrong, "at most", 0)


def main() -> None:
    if "--slot" in sys.argv:
        one_slot(int(sys.argv[-1]))
        return
    calls, asserts, stdio = job(CALLS, PROGRAM), job(ASSERTS, PROGRAM), job(STDIO, SCRIPT)
    with_numpy = {"libraries": ["numpy"]}
    np_calls, np_asserts = job({**CALLS, **with_numpy}, NUMPY), job({**ASSERTS, **with_numpy}, NUMPY)
    file = job({"format": "pytest", "tests": FILE}, PROGRAM)
    few = max(4, ROUNDS // 3)
    with tempfile.TemporaryDirectory() as folder:
        figures = [
            Figure("calls_over_fresh", ratio(calls.run, fresh(f"{PROGRAM}\n{checks(CALLS)}")), "at least", 3, "x"),
            Figure(
                "asserts_over_fresh", ratio(asserts.run, fresh(f"{PROGRAM}\n{checks(ASSERTS)}")), "at least", 2, "x"
            ),
            Figure("stdio_over_fresh", ratio(stdio.run, every_case()), "at least", 3, "x"),
            Figure(
                "numpy_calls_over_fresh",
                ratio(np_calls.run, fresh(f"{NUMPY}\n{checks(CALLS)}"), few),
                "at least",
                20,
                "x",
            ),
            Figure(
                "numpy_asserts_over_fresh",
                ratio(np_asserts.run, fresh(f"{NUMPY}\n{checks(ASSERTS)}"), few),
                "at least",
                12,
                "x",
            ),
            Figure("pytest_over_fresh", ratio(file.run, pytest_process(folder), few), "at least", 20, "x"),
        ]
    figures += [
        Figure("parked_child_ms", parked_ms(), "at most", 3, "ms"),
        Figure("two_slots_over_one", slots(), "at least", 1.8, "x"),
    ]
    if not SHORT:
        figures += soak(calls, 5000)
        figures.append(under_load([calls, asserts, stdio, file], 1000))
    publish("python", figures)


if __name__ == "__main__":
    main()
