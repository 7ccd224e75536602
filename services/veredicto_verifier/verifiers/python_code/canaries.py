"""Programs that must fail: run when a judge starts and again every so many programs, through the same sandbox.

When one of them passes, the sandbox or the comparison is broken, and no verdict of this process can be trusted: each
is `infra_error` from then on, so the readiness probe fails too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from veredicto_verifier.errors import InfraFault
from veredicto_verifier.verifiers.python_code.spec import PythonSpec

EVERY = 1000
"""Programs between two rounds."""

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
            InfraFault: a canary has passed.
        """
        if self._until_due == 0:
            self._until_due = EVERY
            self._passed = [
                name
                for name, (spec, program) in CANARIES.items()
                if self.passes(PythonSpec.model_validate(spec), program)
            ]
        self._until_due -= 1
        if self._passed:
            raise InfraFault(
                "infra.worker_lost", f"the sandbox let a program pass that must fail ({self._passed[0]}); do not use it"
            )
