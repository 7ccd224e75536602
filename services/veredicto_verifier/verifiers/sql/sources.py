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
    `sqlite` whether SQLite opens it, and `as_of` what its clock shows there.
    """

    place: str
    content: str | Path
    digest: str
    memory_mb: int
    writable: bool = False
    sqlite: bool = False
    as_of: str | None = None

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
    if fixture.path.suffix != ".sql":
        raise TaskFault("task.unknown_fixture", f"{place}: {fixture.path.name[:80]!r} is no .sql script")
    return _source(place, fixture.path, fixture.digest.removeprefix("sha256:"), spec)


def _source(place: str, content: str | Path, digest: str, spec: SqlSpec) -> Source:
    sqlite = spec.dialect == "sqlite"
    clock = spec.as_of if sqlite else None
    return Source(place, content, digest, spec.limits.memory_mb, spec.mode == "dml", sqlite, clock)


def volatile_script(script: str, source: Source) -> None:
    """Refuse a script whose rows differ from run to run.

    Raises:
        TaskFault: `task.gold_volatile`.
    """
    words = volatile_words(script)
    if words:
        message = f"{source.place}: the script uses {words[0]}, whose value differs from run to run"
        raise TaskFault("task.gold_volatile", message)
