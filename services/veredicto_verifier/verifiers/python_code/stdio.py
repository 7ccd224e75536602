"""Format `stdio`: one process per case runs the program as a script with real pipes."""

from __future__ import annotations

from contextlib import nullcontext

from veredicto_verifier.errors import InfraFault, LimitExceeded
from veredicto_verifier.sandbox.channel import BadFrame
from veredicto_verifier.sandbox.compare import same_output
from veredicto_verifier.sandbox.exec_policy import interpreter
from veredicto_verifier.sandbox.meter import Meter, TooManyProcesses, TreeMeter
from veredicto_verifier.sandbox.process import Child, OutputLimit, drive
from veredicto_verifier.sandbox.zygote import MAX_PROCESSES
from veredicto_verifier.verifiers.python_code.calls import (
    OUTPUT_LIMIT,
    PROTOCOL,
    Gone,
    ask,
    died,
    ending,
    out_of_memory,
)
from veredicto_verifier.verifiers.python_code.checking import Accepts, checker
from veredicto_verifier.verifiers.python_code.outcome import PASSED, Result, Run, describe, not_loaded
from veredicto_verifier.verifiers.python_code.spec import Case
from veredicto_verifier.verifiers.python_code.task import StdioTask, quota


def run_stdio(task: StdioTask, program: str) -> Run:
    """Run the program once per case.

    Raises:
        LimitExceeded, InfraFault: see the sandbox.
    """
    with checker(task.spec, proven=task.checker_proven) if task.spec.checker else nullcontext() as accept:
        return _run_cases(task, program, accept)


def _run_cases(task: StdioTask, program: str, accept: Accepts | None) -> Run:
    results: list[Result] = []
    total_cpu_s = largest = 0.0
    wall_left_s = task.spec.limits.wall_seconds
    for case in task.spec.cases:
        if total_cpu_s >= task.spec.suite_cpu_seconds:
            raise LimitExceeded("cpu")
        stdin = case.stdin.encode("utf-8", "surrogateescape")
        with Child(quota(task.spec), stdin=stdin, profile=task.spec.profile) as child:
            foreign = task.spec.language != "python"
            limits = {"cpu_s": task.spec.limits.cpu_s, "wall_s": wall_left_s}
            meter = TreeMeter(child.tree_root, **limits) if foreign else Meter([child.pid], **limits)
            run = _run_foreign if foreign else _run_case
            loaded, result = run(task, case, child, program, meter, accept)
            if foreign and child.kill() and child.cpu_s > task.spec.limits.cpu_s:
                raise LimitExceeded("cpu")
            wall_left_s -= meter.wall_s
            child.discard()
            total_cpu_s += child.cpu_s
            largest = max(largest, child.cpu_s)
        if not loaded:
            return not_loaded(result.code or "", result.reason, cpu_s=total_cpu_s)
        results.append(result)
    return Run(tuple(results), cpu_s=total_cpu_s, largest_cpu_s=largest)


def _run_case(
    task: StdioTask, case: Case, child: Child, program: str, meter: Meter, accept: Accepts | None
) -> tuple[bool, Result]:
    """Whether the program compiled, and the result of the case."""
    try:
        reply = ask(child, ["script", program], [meter])
        match reply:
            case ["compiled"]:
                drive([child], [meter], lambda: child.exited and not child.stdout.open and not child.stderr.open)
            case ["raised", names, message, line]:
                out_of_memory(names)
                return False, Result("python.load_error", describe(names, message, line, show_message=True))
            case _:
                return True, PROTOCOL
    except (Gone, BadFrame) as error:
        return True, ending(child, error)
    except OutputLimit:
        return True, OUTPUT_LIMIT
    return True, _judge(task, case, child, accept)


def _run_foreign(
    task: StdioTask, case: Case, child: Child, program: str, meter: Meter, accept: Accepts | None
) -> tuple[bool, Result]:
    """As `_run_case`, for a program that an interpreter of the system runs: it compiles and runs in one."""
    option = {"bash": "-c", "node": "-e"}[task.spec.language]
    if "\0" in program or len(program.encode("utf-8", "surrogateescape")) > MAX_SCRIPT_BYTES:
        return False, Result("python.load_error", f"the script is over {MAX_SCRIPT_BYTES} bytes, or holds a NUL")
    child.link.send(["exec", 1, [interpreter(task.spec.language), option, program]])
    try:
        drive([child], [meter], lambda: child.link.arrived or not child.link.open)
        if child.link.arrived:
            raise InfraFault("infra.worker_lost", f"{task.spec.language} could not be started")
        # A grandchild that holds the output open must not delay the verdict: the case ends with the program itself.
        drive([child], [meter], lambda: child.exited)
    except OutputLimit:
        return True, OUTPUT_LIMIT
    except TooManyProcesses:
        return True, Result("python.process_limit", f"more than {MAX_PROCESSES} processes at once")
    return True, _judge(task, case, child, accept)


MAX_SCRIPT_BYTES = 100_000


def _judge(task: StdioTask, case: Case, child: Child, accept: Accepts | None) -> Result:
    end = child.post_mortem()
    if end.signal is not None:
        return died(child)
    if end.code != 0:
        last = bytes(child.stderr.data).decode("utf-8", "replace").strip().rpartition("\n")[2]
        name, _, message = last.partition(":")
        out_of_memory([name])
        reason = describe([name.strip()], message, None, show_message=not case.hidden)
        return Result("python.runtime_error", f"exit status {end.code}: {reason}")
    if accept is not None:
        return accept(case.stdin, bytes(child.stdout.data).decode("utf-8", "surrogateescape"), case.stdout)
    expected = case.stdout.encode("utf-8", "surrogateescape")
    if same_output(expected, bytes(child.stdout.data), task.spec.compare, task.spec.tolerance):
        return PASSED
    return Result("python.wrong_answer", f"other output than expected (compared by {task.spec.compare})")
