"""The SDK against the verifier service itself: every route it offers, and the errors it names."""

from __future__ import annotations

import asyncio

import pytest

from tests.serving import RunningService
from veredicto_proto.client import AsyncClient, Client
from veredicto_proto.client_errors import KeyConflict, NotThere, RequestRefused
from veredicto_proto.messages import Item, Task


def item(completion: str, answer: str = "42") -> Item:
    return Item(completion=completion, task=Task(verifier="math", spec={"answer": answer}))


def test_every_route_of_the_client_answers_in_its_models(service: RunningService) -> None:
    with Client(service.url) as client:
        assert client.healthz()
        assert client.readyz()
        assert "math" in {verifier.name for verifier in client.verifiers()}
        pack = next(pack for pack in client.packs() if pack.name == "demo-sql")
        tasks = list(client.tasks("demo-sql", split="test", page=100))
        assert len(tasks) == pack.splits["test"]
        assert len({task.ref for task in tasks}) == len(tasks)
        one = list(client.tasks("demo-sql", split="test", category="join"))
        assert {task.category for task in one} == {"join"}
        assert client.examples("demo-sql").demonstrations
        assert client.demonstrations("demo-sql").demonstrations


def test_a_verdict_is_found_again_in_the_audit(service: RunningService) -> None:
    with Client(service.url) as client:
        right, wrong = client.score([item("42"), item("43")], run="client/audit run", step=2)
        assert (right.reward, wrong.reward) == (1.0, 0.0)
        assert right.record is not None
        assert client.audit_record(right.record)
        assert client.audit_records(run="client/audit run", limit=10)
        assert client.audit_run("client/audit run")
        assert "client/audit run" in str(client.audit_runs())
        with pytest.raises(NotThere):
            client.audit_run("no such run")


def test_a_key_gives_the_same_records_and_refuses_another_body(service: RunningService) -> None:
    with Client(service.url) as client:
        first = client.score([item("42")], idempotency_key="client-key-1")
        again = client.score([item("42")], idempotency_key="client-key-1")
        assert [result.record for result in first] == [result.record for result in again]
        with pytest.raises(KeyConflict, match="new idempotency key"):
            client.score([item("41")], idempotency_key="client-key-1")


def test_broken_items_come_back_in_their_places_and_broken_requests_as_errors(service: RunningService) -> None:
    with Client(service.url) as client:
        results = client.score([{"completion": "42"}, item("42"), {"completion": "a\ud800", "task": {"ref": "x/y/z"}}])
        assert [result.outcome for result in results] == ["invalid_task", "scored", "invalid_task"]
        with pytest.raises(RequestRefused):
            client.score([])


def test_the_asynchronous_client_gets_the_same_verdicts(service: RunningService) -> None:
    async def talk() -> list[float | None]:
        async with AsyncClient(service.url, max_items=2) as client:
            assert await client.readyz()
            return [result.reward for result in await client.score([item(str(n)) for n in range(40, 45)])]

    assert asyncio.run(talk()) == [0.0, 0.0, 1.0, 0.0, 0.0]
