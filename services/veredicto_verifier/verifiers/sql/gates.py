"""What a query must be before it runs: one SELECT that reads the fixture's tables by functions that only compute.

Two readers must agree. DuckDB's own parser and syntax tree decide, since that is the text that will run; sqlglot reads
a text again when it holds a word that can write, and what either finds counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from veredicto_verifier.errors import LimitExceeded
from veredicto_verifier.verifier import Flag
from veredicto_verifier.verifiers.sql.clock import freeze, text_of
from veredicto_verifier.verifiers.sql.fixtures import OpenFixture
from veredicto_verifier.verifiers.sql.functions import METADATA, opens_deeper, refused
from veredicto_verifier.verifiers.sql.running import BROKEN
from veredicto_verifier.verifiers.sql.tree import Reading, read

MAX_BYTES = 16_384
"""Longest query, in UTF-8 bytes."""
MAX_OPEN = 500
"""Most parentheses open at once: DuckDB's parser takes memory with their square, gigabytes for some thousands."""
MAX_REFERENCES = 256
"""Most table references with every CTE expanded: twenty CTEs that double each other make a million."""

_WRITE_WORD = re.compile(
    r"\b(insert|update|delete|merge|create|drop|alter|truncate|copy|attach|detach|replace\s+into|set|call|pragma)\b",
    re.IGNORECASE,
)
_CHANGES = {duckdb.StatementType.INSERT, duckdb.StatementType.UPDATE, duckdb.StatementType.DELETE}
_CHANGE = "veredicto_change"
_WRITERS = (
    exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable, exp.Copy,
    exp.Attach, exp.Detach, exp.Command,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Admitted:
    """A query that may run; `statement` is DuckDB's parse of it, `tree` its outermost query node."""

    statement: duckdb.Statement
    tree: dict[str, Any]
    flags: tuple[Flag, ...] = ()
    target: tuple[str, ...] | None = None
    """Under `mode: dml` the path (catalog, schema, name; the first ones may be missing) of the table it changes."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A query that may not run, and which check says so."""

    check: str
    code: str
    reason: str
    flags: tuple[Flag, ...] = ()
    broken: bool = False
    """The fixture's instance may be unusable now."""


def admit(
    sql: str, fixture: OpenFixture, mode: Literal["query", "dml"] = "query", as_of: str | None = None
) -> Admitted | Refusal:
    """Read a query by the fixture's parser and decide whether it may run; it is not run.

    Under `as_of` it is the query with its clocks replaced that is read and that will run.

    Raises:
        LimitExceeded: reading it needs more memory than there is.
    """
    parsed = _parse(sql, fixture)
    if isinstance(parsed, Refusal):
        return parsed
    if mode == "dml" and parsed.type not in _CHANGES:
        return Refusal("sql.gate", "sql.not_write", _not_write(parsed))
    if mode == "query" and parsed.type != duckdb.StatementType.SELECT:
        return Refusal("sql.gate", "sql.not_select", _not_select(parsed))
    try:
        serialised = _serialised(sql, fixture, mode)
        if serialised.get("error"):
            message = str(serialised.get("error_message", ""))[:100]
            code = "sql.not_select" if mode == "query" else "sql.not_write"
            wanted = "SELECT" if mode == "query" else "INSERT, UPDATE or DELETE"
            return Refusal("sql.gate", code, f"DuckDB does not read it as one {wanted}: {message}")
        tree = serialised["statements"][0]["node"]
        if as_of is not None:
            tree = freeze(tree, as_of, fixture)
            (parsed,) = fixture.reader.extract_statements(text_of(tree, fixture))
        reading = read(tree)
    except duckdb.OutOfMemoryException as error:
        raise LimitExceeded("memory") from error
    except (RecursionError, duckdb.Error) as error:
        broken = isinstance(error, BROKEN)
        return Refusal("sql.gate", "sql.too_complex", "the query nests too deeply to be read", broken=broken)
    target = _target(tree) if mode == "dml" else None
    if target is not None:
        reading.tables.add(tuple(part.lower() for part in target))
    flags = tuple(_flags(reading, fixture))
    for code, reason in _faults(sql, reading, fixture, mode):
        return Refusal("sql.gate", code, reason, flags)
    return Admitted(parsed, tree, flags, target)


def _serialised(sql: str, fixture: OpenFixture, mode: Literal["query", "dml"]) -> dict[str, Any]:
    """DuckDB's syntax tree; that of a change (with or without RETURNING) as the only CTE of a SELECT.

    DuckDB gives the tree of nothing but a SELECT.
    """
    if mode == "query":
        return dict(json.loads(fixture.serialise(sql)))
    change = _without_end(sql)
    for returning in ("RETURNING 1", ""):
        text = f"WITH {_CHANGE} AS (\n{change}\n{returning}) SELECT count(*) FROM {_CHANGE}"
        serialised = dict(json.loads(fixture.serialise(text)))
        if not serialised.get("error"):
            break
    return serialised


def _without_end(sql: str) -> str:
    """A statement without the semicolons and comments behind it."""
    data = sql.encode()
    end = len(data)
    for offset, kind in reversed(duckdb.tokenize(sql)):
        if kind != duckdb.token_type.comment and data[offset:end].strip() != b";":
            break
        end = offset
    return data[:end].decode()


def _target(tree: dict[str, Any]) -> tuple[str, ...]:
    """The path of the table that the change in `_serialised` changes."""
    (entry,) = tree["cte_map"]["map"]
    change = entry["value"]["query_node"]
    named = change["table"] if isinstance(change["table"], dict) else change
    return tuple(str(part) for part in named["qualified_name"]["path"])


def unreadable(sql: str) -> Refusal | None:
    """Why a text is refused before any parser sees it."""
    if not sql.strip():
        return Refusal("sql.parse", "sql.empty", "the answer is empty")
    if "\x00" in sql or any("\ud800" <= character <= "\udfff" for character in sql):
        return Refusal("sql.parse", "sql.syntax", "the answer holds NUL or half of a surrogate pair")
    size = len(sql.encode())
    if size > MAX_BYTES:
        return Refusal("sql.parse", "sql.too_long", f"{size:,} bytes; at most {MAX_BYTES:,} are read")
    if opens_deeper(sql, MAX_OPEN):
        return Refusal("sql.gate", "sql.too_complex", f"over {MAX_OPEN} parentheses are open at once; use fewer")
    return None


def _parse(sql: str, fixture: OpenFixture) -> duckdb.Statement | Refusal:
    refusal = unreadable(sql)
    if refusal is not None:
        return refusal
    try:
        statements = fixture.reader.extract_statements(sql)
    except duckdb.OutOfMemoryException as error:
        raise LimitExceeded("memory") from error
    except duckdb.Error as error:
        first = (str(error).splitlines() or [""])[0][:100]
        broken = isinstance(error, BROKEN)
        return Refusal("sql.parse", "sql.syntax", f"DuckDB cannot parse it: {first}", broken=broken)
    if not statements:
        return Refusal("sql.parse", "sql.empty", "the answer holds no statement")
    if len(statements) > 1:
        return Refusal("sql.gate", "sql.statements", f"{len(statements)} statements; write exactly one SELECT")
    return statements[0]


def _not_select(statement: duckdb.Statement) -> str:
    if statement.type == duckdb.StatementType.MULTI:
        return "it becomes several statements; give PIVOT its values with IN (…)"
    return f"{statement.type.name} is not a SELECT; write one SELECT"


def _not_write(statement: duckdb.Statement) -> str:
    if statement.type == duckdb.StatementType.MERGE_INTO:
        return "MERGE is not judged; write INSERT … ON CONFLICT, UPDATE or DELETE"
    return f"{statement.type.name} is no INSERT, UPDATE or DELETE; write one"


def _faults(
    sql: str, reading: Reading, fixture: OpenFixture, mode: Literal["query", "dml"]
) -> Iterator[tuple[str, str]]:
    """Why a query may not run, the gravest first."""
    if mode == "dml" and reading.writes != 1:
        yield "sql.write", "it changes more than one table; write one change"
    if mode == "query" and (reading.writes or _sqlglot_sees_a_write(sql)):
        yield "sql.write", "it changes data or settings; only read"
    if _metadata(reading, fixture):
        yield "sql.metadata", "it reads the catalog or the settings; read the tables"
    if reading.volatile:
        yield "sql.nondeterministic", f"{min(reading.volatile)} differs from run to run; use fixed values"
    if reading.parameters:
        yield "sql.parameter", "it has parameters without values; write the values"
    names = refused(reading.functions, fixture.macros)
    if names:
        yield "sql.function", f"the function {names[0][:60]} may not be called"
    if reading.giants:
        yield "sql.function", f"{min(reading.giants)} would build a giant value; use smaller numbers"
    if reading.references > MAX_REFERENCES:
        yield "sql.too_complex", f"over {MAX_REFERENCES} table references once its CTEs are expanded"
    if not reading.tables:
        yield "sql.no_table", "it reads no table of the database, so its result does not depend on the data"


def _metadata(reading: Reading, fixture: OpenFixture) -> str | None:
    """The name of something that is about the database rather than in it, if the query reads any."""
    for path in sorted(reading.tables):
        if path[-1] in fixture.tables and "information_schema" not in path and "pg_catalog" not in path:
            continue
        for part in path:
            if METADATA.match(part):
                return part
    return min(reading.metadata, default=None)


def _flags(reading: Reading, fixture: OpenFixture) -> Iterator[Flag]:
    metadata = _metadata(reading, fixture)
    if metadata is not None:
        yield Flag("metadata_read", f"reads {metadata[:60]}")
    if reading.constant and not reading.writes:
        yield Flag("constant_select", "no item of its select list depends on the data")


def _sqlglot_sees_a_write(sql: str) -> bool:
    if _WRITE_WORD.search(sql) is None:
        return False
    try:
        statements = sqlglot.parse(sql, read="duckdb")
    except (SqlglotError, RecursionError):
        return False  # sqlglot knows less of the dialect than DuckDB, whose own reading has passed
    return any(statement is not None and statement.find(*_WRITERS) for statement in statements)
