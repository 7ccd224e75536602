"""The pack cfdi: the same on every build, solvable by the reference builder, and no fault of an invoice passes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cfdi_builder import build_invoice
from tests.cfdi_harmless import HARMLESS
from veredicto_verifier.packs.builtin import BUILTIN, materialise
from veredicto_verifier.packs.cfdi_mutants import NUM_KINDS, faulty_documents, unasked_requests
from veredicto_verifier.packs.cfdi_prompts import lint_requests, told, unsaid
from veredicto_verifier.packs.cfdi_proof import lint_invoices, lint_sums
from veredicto_verifier.packs.checking import check_pack
from veredicto_verifier.packs.generators.cfdi import NAME, build
from veredicto_verifier.packs.generators.cfdi_requests import CATEGORIES
from veredicto_verifier.packs.loading import load_pack
from veredicto_verifier.packs.pack import Pack
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask

Json = dict[str, Any]


@cache
def files() -> dict[str, str]:
    return build()


def lines(name: str) -> list[Json]:
    return [json.loads(line) for line in files()[name].splitlines()]


@cache
def sample() -> list[Json]:
    """One task of each category, half of them of the test split, of all levels."""
    train, test = lines("tasks/train.jsonl"), lines("tasks/test.jsonl")
    of_train = [train[15 * at + at % 15] for at in range(len(CATEGORIES))]
    return of_train + [test[5 * at + (at + 2) % 5] for at in range(0, len(CATEGORIES), 2)]


def prepared(task: Json) -> CfdiTask:
    return CFDI.prepare(CFDI.spec.model_validate(task["spec"]), Context())


def graded(task: CfdiTask, text: str) -> Grade:
    return CFDI.grade(task, Answer(text, Completion(text)))


def codes(grade: Grade) -> set[str]:
    return {check.code for check in grade.checks if check.code is not None}


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    folder = tmp_path_factory.mktemp("cfdi")
    for name, content in files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return load_pack(folder, {"cfdi": CFDI})


def test_two_builds_are_equal() -> None:
    assert build() == files()


def test_the_pack_is_large_and_varied_enough() -> None:
    train, test = lines("tasks/train.jsonl"), lines("tasks/test.jsonl")
    assert (len(train), len(test)) == (360, 120)
    assert {task["category"] for task in train} == {task["category"] for task in test} == set(CATEGORIES)
    assert Counter(task["difficulty"] for task in train) == {0.2: 120, 0.5: 120, 0.8: 120}
    assert {task["spec"]["request"]["tipo"] for task in test} == {"I", "E", "P"}


def test_no_name_and_no_prompt_is_in_two_splits() -> None:
    train, test = lines("tasks/train.jsonl"), lines("tasks/test.jsonl")
    shown = [*lines("examples.jsonl"), *lines("demonstrations/train.jsonl")]
    prompts = Counter(one["prompt"] for one in [*train, *test, *lines("demonstrations/train.jsonl")])
    assert prompts.most_common(1)[0][1] == 1

    def names(tasks: list[Json]) -> set[str]:
        parties = [task["spec"]["request"][role] for task in tasks for role in ("emisor", "receptor")]
        return {party[name] for party in parties for name in ("rfc", "nombre") if party["rfc"][0] != "X"}

    assert names(train) & names(test) == set()
    assert not any(name in one["prompt"] for one in shown for name in names(train) | names(test))


def test_the_check_of_the_pack_finds_nothing(pack: Pack) -> None:
    assert pack.name == NAME
    assert check_pack(pack, {"cfdi": CFDI}) == []


@pytest.mark.parametrize("places", [2, 6])
def test_the_reference_invoice_of_a_task_passes(places: int) -> None:
    for task in sample():
        grade = graded(prepared(task), build_invoice(task["spec"]["request"], places=places))
        assert grade.passed, (task["id"], [check for check in grade.checks if not check.passed])
        assert grade.flags == ()


def test_a_single_fault_fails_with_its_code_and_few_others() -> None:
    made = set()
    for task in sample()[: len(CATEGORIES)]:
        judged = prepared(task)
        for fault in faulty_documents(build_invoice(task["spec"]["request"])):
            grade = graded(judged, fault.text)
            made.add(fault.name)
            assert not grade.passed, (task["id"], fault.name)
            assert fault.code in codes(grade), (task["id"], fault.name, codes(grade))
            assert all(map(fault.admits, codes(grade))), (task["id"], fault.name, codes(grade))
    assert len(made) >= 250


def test_a_valid_invoice_for_another_request_fails_in_the_match_alone() -> None:
    made = set()
    for task in sample():
        judged = prepared(task)
        for other in unasked_requests(task["spec"]["request"]):
            grade = graded(judged, build_invoice(other.request))
            made.add(other.name)
            assert not grade.passed, (task["id"], other.name)
            assert other.code in codes(grade), (task["id"], other.name, codes(grade))
            assert all(code.startswith("cfdi.match_") for code in codes(grade)), (task["id"], other.name, codes(grade))
    assert len(made) >= 50
    assert NUM_KINDS >= 300


@pytest.mark.parametrize("name", HARMLESS)
def test_what_makes_no_difference_is_not_held_against_an_invoice(name: str) -> None:
    changed = 0
    for task in sample():
        text = build_invoice(task["spec"]["request"])
        other = HARMLESS[name](text)
        changed += other != text
        grade = graded(prepared(task), other)
        assert grade.passed, (task["id"], [check for check in grade.checks if not check.passed])
    assert changed > 0


def test_the_invoice_of_one_task_fails_every_other() -> None:
    for task, other in pairwise(sample()):
        assert not graded(prepared(task), build_invoice(other["spec"]["request"])).passed


def test_an_example_and_a_demonstration_are_correct_invoices() -> None:
    for shown in [*lines("examples.jsonl"), *lines("demonstrations/train.jsonl")]:
        task = CFDI.prepare(CFDI.spec.model_validate({}), Context())
        text = shown["completion"]
        grade = graded(task, text)
        wrong = codes(grade) - {"cfdi.complement_unexpected"}
        assert not wrong, (shown["category"], wrong)


def test_a_prompt_that_says_too_little_or_too_much_is_found(pack: Pack) -> None:
    task = next(iter(pack.tasks["train"].values()))
    request, prompt = task.spec["request"], str(task.prompt)
    assert unsaid(prompt, request) == []
    assert unsaid(prompt.replace(request["receptor"]["rfc"], "el de siempre"), request) == ["receptor.rfc"]
    assert unsaid(prompt.replace(request["fecha"], "hoy"), request) == ["fecha"]
    assert told(prompt + " <cfdi:Emisor/>", request) == ["markup"]
    total = graded_total(request)
    assert "Total" in told(f"{prompt} En total son {total} pesos.", request)
    weak = replace(task, prompt="Factura lo de siempre.")
    twin = replace(task, id="again", split="test", where="tasks/test.jsonl:999")
    found = list(lint_requests(replace(pack, tasks={"train": {task.id: weak}, "test": {twin.id: twin}})))
    assert [code for _where, code, _message in found] == ["lint.unsaid", "lint.overlap"]


def graded_total(request: Json) -> str:
    text = build_invoice(request)
    return text.split(' Total="')[1].split('"')[0]


def test_sums_that_a_second_computation_does_not_find_are_an_error() -> None:
    task, other = sample()[0], sample()[1]
    spec = CFDI.spec.model_validate(task["spec"])
    assert list(lint_sums(spec, prepared(task))) == []
    assert [code for _level, code, _text in lint_sums(spec, prepared(other))] == ["lint.sums"]


def test_faulty_invoices_are_counted_and_named_when_they_pass() -> None:
    task = sample()[0]
    spec, judged = CFDI.spec.model_validate(task["spec"]), prepared(task)
    tally: Counter[str] = Counter()
    assert list(lint_invoices(spec, judged, tally)) == []
    assert tally["tasks"] == 1
    assert tally["mutants.counted"] > 100
    assert tally["mutants.accepted"] == 0
    alone = CFDI.prepare(CFDI.spec.model_validate({}), Context())
    found = list(lint_invoices(spec, alone, tally))
    assert [code for _level, code, _text in found] == ["lint.mutants"]
    assert tally["kind.other requests.accepted"] > 10


def test_prompts_are_worded_in_many_ways(pack: Pack) -> None:
    starts = Counter(str(task.prompt).split("\n\n")[1][:12] for task in pack.tasks["train"].values())
    assert len(starts) >= 10
    assert starts.most_common(1)[0][1] < len(pack.tasks["train"]) / 4


def test_the_pack_is_written_by_name(tmp_path: Path) -> None:
    assert "cfdi-mini" not in BUILTIN
    path = materialise(NAME, tmp_path) / "tasks" / "train.jsonl"
    assert path.read_text(encoding="utf-8") == files()["tasks/train.jsonl"]
