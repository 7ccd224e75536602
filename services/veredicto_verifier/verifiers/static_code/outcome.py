"""What reading a program can come to when it does not succeed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a program cannot be read: a code and a reason."""

    code: str
    reason: str


def summary(found: Sequence[str]) -> str:
    """What was found, for a reason: the first two and how many more; empty for nothing."""
    more = f" and {len(found) - 2} more" if len(found) > 2 else ""
    return f"{'; '.join(one[:120] for one in found[:2])}{more}"
