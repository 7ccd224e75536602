"""The bytes of a ledger line: position, time and previous digest in front, a checksum behind, hashed as written.

The chain (`prev`) finds what was altered before the last line; the checksum (CRC-32, not a secret) tells a whole
last line from one that a crash or a bad disk left damaged.
"""

from __future__ import annotations

import json
import re
import zlib
from typing import Any, NamedTuple, Self

from veredicto_verifier.errors import NotFound
from veredicto_verifier.ledger.digests import digest, raw

_TAIL = re.compile(rb',"crc":"([0-9a-f]{8})"}')
_TAIL_BYTES = 18
_RECORD_ID = re.compile(r"([0-9a-f]{12})-([1-9][0-9]{0,5})-([1-9][0-9]{0,8})-([0-9a-f]{16})")


class RecordId(NamedTuple):
    """`writer-segment-seq-hash16`: where a record is, and 64 bits of the hash of its line."""

    writer: str
    segment: int
    seq: int
    hash16: str

    def __str__(self) -> str:
        return f"{self.writer}-{self.segment}-{self.seq}-{self.hash16}"

    @classmethod
    def of(cls, writer: str, segment: int, seq: int, line_digest: str) -> Self:
        """The id of a line with this digest (short form)."""
        return cls(writer, segment, seq, raw(line_digest).hex()[:16])

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an id.

        Raises:
            NotFound: it has another form.
        """
        found = _RECORD_ID.fullmatch(text)
        if found is None:
            raise NotFound(f"{text[:80]!r} is not a record id; one looks like 0123456789ab-1-42-0123456789abcdef")
        return cls(found[1], int(found[2]), int(found[3]), found[4])


def compose(seq: int, time_ms: int, previous: str | None, body: bytes) -> bytes:
    """One line without its newline.

    Args:
        seq: position in the segment; the header is 0.
        time_ms: milliseconds since 1970, UTC.
        previous: digest of the line before (of the previous segment's last line for a header), or None.
        body: the line's fields as JSON without braces.
    """
    before = "null" if previous is None else f'"{previous}"'
    head = f'{{"n":{seq},"t":{time_ms},"prev":{before},'.encode("ascii") + body
    return head + f',"crc":"{zlib.crc32(head):08x}"}}'.encode("ascii")


def is_whole(line: bytes) -> bool:
    """Whether a line ends in its own checksum."""
    tail = _TAIL.fullmatch(line[-_TAIL_BYTES:])
    return tail is not None and int(tail[1], 16) == zlib.crc32(line[:-_TAIL_BYTES])


def read_fields(line: bytes) -> dict[str, Any]:
    """The fields of a line.

    Raises:
        ValueError: the bytes are not one JSON object.
    """
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise ValueError("the line is not a JSON object")  # noqa: TRY004 - a malformed file, not a wrong type
    return fields


def hash_of(line: bytes) -> str:
    """The digest of a line's bytes as written, newline not included."""
    return digest(line)
