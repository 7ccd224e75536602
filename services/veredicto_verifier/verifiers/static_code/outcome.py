"""What reading a program can come to when it does not succeed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a program cannot be read: a code and a reason."""

    code: str
    reason: str
