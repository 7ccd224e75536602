"""Expressions are read or refused, equality is what it should be, steps are worked out, and numbers load no sympy."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serving import environment
from veredicto_verifier.judging import judge
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context
from veredicto_verifier.verifiers.math_answer import steps
from veredicto_verifier.verifiers.math_answer.evaluation import same
from veredicto_verifier.verifiers.math_answer.shapes import read
from veredicto_verifier.verifiers.math_answer.syntax import MAX_NODES, Node, parse, size
from veredicto_verifier.verifiers.math_answer.tokens import TooComplex, Unread, tokens

PIECES = st.sampled_from(
    (
        *(
            "x",
            "y",
            "2",
            "10",
            "0.5",
            "+",
            "-",
            "*",
            "/",
            "^",
            "!",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "|",
            ",",
            "=",
            "<",
            " ",
        ),
        *(
            "\\frac",
            "\\sqrt",
            "\\sin",
            "\\log",
            "_",
            "\\pi",
            "e",
            "i",
            "\\infty",
            "\\cup",
            "\\in",
            "\\{",
            "\\}",
            "\\le",
        ),
        *("\\left", "\\right", "\\text", "\\emptyset", "√", "²", "½", "−", "or", "sin", "$", "\\", "é", "\x00", "\\ne"),
    )
)
TEXTS = st.lists(PIECES, max_size=24).map("".join) | st.text(max_size=40)
KINDS = st.sampled_from(["x^2+1", "\\{1,2\\}", "(1,2)", "[1,2)", "x=5", "2x<4", "B", "\\sin x"])


@settings(max_examples=300)
@given(text=TEXTS, gold=KINDS)
def test_any_answer_comes_to_a_verdict(text: str, gold: str) -> None:
    verifier = VERIFIERS["math"]
    spec = parse_spec("math", {"answer": gold, "simplified": ["fraction", "radical"], "steps": True}, VERIFIERS)
    grade = verifier.grade(verifier.prepare(spec, Context()), Answer(text, Completion(text)))
    assert grade.passed is all(check.passed for check in grade.checks)
    assert 0 <= grade.score < 1


@given(text=TEXTS)
def test_any_text_is_a_shape_or_refused(text: str) -> None:
    try:
        shape = read(text)
    except (Unread, TooComplex):
        return
    assert shape.kind in ("expression", "relation", "set", "tuple", "interval")


TREES = st.recursive(
    st.sampled_from(["x", "y", "2", "3", "(1/2)"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({parts[0]}{parts[1]}{parts[2]})"),
        inner.map(lambda one: f"({one})^2"),
        inner.map(lambda one: f"\\sin({one})"),
        inner.map(lambda one: f"(-{one})"),
    ),
    max_leaves=6,
)


def tree(text: str) -> Node:
    return parse(tokens(text))


@settings(max_examples=60)
@given(one=TREES, other=TREES)
def test_equality_keeps_the_laws_of_arithmetic(one: str, other: str) -> None:
    a, b = tree(one), tree(other)
    assert same(a, a, {}, "s")
    assert same(tree(f"{one}+{other}"), tree(f"{other}+{one}"), {}, "s")
    assert same(tree(f"({one})*({other}+1)"), tree(f"({one})*({other})+({one})"), {}, "s")
    assert not same(tree(f"{one}+1"), a, {}, "s")
    assert same(a, b, {}, "s") is same(b, a, {}, "t")


@given(numbers=st.lists(st.integers(-50, 50), min_size=2, max_size=2), shift=st.integers(1, 5))
def test_a_number_equals_only_itself(numbers: list[int], shift: int) -> None:
    above, below = numbers[0], numbers[1] or 7
    text = f"({above})/({below})"
    exact = Fraction(above, below)
    assert same(tree(text), tree(f"({exact.numerator})/({exact.denominator})"), {}, "s")
    assert not same(tree(text), tree(f"({above + shift})/({below})"), {}, "s")


@given(deep=st.integers(1, 120), opening=st.sampled_from(["(", "-", "|", "\\sqrt{", "2^{", "\\sin(", "\\frac{1}{"]))
def test_depth_meets_our_cap_and_never_pythons(deep: int, opening: str) -> None:
    closing = {"(": ")", "{": "}", "|": "|"}.get(opening[-1], "")
    try:
        assert size(tree(opening * deep + "x" + closing * deep)) <= MAX_NODES
    except (Unread, TooComplex):
        assert deep > 10 or opening == "|"


@given(a=st.integers(0, 500), b=st.integers(1, 500), sign=st.sampled_from("+-*"), wrong=st.integers(-3, 3))
def test_an_equality_is_right_exactly_if_its_sides_are_equal(a: int, b: int, sign: str, wrong: int) -> None:
    value = {"+": a + b, "-": a - b, "*": a * b}[sign]
    found = steps.check(f"So we get {a} {sign} {b} = {value + wrong}, and go on.")
    assert found.found == 1
    assert (found.wrong is None) is (wrong == 0)


@given(text=st.lists(st.sampled_from(list("0123456789+-*/^()%$.,= \n<>x")), max_size=60).map("".join))
def test_any_solution_has_its_steps_checked(text: str) -> None:
    found = steps.check(text)
    assert found.wrong is None or found.wrong >= 1


@pytest.mark.parametrize(
    "text",
    [
        "- 48 / 2 = 24\n- 48 + 24 = 72",
        "1) 3+4=7",
        "2. 3 + 4 = 7",
        "Total (5 + 3 = 8).",
        "2 1/2 + 1 = 3.5",
        "1,000 + 500 = 1,500",
        "50 * 20% = 10",
        "\\frac{48}{2} = 24",
        "3 x 4 = 12",
        "I have 10 - 3 = 7. 5 more",
        ".20*50 = 10",
        "$4.50+$1.50 = $6",
    ],
)
def test_an_equality_is_found_in_its_sentence(text: str) -> None:
    found = steps.check(text)
    assert found.found >= 1
    assert found.wrong is None
    assert steps.check(text[: text.rindex("=")] + "= 99").wrong is not None


@pytest.mark.parametrize(
    "text",
    [
        *("8:30 - 2 = 6:30", "60 km/h * 2 = 120", "x - 5 * 2 = 1", "6 = 2x", "10 = 2 * x", "a != 3 + 4", "3! = 6"),
        *(
            "f(2) * 3 = 9",
            "48 clips / 2 = 24 clips",
            "1 000 + 500 = 1500",
            "45 + 21 = 66%",
            "¾ x 3 = 9",
            "x = 3, y = 4",
        ),
    ],
)
def test_what_is_no_arithmetic_is_left_alone(text: str) -> None:
    assert steps.check(text) == steps.Steps(0)


@pytest.mark.parametrize("text", ["3*3=9 3*4=12", "48/2 = 24 48+24 = 72", "5+1=6\t2*3=6", "1+1=2 $3+$4=$7"])
def test_equalities_that_a_blank_parts_are_each_worked_out(text: str) -> None:
    assert steps.check(text) == steps.Steps(2)
    first, _, second = text.partition("=")
    assert steps.check(f"{first}=1{second}").wrong == 1
    assert steps.check(f"{text}1").wrong == 2


def loaded(spec: dict[str, Any], completion: str) -> str:
    code = (
        "import sys\n"
        "from veredicto_verifier.judging import judge\n"
        "from veredicto_verifier.registry import VERIFIERS\n"
        "from veredicto_verifier.specs import parse_spec\n"
        "from veredicto_verifier.verifier import Completion, Context\n"
        f"spec = parse_spec('math', {spec!r}, VERIFIERS)\n"
        "task = VERIFIERS['math'].prepare(spec, Context())\n"
        f"assert judge(VERIFIERS['math'], task, spec, Completion({completion!r}))[0].passed\n"
        "print(sorted({'sympy', 'mpmath', 'math_verify'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_number_task_loads_neither_sympy_nor_mpmath() -> None:
    assert loaded({"answer": "42", "steps": True}, "6 * 7 = 42\n#### 42") == "[]"
    assert loaded({"answer": "x^2"}, "\\boxed{x*x}") == "['mpmath']"


def test_the_marks_of_a_final_answer_may_hold_an_expression() -> None:
    verifier = VERIFIERS["math"]
    spec = parse_spec("math", {"answer": "x^2+1"}, VERIFIERS)
    task = verifier.prepare(spec, Context())
    for text in ("\\boxed{1+x^2}", "#### x^2+1", "<answer>$x^2+1$</answer>", "The answer is $x^2 + 1$."):
        assert judge(verifier, task, spec, Completion(text))[0].passed, text


def test_a_matrix_is_judged_in_any_thread() -> None:
    verifier = VERIFIERS["math"]
    matrix = "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"
    spec = parse_spec("math", {"answer": matrix, "kind": "latex"}, VERIFIERS)

    def verdict() -> bool:
        task = verifier.prepare(spec, Context())
        return judge(verifier, task, spec, Completion(f"\\boxed{{{matrix}}}"))[0].passed

    with ThreadPoolExecutor(1) as pool:  # math-verify's own alarms work in the main thread only
        assert pool.submit(verdict).result()
