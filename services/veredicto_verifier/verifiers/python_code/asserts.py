"""Format `asserts`: the author's tests run in a process of their own and ask the program through a stand-in."""

from __future__ import annotations

import secrets
import socket
from contextlib import ExitStack
from typing import Any

from veredicto_verifier.errors import InfraFault, LimitExceeded, TaskFault
from veredicto_verifier.sandbox.channel import BadFrame
from veredicto_verifier.sandbox.meter import Meter
from veredicto_verifier.sandbox.process import Child, OutputLimit, Quota, drive
from veredicto_verifier.verifiers.python_code.calls import OUTPUT_LIMIT, PROTOCOL, died, load
from veredicto_verifier.verifiers.python_code.outcome import FLAGS, PASSED, Result, Run, describe, not_loaded, padded
from veredicto_verifier.verifiers.python_code.task import AssertTask, quota, suite_meter

_HOST_EXTRA_CPU_S = 10.0
_HOST_EXTRA_BYTES = 256 * 1024 * 1024
"""The tests' own needs on top of the program's: they decode and compare what it answers."""


def run_asserts(task: AssertTask, program: str) -> Run:
    """Load the program in one process and run the tests in another.

    Raises:
        LimitExceeded, InfraFault: see the sandbox.
    """
    with ExitStack() as stack:
        candidate = stack.enter_context(Child(quota(task.spec)))
        meter = suite_meter(task.spec, [candidate])
        failed, flags = load(candidate, task.spec.preamble, program, task.spec.entry, [meter])
        if failed is not None:
            return not_loaded(failed.code or "", failed.reason, flags=flags, cpu_s=candidate.cpu_s)
        # From here on only the test host speaks with the program: its end of the socket is a copy of ours.
        host = stack.enter_context(Child(_host_quota(task)))
        host.link.hand_over(candidate.link.end)
        candidate.link.close()
        return _run_tests(task, candidate, host, meter)


def dry_run(task: AssertTask) -> None:
    """Run the setup alone, without a program.

    Raises:
        TaskFault: the setup raises or takes too long.
    """
    program, nobody = socket.socketpair()
    with program, nobody, Child(_host_quota(task)) as host:
        host.link.hand_over(program)
        try:
            report = _report(task, host, [], suite_meter(task.spec, [host]), dry=True)
        except LimitExceeded as limit:
            raise TaskFault("task.gold_timeout", "the setup of the tests exceeds the limits") from limit
        if report is None or report[0] is not None:
            reason = "its process died" if report is None else report[0]
            raise TaskFault("task.gold_failed", f"the setup of the tests fails: {reason}"[:300])


def _host_quota(task: AssertTask) -> Quota:
    own = quota(task.spec)
    return Quota(own.cpu_s + _HOST_EXTRA_CPU_S, own.memory_bytes + _HOST_EXTRA_BYTES)


def _report(task: AssertTask, host: Child, others: list[Child], meter: Meter, *, dry: bool) -> list[Any] | None:
    """The test host's `[setup fault, results, flags]`; None when it ended without one."""
    nonce = secrets.token_hex(16)
    order = {
        "nonce": nonce,
        "entry": task.spec.entry,
        "setup": task.spec.setup,
        "globals": list(task.names),
        "tests": [list(test) for test in task.tests],
        "dry_run": dry,
    }
    host.link.send(["host", order])
    drive([host, *others], [meter], lambda: host.link.arrived or not host.link.open)
    try:
        match host.link.take() if host.link.arrived else None:
            case ["report", str(told), fault, list(results), list(flags)] if told == nonce:
                return [fault, results, flags]
    except BadFrame:
        pass
    return None


def _run_tests(task: AssertTask, candidate: Child, host: Child, meter: Meter) -> Run:
    total = len(task.tests)
    try:
        report = _report(task, host, [candidate], meter, dry=False)
    except OutputLimit:
        return Run(padded([OUTPUT_LIMIT], total), cpu_s=candidate.cpu_s)
    if report is None:
        host.post_mortem()
        raise InfraFault("infra.worker_lost", "the process that runs the tests ended without a report")
    fault, outcomes, flags = report
    if fault is not None:
        raise InfraFault(
            "infra.worker_lost", "the setup of the tests failed, though it passed when the task was loaded"
        )
    results = [_result(outcome, candidate, hidden) for outcome, hidden in zip(outcomes, task.hidden, strict=False)]
    return Run(
        padded(results, total),
        flags=tuple(flag for flag in flags if flag in FLAGS),
        cpu_s=candidate.cpu_s,
        largest_cpu_s=candidate.cpu_s,
    )


def _result(outcome: list[Any], candidate: Child, hidden: bool) -> Result:
    """One test's result from `[status, exception name, calls]`.

    Raises:
        LimitExceeded, InfraFault: the program's process ended for its CPU or memory, or from outside.
    """
    status, name, num_calls = outcome
    if status == "passed":
        return PASSED if num_calls else Result("python.vacuous", "the test passed without calling the program")
    if status == "lost":
        return died(candidate)
    if status == "memory" or name == "MemoryError":
        raise LimitExceeded("memory")
    if status == "too_large":
        return Result("python.result_too_large", "a returned value is too deep or too large to send")
    if status == "protocol":
        return PROTOCOL
    shown = describe([name], "", None, show_message=not hidden)
    if status == "raised":
        return Result("python.runtime_error", f"the program raised {shown}")
    if status == "assertion":
        return Result("python.wrong_answer", "an assertion does not hold")
    return Result("python.wrong_answer", f"the test could not use what the program returned ({shown})")
