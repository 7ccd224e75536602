"""Take an answer out of its markup: a Markdown fence, an `<answer>` tag, a LaTeX box, a `####` line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from veredicto_verifier.errors import ExtractionFault

OPEN_TAG: Final = "<answer>"
CLOSE_TAG: Final = "</answer>"
HASH: Final = "####"
_BOX: Final = "\\boxed"

_ALIASES: Final[dict[str, str]] = {"py": "python", "python3": "python", "duckdb": "sql", "yml": "yaml"}
"""Names of one language, for comparing a fence's label with the one asked for."""


class Fence(NamedTuple):
    """A Markdown code block: its language (lower case, empty if none is stated) and its trimmed content."""

    language: str
    content: str
    first_line: int
    last_line: int


def take_fence(rest: str, language: str | None = None) -> str:
    """The one code block; blocks of another stated language do not count; without any block, the trimmed rest.

    Raises:
        ExtractionFault: a block is not closed, no block of the language is left, or two differ.
    """
    text = rest.strip()
    blocks = fences(text.split("\n"))
    if not blocks:
        return text
    if language is not None:
        wanted = _language(language)
        blocks = [block for block in blocks if block.language in ("", wanted)]
    if not blocks:
        raise ExtractionFault("extract.missing", f"every code block states another language than {language}")
    if len({block.content for block in blocks}) > 1:
        raise ExtractionFault("extract.ambiguous", f"{len(blocks)} code blocks that differ; one is the answer")
    return blocks[0].content


def take_rest(rest: str) -> tuple[str, bool]:
    """The trimmed rest, or the content of the one code block that is the whole rest (then True)."""
    text = rest.strip()
    if not text.startswith("```"):
        return text, False
    lines = text.split("\n")
    blocks = fences(lines)
    if len(blocks) == 1 and (blocks[0].first_line, blocks[0].last_line) == (0, len(lines) - 1):
        return blocks[0].content, True
    return text, False


def fences(lines: list[str]) -> list[Fence]:
    """The code blocks of a text, as CommonMark reads backtick fences.

    Raises:
        ExtractionFault: a block is never closed, or holds the fence of another.
    """
    blocks = []
    at = 0
    while at < len(lines):
        opening = _fence_line(lines[at])
        at += 1
        if opening is None:
            continue
        first, (indent, ticks, label) = at - 1, opening
        while at < len(lines) and not _closes(lines[at], ticks):
            at += 1
        if at == len(lines):
            raise ExtractionFault("extract.unclosed", "a code block is opened and never closed")
        content = "\n".join(_dedented(line, indent) for line in lines[first + 1 : at]).strip()
        if any(_fence_line(line) for line in content.split("\n")):
            raise ExtractionFault("extract.ambiguous", "a code block holds another code block")
        blocks.append(Fence(_language(label), content, first, at))
        at += 1
    return blocks


def take_tag(rest: str) -> str:
    """The trimmed content of exactly one `<answer>…</answer>`; fences in it are part of the answer.

    Raises:
        ExtractionFault: there is none, it is not closed, or there are several.
    """
    opened = rest.find(OPEN_TAG)
    if opened < 0:
        raise ExtractionFault("extract.missing", "no <answer>…</answer>")
    start = opened + len(OPEN_TAG)
    closed = rest.find(CLOSE_TAG, start)
    if closed < 0:
        raise ExtractionFault("extract.unclosed", "<answer> is never closed")
    if rest.find(OPEN_TAG, start) >= 0 or rest.count(CLOSE_TAG) > 1:
        raise ExtractionFault("extract.ambiguous", "more than one <answer> or </answer>; exactly one pair is allowed")
    return rest[start:closed].strip()


def take_boxed(rest: str) -> str:
    """The trimmed content of the one `\\boxed{…}`; equal ones count once.

    Raises:
        ExtractionFault: there is none, one is not closed, or two differ.
    """
    contents = {content for content, _start, _end in boxes(rest)}
    if not contents:
        raise ExtractionFault("extract.missing", "no \\boxed{…}")
    if len(contents) > 1:
        raise ExtractionFault("extract.ambiguous", f"{len(contents)} \\boxed{{…}} that differ")
    return contents.pop()


def boxes(text: str) -> Iterator[tuple[str, int, int]]:
    """Each `\\boxed{…}` with balanced braces: trimmed content, start and end.

    Raises:
        ExtractionFault: one is never closed, or holds another.
    """
    at = text.find(_BOX)
    while at >= 0:
        brace = at + len(_BOX)
        while text[brace : brace + 1] == " ":
            brace += 1
        if text[brace : brace + 1] != "{":
            at = text.find(_BOX, brace)
            continue
        end = _closing_brace(text, brace)
        if end is None:
            raise ExtractionFault("extract.unclosed", "\\boxed{ is never closed")
        content = text[brace + 1 : end]
        if _BOX in content:
            raise ExtractionFault("extract.ambiguous", "a \\boxed{…} holds another")
        yield content.strip(), at, end + 1
        at = text.find(_BOX, end + 1)


def take_hash(rest: str) -> str:
    """What follows `####` on the last non-empty line, if no other line starts with `####`.

    Raises:
        ExtractionFault: there is no such line, it is not the last, or there are several.
    """
    lines = [line for line in rest.split("\n") if line.strip()]
    answers = hash_lines(lines)
    if not answers:
        raise ExtractionFault("extract.missing", "no line starts with ####")
    if len(answers) > 1:
        raise ExtractionFault("extract.ambiguous", f"{len(answers)} lines start with ####; exactly one may")
    if not hash_lines(lines[-1:]):
        raise ExtractionFault("extract.missing", "the #### line is not the last line of the completion")
    return answers[0]


def hash_lines(lines: list[str]) -> list[str]:
    """What follows `####` on each line that starts with exactly four of them."""
    stripped = (line.strip() for line in lines)
    return [line[4:].strip() for line in stripped if line.startswith(HASH) and line[4:5] != "#"]


def _fence_line(line: str) -> tuple[int, int, str] | None:
    """Indent, number of backticks and label of a line that opens a block; None for any other line."""
    text = line.lstrip(" ")
    indent = len(line) - len(text)
    if indent > 3 or not text.startswith("```"):
        return None
    label = text.lstrip("`")
    return None if "`" in label else (indent, len(text) - len(label), label)


def _closes(line: str, ticks: int) -> bool:
    found = _fence_line(line)
    return found is not None and found[1] >= ticks and not found[2].strip()


def _dedented(line: str, indent: int) -> str:
    """The line without as much of the block's own indent as it has."""
    spaces = len(line) - len(line.lstrip(" "))
    return line[min(indent, spaces) :]


def _language(label: str) -> str:
    words = label.split()
    name = words[0].lower() if words else ""
    return _ALIASES.get(name, name)


def _closing_brace(text: str, brace: int) -> int | None:
    depth = 0
    escaped = False
    for at in range(brace, len(text)):
        char = text[at]
        if escaped or char == "\\":
            escaped = not escaped
        elif char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                return at
    return None
