"""The routes that only read: verifiers, packs, audit, health, metrics, dashboard."""

from __future__ import annotations

import asyncio
import importlib.resources
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from veredicto_proto.messages import DemonstrationPage, PackInfo, TaskPage, VerifierInfo
from veredicto_verifier import problems
from veredicto_verifier.errors import ServiceError
from veredicto_verifier.ledger.reading import LedgerReader, RecordFilter
from veredicto_verifier.ledger.rows import RecordDetail, RecordPage, RunRow, RunSummary
from veredicto_verifier.probes import failing_verifiers
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.sandbox.policy import capabilities
from veredicto_verifier.service import VERSION, Service

router = APIRouter()
Limit = Annotated[int, Query(ge=1, le=1000)]


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _ledger(request: Request) -> LedgerReader:
    return LedgerReader(_service(request).settings.data_dir)


@router.get("/verifiers", summary="Verifiers with the JSON Schema of their spec and an example")
async def verifiers(request: Request) -> list[VerifierInfo]:
    """Everything a client needs to write a task."""
    stamps = _service(request).stamps
    return [
        VerifierInfo(
            **stamps[name],
            spec_schema=verifier.spec.model_json_schema(),
            example=dict(verifier.example),
            codes=dict(verifier.codes),
            flags=dict(verifier.flags),
        )
        for name, verifier in VERIFIERS.items()
    ]


@router.get("/packs", summary="Packs with their digests")
async def packs(request: Request) -> tuple[PackInfo, ...]:
    """Every pack that is served."""
    return _service(request).shelf.infos()


@router.get("/packs/{pack}/tasks", summary="Prompts of a pack, never gold")
async def tasks(
    request: Request,
    pack: str,
    split: str | None = None,
    category: str | None = None,
    limit: Limit = 100,
    cursor: str | None = None,
) -> TaskPage:
    """One page of tasks; send `next_cursor` back for the next one."""
    return _service(request).shelf.tasks_page(pack, split=split, category=category, limit=limit, cursor=cursor)


@router.get("/packs/{pack}/examples", summary="Few-shot examples of a pack")
async def examples(request: Request, pack: str) -> DemonstrationPage:
    """Public prompts with their completions."""
    return _service(request).shelf.examples(pack)


@router.get("/packs/{pack}/demonstrations", summary="Demonstrations that the author declared public")
async def demonstrations(request: Request, pack: str, split: str = "train") -> DemonstrationPage:
    """Train prompts with completions; any other split is 404."""
    return _service(request).shelf.demonstrations(pack, split=split)


@router.get("/capabilities", summary="What this machine can isolate")
async def machine(_request: Request) -> dict[str, Any]:
    """Version, verifiers and the sandbox's layers."""
    return {"version": VERSION, "verifiers": sorted(VERIFIERS), "sandbox": await asyncio.to_thread(capabilities)}


@router.get("/audit/records", summary="Records, newest first")
async def records(
    request: Request,
    run: str | None = None,
    step: int | None = None,
    phase: str | None = None,
    group: str | None = None,
    verifier: str | None = None,
    code: str | None = None,
    outcome: str | None = None,
    limit: Limit = 100,
    cursor: str | None = None,
) -> RecordPage:
    """Ledger lines that match, without texts."""
    wanted = RecordFilter(
        run=run,
        step=step,
        phase=phase,
        group=group,
        verifier=verifier,
        code=code,
        outcome=outcome,
        limit=limit,
        cursor=cursor,
    )
    return await asyncio.to_thread(_ledger(request).records, wanted)


@router.get("/audit/records/{record}", summary="One record with its texts, never its spec")
async def record(request: Request, record: str) -> RecordDetail:
    """Why an answer got its reward."""
    return await asyncio.to_thread(_ledger(request).record, record)


@router.get("/audit/runs", summary="Runs in the ledger")
async def runs(request: Request) -> list[RunRow]:
    """One line per run, the most recently active first."""
    return await asyncio.to_thread(_ledger(request).runs)


@router.get("/audit/runs/{run:path}", summary="One run, step by step")
async def run(request: Request, run: str) -> RunSummary:
    """Rewards, outcomes, failing codes and flags of a run."""
    return await asyncio.to_thread(_ledger(request).summary, run)


@router.get("/healthz", summary="Alive")
async def healthz() -> dict[str, str]:
    """The process answers."""
    return {"status": "alive"}


@router.get("/readyz", summary="Ready: every verifier passes and fails as it must, and the ledger can write")
async def readyz(request: Request) -> Response:
    """A known-good and a known-bad probe through every verifier."""
    service = _service(request)
    try:
        await service.ledger.append([])
        failing = await failing_verifiers(service.scheduler)
    except ServiceError as error:
        return problems.response(503, "Not ready", error.detail)
    if failing:
        return problems.response(503, "Not ready", f"failing: {', '.join(failing)}")
    return JSONResponse({"status": "ready", "verifiers": sorted(VERIFIERS)})


@router.get("/metrics", summary="Prometheus metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """All counters."""
    service = _service(request)
    return Response(service.metrics.render(service.scheduler), media_type="text/plain; version=0.0.4")


@router.get("/", include_in_schema=False)
async def dashboard() -> HTMLResponse:
    """The dashboard: one static page over the audit routes."""
    page = importlib.resources.files("veredicto_verifier.dashboard") / "index.html"
    return HTMLResponse(page.read_text(encoding="utf-8"))
