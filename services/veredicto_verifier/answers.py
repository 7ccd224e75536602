"""From a verdict to the two things made of it: the ledger's entry and the wire's result."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from veredicto_proto.messages import ERROR_CODES
from veredicto_verifier.envelope import Header
from veredicto_verifier.ledger.records import Entry, Failure, exact_spec
from veredicto_verifier.scoring import Scored

Stamps = Mapping[str, Mapping[str, str]]
"""Verifier name to `{name, version, digest}`."""


def entry(scored: Scored, header: Header, request_id: str) -> Entry:
    """What the ledger keeps of one verdict."""
    item, task, verdict = scored.item, scored.task, scored.verdict
    return Entry(
        request_id=request_id,
        run=header.run,
        step=header.step,
        phase=header.phase,
        item_id=item.id,
        group=item.group,
        policy_version=item.policy_version,
        metadata=item.metadata,
        prompt=item.prompt_text,
        completion=item.completion_text,
        completion_is_messages=item.completion_is_messages,
        answer=verdict.answer,
        category=task.category if task else None,
        verifier=task.verifier if task else None,
        task=task.canonical if task else None,
        spec=exact_spec(task.raw) if task else None,
        fixtures=task.fixtures if task else {},
        outcome=verdict.outcome,
        reward=verdict.reward,
        passed=verdict.passed,
        checks=verdict.checks,
        flags=verdict.flags,
        error=Failure(verdict.error_code, verdict.error_message or "") if verdict.error_code else None,
        cached=verdict.cached,
        queue_ms=verdict.queue_ms,
        exec_ms=verdict.exec_ms,
    )


def result(scored: Scored, record: str | None, stamps: Stamps, class_key: bytes) -> dict[str, Any]:
    """One entry of `results`, as the contract spells it once orjson has written it (checks are dataclasses still).

    `class_key` keys what it says of equal answers.
    """
    verdict, task = scored.verdict, scored.task
    return {
        "id": scored.item.id,
        "outcome": verdict.outcome,
        "reward": verdict.reward,
        "passed": verdict.passed,
        "checks": verdict.checks,
        "flags": verdict.flags,
        "answer": verdict.answer,
        "answer_class": _keyed(verdict.answer_class, task.digest if task else "", class_key),
        "error": _error(scored),
        "verifier": stamps[task.verifier] if task else None,
        "task_digest": task.digest if task else None,
        "cached": verdict.cached,
        "queue_ms": verdict.queue_ms,
        "exec_ms": verdict.exec_ms,
        "record": record,
    }


def _keyed(answer_class: str | None, task_digest: str, key: bytes) -> str | None:
    """A name for a class that says nothing of the result behind it: results are small and could be guessed."""
    if not answer_class:
        return answer_class
    return hashlib.blake2b(f"{task_digest} {answer_class}".encode(), key=key, digest_size=12).hexdigest()


def _error(scored: Scored) -> dict[str, Any] | None:
    verdict = scored.verdict
    if verdict.error_code is None:
        return None
    return {
        "code": verdict.error_code,
        "message": verdict.error_message or "",
        "retryable": ERROR_CODES[verdict.error_code],
    }
