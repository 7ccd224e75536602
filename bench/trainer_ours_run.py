"""One run of this trainer in a process of its own, for trainer_runs.py: `python -m bench.trainer_ours_run FOLDER`.

`config.json` in the folder names the configuration and how weights reach the engine: `shared` (the embedded engine
samples from the very weights) or `reload` (every hand-over writes a checkpoint, reads it into a second model and proves
it by log-probabilities, as an engine in another process must).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from rich.console import Console

from veredicto_proto.client import Client
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.engines.engine import Engine, Request, Sampling, SyncProof
from veredicto_trainer.engines.hf import HfEngine
from veredicto_trainer.loop import train
from veredicto_trainer.metrics import read_rows
from veredicto_trainer.policy import Policy
from veredicto_trainer.rollouts import Completion

PROBE = tuple(range(4, 20))
"""Token ids whose log-probabilities prove that weights arrived."""


class TimedEngine:
    """The embedded engine, noting the clocks whenever weights are handed over: once a step in mode `sync`."""

    def __init__(self, policy: Policy, batch_size: int, weights: Callable[[Policy], tuple[Policy, float]]) -> None:
        self._engine = HfEngine(policy, batch_size=batch_size)
        self._weights = weights
        self.marks: list[list[float]] = []

    def publish(self, policy: Policy) -> SyncProof:
        self.marks.append([time.perf_counter(), time.process_time()])
        weights, gap = self._weights(policy)
        self._engine.publish(weights)
        return SyncProof(weights.version, gap, 1e-4, time.perf_counter() - self.marks[-1][0])

    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, tuple[Completion, ...]]]:
        return self._engine.stream(requests, sampling)

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[tuple[Completion, ...]]:
        return self._engine.generate(requests, sampling)


def shared(policy: Policy, folder: Path) -> tuple[Policy, float]:
    return policy, 0.0


def reloaded(policy: Policy, folder: Path) -> tuple[Policy, float]:
    policy.save(folder)
    copy = Policy.load(folder)
    copy.version = policy.version
    with torch.inference_mode():
        rows = [model.logprobs([PROBE[:1]], [PROBE[1:]]).logprobs_BT for model in (policy, copy)]
    return copy, float((rows[0] - rows[1]).abs().max())


SYNCS = {"shared": shared, "reload": reloaded}


def main(folder: Path) -> None:
    settings = json.loads((folder / "config.json").read_text())
    config = TrainerConfig.model_validate(settings["config"])
    engines: list[TimedEngine] = []

    def timed(policy: Policy) -> Engine:
        hand_over = SYNCS[settings.get("sync", "shared")]
        weights = folder / "weights"
        engines.append(TimedEngine(policy, config.grpo.generation_batch, lambda latest: hand_over(latest, weights)))
        return engines[-1]

    with Client(config.service.url) as client:
        train(config, client, Console(file=sys.stdout), fresh_engine=timed)
    rows = read_rows(folder / "metrics.jsonl")
    body = {
        "marks": engines[0].marks[1:],  # without the examination before
        "rewards": [row["reward"] for row in rows],
        "reward_s": [row["wait_scoring_ms"] / 1000 for row in rows],
        "tokens": [row["tokens/new"] for row in rows],
    }
    (folder / "bench.json").write_text(json.dumps(body))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
