"""Hidden tests that a task declares instead of writing them: perturbed inputs and metamorphic relations."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.sandbox.compare import Tolerance
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.python_code.perturbations import Perturbation, perturbed
from veredicto_verifier.verifiers.python_code.relations import Metamorphic, Unfit, changed, related
from veredicto_verifier.verifiers.python_code.task import CallTask

TOTAL = "def total(values):\n    return sum(values)\n"
CASES = [{"args": [[1, 2, 3]], "expected": 6}, {"args": [[5, -1]], "expected": 4}, {"args": [[]], "expected": 0}]
TABLE = "def total(values):\n    return {(1, 2, 3): 6, (5, -1): 4, (): 0}.get(tuple(values), 0)\n"


def prepared(**fields: Any) -> CallTask:
    spec = {"format": "calls", "entry": "total", "cases": CASES, "reference": TOTAL, **fields}
    task = VERIFIERS["python"].prepare(parse_spec("python", spec, VERIFIERS), Context())
    assert isinstance(task, CallTask)
    return task


def graded(task: CallTask, program: str) -> Grade:
    return VERIFIERS["python"].grade(task, Answer(program, Completion(program)))


def fault(**fields: Any) -> TaskFault:
    with pytest.raises(TaskFault) as caught:
        prepared(**fields)
    return caught.value


def test_perturbed_inputs_are_the_same_for_the_same_task_and_others_for_another() -> None:
    declared = [{"kind": "integer", "count": 5}, {"kind": "duplicate", "count": 4}]
    first, second = prepared(perturbed=declared), prepared(perturbed=declared)
    assert first == second
    assert len(first.calls) == len(CASES) + 9
    assert len({str(call.request) for call in first.calls}) == len(first.calls)
    assert all(call.expected == sum(call.args[0]) and call.hidden for call in first.calls[len(CASES) :])
    assert prepared(perturbed=declared, float_rel=0.1).calls != first.calls


def test_a_table_of_the_cases_fails_on_perturbed_inputs_and_is_flagged() -> None:
    task = prepared(perturbed=[{"kind": "integer"}])
    assert graded(task, TOTAL).passed
    grade = graded(task, TABLE)
    assert [(check.name, check.passed) for check in grade.checks[1:]] == [
        ("python.visible", True),
        ("python.hidden", False),
    ]
    assert "special_casing" in {flag.name for flag in grade.flags}


def test_a_relation_fails_a_program_that_breaks_it_and_names_the_cause() -> None:
    relations = [{"change": "scale", "by": 3, "relation": "scaled"}, {"change": "permute"}]
    task = prepared(metamorphic=relations)
    assert len(task.pairs) >= 3
    assert graded(task, TOTAL).passed
    grade = graded(task, TABLE)
    assert [check.code for check in grade.checks] == [None, None, "python.relation"]
    assert "special_casing" in {flag.name for flag in grade.flags}


def test_an_expected_value_never_crosses_to_the_program() -> None:
    task = prepared(perturbed=[{"kind": "integer"}], metamorphic=[{"change": "permute"}])
    spy = """
import gc
def total(values):
    held = [o for o in gc.get_objects() if type(o) in (dict, list)]
    assert not any("expected" in o or "reference" in o for o in held if type(o) is dict and len(o) < 50)
    return sum(values)
"""
    assert graded(task, spy).passed


@pytest.mark.parametrize(
    ("fields", "code", "said"),
    [
        ({"metamorphic": [{"change": "negate", "relation": "equal"}]}, "task.gold_failed", "reference does not pass"),
        ({"metamorphic": [{"change": "upper"}]}, "task.gold_failed", "$.metamorphic[0]"),
        ({"metamorphic": [{"change": "permute", "arg": 4}]}, "task.gold_failed", "$.metamorphic[0]"),
        ({"perturbed": [{"kind": "characters"}]}, "task.gold_failed", "$.perturbed[0]"),
        ({"perturbed": [{"kind": "integer", "low": 500, "high": 400}]}, "task.gold_failed", "$.perturbed[0]"),
        ({"perturbed": [{"kind": "integer"}], "reference": None}, "task.spec_invalid", "need a `reference`"),
        ({"metamorphic": [{"change": "swap"}]}, "task.spec_invalid", "$.metamorphic[0]"),
        ({"metamorphic": [{"change": "scale"}]}, "task.spec_invalid", "$.metamorphic[0]"),
        ({"metamorphic": [{"change": "permute", "relation": "scaled"}]}, "task.spec_invalid", "answer_by"),
        ({"perturbed": [{"kind": "wish"}]}, "task.spec_invalid", "$.perturbed[0].kind"),
        (
            {
                "perturbed": [{"kind": "integer"}],
                "reference": "import os\ndef total(values):\n    return sum(values) + (values not in "
                "([1, 2, 3], [5, -1], [])) * os.urandom(4)[0]\n",
            },
            "task.gold_volatile",
            "differently",
        ),
        (
            {
                "perturbed": [{"kind": "integer"}],
                "reference": "def total(values):\n    return sum(values) if len(values) in (0, 2, 3) and "
                "values in ([1, 2, 3], [5, -1], []) else object()\n",
            },
            "task.gold_failed",
            "not plain data",
        ),
    ],
)
def test_a_declaration_that_cannot_be_kept_makes_the_task_invalid(fields: dict[str, Any], code: str, said: str) -> None:
    caught = fault(**fields)
    assert caught.code == code
    assert said in caught.message


def test_inputs_that_the_reference_refuses_are_left_out() -> None:
    picky = "def total(values):\n    if 7 in values:\n        raise ValueError\n    return sum(values)\n"
    task = prepared(reference=picky, perturbed=[{"kind": "integer", "count": 20}])
    made = task.calls[len(CASES) :]
    assert made
    assert all(7 not in call.args[0] for call in made)


def test_an_idempotent_program_is_asked_with_its_own_answer() -> None:
    task = prepared(
        entry="tidy",
        cases=[{"args": [[2, 1, 2]], "expected": [1, 2]}, {"args": [[1]], "expected": [1]}],
        reference="def tidy(values):\n    return sorted(set(values))\n",
        metamorphic=[{"change": "answer"}],
    )
    assert graded(task, "def tidy(values):\n    return sorted(set(values))\n").passed
    counting = "def tidy(values, seen=[]):\n    seen.append(1)\n    return [1, 2] if len(seen) != 4 else [1]\n"
    assert not graded(task, counting).passed
    assert not graded(task, "def tidy(values):\n    return [1, 2] if len(values) == 3 else object\n").passed


@pytest.mark.parametrize(
    ("how", "value", "second", "fits"),
    [
        ({"change": "reverse"}, [1, 2, 3], [3, 2, 1], True),
        ({"change": "reverse"}, "abc", "cba", True),
        ({"change": "repeat"}, (1, 2), (1, 2, 1, 2), True),
        ({"change": "append", "item": 0}, [1], [1, 0], True),
        ({"change": "append", "item": 0}, "a", None, False),
        ({"change": "negate"}, [[1, 2.5], [0]], [[-1, -2.5], [0]], True),
        ({"change": "negate"}, [1, "a"], None, False),
        ({"change": "negate"}, True, None, False),
        ({"change": "scale", "by": 10}, 4, 40, True),
        ({"change": "shift", "by": -1}, [4], [3], True),
        ({"change": "upper"}, "aB", "AB", True),
        ({"change": "lower"}, 3, None, False),
    ],
)
def test_a_change_changes_as_documented(how: dict[str, Any], value: Any, second: Any, fits: bool) -> None:
    declared = Metamorphic.model_validate(how)
    if fits:
        assert changed(value, declared, random.Random(1)) == second
    else:
        with pytest.raises(Unfit):
            changed(value, declared, random.Random(1))


@pytest.mark.parametrize(
    ("how", "first", "second", "holds"),
    [
        ({"relation": "equal"}, [1, 2], [1, 2], True),
        ({"relation": "equal"}, 1, 2, False),
        ({"relation": "reversed"}, "ab", "ba", True),
        ({"relation": "reversed"}, 3, 3, False),
        ({"relation": "negated"}, [1, -2], [-1, 2], True),
        ({"relation": "scaled", "answer_by": 4}, 2.5, 10.0, True),
        ({"relation": "shifted", "answer_by": 4}, [1], [6], False),
        ({"relation": "same_items"}, [1, [2], "x"], ["x", 1, [2]], True),
        ({"relation": "same_items"}, [1, 1, 2], [1, 2, 2], False),
        ({"relation": "same_items"}, "ab", "ba", False),
        ({"relation": "not_less"}, 1, 1, True),
        ({"relation": "not_less"}, 2, 1.5, False),
        ({"relation": "not_greater"}, 2, 1.5, True),
        ({"relation": "not_greater"}, "a", "b", False),
        ({"relation": "not_less"}, float("nan"), 1, False),
    ],
)
def test_answers_relate_as_documented(how: dict[str, Any], first: Any, second: Any, holds: bool) -> None:
    assert related(first, second, Metamorphic.model_validate({"change": "permute", **how}), Tolerance()) is holds


plain_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.decimals(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=8,
)
KINDS = Perturbation.model_fields["kind"].annotation.__args__  # type: ignore[union-attr]
RELATIONS = Metamorphic.model_fields["relation"].annotation.__args__  # type: ignore[union-attr]


@given(plain_values, st.sampled_from(KINDS), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_a_perturbed_value_keeps_its_type_or_cannot_be_made(value: Any, kind: str, seed: int) -> None:
    made = perturbed(value, Perturbation(kind=kind), random.Random(seed), [value])  # type: ignore[arg-type]
    assert made is None or type(made) is type(value)


@given(plain_values, plain_values, st.sampled_from(RELATIONS))
@settings(max_examples=150, deadline=None)
def test_any_two_answers_relate_or_do_not(first: Any, second: Any, relation: str) -> None:
    how = Metamorphic(change="scale", by=2, relation=relation)  # type: ignore[arg-type]
    assert related(first, second, how, Tolerance()) in (True, False)
