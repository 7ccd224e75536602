"""Take the final answer of a worked solution (mode `math`): every mark of one is read, and they must agree in value.

A statement that is denied, supposed, asked or taken back ("the wrong answer is 42", "42? No") is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple, TypeVar

from veredicto_verifier.errors import ExtractionFault
from veredicto_verifier.extraction_commitment import REACH, condemns, kept, made
from veredicto_verifier.extraction_markup import CLOSE_TAG, HASH, OPEN_TAG, boxes
from veredicto_verifier.numerals import MAX_CHARS, parse, unwrapped

MAX_MARKS: Final = 1_000
"""Most marks of one kind that are read."""

_PHRASE: Final = re.compile(
    r"\b(?:answer|respuesta)(?: final| correcta)?[*_ \t]*+(?::[*_]*+|(?:is|es)\b[ \t]*+:?)\s*+"
    r"(?:(?:therefore|thus|hence|then|simply|exactly|indeed|equal to|entonces|exactamente|igual a)[,:]?[ \t]++)?+",
    re.IGNORECASE,
)
_MARK: Final = re.compile(rf"\\boxed|{HASH}|{OPEN_TAG}|(?i:{_PHRASE.pattern})")
_TO_A_BOX: Final = re.compile(_PHRASE.pattern + r"[$*_ \t\\(\[]*\Z", re.IGNORECASE)
_HASH: Final = re.compile(r"(?<!#)####(?!#)\s*+")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|$)|[\n;]|<|,?[ \t](?:because|since|porque|pues|ya que)\b")
_WORDS: Final = re.compile(r"(?<!\\)\b(?!sqrt\b|sin\b|cos\b|tan\b|exp\b|log\b)[^\W\d_]{3,}|[?\n]")
"""What a text holds that is more than a formula or a letter."""
_LINE_END: Final = re.compile(rf"\n|{CLOSE_TAG}")

_Mark = TypeVar("_Mark")


class _Candidate(NamedTuple):
    """A text that is marked as the final answer; a firm mark counts even if its text is no value, if it is stated."""

    text: str
    at: int
    firm: bool
    stated: bool
    condemns: bool = False
    """It takes back every answer before it."""


def take_final(rest: str) -> str:
    """The final answer: all of `\\boxed{}`, `####`, "answer is" and `<answer>`, else the whole rest if it is one value.

    Raises:
        ExtractionFault: there is none, or two differ in value.
    """
    candidates = sorted(_candidates(rest), key=lambda candidate: candidate.at)
    if not candidates:
        if _value(rest.strip()) is None and not _is_formula(rest.strip()):
            raise ExtractionFault("extract.missing", "no \\boxed{}, ####, 'answer is' or <answer>, and not one value")
        return rest.strip()
    last = max((index for index, candidate in enumerate(candidates) if candidate.condemns), default=-1)
    candidates = [candidate for candidate in candidates[last + 1 :] if candidate.stated]
    if not candidates:
        raise ExtractionFault("extract.missing", "every statement of an answer is denied, asked or taken back")
    counted = [candidate.text for candidate in candidates if candidate.firm or _value(candidate.text) is not None]
    if not counted:
        return candidates[-1].text
    if len({_said(text) for text in set(counted)}) > 1:
        raise ExtractionFault("extract.ambiguous", "final answers that differ in value")
    # Of answers equal in value, one without words beside it says the most.
    return next((text for text in reversed(counted) if parse(text) is not None), counted[-1])


def _candidates(rest: str) -> Iterator[_Candidate]:
    yield from _box_candidates(rest)
    yield from _hash_candidates(rest)
    yield from _bounded(_tag_candidates(rest))
    yield from _phrase_candidates(rest)


def _box_candidates(rest: str) -> Iterator[_Candidate]:
    """Each box; one that ends a phrase ("the wrong answer is $\\boxed{42}$") is stated as the phrase is."""
    for content, start, end in _bounded(boxes(rest)):
        window = max(0, start - REACH)
        phrase = _TO_A_BOX.search(rest, window, start)
        stated = kept(rest, start, end) and (phrase is None or made(rest, phrase.start(), end))
        yield _Candidate(content, start, True, stated)


def _hash_candidates(rest: str) -> Iterator[_Candidate]:
    """What follows the last `####`, and the earlier ones that mark a value (others are headings)."""
    marks = _bounded(_HASH.finditer(rest))
    for index, mark in enumerate(marks):
        text, end = _until(_LINE_END, rest, mark.end(), len(rest))
        last = index == len(marks) - 1 and not _holds_mark(text)
        text = _before_a_mark(text)
        if text and (last or _value(text) is not None):
            yield _Candidate(text, mark.start(), True, kept(rest, mark.start(), end))


def _phrase_candidates(rest: str) -> Iterator[_Candidate]:
    """What follows each "answer is", up to the end of its sentence, its line or the next phrase."""
    phrases = _bounded(_PHRASE.finditer(rest))
    for index, phrase in enumerate(phrases):
        limit = phrases[index + 1].start() if index + 1 < len(phrases) else len(rest)
        text, end = _until(_SENTENCE_END, rest, phrase.end(), limit)
        text = _before_a_mark(text)
        if text:
            condemning = condemns(rest, phrase.start(), text)
            yield _Candidate(text, phrase.start(), False, made(rest, phrase.start(), end), condemning)


def _tag_candidates(rest: str) -> Iterator[_Candidate]:
    opened = rest.find(OPEN_TAG)
    while opened >= 0:
        start = opened + len(OPEN_TAG)
        closed = rest.find(CLOSE_TAG, start)
        if closed < 0:
            raise ExtractionFault("extract.unclosed", "<answer> is never closed")
        text = rest[start:closed].strip()
        text = _before_a_mark(text)
        if text:
            yield _Candidate(text, start, True, kept(rest, opened, closed + len(CLOSE_TAG)))
        opened = rest.find(OPEN_TAG, closed)


def _bounded(found: Iterable[_Mark]) -> list[_Mark]:
    marks = list(islice(found, MAX_MARKS + 1))
    if len(marks) > MAX_MARKS:
        raise ExtractionFault("extract.ambiguous", f"over {MAX_MARKS} marks of a final answer")
    return marks


def _holds_mark(text: str) -> bool:
    """Whether another mark of a final answer stands inside; then that one is the candidate."""
    return _MARK.search(text) is not None


def _before_a_mark(text: str) -> str:
    """The text, unless another mark stands inside: then only a value before it, which counts too."""
    found = _MARK.search(text)
    if found is None:
        return text
    before = text[: found.start()].rstrip(" \t\n,;:")
    return before if parse(before) is not None else ""


def _until(end: re.Pattern[str], rest: str, start: int, limit: int) -> tuple[str, int]:
    """The text from `start` to the first `end`, without the Markdown that opened before it: `**Answer: 7**`.

    Also where the text ends in `rest`.
    """
    window = rest[start : min(limit, start + MAX_CHARS + 1)]
    found = end.search(window)
    if found is None and len(window) > MAX_CHARS:
        # Cut off in the middle: longer than any number, so that blanks cannot hide what follows.
        return window, start + len(window)
    stop = found.start() if found else len(window)
    text = window[:stop].strip()
    text = text.removesuffix("**").strip() if text.endswith("**") and not text.startswith("**") else text
    return text, start + stop


def _is_formula(text: str) -> bool:
    """Whether a text could be one bare answer that is no number: `2x + 1`, `(1, 2)`, `**B**`; no words, one line."""
    return len(text) <= MAX_CHARS and _WORDS.search(text) is None


def _said(text: str) -> object:
    """What two texts that say the same share: the value of a number, else the characters but for markup and blanks."""
    value = _value(text)
    return "".join(unwrapped(text).split()) if value is None else value


def _value(text: str) -> object:
    """The value of a written number, whatever the decimal mark and the unit; None if it is not one."""
    numeral = parse(text, units=None) or parse(text, mark=",", units=None)
    return None if numeral is None else numeral.value
