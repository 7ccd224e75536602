"""Format `asserts`: the author's tests run in a process of their own and ask the program through a stand-in."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from veredicto_verifier.errors import InfraFault, LimitExceeded, TaskFault
from veredicto_verifier.sandbox.channel import BadFrame
from veredicto_verifier.sandbox.meter import Meter
from veredicto_verifier.sandbox.process import Child, OutputLimit, Quota, drive
from veredicto_verifier.verifiers.python_code.calls import OUTPUT_LIMIT, PROTOCOL, died, load
from veredicto_verifier.verifiers.python_code.outcome import FLAGS, PASSED, Result, Run, describe, not_loaded, padded
from veredicto_verifier.verifiers.python_code.spec import PythonSpec
from veredicto_verifier.verifiers.python_code.task import AssertTask, FileTask, quota, suite_meter

_HOST_EXTRA_CPU_S = 10.0
_HOST_EXTRA_BYTES = 256 * 1024 * 1024
"""The tests' own needs on top of the program's: they decode and compare what it answers."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the test host says once all tests ran."""

    fault: str | None
    """What failed before the first test."""
    results: list[Any]
    flags: list[Any]


def run_asserts(task: AssertTask, program: str) -> Run:
    """Load the program in one process and run the tests in another.

    Raises:
        LimitExceeded, InfraFault: see the sandbox.
    """
    return run_with_host(task, program, _order(task), len(task.tests), _results)


def run_with_host(
    task: AssertTask | FileTask,
    program: str,
    order: dict[str, Any],
    total: int,
    results: Callable[[Any, Report, Child], list[Result]],
) -> Run:
    """Load the program in one process, have the tests run in another, and judge the report.

    Args:
        task: whose limits and preamble count.
        program: to be tested.
        order: what the test host is told.
        total: tests that the task has.
        results: from the task, the report and the program's process to a result for each test that ran.
    """
    with ExitStack() as stack:
        candidate = stack.enter_context(Child(quota(task.spec), profile=task.spec.profile))
        meter = suite_meter(task.spec, [candidate])
        failed, flags = load(candidate, task.spec.preamble, program, task.spec.entry, [meter])
        if failed is not None:
            return not_loaded(failed.code or "", failed.reason, flags=flags, cpu_s=candidate.cpu_s)
        # From here on only the test host speaks with the program: its end of the socket is a copy of ours.
        host = stack.enter_context(Child(_host_quota(task.spec), profile=task.spec.trusted_profile))
        host.link.hand_over(candidate.link.end)
        candidate.link.close()
        try:
            report = _report(host, [candidate], meter, order)
        except OutputLimit:
            return Run(padded([OUTPUT_LIMIT], total), cpu_s=candidate.cpu_s)
        if report is None:
            host.post_mortem()
            raise InfraFault("infra.worker_lost", "the process that runs the tests ended without a report")
        if report.fault is not None:
            raise InfraFault("infra.worker_lost", "the tests' own code failed, though it ran when the task was loaded")
        return Run(
            padded(results(task, report, candidate), total),
            flags=tuple(flag for flag in report.flags if flag in FLAGS),
            cpu_s=candidate.cpu_s,
            largest_cpu_s=candidate.cpu_s,
        )


def dry_run(task: AssertTask) -> None:
    """Run the setup alone, without a program.

    Raises:
        TaskFault: the setup raises or takes too long.
    """
    run_without_program(task.spec, {**_order(task), "dry_run": True})


def run_without_program(spec: PythonSpec, order: dict[str, Any]) -> list[Any]:
    """What the test host says when nobody is there to be tested.

    Raises:
        TaskFault: the author's code raises or takes too long.
    """
    program, nobody = socket.socketpair()
    with program, nobody, Child(_host_quota(spec), profile=spec.trusted_profile) as host:
        host.link.hand_over(program)
        try:
            report = _report(host, [], suite_meter(spec, [host]), order)
        except LimitExceeded as limit:
            raise TaskFault("task.gold_timeout", "the setup of the tests exceeds the limits") from limit
        if report is None or report.fault is not None:
            reason = "its process died" if report is None else report.fault
            raise TaskFault("task.gold_failed", f"the setup of the tests fails: {reason}"[:300])
        return report.results


def _host_quota(spec: PythonSpec) -> Quota:
    own = quota(spec)
    return Quota(own.cpu_s + _HOST_EXTRA_CPU_S, own.memory_bytes + _HOST_EXTRA_BYTES)


def _order(task: AssertTask) -> dict[str, Any]:
    return {
        "files": False,
        "awaits": task.awaits,
        "entry": task.spec.entry,
        "setup": task.spec.setup,
        "globals": list(task.names),
        "tests": [list(test) for test in task.tests],
        "dry_run": False,
    }


def _report(host: Child, others: list[Child], meter: Meter, order: dict[str, Any]) -> Report | None:
    """The test host's report; None when it ended without one."""
    nonce = secrets.token_hex(16)
    host.link.send(["host", {**order, "nonce": nonce}])
    drive([host, *others], [meter], lambda: host.link.arrived or not host.link.open)
    try:
        match host.link.take() if host.link.arrived else None:
            case ["report", str(told), fault, list(results), list(flags)] if told == nonce:
                return Report(fault, results, flags)
    except BadFrame:
        pass
    return None


def _results(task: AssertTask, report: Report, candidate: Child) -> list[Result]:
    return [result(outcome, candidate, hidden) for outcome, hidden in zip(report.results, task.hidden, strict=False)]


def result(outcome: list[Any], candidate: Child, hidden: bool) -> Result:
    """One test's result from `[status, exception name, calls]`.

    Raises:
        LimitExceeded, InfraFault: the program's process ended for its CPU or memory, or from outside.
        TaskFault: the test passes what no program can be given.
    """
    status, name, num_calls = outcome
    if status.startswith("uncrossable:"):
        what = status.partition(":")[2][:60]
        raise TaskFault("task.gold_failed", f"$.tests: what a test passes cannot cross to a program ({what})")
    if status == "passed":
        return PASSED if num_calls else Result("python.vacuous", "the test passed without calling the program")
    if status == "opaque":
        return Result("python.opaque_value", "the test saw an object that stands for no plain value; return plain data")
    if status == "lost":
        return died(candidate)
    if status == "memory" or name == "MemoryError":
        raise LimitExceeded("memory")
    if status == "too_large":
        return Result("python.result_too_large", "a returned value is too deep or too large to send")
    if status == "protocol":
        return PROTOCOL
    if status == "skipped":
        return Result("python.wrong_answer", "the test skipped itself, which proves nothing")
    if status == "import":
        return Result("python.entry_missing", f"the test file cannot import what it needs of the program ({name})")
    shown = describe([name], "", None, show_message=not hidden)
    if status == "raised":
        return Result("python.runtime_error", f"the program raised {shown}")
    if status == "assertion":
        return Result("python.wrong_answer", "an assertion does not hold")
    return Result("python.wrong_answer", f"the test could not use what the program returned ({shown})")
