"""Judge golds by themselves when a pack loads, once for each content: what fails is refused like any broken line.

Only where that is cheap and runs nothing: the verifiers of `CHECKED`, and `all` of these. The golds of `sql`, `cfdi`,
`xml` and `python` run in a worker's limits, at their first scoring or under `veredicto pack check`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from veredicto_verifier.digests import verifier_digest
from veredicto_verifier.errors import LimitExceeded, TaskFault
from veredicto_verifier.packs.checking import cpu_limit
from veredicto_verifier.packs.pack import Pack, PackTask, Refusal
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Context, Spec, Verifier

CHECKED: Final = ("format", "json", "math", "static", "tools")
GOLD_SECONDS: Final = 5.0
"""CPU that one gold may take here; one that takes longer is left to the workers, which decide what that means."""

Verifiers = Mapping[str, Verifier[Any, Any]]
_REFUSALS: Final = TypeAdapter(list[Refusal])


def sound(pack: Pack, verifiers: Verifiers, memory: Path | None) -> Pack:
    """The pack without the tasks whose gold cannot be read or does not pass itself; those are in `refused`.

    Args:
        pack: as loaded.
        verifiers: the registry.
        memory: a folder that remembers the outcome by the digests of pack and verifiers; None looks every time.
    """
    kept = None if memory is None else memory / f"{_key(pack, verifiers)}.json"
    refused = None if kept is None else _remembered(kept)
    if refused is None:
        refused = list(_broken(pack, verifiers))
        if kept is not None:
            _remember(kept, refused)
    if not refused:
        return pack
    names = {(one.split, one.id) for one in refused}
    tasks = {
        split: {name: task for name, task in of.items() if (split, name) not in names}
        for split, of in pack.tasks.items()
    }
    return replace(pack, tasks=tasks, refused=(*pack.refused, *refused))


def _broken(pack: Pack, verifiers: Verifiers) -> Iterator[Refusal]:
    for tasks in pack.tasks.values():
        for task in tasks.values():
            spec = parse_spec(task.verifier, task.spec, verifiers)
            if _cheap(task.verifier, spec, verifiers):
                fault = _fault(task, spec, verifiers)
                if fault is not None:
                    yield Refusal(task.where, fault.code, fault.message, task.split, task.id)


def _cheap(name: str, spec: Spec, verifiers: Verifiers) -> bool:
    children = verifiers[name].children(spec)
    return name in CHECKED or (
        name == "all"
        and all(
            child in (*CHECKED, "all") and _cheap(child, parse_spec(child, raw, verifiers), verifiers)
            for child, raw in children
        )
    )


def _fault(task: PackTask, spec: Spec, verifiers: Verifiers) -> TaskFault | None:
    try:
        with _limited():
            verifiers[task.verifier].prepare(spec, Context(verifiers=verifiers))
    except TaskFault as fault:
        return fault
    except LimitExceeded:
        return None
    return None


def _limited() -> contextlib.AbstractContextManager[None]:
    """A signal can only be caught in the main thread; elsewhere the golds' own caps have to do."""
    if threading.current_thread() is threading.main_thread():
        return cpu_limit(GOLD_SECONDS)
    return contextlib.nullcontext()


def _key(pack: Pack, verifiers: Verifiers) -> str:
    named = [name for name in (*CHECKED, "all") if name in verifiers]
    digests = [pack.digest, *(f"{name} {verifier_digest(verifiers[name], verifiers)}" for name in named)]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _remembered(path: Path) -> list[Refusal] | None:
    try:
        return _REFUSALS.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _remember(path: Path, refused: list[Refusal]) -> None:
    """Whole or not at all; without room to write, the next start looks again."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as draft:
            json.dump([asdict(one) for one in refused], draft)
        os.replace(draft.name, path)
