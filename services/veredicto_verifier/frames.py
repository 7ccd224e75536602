"""Frames between the service and its workers: a 4-byte big-endian length, then that many bytes of JSON."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any, BinaryIO

MAX_FRAME = 256 * 1024 * 1024
_LENGTH = struct.Struct(">I")


def encode(message: dict[str, Any]) -> bytes:
    """One message as a frame."""
    body = json.dumps(message, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    if len(body) > MAX_FRAME:
        raise ValueError(f"a frame of {len(body)} bytes is over the limit of {MAX_FRAME}")
    return _LENGTH.pack(len(body)) + body


def read(stream: BinaryIO) -> dict[str, Any] | None:
    """The next message of a blocking stream; None at its end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return None if len(body) < length else _message(body)


async def read_async(stream: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next message of an asyncio stream; None at its end or when what comes is no frame."""
    try:
        (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        if length > MAX_FRAME:
            return None
        return _message(await stream.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        return None


def _message(body: bytes) -> dict[str, Any]:
    message = json.loads(body)
    if not isinstance(message, dict):
        raise ValueError("a frame holds one JSON object")  # noqa: TRY004 (a protocol fault, as the other ones)
    return message
