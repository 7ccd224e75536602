"""Score recorded items again with today's verifiers, for `veredicto audit replay`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from pydantic import TypeAdapter

from veredicto_proto.messages import ChatMessage
from veredicto_verifier.envelope import judged, refuse
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.ledger.replay import ReplayItem, ReplayVerdict, Rescore
from veredicto_verifier.packs.shelf import Shelf
from veredicto_verifier.scoring import Scorer, refused
from veredicto_verifier.service import scoring, stamp_verifiers
from veredicto_verifier.settings import Settings
from veredicto_verifier.verdict import Verdict, invalid_task

MESSAGES = TypeAdapter(tuple[ChatMessage, ...])


@asynccontextmanager
async def rescorer(workers: int | None = None) -> AsyncIterator[Rescore]:
    """Workers, and a function that scores recorded items on them without recording anything."""
    settings = Settings() if workers is None else Settings(workers=workers)
    digests = {name: stamp["digest"] for name, stamp in stamp_verifiers().items()}
    async with scoring(settings, Shelf({})) as (scheduler, scorer):
        await scheduler.start()

        async def rescore(items: Sequence[ReplayItem]) -> Sequence[ReplayVerdict]:
            verdicts = await asyncio.gather(*(_score(scorer, item, settings) for item in items))
            return [
                _said(verdict, digests.get(item.verifier, "none"))
                for item, verdict in zip(items, verdicts, strict=True)
            ]

        yield rescore


async def _score(scorer: Scorer, item: ReplayItem, settings: Settings) -> Verdict:
    try:
        task = scorer.typed(item.verifier, item.spec, fixtures=item.fixtures)
    except TaskFault as fault:
        return invalid_task(fault.code, fault.message)
    sent = MESSAGES.validate_python(json.loads(item.completion)) if item.completion_is_messages else item.completion
    refusal = refuse(sent, settings.max_completion_bytes)
    return refused(refusal) if refusal else await scorer.judge(task, judged(sent))


def _said(verdict: Verdict, digest: str) -> ReplayVerdict:
    return ReplayVerdict(
        outcome=verdict.outcome,
        reward=verdict.reward,
        checks=verdict.checks,
        flags=verdict.flags,
        error=verdict.error_code,
        verifier_digest=digest,
    )
