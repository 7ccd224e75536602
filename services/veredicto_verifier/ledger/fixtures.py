"""Pack fixtures by SHA-256 beside the ledger, as plain files, so that a replay opens the very bytes that were used."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from veredicto_verifier.errors import LedgerUnavailable
from veredicto_verifier.ledger.chain import sync_folder
from veredicto_verifier.ledger.digests import parse, wide
from veredicto_verifier.ledger.texts import Redacted

_BLOCK = 1 << 20


class FixtureStore:
    """The folder `fixtures/` of a data directory: one file per digest, `<digest>.redacted` where one was removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "fixtures"
        self._stored: set[str] = set()

    def put(self, fixtures: Mapping[str, Path]) -> None:
        """Copy fixtures that are not there yet, durably.

        Raises:
            LedgerUnavailable: a file no longer has the content that its task names.
            OSError: a file cannot be read, or the copy not be written.
        """
        for name, source in fixtures.items():
            if name not in self._stored:
                if self.holds(name) is False:
                    self._copy(name, source)
                self._stored.add(name)

    def path(self, name: str) -> Path:
        """Where the fixture of a digest lies, if it is there."""
        return self._folder / name

    def holds(self, name: str) -> bool | Redacted:
        """Whether a fixture is there, or was redacted."""
        tombstone = self._tombstone(name)
        if tombstone.exists():
            return Redacted(int(tombstone.read_text("ascii")))
        return self.path(name).is_file()

    def redact(self, name: str, time_ms: int) -> bool:
        """Overwrite and remove a fixture, and leave a tombstone; says whether there was one."""
        path = self.path(name)
        if not path.is_file():
            return False
        self._tombstone(name).write_text(str(time_ms), "ascii")
        with path.open("r+b") as file:
            for _ in range(0, os.fstat(file.fileno()).st_size, _BLOCK):
                file.write(bytes(min(_BLOCK, os.fstat(file.fileno()).st_size - file.tell())))
            file.flush()
            os.fsync(file.fileno())
        path.unlink()
        sync_folder(self._folder)
        return True

    def damaged(self) -> Iterator[str]:
        """Digests of the fixtures whose content has another digest."""
        for path in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            if path.suffix not in (".redacted", ".new") and _digest_of(path) != path.name:
                yield path.name

    def _tombstone(self, name: str) -> Path:
        return self._folder / f"{name}.redacted"

    def _copy(self, name: str, source: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        new = self._folder / f"{name}-{secrets.token_hex(4)}.new"
        try:
            found = _digest_of(source, new)
            if found != name:
                raise LedgerUnavailable(
                    f"fixture {source.name} has digest {wide(found)}, its task names {wide(name)}; "
                    "restore the file, or restart the service to load the pack anew"
                )
            new.rename(self.path(name))
            sync_folder(self._folder)
        finally:
            new.unlink(missing_ok=True)


def _digest_of(source: Path, copy: Path | None = None) -> str:
    """The digest of a file (short form), copying it durably on the way if asked to."""
    found = hashlib.sha256()
    target = copy.open("wb") if copy else None
    try:
        with source.open("rb") as file:
            while block := file.read(_BLOCK):
                found.update(block)
                if target:
                    target.write(block)
        if target:
            target.flush()
            os.fsync(target.fileno())
    finally:
        if target:
            target.close()
    return parse(found.hexdigest())
