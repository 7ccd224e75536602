"""Programs that must fail: run when a judge starts and again every so many programs, through the same sandbox.

When one of them passes, the sandbox or the comparison is broken, and no verdict of this process can be trusted: each
program is `infra_error`, so the readiness probe fails too, until a round in which every canary fails. That round comes
with the next program.

An operator can add canaries of their own in a JSON file: `{"name": {"spec": {…}, "program": "…"}}`. Its path is in
`VEREDICTO_SANDBOX_CANARIES` of the worker's environment, read here and nowhere else, at the start of a round.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from veredicto_verifier.errors import InfraFault, TaskFault
from veredicto_verifier.verifiers.python_code.spec import PythonSpec

EVERY = 1000
"""Programs between two rounds."""
CANARIES_SWITCH = "VEREDICTO_SANDBOX_CANARIES"
"""The environment variable with the path of the operator's own canaries."""

_CALLS = {"format": "calls", "entry": "f", "cases": [{"args": [1], "expected": 2}]}
_ASSERTS = {"format": "asserts", "entry": "f", "tests": ["assert f(1) == 2"]}
_EQUAL = "class E:\n    def __eq__(self, other):\n        return True\n\ndef f(x):\n    return E()\n"

CANARIES: dict[str, tuple[dict[str, Any], str]] = {
    "a wrong answer": (_CALLS, "def f(x):\n    return x\n"),
    "a wrong answer under tests": (_ASSERTS, "def f(x):\n    return x\n"),
    "an object that equals everything": (_CALLS, _EQUAL),
    "an object that equals everything, under tests": (_ASSERTS, _EQUAL),
    "a test that nothing can pass": (
        {"format": "asserts", "entry": "f", "tests": ["assert f(1) == 2 and f(1) == 3"]},
        "def f(x):\n    return x + 1\n",
    ),
    "a clean exit instead of output": (
        {"format": "stdio", "cases": [{"stdin": "1\n", "stdout": "2\n"}]},
        "raise SystemExit(0)\n",
    ),
}
"""By name: a spec, and a program that must not pass it."""


@dataclass(slots=True)
class Watch:
    """Counts programs, and runs the canaries when they are due.

    Args:
        passes: whether a program passes a spec, through the real sandbox.
    """

    passes: Callable[[PythonSpec, str], bool]
    _until_due: int = 0
    _passed: list[str] = field(default_factory=list)

    def count(self) -> None:
        """Count one program.

        Raises:
            InfraFault: a canary passes, or the operator's own cannot be run.
        """
        if self._until_due == 0:
            self._passed = [name for name, canary in _all_canaries().items() if self._lives(name, *canary)]
            self._until_due = 0 if self._passed else EVERY
        if self._passed:
            raise InfraFault(
                "infra.worker_lost", f"the sandbox let a program pass that must fail ({self._passed[0]}); do not use it"
            )
        self._until_due -= 1

    def _lives(self, name: str, spec: dict[str, Any], program: str) -> bool:
        try:
            return self.passes(PythonSpec.model_validate(spec), program)
        except (ValidationError, TaskFault) as error:
            raise InfraFault("infra.worker_lost", f"the canary {name[:60]!r} is no valid task; mend it") from error


def _all_canaries() -> dict[str, tuple[dict[str, Any], str]]:
    return {**CANARIES, **own_canaries(os.environ.get(CANARIES_SWITCH))}


def own_canaries(path: str | None) -> dict[str, tuple[dict[str, Any], str]]:
    """The operator's canaries by name; none without a file.

    Raises:
        InfraFault: the file cannot be read, or is not of the agreed form.
    """
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return {str(name): (one["spec"], str(one["program"])) for name, one in found.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InfraFault("infra.worker_lost", f"the canaries in {path[:100]} cannot be read: {error}"[:300]) from error
