"""What the characters of an RFC say of themselves: its check digit and its date."""

from __future__ import annotations

import functools
from datetime import date

ALPHABET = "0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ"


@functools.lru_cache(maxsize=1024)
def check_digit(rfc: str) -> str | None:
    """The digit that the first 11 or 12 characters demand; None where a character is none of an RFC's."""
    body = rfc[:-1].rjust(12)
    if len(body) != 12 or any(letter not in ALPHABET for letter in body):
        return None
    rest = sum(ALPHABET.index(letter) * (13 - at) for at, letter in enumerate(body)) % 11
    return "0" if rest == 0 else "A" if rest == 1 else str(11 - rest)


def has_date(rfc: str) -> bool:
    """Whether the six digits before the last three characters are a day, of the last century or this one."""
    digits = rfc[-9:-3]
    return any(_is_day(f"{century}{digits}") for century in (19, 20))


def _is_day(digits: str) -> bool:
    try:
        date.fromisoformat(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}")
    except ValueError:
        return False
    return True
