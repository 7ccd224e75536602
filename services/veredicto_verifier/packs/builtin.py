"""The packs that come with the service: seeded generators, written once into the cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import veredicto_verifier
from veredicto_verifier.errors import PackFault

GENERATORS = "veredicto_verifier.packs.generators"

BUILTIN: dict[str, str] = {
    "bank-sql": "bank_sql",
    "bank-tools": "bank_tools",
    "cfdi": "cfdi",
    "demo-sql": "demo_sql",
    "kyc-json": "kyc_json",
    "python-core": "python_core",
    "python-mini": "python_mini",
    "word-math": "word_math",
    "word-math-mini": "word_math_mini",
}
"""Pack name -> module under `packs/generators/` with a pure `build() -> dict[relative path, content]`."""


def materialise(name: str, cache: Path) -> Path:
    """The folder of a built-in pack, generated if this version of the sources has not done so yet.

    Raises:
        PackFault: the cache folder cannot be written.
    """
    folder = cache / f"{name}-{sources_digest()[:16]}"
    if folder.is_dir():
        return folder
    files: Mapping[str, str] = import_module(f"{GENERATORS}.{BUILTIN[name]}").build()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _write_at_once(files, folder)
    except OSError as error:
        raise PackFault(f"{cache}: the built-in pack {name} cannot be written: {error.strerror}") from error
    return folder


def sources_digest() -> str:
    """SHA-256 (hex) of all the service's sources: whatever a generator calls, its pack is written anew."""
    root = Path(next(iter(veredicto_verifier.__path__)))
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _write_at_once(files: Mapping[str, str], folder: Path) -> None:
    """Another process sees the whole folder or none; of two writers one wins, with the same content."""
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
    try:
        for relative, content in files.items():
            path = draft / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8", newline="\n") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        draft.chmod(0o755)
        try:
            draft.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
