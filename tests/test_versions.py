"""A verifier whose sources changed has another version: `tests/versions.json` remembers what each version was.

Run `python -m tests.test_versions` (`make versions`) after raising a version; it refuses to change a version's entry.
Nothing has been released before 1.0.0 of each verifier, so until then entries may be removed by hand.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from veredicto_verifier.digests import sources_digest
from veredicto_verifier.registry import VERIFIERS

KNOWN = Path(__file__).parent / "versions.json"


def known() -> dict[str, str]:
    entries: dict[str, str] = json.loads(KNOWN.read_text(encoding="utf-8"))
    return entries


def current() -> dict[str, str]:
    return {f"{name}@{one.version}": sources_digest(one, VERIFIERS) for name, one in VERIFIERS.items()}


@pytest.mark.parametrize("name", VERIFIERS)
def test_changed_sources_have_another_version(name: str) -> None:
    entry = f"{name}@{VERIFIERS[name].version}"
    assert known().get(entry) == current()[entry], f"raise the version of {name}, then run `make versions`"


def remember() -> None:
    entries = known() if KNOWN.exists() else {}
    for entry, digest in current().items():
        if entries.setdefault(entry, digest) != digest:
            raise SystemExit(f"the sources of {entry} changed; raise its version")
    KNOWN.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    remember()
