"""Load a pack from its folder: a broken line is refused alone, a pack without a manifest is a fault.

Every message names file and line, says what is wrong and never shows a spec's values.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from veredicto_proto.messages import ChatMessage
from veredicto_verifier.errors import PackFault, TaskFault
from veredicto_verifier.packs.pack import Pack, PackTask, Prompt, Refusal, Shown
from veredicto_verifier.specs import fixture_names, parse_spec
from veredicto_verifier.verifier import Fixture, Verifier

PACK_NAME = r"[a-z0-9][a-z0-9_-]{0,59}"
SPLIT_NAME = r"[a-z][a-z0-9_-]{0,19}"
TASK_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""Together with a pin these fit the 256 characters of a ref."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Verifiers = Mapping[str, Verifier[Any, Any]]


class Manifest(BaseModel):
    """What `pack.toml` says."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: Annotated[str, StringConstraints(pattern=f"^{PACK_NAME}$")]
    """Lower-case letters, digits, `-` and `_`; the first part of a ref."""
    version: Name
    licence: Name
    language: Name
    """Of the prompts, as a BCP 47 tag (`en`, `es-MX`)."""
    description: str = ""


class Prompted(BaseModel):
    """A line of any of a pack's JSONL files: a prompt, or the messages of a conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: Annotated[str, StringConstraints(min_length=1)] | None = None
    messages: Annotated[tuple[ChatMessage, ...], Field(min_length=1)] | None = None
    category: Name | None = None

    @model_validator(mode="after")
    def _one_prompt(self) -> Prompted:
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("give either `prompt` or `messages`")
        return self

    def asked(self) -> Prompt:
        """The prompt in the pack's own form."""
        if self.messages is None:
            return self.prompt or ""
        return tuple(message.model_dump(exclude_none=True) for message in self.messages)


class TaskLine(Prompted):
    """A line of `tasks/<split>.jsonl`."""

    id: Annotated[str, StringConstraints(pattern=f"^{TASK_ID}$")]
    difficulty: float | None = None
    verifier: Name
    spec: dict[str, Any]


class ShownLine(Prompted):
    """A line of `examples.jsonl` or `demonstrations/train.jsonl`."""

    completion: str


def load_pack(folder: Path, verifiers: Verifiers) -> Pack:
    """The pack in a folder.

    Raises:
        PackFault: there is no readable `pack.toml`, or a file of the pack cannot be read at all.
    """
    manifest = read_manifest(folder / "pack.toml")
    contents = file_digests(folder)
    fixtures, refused = _fixtures(folder, manifest.name, contents)
    tasks: dict[str, dict[str, PackTask]] = {}
    for path in sorted(name for name in contents if name.startswith("tasks/") and name.endswith(".jsonl")):
        split = path.removeprefix("tasks/").removesuffix(".jsonl")
        if not re.fullmatch(SPLIT_NAME, split):
            message = "a split's file is tasks/NAME.jsonl, NAME of at most 20 of a-z, 0-9, - and _"
            refused.append(Refusal(path, "task.malformed", message))
            continue
        tasks[split] = _load_split(folder, path, split, verifiers, fixtures, refused)
    hidden = {comparable(task.prompt) for split, of in tasks.items() if split != "train" for task in of.values()}
    return Pack(
        folder=folder,
        **manifest.model_dump(),
        digest=pack_digest(contents),
        tasks=tasks,
        examples=_load_shown(folder, "examples.jsonl", contents, hidden, refused),
        demonstrations=_load_shown(folder, "demonstrations/train.jsonl", contents, hidden, refused),
        fixtures=fixtures,
        refused=tuple(refused),
    )


def read_manifest(path: Path) -> Manifest:
    """The manifest of a pack.

    Raises:
        PackFault: it is missing, is not TOML, or lacks a field.
    """
    try:
        return Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise PackFault(f"{path}: {error.strerror}; a pack is a folder with a pack.toml") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackFault(f"{path}: not TOML in UTF-8: {error}") from error
    except ValidationError as error:
        raise PackFault(f"{path}: {first_fault(error)}") from error


def file_digests(folder: Path) -> dict[str, str]:
    """SHA-256 (hex) of each file of a pack by relative path; hidden files and folders are no part of it.

    Raises:
        PackFault: a file cannot be read, or a link leads out of the folder.
    """
    contents: dict[str, str] = {}
    root = folder.resolve()
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in [*files, *(inner for inner in folders if (Path(parent) / inner).is_symlink())]:
            path = Path(parent) / name
            if name.startswith("."):
                continue
            if not path.resolve().is_relative_to(root) or path.is_dir():
                raise PackFault(f"{path}: is a link to a folder or out of the pack; copy the files in")
            try:
                with path.open("rb") as file:
                    contents[path.relative_to(folder).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise PackFault(f"{path}: cannot be read: {error.strerror}") from error
    return contents


def pack_digest(contents: Mapping[str, str]) -> str:
    """`sha256:…` of the lines that `sha256sum` prints for the pack's files, sorted by path."""
    lines = b"".join(
        b"%s  %s\n" % (contents[path].encode(), os.fsencode(path)) for path in sorted(contents, key=os.fsencode)
    )
    return "sha256:" + hashlib.sha256(lines).hexdigest()


def _fixtures(folder: Path, pack: str, contents: Mapping[str, str]) -> tuple[dict[str, Fixture], list[Refusal]]:
    """Each file under `fixtures/` by `pack/<path without its extension>`."""
    fixtures: dict[str, Fixture] = {}
    refused: list[Refusal] = []
    for path in sorted(name for name in contents if name.startswith("fixtures/")):
        name = f"{pack}/{Path(path).relative_to('fixtures').with_suffix('').as_posix()}"
        if name in fixtures:
            message = f"another file is already fixture {name!r}; rename one of the two"
            refused.append(Refusal(path, "task.unknown_fixture", message))
            continue
        fixtures[name] = Fixture((folder / path).resolve(), f"sha256:{contents[path]}")
    return fixtures, refused


def json_lines(folder: Path, path: str, refused: list[Refusal]) -> Iterator[tuple[str, dict[str, Any]]]:
    """`(file:line, object)` of each readable line; the others are refused."""
    for number, line in enumerate((folder / path).read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
            json.dumps(row, ensure_ascii=False, allow_nan=False).encode("utf-8")  # no 1e999, no lone surrogate
        except (ValueError, RecursionError) as error:
            refused.append(Refusal(where, "task.malformed", f"not one JSON object in UTF-8: {str(error)[:150]}"))
            continue
        if not isinstance(row, dict):
            refused.append(Refusal(where, "task.malformed", "a line must be one JSON object"))
            continue
        yield where, row


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _load_split(
    folder: Path, path: str, split: str, verifiers: Verifiers, fixtures: Mapping[str, Fixture], refused: list[Refusal]
) -> dict[str, PackTask]:
    tasks: dict[str, PackTask] = {}
    for where, row in json_lines(folder, path, refused):
        task_id = row["id"] if isinstance(row.get("id"), str) else None
        try:
            task = read_task(where, split, row, verifiers, fixtures)
            if task.id in tasks:
                raise TaskFault("task.malformed", f"id {task.id!r} is taken by {tasks[task.id].where}")
        except TaskFault as fault:
            refused.append(Refusal(where, fault.code, fault.message, split, task_id))
            continue
        tasks[task.id] = task
    return tasks


def read_task(
    where: str, split: str, row: Mapping[str, Any], verifiers: Verifiers, fixtures: Mapping[str, Fixture]
) -> PackTask:
    """One task from its line.

    Raises:
        TaskFault: `task.malformed`, `task.unknown_verifier`, `task.spec_invalid` or `task.unknown_fixture`.
    """
    try:
        line = TaskLine.model_validate(row)
    except ValidationError as error:
        raise TaskFault("task.malformed", first_fault(error)) from error
    spec = parse_spec(line.verifier, line.spec, verifiers)
    missing = [name for name in fixture_names(line.verifier, spec, verifiers) if name not in fixtures]
    if missing:
        raise TaskFault("task.unknown_fixture", f"the pack has no fixture {missing[0][:100]!r} under fixtures/")
    return PackTask(
        id=line.id,
        split=split,
        prompt=line.asked(),
        verifier=line.verifier,
        spec=line.spec,
        category=line.category,
        difficulty=line.difficulty,
        where=where,
    )


def _load_shown(
    folder: Path, path: str, contents: Mapping[str, str], hidden: set[str], refused: list[Refusal]
) -> tuple[Shown, ...]:
    """Public prompts with completions; one that answers a task outside train is refused."""
    if path not in contents:
        return ()
    shown = []
    for where, row in json_lines(folder, path, refused):
        try:
            line = ShownLine.model_validate(row)
        except ValidationError as error:
            refused.append(Refusal(where, "task.malformed", first_fault(error)))
            continue
        if comparable(line.asked()) in hidden:
            refused.append(Refusal(where, "task.malformed", "shows the answer to a task outside the train split"))
            continue
        shown.append(Shown(line.asked(), line.completion, line.category))
    return tuple(shown)


def comparable(prompt: Prompt) -> str:
    """A prompt without its spacing and case, to find the same question twice."""
    text = prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True)
    return " ".join(text.casefold().split())


def first_fault(error: ValidationError) -> str:
    """The first fault of a line or manifest, with its JSON path and without the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return f"${path}: {first['msg']}"
