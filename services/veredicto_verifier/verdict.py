"""What is said of one item, before it is recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from veredicto_verifier.errors import InfraCode
from veredicto_verifier.verifier import Check, Flag


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one item, before it is recorded."""

    outcome: Literal["scored", "invalid_task", "infra_error"]
    reward: float | None = None
    passed: bool | None = None
    checks: tuple[Check, ...] = ()
    flags: tuple[Flag, ...] = ()
    answer: str | None = None
    answer_class: str | None = None
    """See `Grade.answer_class`; not keyed yet."""
    error_code: str | None = None
    error_message: str | None = None
    cached: bool = False
    queue_ms: float = 0.0
    exec_ms: float = 0.0

    @property
    def cacheable(self) -> bool:
        """Whether the same task and completion may be answered from memory."""
        return self.outcome == "scored" and all(flag.name not in UNCACHED_FLAGS for flag in self.flags)

    def remembered(self) -> Verdict:
        """The same verdict, given again without work."""
        return replace(self, cached=True, queue_ms=0.0, exec_ms=0.0)


UNCACHED_FLAGS = {"near_limit", "worker_crash"}


def invalid_task(code: str, message: str) -> Verdict:
    """The verdict on a broken task."""
    return Verdict("invalid_task", error_code=code, error_message=message[:2000])


def infra_error(code: InfraCode, message: str) -> Verdict:
    """The verdict when we failed: no reward, and worth sending again."""
    return Verdict("infra_error", error_code=code, error_message=message[:2000])
