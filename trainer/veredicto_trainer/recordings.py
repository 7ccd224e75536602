"""Recordings: every completion's tokens and log-probabilities on disk as soon as they are sampled, one file a round.

They are what a run that was killed goes on from where its weights have moved on (`staged`, `bounded`), and what
`veredicto-train replay` learns from without an engine. Safetensors with a JSON header; nothing is pickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from veredicto_proto.messages import ChatMessage
from veredicto_trainer.checkpoints import sync_path
from veredicto_trainer.errors import CheckpointFault
from veredicto_trainer.rollouts import Completion, Question, Unscored

HEADER = "recording"
DIGEST = "sha256"


@dataclass(frozen=True, slots=True)
class Round:
    """What was sampled at once for one step."""

    step: int
    number: int
    """From 0; above it where groups without a signal were replaced."""
    cursor: int
    """Questions drawn over the whole run, these included."""
    at: float
    """Unix time at which the last completion had been sampled."""
    groups: tuple[Unscored, ...]


class Recordings:
    """The recordings of one run.

    Args:
        folder: holds one file per step and round.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, taken: Round) -> None:
        """Write one round; a file of its name is whole, or not there.

        Raises:
            CheckpointFault: the disk refused.
        """
        path = self._path(taken.step, taken.number)
        building = path.with_name(f".{path.name}.tmp")
        header = {"step": taken.step, "number": taken.number, "cursor": taken.cursor, "at": taken.at}
        described = json.dumps({**header, "groups": [_described(group) for group in taken.groups]})
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            tensors = _tensors(taken.groups)
            save_file(tensors, building, metadata={HEADER: described, DIGEST: _digest(described, tensors)})
            sync_path(building)
            building.rename(path)
            sync_path(self._folder)
        except (OSError, SafetensorError) as error:
            with contextlib.suppress(OSError):  # what is left of it is overwritten the next time
                building.unlink()
            raise CheckpointFault(f"cannot write {path}: {error}; make room and run again to resume") from error

    def read(self, step: int, number: int) -> Round | None:
        """One round, or None where there is no such file.

        Raises:
            CheckpointFault: the file is damaged.
        """
        path = self._path(step, number)
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                described, digest = file.metadata()[HEADER], file.metadata()[DIGEST]
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            if _digest(described, tensors) != digest:
                raise ValueError("changed since it was written")
            header = json.loads(described)
            groups = tuple(_groups(header["groups"], tensors))
            return Round(header["step"], header["number"], header["cursor"], header["at"], groups)
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise CheckpointFault(f"{path} cannot be read ({error}); remove it and the checkpoints after it") from error

    def cursor(self, step: int) -> int:
        """How many questions were drawn up to and with a step; 0 before the first.

        Raises:
            CheckpointFault: the step was not recorded.
        """
        rounds = list(self.rounds(step))
        if not rounds and step > 0:
            raise CheckpointFault(f"the recording of step {step} is missing in {self._folder}; use --fresh")
        return rounds[-1].cursor if rounds else 0

    def rounds(self, step: int) -> Iterator[Round]:
        """The rounds of a step, in order."""
        for number in itertools.count():
            found = self.read(step, number)
            if found is None:
                return
            yield found

    def _path(self, step: int, number: int) -> Path:
        return self._folder / f"step-{step:06d}-{number}.safetensors"


def _tensors(groups: Sequence[Unscored]) -> dict[str, Tensor]:
    completions = [completion for group in groups for completion in group.completions]
    return {
        "prompt_ids": _flat([group.question.token_ids for group in groups], torch.int32),
        "prompt_lengths": torch.tensor([len(group.question.token_ids) for group in groups], dtype=torch.int32),
        "token_ids": _flat([completion.token_ids for completion in completions], torch.int32),
        "logprobs": _flat([completion.logprobs for completion in completions], torch.float32),
        "lengths": torch.tensor([len(completion.token_ids) for completion in completions], dtype=torch.int32),
    }


def _digest(described: str, tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256(described.encode())
    for name in sorted(tensors):
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()


def _flat(rows: Sequence[Sequence[float]], dtype: torch.dtype) -> Tensor:
    return torch.tensor(list(itertools.chain.from_iterable(rows)), dtype=dtype)


def _described(group: Unscored) -> dict[str, Any]:
    question = group.question
    prompt = (
        question.prompt
        if isinstance(question.prompt, str)
        else [m.model_dump(mode="json", exclude_none=True) for m in question.prompt]
    )
    return {
        "id": group.id,
        "ref": question.ref,
        "category": question.category,
        "difficulty": question.difficulty,
        "prompt": prompt,
        "texts": list(group.texts),
        "completions": [[c.finish, c.policy_version, c.newest_version] for c in group.completions],
    }


def _groups(described: Sequence[dict[str, Any]], tensors: dict[str, Tensor]) -> list[Unscored]:
    prompts = iter(_cut(tensors["prompt_ids"], tensors["prompt_lengths"]))
    tokens = iter(_cut(tensors["token_ids"], tensors["lengths"]))
    logprobs = iter(_cut(tensors["logprobs"], tensors["lengths"]))
    groups = []
    for group in described:
        raw = group["prompt"]
        prompt = raw if isinstance(raw, str) else tuple(ChatMessage.model_validate(message) for message in raw)
        question = Question(group["ref"], group["category"], prompt, tuple(next(prompts)), group["difficulty"])
        completions = tuple(
            Completion(tuple(next(tokens)), tuple(next(logprobs)), *fields) for fields in group["completions"]
        )
        groups.append(Unscored(group["id"], question, completions, tuple(group["texts"])))
    return groups


def _cut(values: Tensor, lengths: Tensor) -> list[list[Any]]:
    flat, ends = values.tolist(), lengths.cumsum(0).tolist()
    return [flat[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)]
