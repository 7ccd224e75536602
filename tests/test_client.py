"""The SDK against a real socket: retries keep their key, batches are split, errors say what to do."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from typing import Any

import pytest

from tests.reward_server import DIGEST, Fault, Service, serving, task_infos, verdict
from veredicto_proto.client import AsyncClient, Client
from veredicto_proto.client_errors import (
    AccessRefused,
    ClientError,
    KeyConflict,
    NotThere,
    RequestRefused,
    ServiceBusy,
    ServiceFailed,
    ServiceUnreachable,
    TooLarge,
    UnexpectedAnswer,
)
from veredicto_proto.messages import Item, Task


def item(answer: str = "w1", prompt: str = "w0 w1") -> Item:
    return Item(completion=answer, prompt=prompt, task=Task(ref="words/train/0000"))


def test_a_batch_comes_back_in_order_with_the_envelope_as_given() -> None:
    with serving() as service, Client(service.url) as client:
        results = client.score([item("w1"), item("w2")], run="r", step=3, phase="eval", idempotency_key="k")
    assert [result.reward for result in results] == [1.0, 0.0]
    assert {name: service.requests[0][name] for name in ("run", "step", "phase")} == {
        "run": "r",
        "step": 3,
        "phase": "eval",
    }
    assert service.keys == ["k"]


def test_fields_that_were_not_given_are_not_sent_and_given_nulls_are() -> None:
    with serving() as service, Client(service.url) as client:
        client.score([Item(completion="a", prompt="b", task=Task(verifier="cfdi", spec={"request": None}))])
    assert service.requests[0]["items"][0] == {
        "completion": "a",
        "prompt": "b",
        "task": {"verifier": "cfdi", "spec": {"request": None}},
    }


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_service_is_asked_again_with_the_same_key(status: int) -> None:
    with (
        serving(Service(faults=[Fault(times=2, status=status)])) as service,
        Client(service.url, first_wait_s=0.01) as client,
    ):
        assert client.score([item()])[0].reward == 1.0
    assert len(service.keys) == 3
    assert len(set(service.keys)) == 1


def test_an_answer_that_was_lost_is_fetched_again_without_a_second_verdict() -> None:
    with (
        serving(Service(faults=[Fault(times=1, drop=True)])) as service,
        Client(service.url, first_wait_s=0.01) as client,
    ):
        result = client.score([item()])[0]
    assert (result.record, service.records) == ("r-1", 1)


@pytest.mark.parametrize("after", ["0", "1", "Mon, 30 Nov 2020 12:00:00 GMT", "soon", "-3"])
def test_every_form_of_retry_after_is_understood(after: str) -> None:
    fault = Fault(times=1, headers={"retry-after": after})
    with serving(Service(faults=[fault])) as service, Client(service.url, first_wait_s=0.01) as client:
        assert client.score([item()])[0].reward == 1.0


def test_patience_ends_before_a_wait_that_is_longer_than_it() -> None:
    fault = Fault(times=9, headers={"retry-after": "3600"})
    said = r"503 Overloaded: the queue is full.*1 tries.*patience_s"
    with (
        serving(Service(faults=[fault])) as service,
        Client(service.url, patience_s=5.0) as client,
        pytest.raises(ServiceBusy, match=said),
    ):
        client.score([item()])
    assert len(service.keys) == 1


def test_an_address_where_nothing_listens_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with Client(url, patience_s=0.05, first_wait_s=0.01) as client:
        with pytest.raises(ServiceUnreachable, match="is it running there"):
            client.score([item()])
        with pytest.raises(ServiceUnreachable, match="is it running there"):
            client.healthz()


def test_an_address_without_a_scheme_is_refused_at_once() -> None:
    with (
        Client("ftp://127.0.0.1:1", patience_s=60.0) as client,
        pytest.raises(ServiceUnreachable, match="such as http"),
    ):
        client.score([item()])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, RequestRefused),
        (401, AccessRefused),
        (403, AccessRefused),
        (404, NotThere),
        (409, KeyConflict),
        (413, TooLarge),
        (422, RequestRefused),
        (500, ServiceFailed),
        (302, UnexpectedAnswer),
    ],
)
def test_a_status_becomes_a_typed_error_without_a_second_try(status: int, kind: type[ClientError]) -> None:
    body = b'{"title": "Refused", "status": 400, "detail": "the reason stands here"}'
    with (
        serving(Service(faults=[Fault(times=1, status=status, body=body)])) as service,
        Client(service.url) as client,
        pytest.raises(kind, match="the reason stands here") as caught,
    ):
        client.score([item()])
    assert type(caught.value) is kind
    assert len(service.keys) == 1


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"request_id": "q", "results": [{}]}', b'"x"'])
def test_another_program_at_the_address_is_recognised(body: bytes) -> None:
    with (
        serving(Service(faults=[Fault(times=1, status=200, body=body)])) as service,
        Client(service.url) as client,
        pytest.raises(UnexpectedAnswer),
    ):
        client.score([item()])


Change = Callable[[list[dict[str, Any]]], object]
CHANGES: dict[str, Change] = {
    "one too few": lambda results: results.pop(),
    "one too many": lambda results: results.append(results[0]),
    "one twice": lambda results: results.__setitem__(1, results[0]),
    "another order": lambda results: results.reverse(),
    "no ids": lambda results: [result.update(id=None) for result in results],
    "a reward for a failure": lambda results: results[0].update(outcome="infra_error"),
    "no reward for a verdict": lambda results: results[0].update(reward=None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_verdict_of_another_completion_is_never_taken_for_this_ones(name: str) -> None:
    items = [item(f"w{i}").model_copy(update={"id": f"i{i}"}) for i in range(3)]
    results = [verdict(each.model_dump(), record=f"r-{i}") for i, each in enumerate(items)]
    CHANGES[name](results)
    body = json.dumps({"request_id": "q", "results": results}).encode()
    with (
        serving(Service(faults=[Fault(times=1, status=200, body=body)])) as service,
        Client(service.url) as client,
        pytest.raises(UnexpectedAnswer, match=r"results to 3 items|the result of another item|outcome"),
    ):
        client.score(items)


def test_a_large_batch_is_sent_in_parts_with_keys_of_their_own() -> None:
    with serving() as service, Client(service.url, max_items=3) as client:
        results = client.score([item(f"w{i % 2}") for i in range(8)], idempotency_key="k")
    assert [result.reward for result in results] == [float(i % 2) for i in range(8)]
    assert [len(request["items"]) for request in service.requests] == [3, 3, 2]
    assert service.keys == ["k.0-3", "k.3-6", "k.6-8"]


def test_a_batch_is_split_by_bytes_too() -> None:
    with serving() as service, Client(service.url, max_bytes=5000) as client:
        results = client.score([item("x" * 1000) for _ in range(6)])
    assert len(results) == 6
    assert [len(request["items"]) for request in service.requests] == [2, 2, 2]


def test_a_service_with_a_lower_limit_gets_halves() -> None:
    with serving(Service(max_items=2)) as service, Client(service.url) as client:
        results = client.score([item(f"w{i % 2}") for i in range(7)], idempotency_key="k")
    assert [result.reward for result in results] == [float(i % 2) for i in range(7)]
    assert len(set(service.keys)) == len(service.keys)


def test_lone_surrogates_and_nul_reach_the_service_unchanged() -> None:
    raw = {"completion": "a\ud800\x00", "prompt": "b", "task": {"ref": "words/train/0000"}}
    with serving() as service, Client(service.url) as client:
        service.judge = lambda item: {**_plain(item), "answer": None}
        client.score([raw])
    assert service.requests[0]["items"][0] == raw


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    from tests.reward_server import verdict

    return verdict(item)


def test_tasks_come_by_pages_and_packs_by_name() -> None:
    with serving() as service, Client(service.url) as client:
        tasks = list(client.tasks("words", split="train"))
        assert [task.ref for task in tasks] == [task["ref"] for task in task_infos("train")]
        assert service.pages == 5
        assert client.packs()[0].digest == DIGEST
        assert len(client.demonstrations("words").demonstrations) == 5
        assert len(client.examples("words").demonstrations) == 5
        assert client.audit_run("r") == {"run": "r", "records": 0}
        assert client.healthz()
        assert client.readyz()
        with pytest.raises(NotThere, match="404"):
            list(client.tasks("other", split="train"))


def test_a_key_travels_as_a_bearer_token_and_is_optional() -> None:
    with Client(api_key="s3cret") as client, Client() as bare:
        assert client._http.headers["authorization"] == "Bearer s3cret"
        assert "authorization" not in bare._http.headers


def test_the_asynchronous_client_does_the_same() -> None:
    async def talk(url: str) -> tuple[list[float | None], int, bool]:
        async with AsyncClient(url, max_items=3, first_wait_s=0.01) as client:
            results = await client.score([item(f"w{i % 2}") for i in range(5)], idempotency_key="k")
            tasks = [task async for task in client.tasks("words", split="test")]
            await client.packs()
            await client.examples("words")
            await client.demonstrations("words")
            await client.audit_run("r")
            return [result.reward for result in results], len(tasks), await client.readyz()

    with serving(Service(faults=[Fault(times=2)])) as service:
        assert asyncio.run(talk(service.url)) == ([0.0, 1.0, 0.0, 1.0, 0.0], len(task_infos("test")), True)
    assert service.keys == ["k.0-3"] * 3 + ["k.3-5"]


def test_the_asynchronous_client_has_every_method_of_the_other() -> None:
    public = [name for name in vars(Client) if not name.startswith("_")]
    assert [name for name in public if not hasattr(AsyncClient, name)] == []
