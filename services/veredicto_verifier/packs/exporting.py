"""Hand out a pack: as a folder, or as the items of a score request with their completions still to be filled in."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from veredicto_verifier.errors import PackFault
from veredicto_verifier.packs.loading import file_digests
from veredicto_verifier.packs.pack import Pack, PackTask


def export_folder(pack: Pack, target: Path) -> None:
    """Copy the pack's files, gold included, so that the copy has the same digest.

    Raises:
        PackFault: the target holds something already, or cannot be written.
    """
    try:
        if target.exists() and any(target.iterdir()):
            raise PackFault(f"{target}: holds files already; choose a new folder")
        for relative in file_digests(pack.folder):
            path = target / relative
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(pack.folder / relative, path)
    except OSError as error:
        raise PackFault(f"{target}: cannot be written: {error.strerror}") from error


def score_items(pack: Pack, split: str | None, *, gold: bool = False) -> Iterator[str]:
    """One JSON line per task: an item of `POST /score` with an empty completion.

    Args:
        pack: as loaded.
        split: one split, or None for all.
        gold: give verifier and spec inline instead of a pinned ref.
    """
    for name, tasks in pack.tasks.items():
        for task in tasks.values() if split in (None, name) else ():
            item = {
                "id": f"{name}/{task.id}",
                "prompt": task.prompt,
                "completion": "",
                "task": _named(pack, task, gold),
            }
            yield json.dumps(item, ensure_ascii=False)


def _named(pack: Pack, task: PackTask, gold: bool) -> dict[str, Any]:
    category = {} if task.category is None else {"category": task.category}
    if gold:
        return {"verifier": task.verifier, "spec": dict(task.spec)} | category
    return {"ref": f"{pack.name}@{pack.digest}/{task.split}/{task.id}"} | category
