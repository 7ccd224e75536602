"""Who a run is: its name in the service's ledger, its pins and its configuration, written once when it starts."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from veredicto_trainer.checkpoints import write_json
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.errors import CheckpointFault, TasksFault

FILE = "run.json"


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What stays the same from a run's first start to its last resumption."""

    run: str
    """The configured name with a random suffix."""
    config_digest: str
    pack: str
    pack_digest: str
    seed: int


def identify(config: TrainerConfig, pack_digest: str) -> RunIdentity:
    """The identity in the output folder, or a new one for an empty folder.

    Raises:
        CheckpointFault: the folder belongs to a run with another configuration.
        TasksFault: the service's pack is not the one that the run started with.
    """
    path = config.output / FILE
    if not path.exists():
        config.output.mkdir(parents=True, exist_ok=True)
        name = f"{config.run}-{secrets.token_hex(4)}"
        fresh = RunIdentity(name, config.digest(), config.tasks.pack, pack_digest, config.seed)
        write_json(path, {**asdict(fresh), "config": config.model_dump(mode="json")})
        return fresh
    known = read_identity(config.output)
    if known.config_digest != config.digest():
        raise CheckpointFault(
            f"{config.output} holds run {known.run} of another configuration; choose another output, or use --fresh"
        )
    if known.pack_digest != pack_digest:
        raise TasksFault(
            f"run {known.run} started on pack {known.pack}@{known.pack_digest} but the service has {pack_digest}; "
            "serve that pack again, or use --fresh"
        )
    return known


def read_identity(output: Path) -> RunIdentity:
    """The identity that a run wrote.

    Raises:
        CheckpointFault: the file is missing or not one of ours.
    """
    try:
        body = json.loads((output / FILE).read_text(encoding="utf-8"))
        body.pop("config")
        return RunIdentity(**body)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointFault(
            f"{output / FILE} cannot be read ({error}); choose another output, or use --fresh"
        ) from error


def set_aside(output: Path) -> Path | None:
    """Rename an output folder out of the way, so that a fresh run can start; None when there is none."""
    if not output.exists():
        return None
    number = 1
    while (target := output.with_name(f"{output.name}.{number}")).exists():
        number += 1
    return output.rename(target)
