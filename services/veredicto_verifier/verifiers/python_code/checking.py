"""The task author's `checker` as the judge sees it: a process that is asked whether an output is accepted.

It is code and can raise. Whose fault that is must not depend on the answer alone: a checker that is *proven* (it works
on what the reference answers, or on the expected values) is right to choke on a senseless answer, which earns 0. One
that nothing has proven makes the task invalid as soon as it raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from veredicto_verifier.errors import InfraFault, LimitExceeded, TaskFault
from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import BadFrame, FrameTooLarge
from veredicto_verifier.sandbox.meter import Meter
from veredicto_verifier.sandbox.process import Child, OutputLimit, Quota, drive
from veredicto_verifier.verifiers.python_code.outcome import PASSED, Result
from veredicto_verifier.verifiers.python_code.spec import PythonSpec

Accepts = Callable[[Any, Any, Any], Result]
"""From what was given, the output and the expected value to a result."""

_CPU_S = 10.0
_MEMORY_BYTES = 1 << 30


class Troubled(Exception):
    """The checker raised, wrote too much or ended; the message is for a person."""


@contextmanager
def checker(spec: PythonSpec, *, proven: bool) -> Iterator[Accepts]:
    """A running checker.

    Args:
        spec: whose checker.
        proven: it works on right answers, so what it chokes on is wrong.

    Raises:
        InfraFault: it does not run, though it did when the task was loaded.
        TaskFault: it raises, and is not proven.
        LimitExceeded: it is proven, and an answer takes it longer than any right one may.
    """
    with _started(spec) as child:
        if (fault := _define(child, spec.checker)) is not None:
            raise InfraFault("infra.worker_lost", f"the checker did not start: {fault}"[:300])

        def accept(given: Any, output: Any, expected: Any) -> Result:
            try:
                accepted = _check(child, given, output, expected)
            except (codec.CodecError, FrameTooLarge):
                return Result("python.wrong_answer", "the answer holds an object, which no checker accepts")
            except Troubled as trouble:
                if not proven:
                    raise _unproven(trouble) from trouble
                return Result("python.checker_raised", f"{trouble}, which it does not on a right answer"[:300])
            except LimitExceeded as limit:
                if not proven:
                    raise TaskFault("task.gold_timeout", "$.checker: it takes too long; make it faster") from limit
                raise
            return PASSED if accepted else Result("python.wrong_answer", "the checker does not accept it")

        yield accept


def prove_checker(spec: PythonSpec, right: Iterable[tuple[Any, Any]]) -> bool:
    """Define the checker once, when the task is loaded, and try it on right answers.

    Args:
        spec: whose checker.
        right: what was given and what is expected, where the task states it.

    Returns:
        Whether it decides about each of them, whichever way; False when there are none.

    Raises:
        TaskFault: it does not define `check`, or raises while it is defined.
    """
    with _started(spec) as child:
        if (fault := _define(child, spec.checker)) is not None:
            raise TaskFault("task.gold_failed", f"$.checker: define check(given, output, expected): {fault}"[:300])
        tried = 0
        try:
            for given, expected in right:
                _check(child, given, expected, expected)
                tried += 1
        except (Troubled, codec.CodecError, FrameTooLarge):
            return False
        return tried > 0


def _unproven(trouble: Troubled) -> TaskFault:
    return TaskFault(
        "task.gold_failed",
        f"$.checker: {trouble}, and nothing shows that it works; give a `reference`, or let it return False"[:300],
    )


def _started(spec: PythonSpec) -> Child:
    return Child(Quota(_CPU_S, _MEMORY_BYTES), profile=spec.trusted_profile)


def _define(child: Child, source: str) -> str | None:
    reply = _ask(child, ["checker", source])
    return None if reply == ["defined"] else str(reply[-1])


def _check(child: Child, given: Any, output: Any, expected: Any) -> bool:
    match _ask(child, ["check", *(codec.encode(value, _no_objects) for value in (given, output, expected))]):
        case ["checked", bool(accepted)]:
            return accepted
        case ["raised", str(name)]:
            raise Troubled(f"the checker raised {name}")
    raise Troubled("the checker wrote where only its answers belong")


def _ask(child: Child, message: list[Any]) -> list[Any]:
    """The checker's reply.

    Raises:
        Troubled: it ended or wrote too much.
        LimitExceeded, InfraFault: from the meter, or from how it ended.
    """
    meter = Meter([child.pid], cpu_s=_CPU_S, wall_s=10 * _CPU_S)
    child.link.send(message)
    try:
        drive([child], [meter], lambda: child.link.arrived or not child.link.open)
        if child.link.arrived:
            return child.link.take()
    except OutputLimit as error:
        raise Troubled("the checker writes too much output") from error
    except BadFrame as error:
        raise Troubled("the checker wrote where only its answers belong") from error
    child.post_mortem()
    raise Troubled("the checker's process ended")


def _no_objects(value: Any) -> NoReturn:
    raise codec.CodecError(f"a {type(value).__name__} is no plain value")
