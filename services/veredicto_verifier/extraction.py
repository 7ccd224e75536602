"""Take the answer from a completion: one module, one behaviour, documented in docs/extraction.md.

The end marker cuts, the reasoning is dropped, then the mode takes the answer. A linear scan throughout: every search
starts where the last one ended. Nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from veredicto_verifier.errors import ExtractionFault
from veredicto_verifier.extraction_calls import take_calls
from veredicto_verifier.extraction_final import take_final
from veredicto_verifier.extraction_markup import (
    take_boxed,
    take_fence,
    take_hash,
    take_rest,
    take_tag,
)
from veredicto_verifier.verifier import Answer, Completion, Flag

END_MARKERS: Final = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<end_of_turn>")
"""The completion ends at the first of these, wherever it stands."""

CODES: Final[dict[str, str]] = {
    "extract.missing": "the completion holds no answer in the form that the task asks for",
    "extract.ambiguous": "the completion holds several answers that differ",
    "extract.unclosed": "an answer was opened and never closed",
    "extract.malformed_call": "a tool call was attempted and cannot be read",
    "extract.unfinished_reasoning": "the reasoning was never closed, so no answer follows it",
}
"""Every reason code of an extraction fault, with one sentence."""

MODULES: Final = (
    "veredicto_verifier.extraction",
    "veredicto_verifier.extraction_calls",
    "veredicto_verifier.extraction_commitment",
    "veredicto_verifier.extraction_final",
    "veredicto_verifier.extraction_markup",
    "veredicto_verifier.numerals",
    "veredicto_verifier.strict_json",
)
"""Where the code of extraction lives, for the verifiers' digests."""

_THINK: Final = "<think>"
_THOUGHT: Final = "</think>"


def extract(completion: Completion, *, mode: str, stop: tuple[str, ...] = (), think_prefilled: bool = False) -> Answer:
    """Extract the answer by `mode`.

    Args:
        completion: what the model wrote.
        mode: `raw`, `tag`, `fence`, `fence:LANG`, `boxed`, `hash`, `calls`, or one of those that `auto` stands for:
            `rest`, `math`, `completion`.
        stop: further end markers.
        think_prefilled: the prompt already opened `<think>`.

    Raises:
        ExtractionFault: the completion holds no answer in that form; nothing is repaired.
    """
    text = _cut(completion.text, stop)
    if mode == "completion":
        return Answer(text, completion)
    rest, reasoning = _without_reasoning(text, think_prefilled=think_prefilled)
    if mode == "calls":
        calls, prose, listing = take_calls(rest, completion.calls)
        return Answer(listing, completion, calls=calls, prose=prose, reasoning=reasoning)
    answer, flags = _take(rest, mode)
    if not answer:
        raise ExtractionFault("extract.missing", "the answer is empty")
    return Answer(answer, completion, reasoning=reasoning, flags=flags)


def _take(rest: str, mode: str) -> tuple[str, tuple[Flag, ...]]:
    if mode == "rest":
        answer, fenced = take_rest(rest)
        return answer, (Flag("fenced", "the answer stood in a Markdown fence"),) if fenced else ()
    if mode.startswith("fence:"):
        return take_fence(rest, mode.removeprefix("fence:")), ()
    return _TAKERS[mode](rest), ()


def _cut(text: str, stop: tuple[str, ...]) -> str:
    """The text before the first end marker."""
    for marker in (*END_MARKERS, *stop):
        found = text.find(marker) if marker else -1
        if found >= 0:
            text = text[:found]
    return text


def _without_reasoning(text: str, *, think_prefilled: bool) -> tuple[str, str]:
    """The text outside `<think>…</think>`, and the text inside."""
    opened, closed = text.find(_THINK), text.find(_THOUGHT)
    if closed < 0 and opened < 0 and not think_prefilled:
        return text, ""
    if closed < 0:
        raise ExtractionFault("extract.unfinished_reasoning", "the reasoning is never closed by </think>")
    after = text[closed + len(_THOUGHT) :]
    if _THOUGHT in after:
        raise ExtractionFault("extract.ambiguous", "</think> occurs twice: where the reasoning ends is not clear")
    if _THINK in after:
        raise ExtractionFault("extract.unfinished_reasoning", "a second <think> is never closed")
    if think_prefilled or not 0 <= opened < closed:
        return after, text[:closed]
    # The line break keeps the two sides from forming a mark that the model did not write.
    return text[:opened] + "\n" + after, text[opened + len(_THINK) : closed]


_TAKERS: Final[dict[str, Callable[[str], str]]] = {
    "raw": str.strip,
    "tag": take_tag,
    "fence": take_fence,
    "boxed": take_boxed,
    "hash": take_hash,
    "math": take_final,
}
