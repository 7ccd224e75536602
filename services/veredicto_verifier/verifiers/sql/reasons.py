"""Say why an engine refused a query without telling what the fixture holds: messages quote the values they fail on."""

from __future__ import annotations

import re

import duckdb

MAX_LENGTH = 100
HIDDEN = "…"
_ABOUT_THE_TEXT = (
    duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException, duckdb.PermissionException,
)  # fmt: skip
"""These are raised before a row is read."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_FROM_A_QUOTE_ON = re.compile(r"['\"].*")
_NUMBER = re.compile(r"(?<![\w.])\d[\d.:/-]*(?:[eE][+-]?\d+)?")


def engine_reason(error: BaseException, sql: str) -> str:
    """The first line of an engine's message, at most 100 characters; the later ones show the query and candidates.

    Whatever the message quotes that does not stand in `sql` came from the data, and is hidden.
    """
    line = (str(error).splitlines() or [type(error).__name__])[0]
    if not isinstance(error, _ABOUT_THE_TEXT):
        line = _without_data(line, sql)
    return line[:MAX_LENGTH]


def _without_data(line: str, sql: str) -> str:
    if any(found[1:-1] not in sql for found in _QUOTED.findall(line)) or _is_open(line):
        line = _FROM_A_QUOTE_ON.sub(HIDDEN, line)  # a value may hold quotes itself
    line = _NUMBER.sub(lambda found: found[0] if found[0] in sql else HIDDEN, line)
    kind, colon, rest = line.partition(": ")
    said, second, tail = rest.partition(": ")
    if second and tail not in sql:
        return f"{kind}{colon}{said}{second}{HIDDEN}"
    return line


def _is_open(line: str) -> bool:
    """Whether a quote is left open, as by a value of several lines."""
    rest = _QUOTED.sub("", line)
    return '"' in rest or re.search(r"(?<!\w)'", rest) is not None
