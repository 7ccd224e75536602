"""The shelf: every loaded pack, found by ref and listed by page; gold stays on it.

A ref is `pack[@sha256:…]/split/id`. What a pack serves is its prompts, examples and demonstrations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veredicto_proto.messages import ChatMessage, Demonstration, DemonstrationPage, PackInfo, TaskInfo, TaskPage
from veredicto_verifier.errors import InvalidRequest, NotFound, PackFault, TaskFault
from veredicto_verifier.packs.builtin import BUILTIN, materialise
from veredicto_verifier.packs.golds import sound
from veredicto_verifier.packs.loading import PACK_NAME, SPLIT_NAME, TASK_ID, load_pack
from veredicto_verifier.packs.pack import Pack, PackTask, Prompt, Shown
from veredicto_verifier.verifier import Fixture, Verifier

REF = re.compile(
    rf"(?P<pack>{PACK_NAME})(?:@(?P<pin>sha256:[0-9a-f]{{64}}))?/(?P<split>{SPLIT_NAME})/(?P<id>{TASK_ID})"
)
MAX_PAGE = 1000
"""Most tasks on one page."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """All loaded packs by name, and what could not be loaded."""

    packs: Mapping[str, Pack]
    faults: tuple[str, ...] = ()
    """One message for each pack that was skipped; for the log and `pack check`."""

    @classmethod
    def load(cls, folders: Sequence[Path], *, cache: Path | None, verifiers: Mapping[str, Verifier[Any, Any]]) -> Shelf:
        """The built-in packs and the user's; a pack that cannot be loaded is reported and skipped.

        Args:
            folders: each a pack, or a folder of packs.
            cache: where built-in packs are written; None leaves them out.
            verifiers: the registry.
        """
        packs: dict[str, Pack] = {}
        faults: list[str] = []
        for folder in _candidates(folders, cache, faults):
            try:
                pack = load_pack(folder, verifiers)
                if cache is None or folder.parent != cache:  # those that come with the service are right by its tests
                    pack = sound(pack, verifiers, None if cache is None else cache / "golds")
            except PackFault as fault:
                faults.append(str(fault))
                continue
            if pack.name in packs:
                faults.append(f"{folder}: a pack named {pack.name!r} is loaded from {packs[pack.name].folder} already")
                continue
            packs[pack.name] = pack if cache is None else _keeping(pack, cache / "prepared")
        return cls(packs, tuple(faults))

    def find(self, ref: str) -> tuple[PackTask, Pack]:
        """The task that a ref names.

        Raises:
            TaskFault: `task.unknown_ref`, also for a pin that is not the pack's digest; for a task that the loader
                refused, its own fault.
        """
        parts = REF.fullmatch(ref)
        if parts is None:
            raise TaskFault("task.unknown_ref", "a ref is pack/split/id or pack@sha256:<64 hex digits>/split/id")
        pack = self.packs.get(parts["pack"])
        if pack is None:
            known = ", ".join(sorted(self.packs))[:150] or "none"
            raise TaskFault("task.unknown_ref", f"no pack is named {parts['pack']!r}; loaded: {known}")
        if parts["pin"] not in (None, pack.digest):
            raise TaskFault("task.unknown_ref", f"the pin is not the digest of {pack.name}, which is {pack.digest}")
        task = pack.tasks.get(parts["split"], {}).get(parts["id"])
        if task is not None:
            return task, pack
        refusal = pack.refusal(parts["split"], parts["id"])
        if refusal is not None:
            raise refusal.fault(pack.name)
        raise TaskFault("task.unknown_ref", f"pack {pack.name} has no task {parts['split']}/{parts['id']}")

    def fixtures(self, names: Iterable[str]) -> dict[str, Fixture]:
        """The fixtures of these full names (`pack/fixture`); unknown ones are left out."""
        found: dict[str, Fixture] = {}
        for name in names:
            pack = self.packs.get(name.partition("/")[0])
            if pack is not None and name in pack.fixtures:
                found[name] = pack.fixtures[name]
        return found

    def infos(self) -> tuple[PackInfo, ...]:
        """`GET /packs`."""
        return tuple(pack_info(pack) for pack in self.packs.values())

    def tasks_page(
        self,
        name: str,
        *,
        split: str | None = None,
        category: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> TaskPage:
        """`GET /packs/{pack}/tasks`: prompts, never specs. A cursor is the `split/id` of the last task seen.

        Raises:
            NotFound: no such pack or split.
            InvalidRequest: a limit out of range, or a cursor that this listing did not give.
        """
        pack = self._pack(name)
        if split is not None and split not in pack.tasks:
            raise NotFound(f"pack {name} has no split {split[:60]!r}; it has {', '.join(pack.tasks)}")
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidRequest(f"limit must be from 1 to {MAX_PAGE}")
        splits = pack.tasks if split is None else {split: pack.tasks[split]}
        listed = [task for tasks in splits.values() for task in tasks.values() if category in (None, task.category)]
        start = _after(cursor, listed)
        page = listed[start : start + limit]
        more = start + limit < len(listed)
        return TaskPage(
            tasks=tuple(task_info(pack, task) for task in page), next_cursor=_cursor(page[-1]) if more else None
        )

    def examples(self, name: str) -> DemonstrationPage:
        """`GET /packs/{pack}/examples`: the few-shot examples.

        Raises:
            NotFound: no such pack.
        """
        return _shown_page(self._pack(name).examples)

    def demonstrations(self, name: str, split: str = "train") -> DemonstrationPage:
        """`GET /packs/{pack}/demonstrations`: of the train split only.

        Raises:
            NotFound: no such pack, or any other split.
        """
        pack = self._pack(name)
        if split != "train":
            raise NotFound("demonstrations are of the train split only; ask for split=train")
        return _shown_page(pack.demonstrations)

    def _pack(self, name: str) -> Pack:
        pack = self.packs.get(name)
        if pack is None:
            raise NotFound(f"no pack is named {name[:60]!r}; GET /packs lists them")
        return pack


def pack_info(pack: Pack) -> PackInfo:
    """What the service says of a pack."""
    categories: dict[str, int] = {}
    for tasks in pack.tasks.values():
        for task in tasks.values():
            if task.category is not None:
                categories[task.category] = categories.get(task.category, 0) + 1
    return PackInfo(
        name=pack.name,
        version=pack.version,
        digest=pack.digest,
        licence=pack.licence,
        language=pack.language,
        splits={split: len(tasks) for split, tasks in pack.tasks.items()},
        categories=dict(sorted(categories.items())),
        refused=len(pack.refused),
    )


def task_info(pack: Pack, task: PackTask) -> TaskInfo:
    """What the service says of a task: everything but its spec."""
    return TaskInfo(
        ref=f"{pack.name}/{task.split}/{task.id}",
        id=task.id,
        category=task.category,
        difficulty=task.difficulty,
        verifier=task.verifier,
        prompt=_wire(task.prompt),
    )


def _keeping(pack: Pack, folder: Path) -> Pack:
    """The pack with a folder in which its fixtures are prepared once."""
    return replace(pack, fixtures={name: replace(one, cache=folder) for name, one in pack.fixtures.items()})


def _candidates(folders: Sequence[Path], cache: Path | None, faults: list[str]) -> list[Path]:
    found = []
    if cache is not None:
        found.extend(_built_in(cache, faults))
    for folder in folders:
        inner = (
            [folder] if (folder / "pack.toml").is_file() else sorted(path.parent for path in folder.glob("*/pack.toml"))
        )
        if not inner and not _is_empty(folder):
            faults.append(f"{folder}: neither a pack (a folder with a pack.toml) nor a folder of packs")
        found.extend(inner)
    return found


def _built_in(cache: Path, faults: list[str]) -> list[Path]:
    found = []
    for name in BUILTIN:
        try:
            found.append(materialise(name, cache))
        except PackFault as fault:
            faults.append(str(fault))
    return found


def _is_empty(folder: Path) -> bool:
    """An empty folder is no fault: packs may be put there later."""
    return folder.is_dir() and not any(folder.iterdir())


def _after(cursor: str | None, listed: Sequence[PackTask]) -> int:
    if cursor is None:
        return 0
    for index, task in enumerate(listed):
        if _cursor(task) == cursor:
            return index + 1
    raise InvalidRequest("the cursor is not of this listing; start again without one")


def _cursor(task: PackTask) -> str:
    return f"{task.split}/{task.id}"


def _shown_page(shown: Sequence[Shown]) -> DemonstrationPage:
    return DemonstrationPage(
        demonstrations=tuple(
            Demonstration(prompt=_wire(one.prompt), completion=one.completion, category=one.category) for one in shown
        )
    )


def _wire(prompt: Prompt) -> str | tuple[ChatMessage, ...]:
    if isinstance(prompt, str):
        return prompt
    return tuple(ChatMessage.model_validate(message) for message in prompt)
