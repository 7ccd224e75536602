"""Open fixtures: a script is loaded once into a DuckDB file, which is then opened read-only and hardened.

DuckDB has no user who may do less than its process, so these settings are the second line of defence; the first is the
worker process that can be killed. Opening a fixture costs far more than a query on an open one,
so a process keeps the last `MAX_OPEN` open.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import duckdb

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Context
from veredicto_verifier.verifiers.sql.functions import volatile_words
from veredicto_verifier.verifiers.sql.spec import Script, SqlSpec

MAX_OPEN = 32
"""Fixtures that one process keeps open."""

_SERIALISE = (
    "PREPARE serialise AS SELECT json_serialize_sql($1, skip_null := true, skip_empty := true, skip_default := true)"
)
_HARDEN = (
    # Order matters: each of these is refused once the next ones hold.
    "SET temp_directory = ''",
    "SET max_temp_directory_size = '0B'",
    "SET GLOBAL TimeZone = 'UTC'",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


@dataclass(frozen=True, slots=True)
class Source:
    """A fixture before it is opened.

    `content` is the script, or where a pack keeps it: thousands of prepared tasks share a few scripts, so a task holds
    none of a pack's. `digest` is the script's SHA-256, `memory_mb` what its queries may use (MiB), `place` where the
    spec names it, `writable` whether it is opened as a private copy in memory, for statements that are rolled back.
    """

    place: str
    content: str | Path
    digest: str
    memory_mb: int
    writable: bool = False

    def script(self) -> str:
        """The script's text.

        Raises:
            TaskFault: it is no UTF-8 text, or the file is no longer the one that the digest names.
        """
        if isinstance(self.content, str):
            return self.content
        name = self.content.name[:80]
        content = self.content.read_bytes()
        if hashlib.sha256(content).hexdigest() != self.digest:
            raise TaskFault("task.unknown_fixture", f"{self.place}: {name!r} changed on disk; load the pack again")
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise TaskFault("task.unknown_fixture", f"{self.place}: {name!r} is not UTF-8 text") from error


class OpenFixture:
    """A loaded fixture, open read-only.

    `tables` and `macros` are the lower-case names that the script defined. `reader` runs none of the model's queries;
    it parses them. `memo` keeps what was found out about the unchanged data. `schema` is the one that queries see, if
    it is not `main`.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, schema: str | None = None) -> None:
        self._connection, self._schema = connection, schema
        self.reader = self.cursor()
        self.tables = frozenset(_names(self.reader, "SELECT table_name FROM duckdb_tables() WHERE NOT internal"))
        self.tables |= frozenset(_names(self.reader, "SELECT view_name FROM duckdb_views() WHERE NOT internal"))
        self.macros = frozenset(_names(self.reader, "SELECT function_name FROM duckdb_functions() WHERE NOT internal"))
        self.reader.execute(_SERIALISE)
        self.memo: dict[object, object] = {}

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A fresh cursor: its own temporary schema, search path and variables."""
        cursor = self._connection.cursor()
        if self._schema is not None:
            cursor.execute(f"SET schema = '{self._schema}'")
        return cursor

    def serialise(self, sql: str) -> str:
        """DuckDB's syntax tree of `sql` as JSON text."""
        quoted = sql.replace("'", "''")
        (row,) = self.reader.execute(f"EXECUTE serialise('{quoted}')").fetchall()
        return str(row[0])

    def deserialise(self, tree: str) -> str:
        """The SQL text of a syntax tree."""
        (row,) = self.reader.execute("SELECT json_deserialize_sql($1)", [tree]).fetchall()
        return str(row[0])

    def close(self) -> None:
        """Release the instance, its cursors included."""
        self.reader.close()
        self._connection.close()


class OpenFixtures:
    """The fixtures that this process keeps open, least recently used first."""

    def __init__(self, limit: int = MAX_OPEN) -> None:
        self._limit = limit
        self._open: OrderedDict[tuple[str, int, bool], OpenFixture] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, source: Source) -> bool:
        return _key(source) in self._open

    def get(self, source: Source) -> OpenFixture:
        """The open fixture of a source, opened now if it was not.

        Raises:
            TaskFault: the script fails, or differs from run to run.
        """
        key = _key(source)
        found = self._open.get(key)
        if found is not None:
            self._open.move_to_end(key)
            return found
        fixture = OpenFixture(_load(source))
        self._open[key] = fixture
        while len(self._open) > self._limit:
            self._open.popitem(last=False)[1].close()
        return fixture

    def discard(self, source: Source) -> None:
        """Close a fixture whose instance may be broken; the next `get` loads it again."""
        broken = self._open.pop(_key(source), None)
        if broken is not None:
            broken.close()


def _key(source: Source) -> tuple[str, int, bool]:
    return (source.digest, source.memory_mb, source.writable)


@lru_cache(maxsize=1)
def open_fixtures() -> OpenFixtures:
    """The one cache of this process, made on first use."""
    return OpenFixtures()


def sources(spec: SqlSpec, context: Context) -> tuple[Source, ...]:
    """Where a spec's fixtures come from.

    Raises:
        TaskFault: `task.unknown_fixture`.
    """
    found = []
    for index, fixture in enumerate(spec.fixtures):
        place = f"$.fixtures[{index}]"
        if isinstance(fixture, Script):
            digest = hashlib.sha256(fixture.script.encode("utf-8", "surrogatepass")).hexdigest()
            found.append(Source(place, fixture.script, digest, spec.limits.memory_mb, spec.mode == "dml"))
        else:
            found.append(_of_pack(fixture, place, spec, context))
    return tuple(found)


def _of_pack(name: str, place: str, spec: SqlSpec, context: Context) -> Source:
    fixture = context.fixtures.get(name)
    if fixture is None:
        raise TaskFault("task.unknown_fixture", f"{place}: no fixture is named {name[:80]!r}; see the pack's fixtures/")
    if fixture.path.suffix != ".sql":
        raise TaskFault("task.unknown_fixture", f"{place}: {fixture.path.name[:80]!r} is no .sql script")
    return Source(
        place, fixture.path, fixture.digest.removeprefix("sha256:"), spec.limits.memory_mb, spec.mode == "dml"
    )


def _load(source: Source) -> duckdb.DuckDBPyConnection:
    """Run the script into a file and open that file read-only.

    The file has a fixed name, since the name is the catalog's, which messages can show; it is unlinked while open.
    """
    script = source.script()
    words = volatile_words(script)
    if words:
        message = f"{source.place}: the script uses {words[0]}, whose value differs from run to run"
        raise TaskFault("task.gold_volatile", message)
    if source.writable:
        connection = _connect(":memory:", source, read_only=False)
        _run_script(connection, script, source)
        return connection
    with tempfile.TemporaryDirectory(prefix="veredicto-sql-") as folder:
        path = f"{folder}/fixture.duckdb"
        with _connect(path, source, read_only=False) as connection:
            _run_script(connection, script, source)
        return _connect(path, source, read_only=True)


def _run_script(connection: duckdb.DuckDBPyConnection, script: str, source: Source) -> None:
    try:
        connection.execute(script)
    except duckdb.IOException:
        raise  # our disk, not the script
    except (duckdb.Error, UnicodeError) as error:
        first = str(error).splitlines()[0][:150]
        raise TaskFault("task.spec_invalid", f"{source.place}: the script fails: {first}") from error


def _connect(path: str, source: Source, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        path,
        read_only=read_only,
        config={
            "threads": "1",
            "async_threads": "0",  # eight by default, for each open fixture
            "memory_limit": f"{source.memory_mb}MiB",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "allow_unsigned_extensions": "false",
            "python_enable_replacements": "false",
            "max_expression_depth": "250",
        },
    )
    for statement in _HARDEN:
        connection.execute(statement)
    return connection


def _names(cursor: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    return [str(row[0]).lower() for row in cursor.execute(query).fetchall()]
