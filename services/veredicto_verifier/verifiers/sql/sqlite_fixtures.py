"""Open SQLite fixtures: a script is loaded once into a file, which is then opened read-only behind an authorizer.

SQLite reads and runs the answer itself; nothing is translated. Its date functions are wrapped, since they would read
the clock for `'now'`, and its progress handler lets a budget stop a query.
"""

from __future__ import annotations

import functools
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.verifiers.sql.reasons import engine_reason
from veredicto_verifier.verifiers.sql.running import Budget, QueryFailed, Result
from veredicto_verifier.verifiers.sql.sources import Source, volatile_script
from veredicto_verifier.verifiers.sql.spec import moment

MAX_VALUE_BYTES = 1_000_000
PROGRESS_STEPS = 5_000
"""Steps of SQLite's machine between two looks at the budget (a millisecond or less)."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 20_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 256,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 32,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_FUNCTIONS = """
abs avg ceil ceiling char coalesce concat concat_ws count cume_dist date datetime dense_rank exp first_value floor
format glob group_concat hex ifnull iif instr json json_array json_array_length json_extract json_group_array
json_group_object json_object json_quote json_type json_valid julianday lag last_value lead length like likely ln log
log10 log2 lower ltrim max min mod nth_value ntile nullif octet_length percent_rank pi pow power printf quote radians
rank replace round row_number rtrim sign sqrt strftime string_agg substr substring sum time total trim trunc typeof
unhex unicode unixepoch unlikely upper current_date current_time current_timestamp -> ->>
"""
ALLOWED = frozenset(_FUNCTIONS.split())
CLOCK = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}
_DATE_FUNCTIONS = ("date", "time", "datetime", "julianday", "strftime", "unixepoch")
_NOW = frozenset({"now", "subsec", "subsecond"})
_LOCAL = frozenset({"localtime", "utc"})


@dataclass(slots=True)
class Seen:
    """What the authorizer saw while a query was read: the gravest fault and the tables."""

    fault: tuple[str, str] | None = None
    metadata: str | None = None
    tables: list[tuple[str, bool]] = field(default_factory=list)
    """Name and whether it is certain to be a table (a CTE's name is not, when none of its columns is read)."""

    def refuse(self, code: str, reason: str) -> int:
        """Note a fault and deny."""
        self.fault = self.fault or (code, reason)
        return sqlite3.SQLITE_DENY


class SqliteFixture:
    """A loaded fixture, open read-only; `as_of` is what `'now'` means, None refuses it."""

    def __init__(self, connection: sqlite3.Connection, as_of: str | None) -> None:
        self._connection = connection
        self._clock = as_of
        self._asked_clock = False
        self._budget: Budget | None = None
        names = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
        self.tables = frozenset(str(name).lower() for (name,) in names)
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").close()  # declared before they are denied
        _wrap_dates(connection, self._date)
        if as_of is not None:
            for keyword, name in CLOCK.items():
                connection.create_function(keyword, 0, functools.partial(self._date, name, as_of), deterministic=True)
        connection.set_progress_handler(self._stop, PROGRESS_STEPS)
        self._seen = Seen()
        connection.set_authorizer(self._authorize)
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)

    def read(self, sql: str) -> Seen:
        """What a query would do: it is prepared, not run.

        Raises:
            sqlite3.Error: SQLite cannot read it, or the authorizer denied something.
        """
        self._seen = Seen()
        self._connection.execute(f"EXPLAIN {sql}").close()
        return self._seen

    @property
    def seen(self) -> Seen:
        """What the last `read` saw, also when it failed."""
        return self._seen

    def run(self, sql: str, max_rows: int, budget: Budget) -> Result:
        """The first rows of a query.

        Raises:
            LimitExceeded: time or memory ran out.
            QueryFailed: anything else that SQLite objects to.
        """
        budget.check()
        self._budget, self._asked_clock = budget, False
        cursor = self._connection.cursor()
        try:
            with budget.interrupting(self._connection):
                cursor.execute(sql)
                names = tuple(str(column[0]) for column in cursor.description or ())
                rows = cursor.fetchmany(max_rows)
        except MemoryError as error:
            raise LimitExceeded("memory") from error
        except sqlite3.Error as error:
            budget.check()
            if "interrupted" in str(error):
                raise LimitExceeded("cpu") from error
            if self._asked_clock:
                reason = "it asks for the time of day or the time zone; use fixed values"
                raise QueryFailed(reason, broken=False, code="sql.nondeterministic") from error
            raise QueryFailed(engine_reason(error, sql), broken=False) from error
        finally:
            self._budget = None
            cursor.close()
        budget.check()
        return Result(names, _types(rows, len(names)), rows)

    def close(self) -> None:
        """Release the database."""
        self._connection.close()

    def _stop(self) -> int:
        """Called by SQLite every so many steps; Python's own signal handlers run here too."""
        return 1 if self._budget is not None and self._budget.exceeded() else 0

    def _authorize(self, action: int, first: str | None, second: str | None, database: str | None, _by: object) -> int:
        seen = self._seen
        if action == sqlite3.SQLITE_READ:
            name = (first or "").lower()
            if name not in self.tables and name.startswith(("sqlite_", "pragma_", "dbstat")):
                seen.metadata = name
                return seen.refuse("sql.metadata", "it reads the catalog or the settings; read the tables")
            seen.tables.append((name, database is not None))
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            return self._authorize_function((second or "").lower())
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if first == "sqlite_master":  # SQLite declares a table-valued function where it first meets one
            return seen.refuse("sql.function", "it reads a function as a table; only json_each and json_tree may be")
        return seen.refuse("sql.write", "it changes data or settings; only read")

    def _authorize_function(self, name: str) -> int:
        if name in ("random", "randomblob") or (name in CLOCK and self._clock is None):
            return self._seen.refuse("sql.nondeterministic", f"{name} differs from run to run; use fixed values")
        if name not in ALLOWED:
            return self._seen.refuse("sql.function", f"the function {name[:60]} may not be called")
        return sqlite3.SQLITE_OK

    def _date(self, name: str, *arguments: Any) -> Any:
        try:
            return _date(name, arguments, self._clock)
        except ClockAsked:
            self._asked_clock = True
            raise


class ClockAsked(ValueError):
    """A date function would give the time of day or the time zone."""


def _date(name: str, arguments: tuple[Any, ...], clock: str | None) -> Any:
    """A date function of SQLite itself, with the clock (unless `clock` stands for it) and the time zone taken out."""
    given = [_read_as_text(value) for value in arguments]
    first = 1 if name == "strftime" else 0
    if len(given) <= first:
        given.append("now")
    words = [str(value).strip().lower() for value in given[first:]]
    if words[0] in _NOW and clock is not None:
        given[first], words[0] = clock, ""
    if words[0] in _NOW or _LOCAL & set(words):
        raise ClockAsked(name)
    return _plain_date(name, tuple(given))


def _wrap_dates(connection: sqlite3.Connection, date: Callable[..., Any]) -> None:
    """Put `date(name, *arguments)` in the place of SQLite's date functions."""
    for name in _DATE_FUNCTIONS:
        connection.create_function(name, -1, functools.partial(date, name), deterministic=True)


def _read_as_text(value: Any) -> Any:
    """A text or blob as SQLite's date functions read it: as text that ends at the first NUL."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return value.split("\0")[0] if isinstance(value, str) else value


@functools.lru_cache(maxsize=4096)
def _plain_date(name: str, arguments: tuple[Any, ...]) -> Any:
    marks = ", ".join("?" * len(arguments))
    return _plain().execute(f"SELECT {name}({marks})", arguments).fetchone()[0]


def sqlite_moment(as_of: str) -> str:
    """A moment as SQLite writes it, in UTC."""
    return moment(as_of).isoformat(sep=" ", timespec="seconds")


@functools.lru_cache(maxsize=1)
def _plain() -> sqlite3.Connection:
    return sqlite3.connect(":memory:")


def open_sqlite(source: Source) -> SqliteFixture:
    """Run the script into a file and open that file read-only and immutable; the file is unlinked while open.

    Raises:
        TaskFault: the script fails, or differs from run to run.
    """
    if source.is_archive():
        raise TaskFault("task.unknown_fixture", f"{source.place}: SQLite takes a .sql script, not an archive")
    with tempfile.TemporaryDirectory(prefix="veredicto-sqlite-") as folder:
        path = f"{folder}/fixture.db"
        _build(path, source)
        # Without the cache of statements each query is prepared, and so authorized, anew.
        location = f"file:{path}?mode=ro&immutable=1"
        reader = sqlite3.connect(location, uri=True, isolation_level=None, cached_statements=0)
        for pragma in ("temp_store = MEMORY", "query_only = ON", "trusted_schema = OFF", "cache_size = -16000"):
            reader.execute(f"PRAGMA {pragma}")
        return SqliteFixture(reader, None if source.as_of is None else sqlite_moment(source.as_of))


def _build(path: str, source: Source) -> None:
    """Run the fixture's script into a file."""
    script = source.script()
    volatile_script(script, source)
    asked: list[str] = []

    def date(name: str, *arguments: Any) -> Any:
        try:
            return _date(name, arguments, None)
        except ClockAsked:
            asked.append(name)
            raise

    writer = sqlite3.connect(path, isolation_level=None)
    try:
        _wrap_dates(writer, date)
        writer.set_authorizer(_only_inside)
        writer.set_progress_handler(lambda: 0, PROGRESS_STEPS)  # signals are handled there
        writer.executescript(script)
    except (sqlite3.Error, ValueError) as error:
        first = str(error).splitlines()[0][:150]
        if asked:
            message = f"{source.place}: the script asks {asked[0]} for the clock, whose value differs from run to run"
            raise TaskFault("task.gold_volatile", message) from error
        if "interrupted" in first:  # by the worker's timer, whose exception SQLite swallows
            raise LimitExceeded("cpu") from error
        raise TaskFault("task.spec_invalid", f"{source.place}: the script fails: {first}") from error
    finally:
        writer.close()


def _only_inside(action: int, *_details: object) -> int:
    """A fixture's script may do anything to its own database and nothing beside it."""
    return sqlite3.SQLITE_DENY if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) else sqlite3.SQLITE_OK


def _types(rows: list[tuple[Any, ...]], width: int) -> tuple[str, ...]:
    """A type name for each column, by its values: SQLite's columns have none of their own."""
    found = []
    for index in range(width):
        kinds = {type(row[index]) for row in rows}
        found.append("DOUBLE" if float in kinds else "BLOB" if bytes in kinds else "VARCHAR")
    return tuple(found)
