"""What the case tables of math, json, format and all cannot say: properties, digests, faults with their place."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.json_values import equal
from veredicto_verifier.judging import judge
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import canonical_task, parse_spec
from veredicto_verifier.strict_json import Defect, Document, read
from veredicto_verifier.verifier import Answer, Completion, Context, Grade, Spec, Verifier, reward

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4))
)


def score(name: str, spec: dict[str, Any], completion: str) -> tuple[float, Grade]:
    verifier = VERIFIERS[name]
    parsed = parse_spec(name, spec, VERIFIERS)
    grade, _answer = judge(
        verifier, verifier.prepare(parsed, Context(verifiers=VERIFIERS)), parsed, Completion(completion)
    )
    return reward(parsed, grade), grade


def fault(name: str, spec: dict[str, Any]) -> TaskFault:
    with pytest.raises(TaskFault) as raised:
        VERIFIERS[name].prepare(parse_spec(name, spec, VERIFIERS), Context(verifiers=VERIFIERS))
    return raised.value


@given(value=VALUES)
def test_json_reads_back_what_it_would_write(value: Any) -> None:
    document = read(json.dumps(value))
    assert isinstance(document, Document)
    assert equal(document.value, value)
    assert equal(value, document.value)


@given(text=st.text(max_size=60) | st.text(alphabet='[]{}",:0123e.-\\u \n', max_size=60))
def test_any_text_is_a_document_or_a_defect(text: str) -> None:
    assert isinstance(read(text), Document | Defect)


@given(one=SCALARS, other=SCALARS)
def test_equality_is_that_of_json(one: Any, other: Any) -> None:
    alike = json.dumps(one) == json.dumps(other)
    both_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (one, other))
    assert equal(one, other) is (Decimal(repr(one)) == Decimal(repr(other)) if both_numbers else alike)


@given(
    expected=st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=5),
    extra=st.dictionaries(st.text(max_size=5), VALUES, max_size=5),
    dropped=st.sets(st.integers(0, 4)),
)
def test_json_pays_the_share_of_fields_and_padding_changes_nothing(
    expected: dict[str, Any], extra: dict[str, Any], dropped: set[int]
) -> None:
    verifier = VERIFIERS["json"]
    spec = parse_spec("json", {"expected": expected, "reward": "shaped"}, VERIFIERS)
    task = verifier.prepare(spec, Context())

    def earned(document: dict[str, Any]) -> float:
        # Past extraction, which reads `<think>` wherever it stands.
        return reward(spec, verifier.grade(task, Answer(json.dumps(document), Completion(""))))

    kept = {key: value for index, (key, value) in enumerate(expected.items()) if index not in dropped}
    padding = {key: value for key, value in extra.items() if key not in expected}
    assert earned(padding | kept) == earned(kept)
    assert earned(kept) == (1.0 if kept == expected else pytest.approx(0.3 * len(kept) / len(expected)))


def test_a_schema_never_opens_a_file_or_a_socket(tmp_path: Any) -> None:
    target = tmp_path / "schema.json"
    target.write_text('{"type": "object"}')
    for reference in (target.as_uri(), str(target), "http://127.0.0.1:9/schema", "other.json", "urn:example:x"):
        raised = fault("json", {"schema": {"$ref": reference}})
        assert raised.code == "task.spec_invalid"
        assert raised.message.startswith("$.schema")


@pytest.mark.parametrize(
    ("name", "spec", "place"),
    [
        ("math", {"answer": "x +"}, "$.answer"),
        ("json", {"schema": {"type": 5}}, "$.schema"),
        ("json", {"expected": {"a": float("nan")}}, "$.expected"),
        ("json", {"expected": {"a": "\ud800"}}, "$.expected"),
        ("json", {"schema": {"required": ["b"]}, "expected": {"a": 1}, "formats": "maybe"}, "$.formats"),
        ("format", {"sections": ["1x"]}, "$.sections[0]"),
        ("all", {"criteria": [{"name": "a", "verifier": "math", "spec": {}}]}, "$.criteria[0].spec.answer"),
        (
            "all",
            {"criteria": [{"name": "a", "verifier": "math", "spec": {"answer": "x +"}}]},
            "$.criteria[0].spec.answer",
        ),
    ],
)
def test_a_broken_spec_says_where(name: str, spec: dict[str, Any], place: str) -> None:
    assert fault(name, spec).message.startswith(place)


def test_a_gold_value_is_in_no_message() -> None:
    secret = "SECRETGOLD"
    assert secret not in fault("math", {"answer": f"{secret}+1"}).message
    assert (
        secret
        not in fault("json", {"schema": {"properties": {"a": {"type": "integer"}}}, "expected": {"a": secret}}).message
    )
    for spec, completion in (
        ({"expected": {"a": secret}}, '{"a": 1}'),
        ({"schema": {"properties": {"a": {"const": secret}}}}, '{"a": 1}'),
        ({"schema": {"properties": {"a": {"enum": [secret]}}}}, '{"a": 1}'),
    ):
        _reward, grade = score("json", spec, completion)
        assert all(secret not in check.reason for check in grade.checks)


def test_a_reason_echoes_little_of_the_model() -> None:
    key = "k" * 5000
    _reward, grade = score("json", {"schema": {"additionalProperties": {"type": "string"}}}, json.dumps({key: 1}))
    assert grade.checks[-1].code == "json.schema"
    assert grade.checks[-1].reason.count("k") <= 102


def digest_text(spec: dict[str, Any]) -> bytes:
    return canonical_task("all", parse_spec("all", spec, VERIFIERS), {})


def test_equal_criteria_have_one_digest() -> None:
    plain = {"criteria": [{"name": "a", "verifier": "math", "spec": {"answer": "1"}}]}
    spelt_out = {
        "criteria": [
            {"name": "a", "verifier": "math", "spec": {"answer": "1", "profile": "lenient", "abs_tol": 0}, "weight": 1}
        ]
    }
    other = {"criteria": [{"name": "a", "verifier": "math", "spec": {"answer": "2"}}]}
    assert digest_text(plain) == digest_text(spelt_out)
    assert digest_text(plain) != digest_text(other)


def test_a_normalised_spec_read_again_is_the_same() -> None:
    spec = {
        "think_prefilled": True,
        "stop": ["END"],
        "criteria": [
            {"name": "a", "verifier": "format", "spec": {}},
            {"name": "b", "verifier": "math", "spec": {"answer": "1", "think_prefilled": False, "stop": []}},
            {"name": "c", "verifier": "all", "spec": {"criteria": [{"name": "d", "verifier": "format", "spec": {}}]}},
            {"name": "e", "verifier": "json", "spec": {"schema": {"type": "object"}}},
        ],
    }
    once = parse_spec("all", spec, VERIFIERS)
    again = parse_spec("all", once.model_dump(mode="python", by_alias=True, exclude_defaults=True), VERIFIERS)
    assert canonical_task("all", once, {}) == canonical_task("all", again, {})
    criteria = again.model_dump()["criteria"]
    assert [entry["spec"].get("think_prefilled") for entry in criteria] == [True, False, True, True]
    assert criteria[2]["spec"]["criteria"][0]["spec"]["think_prefilled"] is True


class _Held:
    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def _verifier(name: str, prepare: Any, grade: Any) -> Verifier[Any, Any]:
    return Verifier(
        name=name, version="1.0.0", lane="light", spec=Spec, auto=lambda _spec: "raw", prepare=prepare, grade=grade,
        codes={}, example={}, good="", bad="",
    )  # fmt: skip


def _broken(_spec: Spec, _context: Context) -> Any:
    raise TaskFault("task.empty_tests", "$: no tests")


def _spent(_task: Any, _answer: Answer) -> Grade:
    raise LimitExceeded("cpu")


def test_criteria_are_closed_with_the_task_and_when_a_later_one_is_broken() -> None:
    held = _Held()
    opening = _verifier("opening", lambda _spec, _context: held, lambda _task, _answer: Grade(passed=True, checks=()))
    broken = _verifier("broken", _broken, _spent)
    verifiers = {"opening": opening, "broken": broken, **VERIFIERS}
    criteria = [{"name": "one", "verifier": "opening", "spec": {}}, {"name": "two", "verifier": "broken", "spec": {}}]
    everything = VERIFIERS["all"]
    task = everything.prepare(parse_spec("all", {"criteria": criteria[:1]}, verifiers), Context(verifiers=verifiers))
    assert held.closed == 0
    task.close()
    assert held.closed == 1
    with pytest.raises(TaskFault) as raised:
        everything.prepare(parse_spec("all", {"criteria": criteria}, verifiers), Context(verifiers=verifiers))
    assert (raised.value.code, raised.value.message) == ("task.empty_tests", "$.criteria[1].spec: no tests")
    assert held.closed == 2


def test_a_limit_in_a_criterion_is_the_items() -> None:
    spending = _verifier("spending", lambda _spec, _context: None, _spent)
    verifiers = {"spending": spending, **VERIFIERS}
    spec = parse_spec("all", {"criteria": [{"name": "one", "verifier": "spending", "spec": {}}]}, verifiers)
    task = VERIFIERS["all"].prepare(spec, Context(verifiers=verifiers))
    with pytest.raises(LimitExceeded):
        judge(VERIFIERS["all"], task, spec, Completion("x"))


@given(
    weights=st.lists(st.floats(0.1, 10), min_size=1, max_size=4),
    right=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_all_pays_what_passed_its_share_of_the_weights(weights: list[float], right: list[bool]) -> None:
    spec = {
        "reward": "shaped",
        "criteria": [
            {
                "name": f"c{index}",
                "verifier": "format",
                "spec": {"sections": [f"s{index}"], "min_reasoning": 0},
                "weight": weight,
            }
            for index, weight in enumerate(weights)
        ],
    }
    # One criterion at most can pass on one completion, so each is tried alone.
    rewards = [
        score("all", spec, f"<s{index}>x</s{index}>" if good else "")[0]
        for index, good in enumerate(right[: len(weights)])
    ]
    for index, (good, earned) in enumerate(zip(right, rewards, strict=False)):
        share = weights[index] / sum(weights)
        expected = (1.0 if len(weights) == 1 else 0.5 * share) if good else 0.0
        assert earned == pytest.approx(expected)


@given(text=st.lists(st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", "a", " ", "\n"]), max_size=10))
def test_format_passes_exactly_what_a_plain_grammar_passes(text: list[str]) -> None:
    completion = "".join(text)
    inner = completion.strip(" \n")
    think, found, rest = inner.removeprefix("<think>").partition("</think>")
    answer = rest.strip(" \n").removeprefix("<answer>").removesuffix("</answer>")
    rebuilt = f"<think>{think}</think>{rest[: len(rest) - len(rest.lstrip())]}<answer>{answer}</answer>"
    holds = (
        bool(found) and rebuilt == inner and think.strip() != "" and answer.strip() != "" and "<" not in think + answer
    )
    assert (score("format", {}, completion)[0] == 1.0) is holds
