"""Checkpoints: everything that a killed run needs to end with the same weights as one that was never killed.

A checkpoint is a folder in Hugging Face format with `optimiser.safetensors` and `state.json` beside it. It is written
under another name, synced, and renamed, so that a folder named `step-…` is always whole. Nothing is pickled.
Sampling draws from seeds that follow from step, group and index, so the position is the step number alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from veredicto_trainer.errors import CheckpointFault
from veredicto_trainer.policy import Policy

FORMAT = 1
OPTIMISER = "optimiser.safetensors"
STATE = "state.json"
RNG = "rng.torch"


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run is."""

    step: int
    """Steps done."""
    updates: int
    """Updates applied."""
    num_tokens: int
    """Tokens sampled so far."""
    wall_s: float
    cpu_s: float
    """Time spent so far, over all resumptions; after a kill, up to this checkpoint."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint on disk that has been verified."""

    folder: Path
    position: Position


class Checkpoints:
    """The checkpoints of one run.

    Args:
        folder: holds one folder per checkpoint.
        config_digest: written into each; another digest refuses to continue.
        keep: how many stay on disk.
    """

    def __init__(self, folder: Path, *, config_digest: str, keep: int) -> None:
        self._folder = folder
        self._digest = config_digest
        self._keep = keep

    def write(self, policy: Policy, optimiser: torch.optim.Optimizer, position: Position) -> Path:
        """Write a checkpoint, then remove the oldest beyond `keep`.

        Raises:
            CheckpointFault: the disk refused, or a weight is not finite; the checkpoints before it are untouched.
        """
        if broken := [name for name, p in policy.model.named_parameters() if not bool(torch.isfinite(p).all())]:
            raise CheckpointFault(
                f"no checkpoint of step {position.step}: weights are not finite ({broken[0]} and {len(broken) - 1} "
                "others); lower grpo.lr and go on from the checkpoint before"
            )
        target = self._folder / f"step-{position.step:06d}"

        def fill(folder: Path) -> None:
            policy.save(folder)
            save_file(_optimiser_tensors(optimiser), folder / OPTIMISER)
            files = {path.name: _sha256(path) for path in sorted(folder.iterdir())}
            state = {"format": FORMAT, "config": self._digest, "position": asdict(position), "files": files}
            (folder / STATE).write_text(json.dumps(state, indent=1), encoding="utf-8")

        write_folder(target, fill)
        for old in self._folders()[: -self._keep]:
            shutil.rmtree(old)
        return target

    def latest(self) -> Checkpoint | None:
        """The newest checkpoint, verified; None when there is none.

        Raises:
            CheckpointFault: it is damaged, or belongs to another configuration.
        """
        folders = self._folders()
        return self._verified(folders[-1]) if folders else None

    def restore(self, checkpoint: Checkpoint, policy: Policy, optimiser: torch.optim.Optimizer) -> None:
        """Put the optimiser's moments, the random state and the update count back; the weights are the folder's own."""
        tensors = load_file(checkpoint.folder / OPTIMISER)
        torch.set_rng_state(tensors.pop(RNG))
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in tensors.items():
            index, _, key = name.partition(".")
            moments.setdefault(int(index), {})[key] = tensor
        optimiser.load_state_dict({"state": moments, "param_groups": optimiser.state_dict()["param_groups"]})
        policy.version = checkpoint.position.updates

    def _folders(self) -> list[Path]:
        return sorted(self._folder.glob("step-*"))

    def _verified(self, folder: Path) -> Checkpoint:
        advice = "remove that folder to continue from the one before"
        try:
            state = json.loads((folder / STATE).read_text(encoding="utf-8"))
            damaged = [name for name, digest in state["files"].items() if _sha256(folder / name) != digest]
            position = Position(**state["position"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointFault(f"{folder} cannot be read ({error}); {advice}") from error
        if damaged:
            raise CheckpointFault(f"{folder} is damaged: {', '.join(damaged)} changed since it was written; {advice}")
        if state["config"] != self._digest:
            raise CheckpointFault(
                f"{folder} was written under another configuration; restore that, or choose another output"
            )
        return Checkpoint(folder, position)


def write_folder(target: Path, fill: Callable[[Path], None]) -> None:
    """Make a folder that is either whole and on disk, or not there.

    Args:
        target: its final name; an existing folder of that name is replaced.
        fill: writes the files into the folder that it is given.

    Raises:
        CheckpointFault: the disk refused (full, read-only, …).
    """
    building, old = target.with_name(f".{target.name}.tmp"), target.with_name(f".{target.name}.old")
    for left in (building, old):
        shutil.rmtree(left, ignore_errors=True)
    try:
        building.mkdir(parents=True)
        fill(building)
        for path in building.rglob("*"):
            sync_path(path)
        sync_path(building)
        if target.exists():  # out of the way in one step: half a folder must never bear the final name
            target.rename(old)
        building.rename(target)
        sync_path(target.parent)
        shutil.rmtree(old, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(building, ignore_errors=True)
        raise CheckpointFault(f"cannot write {target}: {error}; make room and run again to resume") from error


def write_json(path: Path, body: Any) -> None:
    """Replace a JSON file in one step: readers see the old one or the new one.

    Raises:
        CheckpointFault: the disk refused; the old file is untouched.
    """
    building = path.with_name(f".{path.name}.tmp")
    try:
        building.write_text(json.dumps(body, indent=1), encoding="utf-8")
        sync_path(building)
        building.replace(path)
        sync_path(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):  # what is left of it is overwritten the next time
            building.unlink()
        raise CheckpointFault(f"cannot write {path}: {error}; make room and run the same command again") from error


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file that `write_json` wrote, or None where there is none.

    Raises:
        CheckpointFault: it holds something else.
    """
    if not path.exists():
        return None
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointFault(f"{path} cannot be read ({error}); remove it and run the same command again") from error
    if not isinstance(body, dict):
        raise CheckpointFault(f"{path} holds no object; remove it and run the same command again")
    return body


def _optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    state = optimiser.state_dict()["state"]
    tensors = {f"{i}.{key}": value for i, moments in state.items() for key, value in moments.items()}
    return {**tensors, RNG: torch.get_rng_state()}


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sync_path(path: Path) -> None:
    """Put a file, or a folder's list of names, on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
