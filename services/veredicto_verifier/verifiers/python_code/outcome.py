"""What running a program gave, and how that becomes a grade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veredicto_verifier.verifier import Check, Flag, Grade

CODES = {
    "python.wrong_answer": "a case or test gave another result than expected",
    "python.load_error": "the program does not compile, or raised while it was loaded",
    "python.entry_missing": "the program loads but does not define the function that the task names",
    "python.runtime_error": "the program raised an exception, or ended with another exit status than 0",
    "python.output_limit": "the program wrote more than 1 MiB to standard output or standard error",
    "python.process_limit": "a bash or node program had more than 64 processes at once",
    "python.result_too_large": "a returned value is too deep or too large to send (200 levels, 8 MiB)",
    "python.candidate_died": "the program's process ended while it was asked: os._exit, a crash of the interpreter",
    "python.protocol_error": "the program wrote to the channel on which its answers are read",
    "python.checker_raised": "the task's checker, which works on right answers, raised on this one",
    "python.relation": "two answers do not relate as the task says (a metamorphic test)",
    "python.opaque_value": "a test asked an object of the program only for its length, truth or items, and it has none",
    "python.vacuous": "a test passed without calling the program once",
    "python.not_run": "not run, since an earlier case ended the program",
    "python.timeout": "the time limit was passed, again so on a fresh worker",
    "python.memory": "the memory limit was passed, again so on a fresh worker",
    "python.crash": "judging killed the worker, again so on a fresh one",
}

FLAGS = {
    "special_casing": "every visible case passes and a hidden one does not: the visible answers may be built in",
    "suspicious_exit": "the program tries to end its process (sys.exit, os._exit, …)",
    "always_equal": "the program has, or returned, an object that claims to be equal to anything",
    "opaque_operand": "a test ordered an object of the program against plain data, or computed with it",
    "frame_access": "the program looks at frames, the garbage collector, memory or the trace hooks",
    "hooks": "the program installs exit, signal or exception hooks",
    "file_access": "the program opens files",
    "literal_table": "a literal table in the program holds at least half of the visible answers",
}


@dataclass(frozen=True, slots=True)
class Result:
    """One case or test: passed, or a code with a reason."""

    code: str | None = None
    reason: str = ""

    @property
    def passed(self) -> bool:
        """It passed."""
        return self.code is None


@dataclass(frozen=True, slots=True)
class Run:
    """One program against all cases or tests of a task, in their order."""

    results: tuple[Result, ...] = ()
    load: Result = Result()
    """Whether the program could be loaded at all; if not, there are no results."""
    flags: tuple[str, ...] = ()
    cpu_s: float = 0.0
    """CPU seconds of the program after its process was ready."""
    largest_cpu_s: float = 0.0
    """The dearest case's share."""


PASSED = Result()


def not_loaded(code: str, reason: str, *, flags: tuple[str, ...] = (), cpu_s: float = 0.0) -> Run:
    """A run that ended before the first case."""
    return Run(load=Result(code, reason), flags=flags, cpu_s=cpu_s)


def padded(results: list[Result], total: int) -> tuple[Result, ...]:
    """Results for every case; those after the last one are `python.not_run`."""
    missing = Result("python.not_run", "an earlier case ended the program")
    return (*results, *[missing] * (total - len(results)))


def describe(names: Any, message: Any, line: Any, *, show_message: bool) -> str:
    """An exception for a person: `ValueError at line 3: …`; what the program says of itself is cut and cleaned."""
    name = names[0] if type(names) is list and names and type(names[0]) is str else ""
    text = name if name.isidentifier() and len(name) <= 40 else "an exception"
    if type(line) is int:
        text += f" at line {line}"
    if show_message and type(message) is str and message.strip():
        shown = "".join(char if char.isprintable() and char.isascii() else "?" for char in message.strip()[:80])
        text += f": {shown}"
    return text


def grade(run: Run, hidden: tuple[bool, ...], signals: tuple[Flag, ...]) -> Grade:
    """The grade of a run.

    Args:
        run: what happened.
        hidden: for each case whether it is held out.
        signals: suspicions from reading the program.
    """
    flags = {flag.name: flag for flag in (*(Flag(name, FLAGS[name]) for name in run.flags), *signals)}
    if not run.load.passed:
        load = Check("python.load", passed=False, score=0.0, code=run.load.code, reason=run.load.reason)
        return Grade(passed=False, checks=(load,), flags=tuple(flags.values()), cpu_s=run.cpu_s)
    groups = {
        name: [result for result, held_out in zip(run.results, hidden, strict=True) if held_out is apart]
        for name, apart in (("python.visible", False), ("python.hidden", True))
    }
    checks = [Check("python.load", passed=True, score=1.0)]
    checks += [_check(name, results) for name, results in groups.items() if results]
    visible, held_out = groups["python.visible"], groups["python.hidden"]
    if visible and all(result.passed for result in visible) and not all(result.passed for result in held_out):
        flags["special_casing"] = Flag("special_casing", "all visible cases pass, not all hidden ones")
    num_passed = sum(result.passed for result in run.results)
    return Grade(
        passed=num_passed == len(run.results),
        checks=tuple(checks),
        score=num_passed / len(run.results),
        flags=tuple(flags.values()),
        cpu_s=run.cpu_s,
    )


def _check(name: str, results: list[Result]) -> Check:
    failed = [(number, result) for number, result in enumerate(results, 1) if not result.passed]
    score = 1 - len(failed) / len(results)
    if not failed:
        return Check(name, passed=True, score=1.0, weight=float(len(results)))
    number, first = failed[0]
    reason = f"{len(failed)} of {len(results)} failed; case {number}: {first.reason}"
    return Check(name, passed=False, score=score, code=first.code, reason=reason[:300], weight=float(len(results)))
