"""The wire contract, held against a real service: good batches, bad input, streams, idempotency, records."""

from __future__ import annotations

import gzip
import json
from typing import Any

import httpx
import pytest
import zstandard

from tests.serving import RunningService
from veredicto_proto.messages import ERROR_CODES, ScoreResponse

MATH = {"verifier": "math", "spec": {"answer": "42"}}
FORMAT = {"verifier": "format", "spec": {"sections": ["think", "answer"]}}


def item(completion: object, task: object = MATH, **fields: object) -> dict[str, Any]:
    return {"completion": completion, "task": task, **fields}


def test_a_batch_is_answered_in_order_with_the_contract_s_fields(service: RunningService) -> None:
    items = [item(rf"\boxed{{{n}}}", id=f"i{n}") for n in (41, 42, 43)]
    answer = httpx.post(f"{service.url}/score", json={"run": "r", "step": 3, "items": items})
    response = ScoreResponse.model_validate_json(answer.content)
    assert [(result.id, result.reward) for result in response.results] == [("i41", 0.0), ("i42", 1.0), ("i43", 0.0)]
    assert all(result.record and result.task_digest for result in response.results)
    assert len({result.record for result in response.results}) == 3


def nested_spec(depth: int) -> dict[str, Any]:
    expected: Any = 1
    for _ in range(depth):
        expected = {"a": expected}
    return {"verifier": "python", "spec": {"format": "calls", "entry": "f", "cases": [{"expected": expected}]}}


BAD_ENVELOPES: list[tuple[str, bytes, int]] = [
    ("not JSON", b"{", 400),
    ("empty", b"", 400),
    ("NaN", b'{"items": [{"completion": "1", "task": {"ref": "a"}, "metadata": {"x": NaN}}]}', 400),
    ("not UTF-8", b'{"items": ["\xff"]}', 400),
    ("a list", b"[]", 400),
    ("a number", b"1", 400),
    ("nested too deep", b"[" * 200_000, 400),
    ("no items", b"{}", 422),
    ("items empty", b'{"items": []}', 422),
    ("items an object", b'{"items": {}}', 422),
    ("run a number", b'{"items": [1], "run": 3}', 422),
    ("step a text", b'{"items": [1], "step": "3"}', 422),
    ("step negative", b'{"items": [1], "step": -1}', 422),
    ("step a bool", b'{"items": [1], "step": true}', 422),
    ("phase unknown", b'{"items": [1], "phase": "dev"}', 422),
    ("unknown field", b'{"items": [1], "steps": 1}', 422),
    ("lone surrogate in run", b'{"items": [1], "run": "\\ud800"}', 422),
    ("too many items", b'{"items": [' + b"1," * 4096 + b"1]}", 413),
    ("too large", b" " * (32 * 1024 * 1024 + 1), 413),
]


@pytest.mark.parametrize(("name", "body", "status"), BAD_ENVELOPES, ids=[name for name, _, _ in BAD_ENVELOPES])
def test_a_bad_envelope_is_a_problem_document(service: RunningService, name: str, body: bytes, status: int) -> None:
    answer = httpx.post(f"{service.url}/score", content=body)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status
    assert problem["detail"]


BAD_ITEMS: list[tuple[str, Any, str]] = [
    ("a number", 7, "task.malformed"),
    ("null", None, "task.malformed"),
    ("no completion", {"task": MATH}, "task.malformed"),
    ("no task", {"completion": "1"}, "task.malformed"),
    ("completion a number", item(7), "task.malformed"),
    ("completion a list of numbers", item([1]), "task.malformed"),
    ("a turn of an unknown role", item([{"role": "oracle", "content": "42"}]), "task.malformed"),
    ("arguments not text", item([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}]),
     "task.malformed"),
    ("id a number", item("1", id=7), "task.malformed"),
    ("id too long", item("1", id="x" * 257), "task.malformed"),
    ("policy version a text", item("1", policy_version="5"), "task.malformed"),
    ("policy version a bool", item("1", policy_version=True), "task.malformed"),
    ("policy version negative", item("1", policy_version=-1), "task.malformed"),
    ("metadata nested", item("1", metadata={"a": {"b": 1}}), "task.malformed"),
    ("metadata large", item("1", metadata={str(n): n for n in range(33)}), "task.malformed"),
    ("unknown field", item("1", gold="42"), "task.malformed"),
    ("ref and spec", item("1", {"ref": "a/b/c", "verifier": "math", "spec": {}}), "task.malformed"),
    ("neither", item("1", {}), "task.malformed"),
    ("verifier without spec", item("1", {"verifier": "math"}), "task.malformed"),
    ("id with a lone surrogate", item("1", id="\ud800"), "task.malformed"),
    ("group with a lone surrogate", item("1", group="\ud800"), "task.malformed"),
    ("metadata with a lone surrogate", item("1", metadata={"\ud800": "\ud800"}, group=7), "task.malformed"),
    ("unknown verifier", item("1", {"verifier": "oracle", "spec": {}}), "task.unknown_verifier"),
    ("unknown pack", item("1", {"ref": "nowhere/test/1"}), "task.unknown_ref"),
    ("not a ref", item("1", {"ref": "nowhere"}), "task.unknown_ref"),
    ("unknown spec field", item("1", {"verifier": "math", "spec": {"answer": "1", "gold": 2}}), "task.spec_invalid"),
    ("missing spec field", item("1", {"verifier": "math", "spec": {}}), "task.spec_invalid"),
    ("spec of wrong type", item("1", {"verifier": "math", "spec": {"answer": ["1"]}}), "task.spec_invalid"),
    ("spec nested deep", item("1", nested_spec(400)), "task.spec_invalid"),
    ("spec nested deeper", item("1", nested_spec(900)), "task.spec_invalid"),
    ("limits out of range", item("1", {"verifier": "math", "spec": {"answer": "1", "limits": {"cpu_s": -1}}}),
     "task.spec_invalid"),
    ("spec with a lone surrogate", item("1", {"verifier": "json", "spec": {"schema": {"const": "\ud800"}}}),
     "task.spec_invalid"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "bad", "code"), BAD_ITEMS, ids=[name for name, _, _ in BAD_ITEMS])
def test_a_bad_item_is_its_own_fault_and_its_neighbours_are_judged(
    service: RunningService, name: str, bad: Any, code: str
) -> None:
    body = json.dumps({"items": [item("42"), bad, item("41")]})
    answer = httpx.post(f"{service.url}/score", content=body)
    assert answer.status_code == 200, answer.text
    first, broken, last = answer.json()["results"]
    assert (first["reward"], last["reward"]) == (1.0, 0.0)
    assert broken["outcome"] == "invalid_task"
    assert broken["error"]["code"] == code
    assert broken["error"]["retryable"] is ERROR_CODES[code]
    assert (broken["reward"], broken["passed"], broken["answer"]) == (None, None, None)
    assert (broken["checks"], broken["flags"]) == ([], [])
    assert broken["record"]


@pytest.mark.parametrize(
    ("completion", "code"),
    [
        ("4\x002", "completion.bad_text"),
        ("\ud800 42", "completion.bad_text"),
        ("4" * (5 * 1024 * 1024), "completion.too_large"),
        ([{"role": "assistant", "content": "\udfff"}], "completion.bad_text"),
        ([{"role": "assistant", "content": "é" * 600_000}], "completion.too_large"),
    ],
)
def test_a_completion_that_is_no_text_scores_zero(service: RunningService, completion: Any, code: str) -> None:
    answer = httpx.post(f"{service.url}/score", content=json.dumps({"items": [item("42"), item(completion)]}))
    good, bad = answer.json()["results"]
    assert good["reward"] == 1.0
    assert (bad["outcome"], bad["reward"]) == ("scored", 0.0)
    assert [(check["name"], check["code"]) for check in bad["checks"]] == [("completion", code)]
    assert bad["record"]


def test_an_infinite_float_in_metadata_is_that_item_s_fault(service: RunningService) -> None:
    good = json.dumps(item("42"))
    body = f'{{"items": [{good}, {good[:-1]}, "metadata": {{"a": 1e999}}}}, {good}]}}'
    for accept in ("application/json", "application/x-ndjson"):
        answer = httpx.post(f"{service.url}/score", content=body, headers={"Accept": accept})
        results = [json.loads(line) for line in answer.text.splitlines()] if "ndjson" in accept else None
        by_index = answer.json()["results"] if results is None else sorted(results, key=lambda one: one["index"])
        assert [one["reward"] for one in by_index] == [1.0, None, 1.0]
        assert by_index[1]["error"]["code"] == "task.malformed"


@pytest.mark.parametrize("number", [2**53 - 1, 2**53, -(2**53), 2**53 + 1, 10**30])
def test_integers_at_the_edge_of_exactness_are_judged_exactly(service: RunningService, number: int) -> None:
    task = {"verifier": "json", "spec": {"expected": {"a": number}}}
    right, wrong, text = service.score(
        [item(json.dumps({"a": answer}), task) for answer in (number, number + 1, str(number))]
    )
    assert (right["reward"], wrong["reward"], text["reward"]) == (1.0, 0.0, 0.0)


def test_a_big_integer_and_its_text_never_share_a_verdict(service: RunningService) -> None:
    as_number, as_text = (
        {"verifier": "json", "spec": {"expected": {"a": value}}} for value in (2**53 + 1, str(2**53 + 1))
    )
    answer = json.dumps({"a": 2**53 + 1})
    assert [result["reward"] for result in service.score([item(answer, as_number), item(answer, as_text)])] == [1, 0]
    assert [result["reward"] for result in service.score([item(answer, as_number), item(answer, as_text)])] == [1, 0]


def test_only_assistant_turns_are_judged(service: RunningService) -> None:
    turns = [{"role": "assistant", "content": "The answer is 41"}, {"role": "tool", "content": "The answer is 42"}]
    assert service.score([item(turns)])[0]["reward"] == 0.0
    turns = [{"role": "user", "content": "what?"}, {"role": "assistant", "content": "The answer is 42"}]
    assert service.score([item(turns)])[0]["reward"] == 1.0


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_compressed_bodies_are_accepted(service: RunningService, encoding: str) -> None:
    body = json.dumps({"items": [item("42")]}).encode()
    packed = gzip.compress(body) if encoding == "gzip" else zstandard.compress(body)
    answer = httpx.post(f"{service.url}/score", content=packed, headers={"Content-Encoding": encoding})
    assert answer.json()["results"][0]["reward"] == 1.0


def test_a_compression_bomb_is_refused(service: RunningService) -> None:
    bomb = gzip.compress(b" " * (64 * 1024 * 1024))
    answer = httpx.post(f"{service.url}/score", content=bomb, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 413
    garbage = httpx.post(f"{service.url}/score", content=b"garbage", headers={"Content-Encoding": "zstd"})
    assert garbage.status_code == 400


def test_a_stream_gives_every_item_once_with_its_index(service: RunningService) -> None:
    items = [item(str(n), id=str(n)) for n in range(40, 50)]
    answer = httpx.post(f"{service.url}/score", json={"items": items}, headers={"Accept": "application/x-ndjson"})
    results = [json.loads(line) for line in answer.text.splitlines()]
    assert sorted(result["index"] for result in results) == list(range(10))
    assert {result["id"]: result["reward"] for result in results} == {str(n): float(n == 42) for n in range(40, 50)}


def test_the_same_key_and_body_give_the_same_records(service: RunningService) -> None:
    body = json.dumps({"items": [item("42"), item("7")]})
    headers = {"Idempotency-Key": "key-1"}
    first = httpx.post(f"{service.url}/score", content=body, headers=headers)
    again = httpx.post(f"{service.url}/score", content=body, headers=headers)
    assert first.content == again.content
    other = httpx.post(f"{service.url}/score", content=body.replace("7", "8"), headers=headers)
    assert other.status_code == 409


def test_the_same_answer_is_cached_with_the_same_verdict(service: RunningService) -> None:
    first, second = (service.score([item("the answer is 42", id="c")])[0] for _ in range(2))
    assert second["cached"] is True
    same = ("reward", "checks", "flags", "answer", "task_digest", "verifier")
    assert {name: first[name] for name in same} == {name: second[name] for name in same}
    assert first["record"] != second["record"]


def test_equal_answers_of_one_request_are_judged_once_and_recorded_each(service: RunningService) -> None:
    results = service.score([item("the answer is 42 ", id="1"), item("the answer is 43 "), item("the answer is 42 ")])
    assert [result["cached"] for result in results] == [False, False, True]
    assert [result["reward"] for result in results] == [1.0, 0.0, 1.0]
    assert results[0]["record"] != results[2]["record"]


def test_wrong_queries_with_one_result_share_a_class_that_says_nothing_else(service: RunningService) -> None:
    def task(gold: str) -> dict[str, Any]:
        script = "CREATE TABLE t AS SELECT range AS n FROM range(5)"
        return {"verifier": "sql", "spec": {"fixtures": [{"script": script}], "gold": {"sql": gold}}}

    one, other = task("SELECT sum(n) FROM t"), task("SELECT min(n) FROM t")
    answers = ("SELECT max(n) FROM t", "SELECT count(*) - 1 FROM t", "SELECT count(*) FROM t", "SELECT x FROM t")
    results = service.score([*(item(answer, one) for answer in answers), item(answers[0], other), item("42")])
    assert [result["reward"] for result in results] == [0.0] * 5 + [1.0]
    same, again, different, failed, elsewhere, unsaid = [result["answer_class"] for result in results]
    assert same == again
    assert len({same, different, elsewhere}) == 3
    assert (failed, unsaid) == ("", None)


def test_defaults_spelled_out_are_the_same_task(service: RunningService) -> None:
    spelled = {"verifier": "math", "spec": {"answer": "42", "profile": "lenient", "reward": "binary", "stop": []}}
    plain, full = service.score([item("42"), item("42", spelled)])
    assert plain["task_digest"] == full["task_digest"]


def test_a_record_can_be_read_back_without_its_spec(service: RunningService) -> None:
    task = {"verifier": "math", "spec": {"answer": "987654321"}}
    result = service.score([item("I say 5", task, prompt="What is it?", id="q")], run="read-back", step=1)[0]
    shown = httpx.get(f"{service.url}/audit/records/{result['record']}").text
    assert "I say 5" in shown
    assert "What is it?" in shown
    assert "987654321" not in shown
    assert httpx.get(f"{service.url}/audit/records/nothing-of-the-kind").status_code == 404


def test_a_run_is_summed_up_step_by_step(service: RunningService) -> None:
    for step in (0, 1):
        service.score([item("42", id="a", group="g"), item("41", id="b", group="g")], run="summed", step=step)
    runs = httpx.get(f"{service.url}/audit/runs").json()
    assert next(run for run in runs if run["run"] == "summed")["records"] == 4
    summary = httpx.get(f"{service.url}/audit/runs/summed").json()
    assert [(step["step"], step["mean_reward"]) for step in summary["steps"]] == [(0, 0.5), (1, 0.5)]
    assert httpx.get(f"{service.url}/audit/runs/unheard-of").status_code == 404


def test_the_other_routes_answer(service: RunningService) -> None:
    names = {entry["name"] for entry in httpx.get(f"{service.url}/verifiers").json()}
    assert {"sql", "cfdi", "python", "math", "json", "format", "all"} <= names
    assert httpx.get(f"{service.url}/healthz").status_code == 200
    assert "veredicto_items_total" in httpx.get(f"{service.url}/metrics").text
    assert "<title>Veredicto</title>" in httpx.get(f"{service.url}/").text
    assert "sandbox" in httpx.get(f"{service.url}/capabilities").json()
    assert httpx.get(f"{service.url}/nowhere").headers["content-type"] == "application/problem+json"
    assert httpx.get(f"{service.url}/packs/nowhere/tasks").status_code == 404
