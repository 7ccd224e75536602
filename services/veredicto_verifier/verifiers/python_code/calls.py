"""Format `calls`: the judge itself asks the program, case by case, and compares what comes back."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from veredicto_verifier.errors import LimitExceeded
from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import BadFrame
from veredicto_verifier.sandbox.compare import same_value
from veredicto_verifier.sandbox.meter import Meter
from veredicto_verifier.sandbox.process import Child, OutputLimit, drive
from veredicto_verifier.verifiers.python_code.checking import Accepts, checker
from veredicto_verifier.verifiers.python_code.outcome import PASSED, Result, Run, describe, not_loaded, padded
from veredicto_verifier.verifiers.python_code.task import CallTask, quota, suite_meter

OUTPUT_LIMIT = Result("python.output_limit", "the program wrote more than 1 MiB of output")
PROTOCOL = Result("python.protocol_error", "something else than an answer came on the answer channel")


class Gone(Exception):
    """The program's process ended instead of answering."""


def run_calls(task: CallTask, program: str) -> Run:
    """Load the program once and make every call of the task.

    Raises:
        LimitExceeded, InfraFault: see the sandbox.
    """
    with ExitStack() as stack:
        child = stack.enter_context(Child(quota(task.spec), profile=task.spec.profile))
        accept = stack.enter_context(checker(task.spec)) if task.spec.checker else None
        suite = suite_meter(task.spec, [child])
        failed, flags = load(child, task.spec.preamble, program, task.spec.entry, [suite, case_meter(task, child)])
        if failed is not None:
            return not_loaded(failed.code or "", failed.reason, flags=flags, cpu_s=child.cpu_s)
        return _run_cases(task, child, suite, accept)


def case_meter(task: CallTask, child: Child) -> Meter:
    """What one case may use."""
    return Meter([child.pid], cpu_s=task.spec.limits.cpu_s, wall_s=task.spec.limits.wall_seconds)


def _run_cases(task: CallTask, child: Child, suite: Meter, accept: Accepts | None) -> Run:
    results: list[Result] = []
    flags: set[str] = set()
    largest = 0.0
    for index in range(len(task.requests)):
        meter = case_meter(task, child)
        try:
            reply = ask(child, task.requests[index], [suite, meter])
        except (Gone, OutputLimit, BadFrame) as error:
            results.append(ending(child, error))
            break
        results.append(_judge(task, index, reply, flags, accept))
        largest = max(largest, meter.cpu_s)
    total = len(task.requests)
    return Run(padded(results, total), flags=tuple(sorted(flags)), cpu_s=child.cpu_s, largest_cpu_s=largest)


def ask(child: Child, request: list[Any], meters: list[Meter]) -> list[Any]:
    """Send one request and wait for its reply.

    Raises:
        Gone: the process ended, or closed its channel.
        OutputLimit, BadFrame: the program wrote too much, or to where only answers belong.
        LimitExceeded, InfraFault: from the meters.
    """
    child.num_asked += 1
    child.link.send([request[0], child.num_asked, *request[1:]])
    drive([child], meters, lambda: child.link.arrived or not child.link.open)
    if not child.link.arrived:
        raise BadFrame if child.link.violated else Gone
    kind, *rest = child.link.take()
    if rest[:1] != [child.num_asked]:  # an answer to another question, or from before it was asked
        raise BadFrame
    return [kind, *rest[1:]]


def ending(child: Child, error: Exception) -> Result:
    """The result of the case that ended the program.

    Raises:
        LimitExceeded, InfraFault: the kernel ended it for its CPU time, or something outside did.
    """
    if isinstance(error, OutputLimit):
        return OUTPUT_LIMIT
    if isinstance(error, BadFrame):
        return PROTOCOL
    return died(child)


def died(child: Child) -> Result:
    """The result of a program whose process is gone.

    Raises:
        LimitExceeded, InfraFault: the kernel ended it for its CPU time, or something outside did.
    """
    end = child.post_mortem()
    how = "closed its channel" if end.killed else f"ended by signal {end.signal}" if end.signal else f"exit {end.code}"
    return Result("python.candidate_died", f"the program's process was lost: {how}")


def load(
    child: Child, preamble: str, program: str, entry: str | None, meters: list[Meter]
) -> tuple[Result | None, tuple[str, ...]]:
    """Have the child load a program; returns what went wrong (None when it is loaded) and flags."""
    try:
        reply = ask(child, ["load", preamble, program, entry], meters)
    except (Gone, OutputLimit, BadFrame) as error:
        return ending(child, error), ()
    match reply:
        case ["loaded"]:
            return None, ()
        case ["missing", _]:
            return Result("python.entry_missing", f"the program does not define {entry}, or it is not callable"), ()
        case ["raised", names, message, line]:
            out_of_memory(names)
            reason = describe(names, message, line, show_message=True)
            return Result("python.load_error", reason), exit_flags(names)
        case _:
            return PROTOCOL, ()


def out_of_memory(names: Any) -> None:
    """A MemoryError of the program is the memory limit.

    Raises:
        LimitExceeded: it is one.
    """
    if type(names) is list and "MemoryError" in names:
        raise LimitExceeded("memory")


def exit_flags(names: Any) -> tuple[str, ...]:
    """`suspicious_exit`, for an exception that would have ended the process."""
    return ("suspicious_exit",) if type(names) is list and "SystemExit" in names else ()


def _judge(task: CallTask, index: int, reply: list[Any], flags: set[str], accept: Accepts | None) -> Result:
    case = task.spec.cases[index]
    match reply:
        case ["value", form, _, *_]:
            try:
                got = codec.decode(form, _opaque)
            except codec.CodecError:
                return PROTOCOL
            return _judge_value(task, index, got, accept)
        case ["raised", names, message, line]:
            if case.raises is not None and type(names) is list and case.raises in names:
                return PASSED
            out_of_memory(names)
            flags.update(exit_flags(names))
            reason = describe(names, message, line, show_message=not case.hidden)
            code = "python.wrong_answer" if case.raises is not None else "python.runtime_error"
            return Result(code, f"raised {reason}")
        case ["unsendable", _]:
            return Result("python.result_too_large", "the returned value is too deep or too large to send")
        case _:
            return PROTOCOL


def _judge_value(task: CallTask, index: int, got: Any, accept: Accepts | None) -> Result:
    if task.spec.cases[index].raises is not None:
        return Result("python.wrong_answer", "returned a value where an exception is expected")
    if isinstance(got, codec.Opaque):
        return Result(
            "python.wrong_answer",
            f"returned an object, not plain data ({describe([got.type_name], '', None, show_message=False)})",
        )
    if accept is not None:
        return accept(list(task.given[index]), got, task.expected[index])
    if same_value(task.expected[index], got, task.spec.tolerance):
        return PASSED
    return Result("python.wrong_answer", f"returned another value (of type {type(got).__name__})")


def _opaque(form: list[Any]) -> codec.Opaque:
    if form[0] != "o" or len(form) != 3 or type(form[1]) is not int or type(form[2]) is not str:
        raise codec.CodecError("a frame does not hold an encoded value")
    return codec.Opaque(form[1], form[2])
