"""The pack `word-math-mini` is the same at every build, disjoint, right, and loads without a refusal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from veredicto_verifier.judging import judge
from veredicto_verifier.packs.generators.word_math_mini import NAME, build
from veredicto_verifier.packs.loading import load_pack
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Completion, Context

FILES = build()

ORACLES: dict[str, Callable[..., Decimal]] = {
    "oranges": lambda boxes, each, bad: sum([each] * int(boxes)) - bad,
    "change": lambda books, book, pens, pen, bill: bill - sum([book] * int(books) + [pen] * int(pens)),
    "discount": lambda price, percent, pieces: pieces * price * (1 - percent / 100),
    "tax": lambda subtotal, percent: subtotal * (1 + percent / 100),
    "bakery": lambda ovens, loaves, hours, sold: sum([ovens * loaves] * int(hours)) - sold,
    "sweets": lambda total, eaten, children: (total - eaten) / children,
    "trip": lambda hours, speed, more, slower: hours * speed + more * slower,
    "average": lambda monday, tuesday, mean: (mean - monday) + (mean - tuesday) + mean,
    "goal": lambda start, weekly, weeks, cost: cost - start - weekly * weeks,
    "wages": lambda hours, wage, extra, fee: (hours + 2 * extra) * wage - fee,
}
"""The answer from the numbers in the order in which the prompt tells them, written apart from the generator."""


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILES[path].splitlines()]


TASKS = {split: rows(f"tasks/{split}.jsonl") for split in ("train", "test")}
EVERY_TASK = [*TASKS["train"], *TASKS["test"]]


def story(prompt: str) -> str:
    return prompt.partition("\n")[0]


def told_numbers(prompt: str) -> list[Decimal]:
    return [Decimal(found) for found in re.findall(r"\d+", story(prompt))]


def test_two_builds_are_the_same() -> None:
    assert build() == FILES


def test_it_is_large_and_varied_enough() -> None:
    assert len(TASKS["train"]) >= 120
    assert len(TASKS["test"]) >= 40
    for tasks in TASKS.values():
        assert len({task["category"] for task in tasks}) >= 3
        assert {re.search(r"-(en|es)-", task["id"])[1] for task in tasks} == {"en", "es"}  # type: ignore[index]
    assert len({task["id"] for task in EVERY_TASK}) == len(EVERY_TASK)


def test_no_problem_is_told_twice() -> None:
    prompts = [story(row["prompt"]) for row in [*EVERY_TASK, *rows("examples.jsonl")]]
    normalised = {re.sub(r"\W+", " ", prompt).strip().casefold() for prompt in prompts}
    assert len(normalised) == len(prompts)
    keys = {(task["id"].split("-")[0], *told_numbers(task["prompt"])) for task in EVERY_TASK}
    assert len(keys) == len(EVERY_TASK)


@pytest.mark.parametrize("task", EVERY_TASK, ids=lambda task: task["id"])
def test_a_gold_is_what_the_prompt_asks(task: dict[str, Any]) -> None:
    gold = Decimal(task["spec"]["answer"])
    assert gold == ORACLES[task["id"].split("-")[0]](*told_numbers(task["prompt"]))
    assert gold > 0


def test_every_worked_example_is_right_and_ends_in_its_answer() -> None:
    for row in rows("examples.jsonl"):
        *steps, last = row["completion"].split("\n")
        assert last.startswith("#### ")
        equations = [
            equation for step in steps for equation in re.findall(r"([\d.]+(?: [-+*/] [\d.]+)+) = ([\d.]+)", step)
        ]
        assert len(equations) >= len(steps)
        for left, right in equations:
            assert worked_out(left.split(" ")) == Decimal(right.rstrip("."))
        assert equations[-1][1].rstrip(".") == last.removeprefix("#### ")


def worked_out(words: list[str]) -> Decimal:
    """`a op b op c`, from left to right; the steps mix no ranks that this order would get wrong."""
    value = Decimal(words[0])
    for operator, operand in zip(words[1::2], words[2::2], strict=True):
        other = Decimal(operand)
        value = {"+": value + other, "-": value - other, "*": value * other, "/": value / other}[operator]
    return value


def test_every_gold_is_accepted_and_its_neighbours_are_not() -> None:
    verifier = VERIFIERS["math"]
    for task in EVERY_TASK:
        spec = parse_spec("math", task["spec"], VERIFIERS)
        prepared = verifier.prepare(spec, Context())
        gold = Decimal(task["spec"]["answer"])
        for answer, right in ((gold, True), (gold + 1, False), (gold - 1, False), (gold * 10, False), (-gold, False)):
            assert judge(verifier, prepared, spec, Completion(f"So it is this.\n#### {answer}"))[0].passed is right
        for unit in task["spec"].get("units", ()):
            assert judge(verifier, prepared, spec, Completion(f"#### {gold} {unit}"))[0].passed


def test_it_loads_as_a_pack_without_a_refusal(tmp_path: Path) -> None:
    for path, content in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content, encoding="utf-8")
    pack = load_pack(tmp_path, VERIFIERS)
    assert pack.name == NAME
    assert pack.refused == ()
    assert {split: len(tasks) for split, tasks in pack.tasks.items()} == {k: len(v) for k, v in TASKS.items()}
    assert len(pack.examples) == len(rows("examples.jsonl"))
