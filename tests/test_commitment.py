"""A final answer that is denied, supposed, asked or taken back is none; the last one that stands counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veredicto_verifier.errors import ExtractionFault
from veredicto_verifier.extraction import extract
from veredicto_verifier.verifier import Completion


def taken(text: str) -> str:
    try:
        return extract(Completion(text), mode="math").text
    except ExtractionFault as fault:
        return fault.code


DENIED = (
    "The wrong answer is 42",
    "An incorrect answer is 42.",
    "I don't think the answer is 42.",
    "I do not believe that the final answer is 42.",
    "It is not true that the answer is 42.",
    "It would be wrong to say the answer is 42.",
    "I doubt the answer is 42.",
    "42 is not the answer: 42",
    "There is no answer: 42",
    "The answer is not 42.",
    "The answer is not \\boxed{42}.",
    "The wrong answer is $\\boxed{42}$.",
    "The answer isn't $\\boxed{42}$.",
    "La falsa respuesta es 42.",
    "No creo que la respuesta es 42.",
    "No es cierto que la respuesta es 42.",
    "Dudo que la respuesta es 42.",
    "La respuesta no es 42.",
    "La respuesta no es $\\boxed{42}$.",
    "Es falso que la respuesta es 42.",
)
SUPPOSED = (
    "Suppose the answer is 42. Then 42 + 1 = 44, a contradiction.",
    "Assume that the answer is 42.",
    "Let's say the answer is 42.",
    "We must see whether the answer is 42.",
    "If the answer is 42.",
    "Twice the answer is 42.",
    "The opposite of the answer is 42.",
    "Supongamos que la respuesta es 42.",
    "Veamos si la respuesta es 42.",
    "El doble de la respuesta es 42.",
)
ASKED = (
    "Is the answer: 42? No, 41",
    "The answer is 42?",
    "\\boxed{42}? No, 41.",
    "#### 42\n? No, 41",
    "¿La respuesta es 42? No, es 41.",
    "¿La respuesta: 42?",
)
TAKEN_BACK = (
    "The answer is 42. No, that's wrong.",
    "The answer is 42. No.",
    "The answer is 42. Wait, it is 41.",
    "The answer is 42. Oh no, wait, it must be 41.",
    "The answer is 42. That is not correct.",
    "The answer is 42. That isn't right, it is 41.",
    "The answer is 42. Scratch that.",
    "The answer is 42. I made a mistake.",
    "The answer is 42. Just kidding!",
    "The answer is 42. Sorry, that was wrong.",
    "The answer is 42. That answer is wrong.",
    "\\boxed{42} is wrong",
    "$\\boxed{42}$. Correction: it is 41.",
    "#### 42\nNo, 41.",
    "<answer>42</answer> No, wrong.",
    "<answer>42</answer> Ignore that, it is 41.",
    "La respuesta es 42. No, es 41.",
    "La respuesta es 42. Eso está mal.",
    "La respuesta es 42. Perdón, me equivoqué.",
    "La respuesta es 42. Espera, es 41.",
    "La respuesta es 42. Esa respuesta es incorrecta.",
    "\\boxed{42}. Corrijo: 41.",
)


@pytest.mark.parametrize("text", [*DENIED, *SUPPOSED, *ASKED, *TAKEN_BACK])
def test_what_is_not_stated_is_no_answer(text: str) -> None:
    assert taken(text) in ("extract.missing", "not 42", "no es 42")


@pytest.mark.parametrize("text", [*DENIED, *SUPPOSED, *ASKED, *TAKEN_BACK])
@pytest.mark.parametrize("stated", ["So the answer is 7.", "Entonces la respuesta es 7.", "#### 7", "\\boxed{7}"])
def test_the_statement_that_stands_counts(text: str, stated: str) -> None:
    assert taken(f"{text}\n{stated}") == "7"


STATED = (
    "The answer is 42.",
    "So yes, the answer is 42!",
    "No, the answer is 42.",
    "Not 41. The answer is 42.",
    "It is not hard to see that the answer is 42.",
    "It cannot be 41, so the answer is 42.",
    "I suppose the answer is 42.",
    "If x = 6, then the answer is 42.",
    "Why not 41? The answer is 42.",
    "The value of the answer is 42.",
    "Here is the answer: 42",
    "The answer is 42. No other value works.",
    "The answer is 42. It is not prime.",
    "The answer is 42. It is wrong to stop at 41.",
    "The answer is 42. Note: 41 is wrong.",
    "The answer is 42. Bob's answer is wrong.",
    "The answer is 42. Waiting longer changes nothing.",
    "The answer is 42. Is that right? Yes.",
    "\\boxed{42}. That is correct.",
    "$\\boxed{42}$, which is even.",
    "#### 42\nNotice that it is even.",
    "<answer>42</answer>",
    "La respuesta es 42.",
    "No, la respuesta es 42.",
    "There is no doubt the answer is 42.",
    "No cabe duda: la respuesta es 42.",
    "Sí, la respuesta es 42.",
    "Como no sobra nada, la respuesta es 42.",
    "¿Por qué no? La respuesta es 42.",
    "La respuesta es 42. No hay otra.",
    "La respuesta es 42. Eso es todo.",
)


@pytest.mark.parametrize("text", STATED)
def test_what_is_stated_counts(text: str) -> None:
    assert taken(text) == "42"


def test_two_that_stand_are_ambiguous() -> None:
    for text in ("The answer is 42. The answer is 41.", "\\boxed{42}, that is \\boxed{41}", "#### 42\n#### 41"):
        assert taken(text) == "extract.ambiguous"


@given(st.sampled_from([*DENIED, *SUPPOSED, *ASKED, *TAKEN_BACK]), st.sampled_from([*STATED]))
def test_only_what_stands_can_be_taken(withdrawn: str, stated: str) -> None:
    other = withdrawn.replace("42", "43")
    assert taken(f"{other}\n\n{stated}") in ("42", "extract.ambiguous")


def test_a_megabyte_of_marks_is_refused_before_each_is_weighed() -> None:
    for mark in ("\\boxed{1}", "<answer>1</answer>", "not \\boxed{1}", "the answer is 1. ", "#### 1\n"):
        assert taken(mark * (1_000_000 // len(mark))) == "extract.ambiguous"
