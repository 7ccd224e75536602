"""Where a task's fixtures come from: a script in the spec, or a pack's file addressed by content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Context
from veredicto_verifier.verifiers.sql.functions import volatile_words
from veredicto_verifier.verifiers.sql.spec import Script, SqlSpec


@dataclass(frozen=True, slots=True)
class Source:
    """A fixture before it is opened.

    `content` is the script, or where a pack keeps it: thousands of prepared tasks share a few scripts, so a task holds
    none of a pack's. `digest` is the script's SHA-256, `memory_mb` what its queries may use (MiB), `place` where the
    spec names it, `writable` whether it is opened as a private copy in memory, for statements that are rolled back,
    `sqlite` whether SQLite opens it, and `as_of` what its clock shows there; `cache` is the folder
    in which a pack's fixture is prepared once.
    """

    place: str
    content: str | Path
    digest: str
    memory_mb: int
    writable: bool = False
    sqlite: bool = False
    as_of: str | None = None
    cache: Path | None = None

    def is_archive(self) -> bool:
        """Whether it is an archive of a schema and data files rather than a script."""
        if isinstance(self.content, str):
            return False
        with self.content.open("rb") as file:
            return file.read(4) == b"PK\x03\x04"

    def path(self) -> Path:
        """The file of a pack's fixture.

        Raises:
            TaskFault: it is no longer the one that the digest names.
        """
        assert isinstance(self.content, Path)
        with self.content.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != self.digest:
                name = self.content.name[:80]
                raise TaskFault("task.unknown_fixture", f"{self.place}: {name!r} changed on disk; load the pack again")
        return self.content

    def script(self) -> str:
        """The script's text.

        Raises:
            TaskFault: it is no UTF-8 text, or the file is no longer the one that the digest names.
        """
        if isinstance(self.content, str):
            return self.content
        name, content = self.content.name[:80], self.path().read_bytes()
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise TaskFault("task.unknown_fixture", f"{self.place}: {name!r} is not UTF-8 text") from error


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
            found.append(_source(place, fixture.script, digest, spec))
        else:
            found.append(_of_pack(fixture, place, spec, context))
    return tuple(found)


def _of_pack(name: str, place: str, spec: SqlSpec, context: Context) -> Source:
    fixture = context.fixtures.get(name)
    if fixture is None:
        raise TaskFault("task.unknown_fixture", f"{place}: no fixture is named {name[:80]!r}; see the pack's fixtures/")
    if fixture.path.suffix not in ("", ".sql", ".zip"):  # the ledger's copies have no suffix
        message = f"{place}: {fixture.path.name[:80]!r} is neither a .sql script nor a .zip of CSV and Parquet files"
        raise TaskFault("task.unknown_fixture", message)
    return _source(place, fixture.path, fixture.digest.removeprefix("sha256:"), spec, fixture.cache)


def _source(place: str, content: str | Path, digest: str, spec: SqlSpec, cache: Path | None = None) -> Source:
    sqlite = spec.dialect == "sqlite"
    clock = spec.as_of if sqlite else None
    return Source(place, content, digest, spec.limits.memory_mb, spec.mode == "dml", sqlite, clock, cache)


def volatile_script(script: str, source: Source) -> None:
    """Refuse a script whose rows differ from run to run.

    Raises:
        TaskFault: `task.gold_volatile`.
    """
    words = volatile_words(script)
    if words:
        message = f"{source.place}: the script uses {words[0]}, whose value differs from run to run"
        raise TaskFault("task.gold_volatile", message)
