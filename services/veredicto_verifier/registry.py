"""Every verifier of the service, by wire name."""

from __future__ import annotations

from typing import Any

from veredicto_verifier.verifier import Verifier

VERIFIERS: dict[str, Verifier[Any, Any]] = {}
