"""Gold never leaves the service: every route is walked for every pack, and no gold is found in any answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serving import RunningService
from veredicto_verifier.packs.builtin import BUILTIN
from veredicto_verifier.packs.pack import PackTask
from veredicto_verifier.packs.shelf import Shelf
from veredicto_verifier.registry import VERIFIERS

WRONG = "I do not know."
SCORED_PER_SPLIT = 200


def sql_gold(spec: dict[str, Any]) -> list[str]:
    return [spec["gold"]["sql"]]


def python_gold(spec: dict[str, Any]) -> list[str]:
    hidden = [json.dumps(case, sort_keys=True) for case in spec.get("cases", []) if case.get("hidden")]
    return [*hidden, *(spec[name] for name in ("reference", "tests") if isinstance(spec.get(name), str))]


def cfdi_gold(spec: dict[str, Any]) -> list[str]:
    request = spec["request"]
    items = request.get("conceptos") or request["pagos"]
    return [json.dumps(request, sort_keys=True), json.dumps(items, sort_keys=True)]


def whole_spec(spec: dict[str, Any]) -> list[str]:
    return [json.dumps(spec, sort_keys=True)]


def expected_gold(spec: dict[str, Any]) -> list[str]:
    return [json.dumps(spec["expected"], sort_keys=True)] if spec.get("expected") else []


GOLD: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "sql": sql_gold,
    "python": python_gold,
    "cfdi": cfdi_gold,
    "math": whole_spec,
    "json": expected_gold,
    "tools": expected_gold,
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf.load([], cache=tmp_path_factory.mktemp("packs"), verifiers=VERIFIERS)


def normal(text: str) -> str:
    """Spacing and escapes do not hide a gold value."""
    return "".join(text.replace("\\n", "").replace('\\"', '"').split())


def served(service: RunningService, pack: str) -> Iterator[str]:
    yield httpx.get(f"{service.url}/packs").text
    yield httpx.get(f"{service.url}/packs/{pack}/examples").text
    yield httpx.get(f"{service.url}/packs/{pack}/demonstrations?split=train").text
    cursor: str | None = None
    while True:
        query: dict[str, str] = {"limit": "1000", **({"cursor": cursor} if cursor else {})}
        page = httpx.get(f"{service.url}/packs/{pack}/tasks", params=query)
        yield page.text
        cursor = page.json()["next_cursor"]
        if cursor is None:
            return


def judged(service: RunningService, refs: list[str]) -> Iterator[str]:
    run = f"secrecy-{refs[0].partition('/')[0]}"
    items = [{"completion": WRONG, "task": {"ref": ref}} for ref in refs]
    results = service.score(items, run=run, step=0)
    assert all(result["outcome"] == "scored" and result["reward"] == 0.0 for result in results), results[:3]
    yield json.dumps(results)
    yield httpx.get(f"{service.url}/audit/records", params={"run": run, "limit": "1000"}).text
    yield httpx.get(f"{service.url}/audit/runs/{run}").text
    for result in results[:20]:
        yield httpx.get(f"{service.url}/audit/records/{result['record']}").text


def demonstrated(shelf: Shelf, pack: str) -> set[str]:
    """Prompts whose completion the author made public."""
    shown = shelf.packs[pack].demonstrations
    return {json.dumps(one.prompt) for one in shown}


@pytest.mark.parametrize("pack", BUILTIN)
def test_no_route_tells_gold(service: RunningService, shelf: Shelf, pack: str) -> None:
    public = demonstrated(shelf, pack)
    tasks: list[PackTask] = [
        task
        for split in shelf.packs[pack].tasks.values()
        for task in split.values()
        if task.split == "test" or json.dumps(task.prompt) not in public
    ]
    refs = [f"{pack}/{task.split}/{task.id}" for task in tasks if task.split == "test"][:SCORED_PER_SPLIT]
    told = "\n".join(normal(body) for body in (*served(service, pack), *judged(service, refs)))
    prompts = "\n".join(normal(json.dumps(task.prompt, ensure_ascii=False)) for task in tasks)
    golds = {gold for task in tasks for gold in GOLD[task.verifier](dict(task.spec))}
    assert golds
    leaked = [gold for gold in golds if normal(gold) in told and normal(gold) not in prompts]
    assert leaked == []
    assert '"spec":{' not in told


def test_demonstrations_of_any_other_split_are_not_found(service: RunningService) -> None:
    for pack in BUILTIN:
        answer = httpx.get(f"{service.url}/packs/{pack}/demonstrations?split=test")
        assert answer.status_code == 404


def test_the_log_holds_no_completion(service: RunningService) -> None:
    secret = "a completion that must not be logged 5150"
    service.score([{"completion": secret, "task": {"verifier": "math", "spec": {"answer": "1"}}}])
    log: Path = service.data_dir.parent / f"{service.data_dir.name}.log"
    assert secret not in log.read_text()
