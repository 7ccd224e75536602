"""Format `calls`: the judge itself asks the program, case by case, and compares what comes back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from veredicto_verifier.errors import LimitExceeded
from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import BadFrame, FrameTooLarge, pack
from veredicto_verifier.sandbox.compare import same_value
from veredicto_verifier.sandbox.meter import Meter
from veredicto_verifier.sandbox.process import Child, OutputLimit, drive
from veredicto_verifier.verifiers.python_code.checking import Accepts, checker
from veredicto_verifier.verifiers.python_code.outcome import PASSED, Result, Run, describe, not_loaded, padded
from veredicto_verifier.verifiers.python_code.relations import related
from veredicto_verifier.verifiers.python_code.task import (
    Call,
    CallTask,
    Pair,
    call_request,
    quota,
    suite_meter,
    with_argument,
)

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
        proven = task.checker_proven
        accept = stack.enter_context(checker(task.spec, proven=proven)) if task.spec.checker else None
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
    tests: list[Call | Pair] = [*task.calls, *task.pairs]
    for test in tests:
        meter = case_meter(task, child)
        answer = functools.partial(ask, child, meters=[suite, meter])
        try:
            if isinstance(test, Call):
                results.append(_judge(task, test, answer(test.request), flags, accept))
            else:
                results.append(_judge_pair(task, test, answer, flags))
        except (Gone, OutputLimit, BadFrame) as error:
            results.append(ending(child, error))
            break
        largest = max(largest, meter.cpu_s)
    return Run(padded(results, len(tests)), flags=tuple(sorted(flags)), cpu_s=child.cpu_s, largest_cpu_s=largest)


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


def _judge(task: CallTask, call: Call, reply: list[Any], flags: set[str], accept: Accepts | None) -> Result:
    match reply:
        case ["raised", list(names), _, _] if call.raises is not None and call.raises in names:
            return PASSED
    try:
        got = _returned(reply, flags, hidden=call.hidden)
    except _Wrong as wrong:
        expected_another = call.raises is not None and wrong.result.code == "python.runtime_error"
        return Result("python.wrong_answer", wrong.result.reason) if expected_another else wrong.result
    if call.raises is not None:
        return Result("python.wrong_answer", "returned a value where an exception is expected")
    if accept is not None:
        return accept(list(call.args), got, call.expected)
    if same_value(call.expected, got, task.spec.tolerance):
        return PASSED
    return Result("python.wrong_answer", f"returned another value (of type {type(got).__name__})")


def _judge_pair(task: CallTask, pair: Pair, answer: Callable[[list[Any]], list[Any]], flags: set[str]) -> Result:
    """Two calls, and whether their answers relate."""
    try:
        first = _returned(answer(pair.first.request), flags, hidden=True)
        request = pair.second.request if pair.second is not None else _fed_back(task, pair, first)
        second = _returned(answer(request), flags, hidden=True)
    except _Wrong as wrong:
        return wrong.result
    if related(first, second, pair.how, task.spec.tolerance):
        return PASSED
    return Result("python.relation", "two answers do not relate as they must")


def _fed_back(task: CallTask, pair: Pair, first: Any) -> list[Any]:
    """The first call with its answer in the place of an argument."""
    try:
        request = call_request(task.spec, *with_argument(pair.first, pair.how.arg, first))
        pack(request)
    except codec.CodecError as error:
        raise _Wrong(Result("python.wrong_answer", "returned an object, not plain data")) from error
    except FrameTooLarge as error:
        raise _Wrong(Result("python.result_too_large", "the returned value is too large to be an argument")) from error
    return request


class _Wrong(Exception):
    """A reply that is no value."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.reason)
        self.result = result


def _returned(reply: list[Any], flags: set[str], *, hidden: bool) -> Any:
    """The value in a reply.

    Raises:
        _Wrong: there is none.
        LimitExceeded: the program ran out of memory.
    """
    match reply:
        case ["value", form, *_]:
            try:
                got = codec.decode(form, _opaque)
            except codec.CodecError as error:
                raise _Wrong(PROTOCOL) from error
            if isinstance(got, codec.Opaque):
                kind = describe([got.type_name], "", None, show_message=False)
                raise _Wrong(Result("python.wrong_answer", f"returned an object, not plain data ({kind})"))
            return got
        case ["raised", names, message, line]:
            out_of_memory(names)
            flags.update(exit_flags(names))
            reason = describe(names, message, line, show_message=not hidden)
            raise _Wrong(Result("python.runtime_error", f"raised {reason}"))
        case ["unsendable", _]:
            raise _Wrong(Result("python.result_too_large", "the returned value is too deep or too large to send"))
        case _:
            raise _Wrong(PROTOCOL)


def _opaque(form: list[Any]) -> codec.Opaque:
    match form:
        case ["o", int(handle), str(type_name), str()]:
            return codec.Opaque(handle, type_name)
    raise codec.CodecError("a frame does not hold an encoded value")
