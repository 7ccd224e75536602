"""The digest of a verifier: everything of ours and of others that could change one of its verdicts."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.resources
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from veredicto_verifier.extraction import MODULES
from veredicto_verifier.verifier import Verifier

PACKAGE = "veredicto_verifier"
COMMON = (
    *MODULES,
    f"{PACKAGE}.judging",
    f"{PACKAGE}.specs",
    f"{PACKAGE}.verifier",
    f"{PACKAGE}.worker_loop",
)
"""Modules that every verdict passes through."""


def sources_digest(verifier: Verifier[Any, Any], verifiers: Mapping[str, Verifier[Any, Any]]) -> str:
    """SHA-256 over the verifier's own modules, the common ones and those it names (hex).

    `all` can run any verifier, so its digest includes theirs.
    """
    total = hashlib.sha256()
    for module in sorted({*COMMON, *verifier.sources, _home(verifier)}):
        for path, content in _files(module):
            total.update(f"{path}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    for child in _children(verifier, verifiers):
        total.update(f"{child.name}\0{sources_digest(child, verifiers)}\n".encode())
    return total.hexdigest()


def verifier_digest(verifier: Verifier[Any, Any], verifiers: Mapping[str, Verifier[Any, Any]]) -> str:
    """`sha256:…` over sources, versions of the distributions it imports, Python's minor version and data digests."""
    total = hashlib.sha256(sources_digest(verifier, verifiers).encode())
    total.update(f"python {sys.version_info.major}.{sys.version_info.minor}\n".encode())
    for one in (verifier, *_children(verifier, verifiers)):
        for distribution in sorted({*one.distributions, "pydantic"}):
            total.update(f"{distribution} {importlib.metadata.version(distribution)}\n".encode())
        for name, digest in sorted(one.data().items()):
            total.update(f"{name} {digest}\n".encode())
    return "sha256:" + total.hexdigest()


def _children(verifier: Verifier[Any, Any], verifiers: Mapping[str, Verifier[Any, Any]]) -> list[Verifier[Any, Any]]:
    if verifier.name != "all":
        return []
    return [one for name, one in sorted(verifiers.items()) if name != "all"]


def _home(verifier: Verifier[Any, Any]) -> str:
    """`veredicto_verifier.verifiers.sql` for a verifier whose functions live anywhere under it.

    Of another package it is the whole top-level package.
    """
    parts = verifier.prepare.__module__.split(".")
    return ".".join(parts[:3] if parts[0] == PACKAGE else parts[:1])


def _files(module: str) -> Iterator[tuple[str, bytes]]:
    package, _, name = module.rpartition(".")
    if not package:
        yield from _top_level(module)
        return
    folder = importlib.resources.files(package)
    single = folder / f"{name}.py"
    if single.is_file():
        yield module, single.read_bytes()
    else:
        yield from _walk(folder / name, module)


def _top_level(module: str) -> Iterator[tuple[str, bytes]]:
    """The sources of another distribution's package, or of its one module."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    if spec.submodule_search_locations is None:
        yield module, Path(spec.origin).read_bytes()
    else:
        yield from _walk(importlib.resources.files(module), module)


def _walk(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir() and entry.name not in {"__pycache__", "data"}:
            yield from _walk(entry, f"{name}.{entry.name}")
        elif entry.name.endswith(".py"):
            yield f"{name}.{entry.name}", entry.read_bytes()
