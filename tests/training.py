"""Configurations of small runs over the words of `reward_server.py`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from rich.console import Console

from tests.tiny_policy import tiny_policy
from veredicto_proto.client import Client
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.loop import Outcome, train


def config(
    folder: Path, url: str, *, name: str = "run", sections: dict[str, Any] | None = None, **grpo: Any
) -> TrainerConfig:
    """A run of six steps; `sections` are further tables of the file, `grpo` are settings of that table."""
    if not (folder / "tiny").exists():
        tiny_policy(folder / "tiny")
    settings = {
        "steps": 6,
        "prompts_per_step": 6,
        "group_size": 6,
        "max_new_tokens": 3,
        "lr": 1e-2,
        "lr_warmup_updates": 0,
    }
    return TrainerConfig.model_validate(
        {
            "run": "words",
            "output": folder / name,
            "service": {"url": url},
            "tasks": {"pack": "words"},
            "policy": {"path": folder / "tiny"},
            "grpo": {**settings, **grpo},
            "eval": {"questions": 14, "executes_check": "word.ran"},
            "checkpoint": {"every": 2},
            **(sections or {}),
        }
    )


def go(settings: TrainerConfig, **options: Any) -> Outcome:
    """Train in this process."""
    with Client(settings.service.url, first_wait_s=0.01) as client:
        return train(settings, client, Console(file=io.StringIO()), **options)


def weights(outcome: Outcome) -> str:
    """The digest of the weights that a finished run ended with."""
    assert outcome.after is not None
    return outcome.after.weights


def write_toml(path: Path, settings: TrainerConfig) -> Path:
    """The configuration as a file."""
    lines = [f'run = "words"\noutput = "{settings.output}"']
    for name, section in settings.model_dump(mode="json", exclude_unset=True).items():
        if isinstance(section, dict):
            lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in section.items())]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def weights_of(output: Path) -> str:
    """The digest in a finished run's report."""
    digest: str = json.loads((output / "report.json").read_text(encoding="utf-8"))["weights"]
    return digest
