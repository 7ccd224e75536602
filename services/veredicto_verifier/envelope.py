"""From the bytes of a request to its items: the envelope is checked as a whole, each item alone."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import zstandard
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from veredicto_proto.messages import ChatMessage, Identifier, Item, Phase, Task
from veredicto_verifier.errors import InvalidRequest, MalformedRequest, RequestTooLarge, TaskFault
from veredicto_verifier.verifier import Completion, ToolCall

MAX_INT_DIGITS = 4300
"""Longer integers stay text, since converting them takes quadratic time; no field of the contract takes one."""
MAX_METADATA_KEYS = 32
MAX_METADATA_CHARS = 16_384


class Header(BaseModel):
    """The envelope without its items."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    run: Identifier | None = None
    step: int | None = Field(default=None, ge=0, le=2**63 - 1)
    phase: Phase = "train"


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request whose items have not been looked at."""

    header: Header
    items: list[Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a completion is scored 0 without being judged."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class ParsedItem:
    """One item, well-formed or with the fault that makes it not so.

    `completion_text` and `prompt_text` are what the ledger keeps (see `kept`).
    """

    id: str | None = None
    group: str | None = None
    policy_version: int | None = None
    metadata: Mapping[str, Any] | None = None
    prompt_text: str | None = None
    completion_text: str | None = None
    completion_is_messages: bool = False
    completion: Completion | None = None
    task: Task | None = None
    fault: TaskFault | None = None
    refusal: Refusal | None = None


def decompress(body: bytes, encoding: str | None, limit: int) -> bytes:
    """The body as sent, gunzipped or un-zstd-ed.

    Raises:
        RequestTooLarge: more than `limit` bytes come out.
        MalformedRequest: it is not what `Content-Encoding` says.
    """
    try:
        match (encoding or "identity").lower():
            case "identity":
                plain = body
            case "gzip":
                plain = gzip.GzipFile(fileobj=io.BytesIO(body)).read(limit + 1)
            case "zstd":
                plain = zstandard.ZstdDecompressor().stream_reader(body).read(limit + 1)
            case other:
                raise MalformedRequest(f"Content-Encoding {other[:40]!r} is not known; use gzip, zstd or none")
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise MalformedRequest(f"the body is not valid {encoding}") from error
    if len(plain) > limit:
        raise RequestTooLarge(f"the body is over {limit} bytes; split the batch")
    return plain


def parse_envelope(body: bytes, *, max_items: int) -> Envelope:
    """Check the envelope: JSON, an object, its own fields, a list of items.

    Raises:
        MalformedRequest, InvalidRequest, RequestTooLarge: as the contract says.
    """
    raw = _json(body)
    if not isinstance(raw, dict):
        raise MalformedRequest('the top level is not an object; send {"items": […]}')
    items = raw.pop("items", None)
    if not isinstance(items, list) or not items:
        raise InvalidRequest("`items` is missing, empty or not a list; send at least one item")
    if len(items) > max_items:
        raise RequestTooLarge(f"{len(items)} items are over the limit of {max_items}; split the batch")
    try:
        header = Header.model_validate(raw)
    except ValidationError as error:
        raise InvalidRequest(_where(error)) from error
    return Envelope(header, items)


def _json(body: bytes) -> Any:
    """The standard library's parser: it takes lone surrogates and keeps big integers exact."""
    try:
        return json.loads(body, parse_int=_integer, parse_constant=_constant)
    except (ValueError, UnicodeDecodeError) as error:
        raise MalformedRequest(f"the body is not JSON: {str(error)[:200]}") from error
    except RecursionError as error:
        raise MalformedRequest("the body nests too deep") from error


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MAX_INT_DIGITS else digits


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse_item(raw: object, *, max_completion_bytes: int) -> ParsedItem:
    """One item; never raises: what is wrong with it is in the result."""
    if not isinstance(raw, dict):
        return ParsedItem(fault=_malformed("the item is not an object"))
    completion = raw.get("completion")
    text = completion if isinstance(completion, str) else None
    refusal = refuse(text, max_completion_bytes) if text is not None else None
    try:
        item = Item.model_validate({**raw, "completion": ""} if refusal else raw)
    except ValidationError as error:
        return ParsedItem(
            id=_clean(raw.get("id")),
            completion_text=text,
            fault=_malformed(_where(error)),
        )
    except RecursionError:
        return ParsedItem(id=_clean(raw.get("id")), fault=_malformed("the item nests too deep"))
    if not isinstance(item.completion, str):
        refusal = refuse(item.completion, max_completion_bytes)
    fault = _task_fault(item)
    return ParsedItem(
        id=item.id,
        group=item.group,
        policy_version=item.policy_version,
        metadata=item.metadata,
        prompt_text=kept(item.prompt) if item.prompt is not None else None,
        completion_text=kept(item.completion if text is None else text),
        completion_is_messages=text is None,
        completion=None if refusal else judged(item.completion),
        task=item.task,
        fault=fault,
        refusal=refusal,
    )


def kept(value: str | Sequence[ChatMessage]) -> str:
    """A prompt or completion as the ledger keeps it: the text, or the JSON of the messages."""
    if isinstance(value, str):
        return value
    return json.dumps([message.model_dump(exclude_none=True) for message in value], ensure_ascii=False)


def _task_fault(item: Item) -> TaskFault | None:
    metadata = item.metadata or {}
    if len(metadata) > MAX_METADATA_KEYS or sum(len(str(v)) + len(k) for k, v in metadata.items()) > MAX_METADATA_CHARS:
        return _malformed(f"metadata: at most {MAX_METADATA_KEYS} keys and {MAX_METADATA_CHARS} characters")
    task = item.task
    if task.ref is not None and (task.verifier is not None or task.spec is not None):
        return _malformed("task: give either `ref`, or `verifier` and `spec`")
    if task.ref is None and (task.verifier is None or task.spec is None):
        return _malformed("task: give `ref`, or both `verifier` and `spec`")
    return None


def refuse(completion: str | Sequence[ChatMessage], max_bytes: int) -> Refusal | None:
    """Why a completion is no text that could be judged, or None."""
    texts = [completion] if isinstance(completion, str) else _judged_texts(completion)
    if sum(len(text) for text in texts) > max_bytes:
        return Refusal("completion.too_large", f"the completion is over {max_bytes} bytes")
    if any("\0" in text or _bad_unicode(text) for text in texts):
        return Refusal("completion.bad_text", "the completion holds NUL or lone surrogates; it is not text")
    if sum(len(text.encode()) for text in texts) > max_bytes:
        return Refusal("completion.too_large", f"the completion is over {max_bytes} bytes")
    return None


def _bad_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _judged_texts(messages: Sequence[ChatMessage]) -> list[str]:
    texts: list[str | None] = []
    for message in messages:
        if message.role == "assistant":
            texts.append(message.content)
            texts.extend(call.function.arguments for call in message.tool_calls or ())
    return [text for text in texts if text is not None]


def judged(completion: str | Sequence[ChatMessage]) -> Completion:
    """The last assistant turn's text and the calls of all assistant turns; tool turns are context, never trusted."""
    if isinstance(completion, str):
        return Completion(completion)
    turns = [message for message in completion if message.role == "assistant"]
    calls = tuple(
        ToolCall(call.function.name, call.function.arguments, call.id)
        for turn in turns
        for call in turn.tool_calls or ()
    )
    return Completion(turns[-1].content or "" if turns else "", calls)


def _malformed(detail: str) -> TaskFault:
    return TaskFault("task.malformed", detail[:500])


def _clean(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= 256 and not _bad_unicode(value) else None


def _where(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
