"""SHA-256 digests in the two forms the ledger uses: 43 characters of base64url in lines, `sha256:<hex>` outside."""

from __future__ import annotations

import base64
import hashlib
import re

_SHORT = re.compile(r"[A-Za-z0-9_-]{43}")
_HEX = re.compile(r"[0-9a-f]{64}")


def digest(data: bytes) -> str:
    """The SHA-256 of bytes as 43 characters of base64url (256 bits, no padding)."""
    return _short(hashlib.sha256(data).digest())


def raw(short: str) -> bytes:
    """The 32 bytes of a digest in its short form."""
    return base64.urlsafe_b64decode(short + "=")


def wide(short: str) -> str:
    """A digest as the wire contract writes it: `sha256:` and 64 hexadecimal digits."""
    return "sha256:" + raw(short).hex()


def parse(text: str) -> str:
    """The short form of a digest written in either form, with or without the prefix `sha256:`.

    Raises:
        ValueError: it is neither 43 characters of base64url nor 64 hexadecimal digits.
    """
    bare = text.removeprefix("sha256:")
    if _HEX.fullmatch(bare):
        return _short(bytes.fromhex(bare))
    if _SHORT.fullmatch(bare):
        return bare
    raise ValueError(f"{text[:80]!r} is not a digest: give sha256:<64 hexadecimal digits> or 43 base64url characters")


def encode(text: str) -> bytes:
    """Text as the ledger stores it: UTF-8, lone surrogates kept, so that hostile text comes back as it was."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """The inverse of `encode`."""
    return data.decode("utf-8", "surrogatepass")


def _short(sha256: bytes) -> str:
    return base64.urlsafe_b64encode(sha256).decode("ascii").rstrip("=")
