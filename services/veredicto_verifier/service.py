"""The running service: everything that is built once and handed to the routes."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from veredicto_verifier.digests import verifier_digest
from veredicto_verifier.ledger.idempotency import IdempotencyStore
from veredicto_verifier.ledger.writer import LedgerWriter
from veredicto_verifier.metrics import Metrics
from veredicto_verifier.packs.shelf import Shelf
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.sandbox.policy import DEGRADED_SWITCH
from veredicto_verifier.scheduler import Scheduler
from veredicto_verifier.scoring import Scorer
from veredicto_verifier.settings import Settings
from veredicto_verifier.verifiers.python_code.canaries import CANARIES_SWITCH

VERSION = "0.1.0"
MAX_LOGGED = 20
"""Most refused tasks of one pack that the log names."""
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Service:
    """One service with its workers, ledger and packs."""

    settings: Settings
    shelf: Shelf
    scheduler: Scheduler
    scorer: Scorer
    ledger: LedgerWriter
    idempotency: IdempotencyStore
    metrics: Metrics
    stamps: Mapping[str, Mapping[str, str]]
    class_key: bytes
    """Keys the names of classes of equal answers; another one at every start."""


def stamp_verifiers() -> dict[str, dict[str, str]]:
    """`{name, version, digest}` of every verifier, by name."""
    return {
        name: {"name": name, "version": verifier.version, "digest": verifier_digest(verifier, VERIFIERS)}
        for name, verifier in VERIFIERS.items()
    }


def worker_environment(settings: Settings) -> dict[str, str]:
    """What the workers are told beside their clean environment."""
    told = {DEGRADED_SWITCH: "1"} if settings.allow_degraded else {}
    return {**told, CANARIES_SWITCH: str(settings.canaries.resolve())} if settings.canaries else told


def load_shelf(packs: Sequence[Path], data_dir: Path) -> Shelf:
    """The built-in packs and the user's, with the cache under the data folder."""
    shelf = Shelf.load(packs, cache=data_dir / "packs", verifiers=VERIFIERS)
    for fault in shelf.faults:
        log.warning("pack skipped", fault=fault)
    for pack in shelf.packs.values():
        for refusal in pack.refused[:MAX_LOGGED]:
            log.warning("task refused", task=refusal.named(pack.name), code=refusal.code, fault=refusal.message)
        if len(pack.refused) > MAX_LOGGED:
            log.warning("more tasks refused", pack=pack.name, refused=len(pack.refused), see="veredicto pack check")
    return shelf


@asynccontextmanager
async def scoring(settings: Settings, shelf: Shelf) -> AsyncIterator[tuple[Scheduler, Scorer]]:
    """A scheduler, still to be started, and a scorer over it, without HTTP or ledger; workers end with the block."""
    scheduler = Scheduler(
        num_workers=settings.workers, max_queued=settings.max_queued, environment=worker_environment(settings)
    )
    try:
        yield scheduler, Scorer(shelf=shelf, scheduler=scheduler, cache_size=settings.cache_size)
    finally:
        await scheduler.stop()


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Service]:
    """A whole service; leaving the block drains the workers and closes the ledger."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    shelf = load_shelf(settings.packs, settings.data_dir)
    stamps = stamp_verifiers()
    ledger = LedgerWriter(settings.data_dir, verifiers=stamps, service_version=VERSION)
    idempotency = IdempotencyStore(settings.data_dir)
    try:
        async with scoring(settings, shelf) as (scheduler, scorer):
            await scheduler.start()
            yield Service(
                settings, shelf, scheduler, scorer, ledger, idempotency, Metrics(), stamps, secrets.token_bytes(16)
            )
    finally:
        idempotency.close()
        ledger.close()
