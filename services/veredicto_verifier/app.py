"""The HTTP face of the service. `POST /score` is told in order: validate, schedule, record, answer."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial

import orjson
import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import StreamingResponse

from veredicto_proto.messages import Problem, ScoreResponse
from veredicto_verifier import answers, problems, routes
from veredicto_verifier.envelope import Envelope, ParsedItem, decompress, parse_envelope, parse_item
from veredicto_verifier.errors import RequestTooLarge, ServiceError
from veredicto_verifier.keys import require_key
from veredicto_verifier.ledger.digests import digest
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.scoring import Scored
from veredicto_verifier.service import VERSION, Service, running
from veredicto_verifier.settings import Settings
from veredicto_verifier.third_party import admit

NDJSON = "application/x-ndjson"
log = structlog.get_logger(__name__)
router = APIRouter()


def create_app(settings: Settings) -> FastAPI:
    """The application; workers, ledger and packs live as long as its lifespan."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        admit(VERIFIERS)
        async with running(settings) as service:
            app.state.service = service
            yield

    app = FastAPI(
        title="Veredicto",
        version=VERSION,
        description="Verdicts for reinforcement learning with verifiable rewards.",
        lifespan=lifespan,
        redoc_url=None,
    )
    problems.install(app)
    app.middleware("http")(require_key(settings.data_dir))
    app.include_router(router)
    app.include_router(routes.router)
    return app


@router.post(
    "/score",
    summary="Score a batch of completions",
    responses={
        200: {"model": ScoreResponse, "description": "One result per item, same order; as NDJSON when asked for."},
        **{code: {"model": Problem} for code in (400, 401, 409, 413, 422, 503)},
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ScoreRequest"}}},
        }
    },
)
async def score(request: Request) -> Response:
    """Give a verdict on every item; nothing is answered before its record is durable."""
    service: Service = request.app.state.service
    request_id = "req_" + secrets.token_hex(8)
    structlog.contextvars.bind_contextvars(request_id=request_id)
    started = time.perf_counter()
    status = 500
    try:
        response = await _score(service, request, request_id)
        status = response.status_code
    except ServiceError as error:
        status = error.status
        raise
    finally:
        service.metrics.requests.labels(str(status)).inc()
        service.metrics.request_seconds.observe(time.perf_counter() - started)
    return response


async def _score(service: Service, request: Request, request_id: str) -> Response:
    body = await _read_body(request, service.settings.max_body_bytes)
    envelope = await asyncio.to_thread(parse_envelope, body, max_items=service.settings.max_items)
    streamed = NDJSON in request.headers.get("accept", "")
    key = request.headers.get("idempotency-key")
    if key is not None:
        caller = hashlib.sha256(request.headers.get("authorization", "").encode()).hexdigest()
        answer, _ = await service.idempotency.answer(
            f"{caller} {key}", digest(body), partial(_whole_answer, service, envelope, request_id)
        )
        return _whole(answer, streamed=streamed)
    if streamed:
        futures = await service.scorer.submit(_items(service, envelope))
        return StreamingResponse(_stream(service, envelope, request_id, futures), media_type=NDJSON)
    return _whole(await _whole_answer(service, envelope, request_id), streamed=False)


async def _whole_answer(service: Service, envelope: Envelope, request_id: str) -> bytes:
    """Validate each item, schedule, record, and only then have something to answer with."""
    scored = await asyncio.gather(*await service.scorer.submit(_items(service, envelope)))
    records = await _record(service, scored, envelope, request_id)
    results = [
        answers.result(one, record, service.stamps, service.class_key)
        for one, record in zip(scored, records, strict=True)
    ]
    return orjson.dumps({"request_id": request_id, "results": results})


def _items(service: Service, envelope: Envelope) -> list[ParsedItem]:
    limit = service.settings.max_completion_bytes
    return [parse_item(raw, max_completion_bytes=limit) for raw in envelope.items]


async def _record(service: Service, scored: Sequence[Scored], envelope: Envelope, request_id: str) -> list[str]:
    """Make the verdicts durable; raises LedgerUnavailable, and then nothing is answered."""
    with service.metrics.record_seconds.time():
        records = await service.ledger.append([answers.entry(one, envelope.header, request_id) for one in scored])
    for one in scored:
        service.metrics.count(one.task.verifier if one.task else "none", one.verdict)
    return records


async def _stream(
    service: Service, envelope: Envelope, request_id: str, futures: Sequence[asyncio.Future[Scored]]
) -> AsyncIterator[bytes]:
    """Results as they finish, one a line, each with its index; a ledger failure is the last line."""
    waiting = {asyncio.ensure_future(_indexed(index, future)) for index, future in enumerate(futures)}
    while waiting:
        finished, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        batch = [task.result() for task in finished]
        try:
            records = await _record(service, [one for _, one in batch], envelope, request_id)
        except ServiceError as error:
            yield orjson.dumps({"error": problems.document(error, request_id)}) + b"\n"
            return
        for (index, one), record in zip(batch, records, strict=True):
            yield (
                orjson.dumps({**answers.result(one, record, service.stamps, service.class_key), "index": index}) + b"\n"
            )


async def _indexed(index: int, future: asyncio.Future[Scored]) -> tuple[int, Scored]:
    return index, await future


def _whole(answer: bytes, *, streamed: bool) -> Response:
    """A finished answer, as JSON or as the lines of a stream."""
    if not streamed:
        return Response(answer, media_type="application/json")
    results = orjson.loads(answer)["results"]
    lines = [orjson.dumps({**result, "index": index}) + b"\n" for index, result in enumerate(results)]
    return Response(b"".join(lines), media_type=NDJSON)


async def _read_body(request: Request, limit: int) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise RequestTooLarge(f"the body is over {limit} bytes; split the batch")
        chunks.append(chunk)
    body = b"".join(chunks)
    return await asyncio.to_thread(decompress, body, request.headers.get("content-encoding"), limit)
