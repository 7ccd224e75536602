"""The class of a wrong answer: a digest of what it returned, so that a vote can tell which answers agree."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from veredicto_verifier.verifiers.sql.values import Table


def answer_class(tables: Sequence[Table]) -> str:
    """Equal for answers that gave the same tables, fixture by fixture up to the first that differs from gold's.

    Rows are a bag, columns stand where they stand, and numbers agree to ten digits: two answers that are told apart
    by less than that agree for a vote, which is no verdict.
    """
    if not tables:
        return ""
    digest = hashlib.sha256()
    for table in tables:
        digest.update(f"{table.width} {len(table.rows)}\0".encode())
        for line in sorted(repr([_written(value) for value in row]) for row in table.rows):
            digest.update(line.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_written(item) for item in value)
    if isinstance(value, int | float | Decimal):
        try:
            return f"{float(value):.10g}"
        except OverflowError:
            return hex(int(value))  # a BIGNUM
    return value
