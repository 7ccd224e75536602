"""The SDK: `Client` and `AsyncClient` for every route that a trainer or an auditor needs.

A request that finds the service busy or gone is sent again with the same idempotency key, so it is never judged
twice; a batch over the limits is sent in parts; what cannot succeed is a typed error (`client_errors.py`).

Example:
    with Client("http://127.0.0.1:8080") as client:
        response = client.score([Item(completion="42", task=Task(verifier="math", spec={"answer": "42"}))])
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

from veredicto_proto import exchange
from veredicto_proto.async_client import AsyncClient
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

__all__ = ["AsyncClient", "Client"]


class Client:
    """The synchronous client; takes the arguments of `Connection`. Safe to share between threads."""

    def __init__(self, url: str = "http://127.0.0.1:8080", **settings: Any) -> None:
        self._settings = Connection(url, **settings)
        self._http = httpx.Client(**self._settings.http)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    @property
    def connection(self) -> Connection:
        """Its settings, to make another client from."""
        return self._settings

    def score(
        self,
        items: Sequence[Item | Mapping[str, Any]],
        *,
        run: str | None = None,
        step: int | None = None,
        phase: Phase = "train",
        idempotency_key: str | None = None,
    ) -> list[Result]:
        """Verdicts for completions, one per item, same order.

        Args:
            items: at least one; more than the limits allow are sent in parts.
            run: name of the training run, for the audit.
            step: policy update that the completions belong to.
            phase: `train`, `eval` or `probe`.
            idempotency_key: repeat it with the same items to get the same records; random by default.

        Raises:
            ClientError: see `client_errors.py`; parts that were scored before it stay in the ledger.
        """
        results: list[Result] = []
        parts = self._settings.parts(items, idempotency_key)
        while parts:
            part = parts.popleft()
            body = exchange.score_body(part, run=run, step=step, phase=phase)
            try:
                response = self._send("POST", "/score", content=body, headers=exchange.score_headers(part))
            except TooLarge:
                if len(part.items) == 1:
                    raise
                parts.extendleft(reversed(exchange.halves(part)))
                continue
            results.extend(exchange.results_of(response, part))
        return results

    def verifiers(self) -> list[VerifierInfo]:
        """Every verifier with its version, digest, spec schema and example."""
        return [VerifierInfo.model_validate(entry) for entry in self._list("/verifiers", "verifiers")]

    def packs(self) -> list[PackInfo]:
        """Every pack with its digest."""
        return [PackInfo.model_validate(entry) for entry in self._list("/packs", "packs")]

    def tasks(self, pack: str, *, split: str, category: str | None = None, page: int = 500) -> Iterator[TaskInfo]:
        """Every task of a split in pack order, fetched by pages; prompts, never gold."""
        cursor: str | None = None
        while True:
            params = exchange.present(split=split, category=category, limit=page, cursor=cursor)
            answer = exchange.parse(self._get(f"/packs/{quote(pack)}/tasks", params), TaskPage)
            yield from answer.tasks
            cursor = answer.next_cursor
            if cursor is None:
                return

    def examples(self, pack: str) -> DemonstrationPage:
        """The pack's public few-shot examples."""
        return exchange.parse(self._get(f"/packs/{quote(pack)}/examples"), DemonstrationPage)

    def demonstrations(self, pack: str) -> DemonstrationPage:
        """The pack's public demonstrations of its train split."""
        return exchange.parse(self._get(f"/packs/{quote(pack)}/demonstrations", {"split": "train"}), DemonstrationPage)

    def audit_records(self, **filters: str | int) -> Any:
        """`GET /audit/records` with the route's own filters (`run`, `step`, …), as JSON."""
        return exchange.json_of(self._get("/audit/records", dict(filters)))

    def audit_record(self, record: str) -> Any:
        """One ledger record, as JSON."""
        return exchange.json_of(self._get(f"/audit/records/{quote(record)}"))

    def audit_runs(self) -> Any:
        """Every run in the ledger, as JSON."""
        return exchange.json_of(self._get("/audit/runs"))

    def audit_run(self, run: str) -> Any:
        """One run's summary, as JSON."""
        return exchange.json_of(self._get(f"/audit/runs/{quote(run)}"))

    def healthz(self) -> bool:
        """Whether the service is alive. Asked once.

        Raises:
            ServiceUnreachable: nothing answers.
        """
        return self._ask("/healthz")

    def readyz(self) -> bool:
        """Whether a known-good and a known-bad probe went right through every verifier. Asked once.

        Raises:
            ServiceUnreachable: nothing answers.
        """
        return self._ask("/readyz")

    def _get(self, path: str, params: Mapping[str, str | int] | None = None) -> httpx.Response:
        return self._send("GET", path, params=params)

    def _list(self, path: str, name: str) -> list[Any]:
        return exchange.listed(exchange.json_of(self._get(path)), name)

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        patience = self._settings.patience()
        while True:
            failure: httpx.Response | httpx.RequestError
            try:
                response = self._http.request(method, path, **request)
            except httpx.RequestError as error:
                failure = error
            else:
                if response.status_code not in exchange.RETRIED:
                    exchange.raise_for(response)
                    return response
                failure = response
            time.sleep(patience.wait_after(failure))

    def _ask(self, path: str) -> bool:
        try:
            return self._http.get(path).is_success
        except httpx.RequestError as error:
            raise ServiceUnreachable(f"no answer from {self._http.base_url} ({error}); is it running there?") from error
