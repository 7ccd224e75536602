"""Take tool calls from a completion: an OpenAI message's `tool_calls`, or Hermes and Qwen `<tool_call>` text."""

from __future__ import annotations

import json
from typing import Final

from veredicto_verifier.errors import ExtractionFault
from veredicto_verifier.strict_json import Defect, end_of_container, read
from veredicto_verifier.verifier import ToolCall

_OPEN: Final = "<tool_call>"
_CLOSE: Final = "</tool_call>"
_BLANK: Final = " \t\r\n"


def take_calls(rest: str, structured: tuple[ToolCall, ...]) -> tuple[tuple[ToolCall, ...], str, str]:
    """The calls of a completion, the prose around them, and the calls as one JSON array.

    The structured calls come first, then those written in the text. No call at all is not a fault.

    Raises:
        ExtractionFault: a call was attempted and cannot be read; it is never taken for "no call".
    """
    for call in structured:
        _require_object(call.arguments)
    written, prose = _written_calls(rest)
    calls = (*structured, *written)
    return calls, prose, "[" + ",".join(_listed(call) for call in calls) + "]"


def _written_calls(rest: str) -> tuple[list[ToolCall], str]:
    calls: list[ToolCall] = []
    prose: list[str] = []
    at = 0
    while (opened := rest.find(_OPEN, at)) >= 0:
        prose.append(rest[at:opened])
        start = _skip_blanks(rest, opened + len(_OPEN))
        end = end_of_container(rest, start) if rest[start : start + 1] == "{" else None
        if end is None:
            raise _malformed("<tool_call> is not followed by one JSON object")
        calls.append(_call(rest[start:end]))
        closing = _skip_blanks(rest, end)
        if not rest.startswith(_CLOSE, closing):
            raise _malformed("the call's JSON is not followed by </tool_call>")
        at = closing + len(_CLOSE)
    prose.append(rest[at:])
    if any(_CLOSE in part for part in prose):
        raise _malformed("</tool_call> without <tool_call>")
    return calls, "\n".join(part.strip() for part in prose if part.strip())


def _call(text: str) -> ToolCall:
    """The call that the JSON object `{"name": …, "arguments": {…}}` is; its arguments stay as they were written."""
    document = read(text)
    if isinstance(document, Defect):
        raise _malformed(document.reason)
    name = document.value.get("name")
    if not isinstance(name, str) or not name:
        raise _malformed("the call has no name")
    if "arguments" not in document.value:
        raise _malformed("the call has no `arguments`")
    if not document.value.keys() <= {"name", "arguments", "id"}:
        raise _malformed("a call holds `name`, `arguments` and perhaps `id`, nothing else")
    arguments = _member_text(text, "arguments")
    _require_object(arguments)
    identity = document.value.get("id")
    if identity is not None and not isinstance(identity, str):
        raise _malformed("the call's `id` is not a string")
    return ToolCall(name, arguments, identity)


def _member_text(text: str, wanted: str) -> str:
    """The JSON text of one member of an object that is known to parse."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    at = _skip_blanks(text, 1)
    while True:
        key, at = decoder.raw_decode(text, at)
        start = _skip_blanks(text, _skip_blanks(text, at) + 1)
        _value, at = decoder.raw_decode(text, start)
        if key == wanted:
            return text[start:at]
        at = _skip_blanks(text, _skip_blanks(text, at) + 1)


def _require_object(arguments: str) -> None:
    document = read(arguments)
    if isinstance(document, Defect):
        raise _malformed(f"the call's arguments: {document.reason}")
    if not isinstance(document.value, dict):
        raise _malformed("the call's arguments are not a JSON object")


def _listed(call: ToolCall) -> str:
    identity = "" if call.id is None else f',"id":{json.dumps(call.id, ensure_ascii=False)}'
    return f'{{"name":{json.dumps(call.name, ensure_ascii=False)},"arguments":{call.arguments.strip()}{identity}}}'


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _malformed(reason: str) -> ExtractionFault:
    return ExtractionFault("extract.malformed_call", reason)
