"""`format`: the completion is made of the agreed sections, once each, in order, with nothing around them.

A gate beside a verifier of the content, never an addend that pays a wrong answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints, model_validator

from veredicto_verifier.verifier import Answer, Check, Context, Grade, Spec, Verifier

SectionName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")]

_BLANK: Final = " \t\r\n"


class FormatSpec(Spec):
    """What `format` judges by."""

    extract: Literal["auto"] = "auto"
    """Always the whole completion up to its end marker; another mode would hide what this verifier looks at."""
    sections: Annotated[tuple[SectionName, ...], Field(min_length=1, max_length=16)] = ("think", "answer")
    """Names of the sections `<name>…</name>`, in order, case-sensitive."""
    min_reasoning: Annotated[int, Field(ge=0, le=100_000)] = 1
    """Fewest visible characters of the section `think`; the other sections need one."""

    @model_validator(mode="after")
    def _consistent(self) -> FormatSpec:
        if len(set(self.sections)) != len(self.sections):
            raise ValueError("`sections` names one section twice")
        if self.think_prefilled and self.sections[0] != "think":
            raise ValueError("`think_prefilled` needs `think` as the first of `sections`")
        if "min_reasoning" in self.model_fields_set and self.min_reasoning and "think" not in self.sections:
            raise ValueError("`min_reasoning` counts what `think` holds; name it in `sections`")
        return self


@dataclass(frozen=True, slots=True)
class FormatTask:
    """The tags in the order in which they must stand."""

    spec: FormatSpec
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    content: str


def prepare(spec: FormatSpec, _context: Context) -> FormatTask:
    """Spell out the tags."""
    return FormatTask(spec, tuple(tag for name in spec.sections for tag in (f"<{name}>", f"</{name}>")))


def grade(task: FormatTask, answer: Answer) -> Grade:
    """Check tags, order, surroundings and content; each needs the ones before it, and the score is their share."""
    text = f"<think>{answer.text}" if task.spec.think_prefilled else answer.text
    checks: list[Check] = []
    for name, find_fault in _ASPECTS.items():
        fault = find_fault(task, text)
        if fault is not None:
            code, reason = fault
            checks.append(Check(name, passed=False, score=0.0, code=code, reason=reason))
            return Grade(passed=False, checks=tuple(checks), score=(len(checks) - 1) / len(_ASPECTS))
        checks.append(Check(name, passed=True, score=1.0))
    return Grade(passed=True, checks=tuple(checks))


def _tag_fault(task: FormatTask, text: str) -> tuple[str, str] | None:
    counts = {tag: text.count(tag) for tag in task.tags}
    repeated = [tag for tag, count in counts.items() if count > 1]
    if repeated:
        return "format.repeated", f"more than once: {', '.join(repeated)}"
    missing = [tag for tag, count in counts.items() if count == 0]
    return ("format.missing", f"missing: {', '.join(missing)}") if missing else None


def _order_fault(task: FormatTask, text: str) -> tuple[str, str] | None:
    places = [text.index(tag) for tag in task.tags]
    if places != sorted(places):
        return "format.order", f"the tags do not stand in the order {' '.join(task.tags)}"
    return None


def _surroundings_fault(task: FormatTask, text: str) -> tuple[str, str] | None:
    end = 0
    for section in task.spec.sections:
        if text[end : text.index(f"<{section}>")].strip(_BLANK):
            return "format.outside_text", f"text before <{section}> and outside every section"
        end = text.index(f"</{section}>") + len(section) + 3
    return ("format.trailing_text", "text after the last section") if text[end:].strip(_BLANK) else None


def _content_fault(task: FormatTask, text: str) -> tuple[str, str] | None:
    for name in task.spec.sections:
        content = text[text.index(f"<{name}>") + len(name) + 2 : text.index(f"</{name}>")]
        least = task.spec.min_reasoning if name == "think" else 1
        seen = _visible(content, least)
        if seen < least and name == "think" and seen:
            return "format.short_reasoning", f"{seen} visible characters of reasoning, at least {least} are asked for"
        if seen < least:
            return "format.empty", f"<{name}> is empty"
    return None


_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Hangul fillers, Khmer inherent vowels and the empty Braille pattern: drawn as nothing."""


def _visible(content: str, enough: int) -> int:
    """How many characters can be seen, counted up to `enough`: letters, digits, punctuation, symbols.

    Blanks, controls, zero-width characters, bare combining marks and the letters that Unicode draws blank cannot.
    """
    seen = 0
    for char in content:
        if seen >= enough:
            break
        seen += unicodedata.category(char)[0] in "LNPS" and char not in _BLANK_LETTERS
    return seen


_ASPECTS: Final[dict[str, Callable[[FormatTask, str], tuple[str, str] | None]]] = {
    "format.tags": _tag_fault,
    "format.order": _order_fault,
    "format.surroundings": _surroundings_fault,
    "format.content": _content_fault,
}

VERIFIER: Final = Verifier(
    name="format",
    version="1.3.1",
    lane="light",
    spec=FormatSpec,
    auto=lambda _spec: "completion",
    prepare=prepare,
    grade=grade,
    codes={
        "format.missing": "a section's opening or closing tag is missing",
        "format.repeated": "a tag occurs more than once, wherever it stands",
        "format.order": "the tags do not stand in the agreed order",
        "format.outside_text": "text stands before or between the sections",
        "format.trailing_text": "text follows the last section",
        "format.empty": "a section holds nothing that can be seen",
        "format.short_reasoning": "the reasoning is shorter than the task asks for",
        "format.timeout": "judging ran out of time, twice",
        "format.memory": "judging ran out of memory, twice",
        "format.crash": "judging killed the worker, twice",
    },
    example={"sections": ["think", "answer"]},
    good="<think>6 times 7 is 42.</think>\n<answer>42</answer>",
    bad="The answer is 42.",
)
"""Registered as `format`."""
