"""Open fixtures: DuckDB files (see `prepared.py`) that are opened read-only and hardened.

DuckDB has no user who may do less than its process, so these settings are the second line of defence; the first is the
worker process that can be killed. Opening a fixture costs far more than a query on an open one,
so a process keeps the last `MAX_OPEN` open.
"""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache

import duckdb

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifiers.sql.prepared import database_file, run_script
from veredicto_verifier.verifiers.sql.sources import Source, volatile_script
from veredicto_verifier.verifiers.sql.sqlite_fixtures import SqliteFixture, open_sqlite

MAX_OPEN = 32
"""Fixtures that one process keeps open."""

Key = tuple[str, int, bool, bool, str | None]
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
        (self._catalog,) = _names(self.reader, "SELECT current_database()")
        self.reader.execute(_SERIALISE)
        self.memo: dict[object, object] = {}

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A fresh cursor: its own temporary schema, search path and variables."""
        cursor = self._connection.cursor()
        if self._schema is not None:
            cursor.execute(f"SET schema = '{self._schema}'")
        return cursor

    def path_of(self, table: tuple[str, ...]) -> tuple[str, str]:
        """Schema and name of the table that a path of one to three parts names in this database."""
        schema = self._schema or "main"
        if len(table) == 3 or (len(table) == 2 and table[0].lower() not in (schema, self._catalog)):
            schema = table[-2]
        return schema, table[-1]

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
        self._open: OrderedDict[Key, OpenFixture | SqliteFixture] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, source: Source) -> bool:
        return _key(source) in self._open

    def get(self, source: Source) -> OpenFixture:
        """The open fixture of a source, opened now if it was not.

        Raises:
            TaskFault: the script fails, or differs from run to run.
        """
        found = self._get(source, lambda: OpenFixture(_load(source)))
        assert isinstance(found, OpenFixture)
        return found

    def sqlite(self, source: Source) -> SqliteFixture:
        """The same for a fixture that SQLite opens."""
        found = self._get(source, lambda: open_sqlite(source))
        assert isinstance(found, SqliteFixture)
        return found

    def _get(self, source: Source, load: Callable[[], OpenFixture | SqliteFixture]) -> OpenFixture | SqliteFixture:
        key = _key(source)
        found = self._open.get(key)
        if found is not None:
            self._open.move_to_end(key)
            return found
        fixture = self._open[key] = load()
        while len(self._open) > self._limit:
            self._open.popitem(last=False)[1].close()
        return fixture

    def discard(self, source: Source) -> None:
        """Close a fixture whose instance may be broken; the next `get` loads it again."""
        broken = self._open.pop(_key(source), None)
        if broken is not None:
            broken.close()


def _key(source: Source) -> Key:
    return (source.digest, source.memory_mb, source.writable, source.sqlite, source.as_of)


@lru_cache(maxsize=1)
def open_fixtures() -> OpenFixtures:
    """The one cache of this process, made on first use."""
    return OpenFixtures()


def _load(source: Source) -> duckdb.DuckDBPyConnection:
    """Open a fixture: its file read-only, or a private copy of it in memory; the file is unlinked while open."""
    if source.writable and not source.is_archive():
        script = source.script()
        volatile_script(script, source)
        connection = connect(":memory:", source, read_only=False)
        run_script(connection, script, source)
        return _without_triggers(connection, source)
    beside = source.cache if source.cache is not None and source.cache.is_dir() else None  # links need one disk
    with tempfile.TemporaryDirectory(prefix=".veredicto-sql-", dir=beside) as folder:
        path = database_file(source, folder, connect)
        if not source.writable:
            return connect(path, source, read_only=True)
        connection = connect(":memory:", source, read_only=False, hardened=False)
        connection.execute(f"ATTACH '{path}' AS fixture (READ_ONLY)")
        connection.execute("COPY FROM DATABASE fixture TO memory")
        connection.execute("DETACH fixture")
        return _without_triggers(_hardened(connection), source)


def _without_triggers(connection: duckdb.DuckDBPyConnection, source: Source) -> duckdb.DuckDBPyConnection:
    """A fixture for `mode: dml`, which compares one table: what a trigger does to another would not be seen."""
    if _names(connection, "SELECT trigger_name FROM duckdb_triggers()"):
        raise TaskFault("task.spec_invalid", f"{source.place}: `mode: dml` compares one table; leave triggers out")
    return connection


def connect(path: str, source: Source, *, read_only: bool, hardened: bool = True) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB file with the settings of a fixture."""
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
    return _hardened(connection) if hardened else connection


def _hardened(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    for statement in _HARDEN:
        connection.execute(statement)
    return connection


def _names(cursor: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    return [str(row[0]).lower() for row in cursor.execute(query).fetchall()]
