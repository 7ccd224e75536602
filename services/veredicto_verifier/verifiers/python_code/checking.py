"""The task author's `checker` as the judge sees it: a process that is asked whether an output is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from veredicto_verifier.errors import InfraFault, LimitExceeded, TaskFault
from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import FrameTooLarge
from veredicto_verifier.sandbox.meter import Meter
from veredicto_verifier.sandbox.process import Child, OutputLimit, Quota, drive
from veredicto_verifier.verifiers.python_code.outcome import PASSED, Result
from veredicto_verifier.verifiers.python_code.spec import PythonSpec

Accepts = Callable[[Any, Any, Any], Result]
"""From what was given, the output and the expected value to a result."""

_CPU_S = 10.0
_MEMORY_BYTES = 1 << 30


@contextmanager
def checker(spec: PythonSpec) -> Iterator[Accepts]:
    """A running checker.

    Raises:
        InfraFault: it does not run, though it did when the task was loaded.
    """
    with Child(Quota(_CPU_S, _MEMORY_BYTES), profile=spec.trusted_profile) as child:
        if (fault := _define(child, spec.checker)) is not None:
            raise InfraFault("infra.worker_lost", f"the checker did not start: {fault}"[:300])

        def accept(given: Any, output: Any, expected: Any) -> Result:
            try:
                forms = [codec.encode(value, _no_objects) for value in (given, output, expected)]
                reply = _ask(child, ["check", *forms])
            except (codec.CodecError, FrameTooLarge):
                return Result("python.wrong_answer", "the answer holds an object, which no checker accepts")
            if reply == ["checked", True]:
                return PASSED
            return Result("python.wrong_answer", "the checker does not accept it")

        yield accept


def prove_checker(spec: PythonSpec) -> None:
    """Define the checker once, when the task is loaded.

    Raises:
        TaskFault: it does not define `check`, or raises.
    """
    with Child(Quota(_CPU_S, _MEMORY_BYTES), profile=spec.trusted_profile) as child:
        if (fault := _define(child, spec.checker)) is not None:
            raise TaskFault("task.gold_failed", f"$.checker: define check(given, output, expected): {fault}"[:300])


def _define(child: Child, source: str) -> str | None:
    reply = _ask(child, ["checker", source])
    return None if reply == ["defined"] else str(reply[-1])


def _ask(child: Child, message: list[Any]) -> list[Any]:
    """The checker's reply; it is the author's code, so a limit that it passes is not the program's."""
    meter = Meter([child.pid], cpu_s=_CPU_S, wall_s=10 * _CPU_S)
    child.link.send(message)
    try:
        drive([child], [meter], lambda: child.link.arrived or not child.link.open)
    except (LimitExceeded, OutputLimit) as error:
        raise InfraFault("infra.worker_lost", "the checker used up its limits; make it faster") from error
    if not child.link.arrived:
        child.post_mortem()
        raise InfraFault("infra.worker_lost", "the process with the checker ended")
    return child.link.take()


def _no_objects(value: Any) -> NoReturn:
    raise codec.CodecError(f"a {type(value).__name__} is no plain value")
