"""Take the final answer of a worked solution (mode `math`): every mark of one is read, and they must agree in value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from veredicto_verifier.errors import ExtractionFault
from veredicto_verifier.extraction_markup import CLOSE_TAG, HASH, OPEN_TAG, boxes
from veredicto_verifier.numerals import MAX_CHARS, parse

MAX_MARKS: Final = 1_000
"""Most `####` marks, and most phrases, that are read."""

_PHRASE: Final = re.compile(
    r"\b(?:answer|respuesta)(?: final| correcta)?[*_ \t]*+(?::[*_]*+|(?:is|es)\b[ \t]*+:?)\s*+", re.IGNORECASE
)
_HASH: Final = re.compile(r"(?<!#)####(?!#)\s*+")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)|[\n;]|<")
_LINE_END: Final = re.compile(rf"\n|{CLOSE_TAG}")


class _Candidate(NamedTuple):
    """A text that is marked as the final answer; a firm mark counts even if its text is no value."""

    text: str
    at: int
    firm: bool


def take_final(rest: str) -> str:
    """The final answer: all of `\\boxed{}`, `####`, "answer is" and `<answer>`, else the whole rest if it is one value.

    Raises:
        ExtractionFault: there is none, or two differ in value.
    """
    candidates = sorted(_candidates(rest), key=lambda candidate: candidate.at)
    if not candidates:
        if _value(rest.strip()) is None:
            raise ExtractionFault("extract.missing", "no \\boxed{}, ####, 'answer is' or <answer>, and not one value")
        return rest.strip()
    counted = [candidate.text for candidate in candidates if candidate.firm or _value(candidate.text) is not None]
    if not counted:
        return candidates[-1].text
    if len({_value(text) or text for text in set(counted)}) > 1:
        raise ExtractionFault("extract.ambiguous", "final answers that differ in value")
    # Of answers equal in value, one without words beside it says the most.
    return next((text for text in reversed(counted) if parse(text) is not None), counted[-1])


def _candidates(rest: str) -> Iterator[_Candidate]:
    for content, start, _end in boxes(rest):
        yield _Candidate(content, start, firm=True)
    yield from _hash_candidates(rest)
    yield from _tag_candidates(rest)
    yield from _phrase_candidates(rest)


def _hash_candidates(rest: str) -> Iterator[_Candidate]:
    """What follows the last `####`, and the earlier ones that mark a value (others are headings)."""
    marks = _marks(_HASH, rest)
    for index, mark in enumerate(marks):
        text = _until(_LINE_END, rest, mark.end(), len(rest))
        last = index == len(marks) - 1
        if text and not _holds_mark(text) and (last or _value(text) is not None):
            yield _Candidate(text, mark.start(), firm=True)


def _phrase_candidates(rest: str) -> Iterator[_Candidate]:
    """What follows each "answer is", up to the end of its sentence, its line or the next phrase."""
    phrases = _marks(_PHRASE, rest)
    for index, phrase in enumerate(phrases):
        limit = phrases[index + 1].start() if index + 1 < len(phrases) else len(rest)
        text = _until(_SENTENCE_END, rest, phrase.end(), limit)
        if text and "\\boxed" not in text and HASH not in text:
            yield _Candidate(text, phrase.start(), firm=False)


def _tag_candidates(rest: str) -> Iterator[_Candidate]:
    opened = rest.find(OPEN_TAG)
    while opened >= 0:
        start = opened + len(OPEN_TAG)
        closed = rest.find(CLOSE_TAG, start)
        if closed < 0:
            raise ExtractionFault("extract.unclosed", "<answer> is never closed")
        text = rest[start:closed].strip()
        if text and not _holds_mark(text):
            yield _Candidate(text, start, firm=True)
        opened = rest.find(OPEN_TAG, closed)


def _marks(pattern: re.Pattern[str], rest: str) -> list[re.Match[str]]:
    marks = list(islice(pattern.finditer(rest), MAX_MARKS + 1))
    if len(marks) > MAX_MARKS:
        raise ExtractionFault("extract.ambiguous", f"over {MAX_MARKS} marks of a final answer")
    return marks


def _holds_mark(text: str) -> bool:
    """Whether another mark of a final answer stands inside; then that one is the candidate."""
    return "\\boxed" in text or HASH in text or OPEN_TAG in text or _PHRASE.search(text) is not None


def _until(end: re.Pattern[str], rest: str, start: int, limit: int) -> str:
    """The text from `start` to the first `end`, without the Markdown that opened before it: `**Answer: 7**`."""
    window = rest[start : min(limit, start + MAX_CHARS + 1)]
    found = end.search(window)
    if found is None and len(window) > MAX_CHARS:
        return window  # cut off in the middle: longer than any number, so that blanks cannot hide what follows
    text = (window[: found.start()] if found else window).strip()
    return text.removesuffix("**").strip() if text.endswith("**") and not text.startswith("**") else text


def _value(text: str) -> object:
    """The value of a written number, whatever the decimal mark and the unit; None if it is not one."""
    numeral = parse(text, units=None) or parse(text, mark=",", units=None)
    return None if numeral is None else numeral.value
