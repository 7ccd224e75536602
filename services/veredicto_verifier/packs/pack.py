"""A pack as it is loaded: its tasks, fixtures, examples and demonstrations, and the tasks that were refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veredicto_verifier.errors import TaskCode, TaskFault
from veredicto_verifier.verifier import Fixture

Prompt = str | tuple[dict[str, Any], ...]
"""A text, or the messages of a conversation."""


@dataclass(frozen=True, slots=True)
class PackTask:
    """One task of a pack; `spec` holds gold and is never served."""

    id: str
    split: str
    prompt: Prompt
    verifier: str
    spec: Mapping[str, Any]
    category: str | None = None
    difficulty: float | None = None
    where: str = ""
    """`tasks/test.jsonl:7`, for messages."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A prompt with a completion that the author declared public: an example or a demonstration."""

    prompt: Prompt
    completion: str
    category: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line of the pack that the loader refused, and why; it never stops the pack."""

    where: str
    code: TaskCode
    message: str
    split: str | None = None
    id: str | None = None

    def fault(self, pack: str) -> TaskFault:
        """The refusal as what an item that refers to the task gets."""
        return TaskFault(self.code, f"{self.message} ({self.named(pack)})")

    def named(self, pack: str) -> str:
        """The task's ref, if its line has an id, and where it stands."""
        return self.where if self.id is None else f"{pack}/{self.split}/{self.id}, {self.where}"


@dataclass(frozen=True, slots=True)
class Pack:
    """A folder of tasks with its manifest; `digest` names its content, `sha256:…`."""

    folder: Path
    name: str
    version: str
    licence: str
    language: str
    description: str
    digest: str
    tasks: Mapping[str, Mapping[str, PackTask]]
    """By split, then by id, in the order of the files."""
    examples: tuple[Shown, ...] = ()
    demonstrations: tuple[Shown, ...] = ()
    """Of the train split only."""
    fixtures: Mapping[str, Fixture] = field(default_factory=dict)
    """By full name, `pack/fixture`."""
    refused: tuple[Refusal, ...] = ()

    def refusal(self, split: str, task_id: str) -> Refusal | None:
        """Why the task is not among `tasks`, if the loader refused it."""
        for refusal in self.refused:
            if (refusal.split, refusal.id) == (split, task_id):
                return refusal
        return None
