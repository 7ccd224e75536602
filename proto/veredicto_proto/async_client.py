"""The asynchronous SDK client; `client.py` tells the whole story."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from veredicto_proto import exchange
from veredicto_proto.client_errors import ServiceUnreachable, TooLarge
from veredicto_proto.connection import Connection
from veredicto_proto.messages import (
    DemonstrationPage,
    Item,
    PackInfo,
    Phase,
    Result,
    TaskInfo,
    TaskPage,
    VerifierInfo,
)


class AsyncClient:
    """The asynchronous client: the same methods, awaited; takes the arguments of `Connection`, or one."""

    def __init__(self, url: str | Connection = "http://127.0.0.1:8080", **settings: Any) -> None:
        self._settings = url if isinstance(url, Connection) else Connection(url, **settings)
        self._http = httpx.AsyncClient(**self._settings.http)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    @property
    def connection(self) -> Connection:
        """Its settings, to make another client from."""
        return self._settings

    async def score(
        self,
        items: Sequence[Item | Mapping[str, Any]],
        *,
        run: str | None = None,
        step: int | None = None,
        phase: Phase = "train",
        idempotency_key: str | None = None,
    ) -> list[Result]:
        """As `Client.score`."""
        results: list[Result] = []
        parts = self._settings.parts(items, idempotency_key)
        while parts:
            part = parts.popleft()
            body = exchange.score_body(part, run=run, step=step, phase=phase)
            try:
                response = await self._send("POST", "/score", content=body, headers=exchange.score_headers(part))
            except TooLarge:
                if len(part.items) == 1:
                    raise
                parts.extendleft(reversed(exchange.halves(part)))
                continue
            results.extend(exchange.results_of(response, part))
        return results

    async def verifiers(self) -> list[VerifierInfo]:
        """As `Client.verifiers`."""
        return [VerifierInfo.model_validate(entry) for entry in await self._list("/verifiers", "verifiers")]

    async def packs(self) -> list[PackInfo]:
        """As `Client.packs`."""
        return [PackInfo.model_validate(entry) for entry in await self._list("/packs", "packs")]

    async def tasks(
        self, pack: str, *, split: str, category: str | None = None, page: int = 500
    ) -> AsyncIterator[TaskInfo]:
        """As `Client.tasks`."""
        cursor: str | None = None
        while True:
            params = exchange.present(split=split, category=category, limit=page, cursor=cursor)
            answer = exchange.parse(await self._get(f"/packs/{quote(pack)}/tasks", params), TaskPage)
            for task in answer.tasks:
                yield task
            cursor = answer.next_cursor
            if cursor is None:
                return

    async def examples(self, pack: str) -> DemonstrationPage:
        """As `Client.examples`."""
        return exchange.parse(await self._get(f"/packs/{quote(pack)}/examples"), DemonstrationPage)

    async def demonstrations(self, pack: str) -> DemonstrationPage:
        """As `Client.demonstrations`."""
        return exchange.parse(
            await self._get(f"/packs/{quote(pack)}/demonstrations", {"split": "train"}), DemonstrationPage
        )

    async def audit_records(self, **filters: str | int) -> Any:
        """As `Client.audit_records`."""
        return exchange.json_of(await self._get("/audit/records", dict(filters)))

    async def audit_record(self, record: str) -> Any:
        """As `Client.audit_record`."""
        return exchange.json_of(await self._get(f"/audit/records/{quote(record)}"))

    async def audit_runs(self) -> Any:
        """As `Client.audit_runs`."""
        return exchange.json_of(await self._get("/audit/runs"))

    async def audit_run(self, run: str) -> Any:
        """As `Client.audit_run`."""
        return exchange.json_of(await self._get(f"/audit/runs/{quote(run)}"))

    async def healthz(self) -> bool:
        """As `Client.healthz`."""
        return await self._ask("/healthz")

    async def readyz(self) -> bool:
        """As `Client.readyz`."""
        return await self._ask("/readyz")

    async def _get(self, path: str, params: Mapping[str, str | int] | None = None) -> httpx.Response:
        return await self._send("GET", path, params=params)

    async def _list(self, path: str, name: str) -> list[Any]:
        return exchange.listed(exchange.json_of(await self._get(path)), name)

    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        patience = self._settings.patience()
        while True:
            failure: httpx.Response | httpx.RequestError
            try:
                response = await self._http.request(method, path, **request)
            except httpx.RequestError as error:
                failure = error
            else:
                if response.status_code not in exchange.RETRIED:
                    exchange.raise_for(response)
                    return response
                failure = response
            await asyncio.sleep(patience.wait_after(failure))

    async def _ask(self, path: str) -> bool:
        try:
            return (await self._http.get(path)).is_success
        except httpx.RequestError as error:
            raise ServiceUnreachable(f"no answer from {self._http.base_url} ({error}); is it running there?") from error
