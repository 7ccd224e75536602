"""Make a fixture's DuckDB file once: from a script, or from an archive of a schema with CSV and Parquet files.

A pack's fixtures are kept, addressed by content and DuckDB's version, in the folder that the pack cache gives; without
one the file lives as long as the instance that has it open.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import duckdb

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifiers.sql.sources import Source, volatile_script

MAX_UNPACKED_BYTES = 4 << 30
SCHEMA = "schema.sql"
READERS = {".csv": "read_csv", ".parquet": "read_parquet"}

Connect = Callable[..., duckdb.DuckDBPyConnection]
"""`connect(path, source, read_only=…, hardened=…)`."""


def database_file(source: Source, folder: str, connect: Connect) -> str:
    """A path in `folder` at which the fixture's file lies: a link to the kept one, or one of its own.

    The name is always the same, since it is the catalog's, which messages can show.

    Raises:
        TaskFault: the fixture cannot be loaded, or its rows differ from run to run.
    """
    path = f"{folder}/fixture.duckdb"
    kept = None if source.cache is None else source.cache / f"{source.digest}-{duckdb.__version__}.duckdb"
    if kept is None or not (kept.is_file() or _keep(source, kept, connect)):
        build(source, path, connect)
    else:
        _link(kept, path)
    return path


def _link(kept: Path, path: str) -> None:
    """The same file by another name: one process may not open one path under two memory limits."""
    try:
        os.link(kept, path)
    except OSError:
        shutil.copyfile(kept, path)


def _keep(source: Source, kept: Path, connect: Connect) -> bool:
    """Build the file and put it in its place at once; False when the folder cannot be written."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        draft = tempfile.mkdtemp(prefix=".draft-", dir=kept.parent)
    except OSError:
        return False
    made = f"{draft}/fixture.duckdb"
    try:
        build(source, made, connect)
        os.chmod(made, 0o444)
        os.replace(made, kept)
    finally:
        for leftover in Path(draft).iterdir():
            leftover.unlink()
        os.rmdir(draft)
    return True


def build(source: Source, path: str, connect: Connect) -> None:
    """Write the fixture's DuckDB file.

    Raises:
        TaskFault: it cannot be loaded.
    """
    if source.is_archive():
        _build_from_archive(source, path, connect)
        return
    script = source.script()
    volatile_script(script, source)
    with connect(path, source, read_only=False) as connection:
        run_script(connection, script, source)


def run_script(connection: duckdb.DuckDBPyConnection, script: str, source: Source) -> None:
    """Run a fixture's script.

    Raises:
        TaskFault: it fails.
    """
    try:
        connection.execute(script)
    except duckdb.IOException:
        raise  # our disk, not the script
    except (duckdb.Error, UnicodeError) as error:
        first = str(error).splitlines()[0][:150]
        raise TaskFault("task.spec_invalid", f"{source.place}: the script fails: {first}") from error


def _build_from_archive(source: Source, path: str, connect: Connect) -> None:
    """`schema.sql` runs first, hardened; then each file fills the table of its name, or makes it."""
    with tempfile.TemporaryDirectory(prefix="veredicto-sql-") as folder:
        names = _unpack(source, folder)
        if SCHEMA in names:
            schema = Path(folder, SCHEMA).read_text(encoding="utf-8")
            volatile_script(schema, source)
            with connect(path, source, read_only=False) as connection:
                run_script(connection, schema, source)
        with connect(path, source, read_only=False, hardened=False) as connection:
            for name in sorted(set(names) - {SCHEMA}):
                table, reader = PurePosixPath(name).stem, READERS[PurePosixPath(name).suffix]
                rows = f"SELECT * FROM {reader}('{folder}/{name}')"
                known = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
                fill = f'INSERT INTO "{table}" BY NAME' if (table,) in known else f'CREATE TABLE "{table}" AS'
                run_script(connection, f"{fill} {rows}", source)


def _unpack(source: Source, folder: str) -> list[str]:
    """The archive's files, unpacked flat into a folder; their names."""
    try:
        with zipfile.ZipFile(source.path()) as archive:
            entries = archive.infolist()
            for entry in entries:
                known = entry.filename == SCHEMA or PurePosixPath(entry.filename).suffix in READERS
                plain = entry.filename.replace("_", "").replace(".", "").isalnum()
                if not known or not plain:
                    shown = f"{entry.filename[:60]!r} is neither schema.sql nor a plain name ending in .csv or .parquet"
                    raise TaskFault("task.unknown_fixture", f"{source.place}: {shown}")
            if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
                raise TaskFault("task.unknown_fixture", f"{source.place}: the archive unpacks to over 4 GiB")
            archive.extractall(folder)
            return [entry.filename for entry in entries]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise TaskFault("task.unknown_fixture", f"{source.place}: the archive cannot be read: {error}") from error
