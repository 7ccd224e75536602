"""A pack's fixtures become DuckDB files once: from scripts, or from archives of a schema, CSV and Parquet files."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Answer, Completion, Context, Fixture, Grade
from veredicto_verifier.verifiers.sql import VERIFIER
from veredicto_verifier.verifiers.sql.fixtures import OpenFixtures
from veredicto_verifier.verifiers.sql.sources import Source, sources
from veredicto_verifier.verifiers.sql.spec import SqlSpec

SCHEMA = "CREATE TABLE accounts(id INTEGER PRIMARY KEY, branch VARCHAR, balance DECIMAL(12,2));"
SCRIPT = SCHEMA + "INSERT INTO accounts VALUES (1, 'Lima', 10.00), (2, 'Quito', 5.50);"


def archive(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(name.replace("__", "."), content)
    return path


def parquet(tmp_path: Path, query: str) -> bytes:
    path = tmp_path / "made.parquet"
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path.read_bytes()


def context_of(path: Path, cache: Path | None = None) -> Context:
    digest = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    return Context(fixtures={"bank/one": Fixture(path, digest, cache)})


def spec_of(gold: str, **fields: Any) -> SqlSpec:
    return SqlSpec.model_validate({"fixtures": ["bank/one"], "gold": {"sql": gold}, **fields})


def graded(context: Context, gold: str, answer: str, **fields: Any) -> Grade:
    return VERIFIER.grade(VERIFIER.prepare(spec_of(gold, **fields), context), Answer(answer, Completion(answer)))


def opened(context: Context, **fields: Any) -> list[tuple[Any, ...]]:
    """All rows of the fixture, opened anew, as another process would."""
    (source,) = sources(spec_of("SELECT 1 FROM accounts", **fields), context)
    fixture = OpenFixtures().get(source)
    try:
        return fixture.cursor().execute("SELECT * FROM accounts ORDER BY id").fetchall()
    finally:
        fixture.close()


def test_a_packs_script_runs_once_and_its_file_is_opened_by_everyone_after(tmp_path: Path) -> None:
    script, cache = tmp_path / "one.sql", tmp_path / "prepared"
    script.write_text(SCRIPT, encoding="utf-8")
    context = context_of(script, cache)
    first = opened(context)
    (kept,) = cache.iterdir()
    assert kept.name.startswith(context.fixtures["bank/one"].digest.removeprefix("sha256:"))
    script.unlink()  # it is not needed again
    context = Context(fixtures={"bank/one": Fixture(script, context.fixtures["bank/one"].digest, cache)})
    (source,) = sources(spec_of("SELECT 1 FROM accounts"), context)
    fixture = OpenFixtures().get(source)
    again = OpenFixtures().get(Source(**{**_fields(source), "memory_mb": 300}))  # another limit, the same file
    assert fixture.cursor().execute("SELECT count(*) FROM accounts").fetchall() == [(2,)]
    assert again.cursor().execute("FROM accounts ORDER BY id").fetchall() == first
    with pytest.raises(duckdb.Error):
        fixture.cursor().execute("DELETE FROM accounts")
    assert [path.name for path in cache.iterdir()] == [kept.name]


def _fields(source: Source) -> dict[str, Any]:
    return {name: getattr(source, name) for name in Source.__dataclass_fields__}


def test_a_folder_that_cannot_be_written_does_not_stop_a_fixture(tmp_path: Path) -> None:
    script = tmp_path / "one.sql"
    script.write_text(SCRIPT + "-- read-only", encoding="utf-8")
    (tmp_path / "file").touch()
    assert len(opened(context_of(script, tmp_path / "file" / "prepared"))) == 2


def test_an_archive_of_schema_csv_and_parquet_is_one_fixture(tmp_path: Path) -> None:
    rows = parquet(tmp_path, "SELECT 1::INTEGER AS account, 2.5::DOUBLE AS amount")
    path = archive(
        tmp_path / "one.zip",
        schema__sql=SCHEMA.encode(),
        accounts__csv=b"branch,id,balance\nLima,1,10.00\nQuito,2,5.5\n",
        movements__parquet=rows,
    )
    context = context_of(path, tmp_path / "prepared")
    assert [(row[0], str(row[2])) for row in opened(context)] == [(1, "10.00"), (2, "5.50")]
    gold = "SELECT branch, amount FROM accounts JOIN movements ON account = id"
    assert graded(context, gold, "SELECT amount, 'Lima' FROM movements").passed
    change = "UPDATE accounts SET balance = 0"
    assert graded(context, change, "UPDATE accounts SET balance = 0.00 WHERE id IN (1, 2)", mode="dml").passed


def test_the_ledgers_copy_of_a_fixture_has_no_suffix_and_opens(tmp_path: Path) -> None:
    path = tmp_path / hashlib.sha256(SCRIPT.encode()).hexdigest()
    path.write_text(SCRIPT, encoding="utf-8")
    assert len(opened(context_of(path))) == 2


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"notes__txt": b"x"}, "neither schema.sql"),
        ({"x/../../evil__csv": b"a\n1"}, "neither schema.sql"),
        ({"schema__sql": b"CREATE TABEL x"}, "script fails"),
        ({"schema__sql": b"CREATE TABLE accounts(id INTEGER); COPY accounts FROM '/etc/passwd'"}, "script fails"),
        ({"schema__sql": SCHEMA.encode(), "accounts__csv": b"id,branch,balance\nx,y,z\n"}, "script fails"),
    ],
)
def test_a_broken_archive_is_a_broken_task(tmp_path: Path, files: dict[str, bytes], words: str) -> None:
    context = context_of(archive(tmp_path / "one.zip", **files), tmp_path / "prepared")
    with pytest.raises(TaskFault, match=words):
        opened(context)
    assert not list((tmp_path / "prepared").iterdir())


def test_a_file_that_only_begins_like_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.zip"
    path.write_bytes(b"PK\x03\x04" + os.urandom(100))
    with pytest.raises(TaskFault, match="cannot be read"):
        opened(context_of(path))
