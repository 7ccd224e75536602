"""Entries and ledgers for the ledger's tests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veredicto_verifier.ledger.records import Entry, Failure
from veredicto_verifier.ledger.writer import LedgerWriter
from veredicto_verifier.verifier import Check, Flag

VERIFIERS = {"echo": {"version": "1.0.0", "digest": "sha256:" + "e" * 64}}
TASK = b'{"fixtures":{},"spec":{"answer":"GOLD-7431"},"verifier":"echo"}'


def scored(number: int = 0, **changes: Any) -> Entry:
    """A plain failed verdict of run `run-1`, four to a group, eight to a step."""
    facts: dict[str, Any] = {
        "request_id": f"request-{number // 8}",
        "run": "run-1",
        "step": number // 8,
        "item_id": f"item-{number}",
        "group": f"group-{number // 4}",
        "policy_version": number // 8,
        "prompt": f"What is {number // 4}?",
        "completion": f"I think it is {number}.",
        "answer": f"{number}",
        "category": "sums" if number % 2 else "echoes",
        "verifier": "echo",
        "task": TASK,
        "outcome": "scored",
        "reward": 0.0,
        "passed": False,
        "checks": (Check("echo.value", False, 0.0, "echo.other", f"the answer {number} is another value"),),
    }
    return Entry(**{**facts, **changes})


def passed(number: int = 0, **changes: Any) -> Entry:
    checks = (Check("echo.value", True, 1.0),)
    return scored(number, **{"reward": 1.0, "passed": True, "checks": checks, **changes})


def refused(number: int = 0, code: str = "task.malformed", **changes: Any) -> Entry:
    facts = {
        "outcome": "infra_error" if code.startswith("infra.") else "invalid_task",
        "reward": None,
        "passed": None,
        "answer": None,
        "checks": (),
        "error": Failure(code, f"item {number} could not be judged"),
    }
    return scored(number, **{**facts, **changes})


def flagged(number: int = 0, name: str = "lucky", **changes: Any) -> Entry:
    return scored(number, flags=(Flag(name, f"it is {number}"),), **changes)


def open_writer(folder: Path, **settings: Any) -> LedgerWriter:
    return LedgerWriter(folder, verifiers=VERIFIERS, service_version="0.1.0", **settings)


def record(folder: Path, *batches: Sequence[Entry], **settings: Any) -> list[str]:
    """Append batches through a writer of its own; returns all record ids."""

    async def append_all() -> list[str]:
        ids = []
        for batch in batches:
            ids += await writer.append(batch)
        return ids

    writer = open_writer(folder, **settings)
    try:
        return asyncio.run(append_all())
    finally:
        writer.close()


def segment_files(folder: Path) -> list[Path]:
    return sorted((folder / "ledger").glob("*.jsonl"))
