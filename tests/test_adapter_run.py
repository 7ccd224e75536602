"""Whole runs that train an adapter, in bf16 products, under other losses: they resume, and are examined again alike."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.reward_server import serving
from tests.tiny_policy import tiny_policy
from veredicto_proto.client import Client
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.evaluation import evaluate
from veredicto_trainer.loop import Outcome, train
from veredicto_trainer.policy import Policy


def settings(
    folder: Path, url: str, name: str, policy: dict[str, Any], warm: int | None = None, **grpo: Any
) -> TrainerConfig:
    if not (folder / "tiny").exists():
        tiny_policy(folder / "tiny")
    usual = {"prompts_per_step": 4, "group_size": 6, "max_new_tokens": 3, "lr": 1e-2, "lr_warmup_updates": 0}
    return TrainerConfig.model_validate(
        {
            "run": "words",
            "output": folder / name,
            "service": {"url": url},
            "tasks": {"pack": "words"},
            "policy": {"path": folder / "tiny", **policy},
            "grpo": {"steps": 4, **usual, **grpo},
            "eval": {"questions": 6, "executes_check": "word.ran"},
            "checkpoint": {"every": 2},
            "warm_start": warm and {"steps": warm, "batch_size": 4},
        }
    )


def go(config: TrainerConfig, **options: Any) -> Outcome:
    with Client(config.service.url, first_wait_s=0.01) as client:
        return train(config, client, Console(file=io.StringIO()), **options)


@pytest.mark.parametrize(
    ("policy", "grpo"),
    [
        ({"lora": {"rank": 4}}, {"kl": 0.05, "updates_per_batch": 2}),
        (
            {"lora": {"rank": 4}, "precision": "bfloat16", "gradient_checkpointing": True},
            {"loss": "mu_grpo", "warm": 2},
        ),
        ({"logits_mb": 1, "gradient_checkpointing": True}, {"loss": "dapo", "correction": {"mode": "truncate"}}),
    ],
    ids=["adapter", "adapter in bf16", "all weights"],
)
def test_a_run_that_is_stopped_ends_with_the_weights_of_one_that_is_not(
    tmp_path: Path, policy: dict[str, Any], grpo: dict[str, Any]
) -> None:
    with serving() as service:
        whole = go(settings(tmp_path, service.url, "whole", policy, **grpo)).after
        config = settings(tmp_path, service.url, "run", policy, **grpo)
        rows = config.output / "metrics.jsonl"
        stopped = go(config, should_stop=lambda: rows.exists() and "\n" in rows.read_text(encoding="utf-8"))
        assert stopped.after is None
        resumed = go(config).after
        with Client(service.url) as client:
            report = evaluate(config, client, config.output / "policy")
    assert whole is not None
    assert resumed is not None
    (examined,) = report["answers"][str(config.output / "policy")].values()
    assert resumed.weights == whole.weights == examined["weights"]
    start = json.loads((config.output / "eval_before.json").read_text(encoding="utf-8"))["weights"]
    assert resumed.weights != start
    assert (config.output / "policy" / "adapter_model.safetensors").exists() == ("lora" in policy)
    assert Policy.load(config.output / "start").adapter is None
