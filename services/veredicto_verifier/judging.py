"""Judge one completion by one prepared task: extract the answer, grade it. The same path for every caller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from veredicto_verifier.errors import ExtractionFault
from veredicto_verifier.extraction import extract
from veredicto_verifier.verifier import Answer, Check, Completion, Grade, Spec, Verifier


def take_answer(verifier: Verifier[Any, Any], spec: Spec, completion: Completion) -> Answer:
    """The answer in a completion, by the spec's `extract` mode.

    Raises:
        ExtractionFault: there is none.
    """
    mode = verifier.auto(spec) if spec.extract == "auto" else spec.extract
    return extract(completion, mode=mode, stop=spec.stop, think_prefilled=spec.think_prefilled)


def judge(verifier: Verifier[Any, Any], task: Any, spec: Spec, completion: Completion) -> tuple[Grade, str | None]:
    """Grade a completion; returns the grade and the answer's text (None when extraction failed)."""
    try:
        answer = take_answer(verifier, spec, completion)
    except ExtractionFault as fault:
        check = Check("extract", passed=False, score=0.0, code=fault.code, reason=fault.reason)
        return Grade(passed=False, checks=(check,)), None
    grade = verifier.grade(task, answer)
    return replace(grade, flags=(*answer.flags, *grade.flags)), answer.text


def look_ahead(verifier: Verifier[Any, Any], task: Any, spec: Spec, completions: Sequence[Completion]) -> None:
    """Show a verifier the answers that it is about to grade."""
    if verifier.look_ahead is not None and verifier.looks_ahead(spec):
        verifier.look_ahead(task, list(_answers(verifier, spec, completions)))


def _answers(verifier: Verifier[Any, Any], spec: Spec, completions: Sequence[Completion]) -> Iterator[Answer]:
    for completion in completions:
        with suppress(ExtractionFault):  # whoever grades it will say so
            yield take_answer(verifier, spec, completion)
