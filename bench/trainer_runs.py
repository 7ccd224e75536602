"""What the trainer's benches share: a real service, one start per seed, runs in their own processes, examinations."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from rich.console import Console

from bench.service import ready
from veredicto_proto.client import Client
from veredicto_trainer.config import TrainerConfig, load_config
from veredicto_trainer.engines.hf import HfEngine
from veredicto_trainer.evaluate import Examination, examine, load_or
from veredicto_trainer.metrics import read_rows
from veredicto_trainer.policy_loading import load_policy
from veredicto_trainer.rewards import Rewarder
from veredicto_trainer.start import starting_policy
from veredicto_trainer.tasks import as_questions, fetch_tasks

ROOT = Path(__file__).parent.parent
TABLES = Console(width=150)
RUN_LIMIT_S = 3600
"""Seconds after which a run counts as hung."""


@dataclass(frozen=True)
class Ran:
    """What a run in a process of its own left."""

    folder: Path
    marks: list[list[float]]
    """[wall, CPU] seconds at the start of each step and at the end of the last."""
    rewards: list[float]
    """Mean reward of each step."""
    reward_s: list[float]
    """Seconds of each step in which learning waited for rewards and for nothing else."""
    tokens: list[float]
    """Completion tokens of each step."""

    def per_s(self, completions: int, *, clock: int, without_rewards: bool = False) -> float:
        """Completions per second of wall time (clock 0) or CPU time (clock 1), the first step left out."""
        seconds = self.marks[-1][clock] - self.marks[1][clock]
        if without_rewards:
            seconds -= sum(self.reward_s[1:])
        return completions * (len(self.marks) - 2) / seconds

    @property
    def last_rewards(self) -> float:
        return fmean(self.rewards[-10:])


class Bench:
    """A service and a folder; runs start from one warmed-up policy per seed, so that only what is compared differs.

    Each run has a service of its own: verdicts that it remembers from an earlier run would favour the later one.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self.client = Client(url)
        self.url = url
        self.folder = folder
        self.demo = load_config(ROOT / "configs" / "demo.toml")

    def config(self, name: str, seed: int, **changes: Mapping[str, Any]) -> TrainerConfig:
        """The demo's configuration with some fields of its tables replaced."""
        body = self.demo.model_dump(mode="json", exclude_unset=True)
        body |= {"run": f"bench-{name}", "output": str(self.folder / name), "seed": seed}
        for table, fields in {"service": {"url": self.url}, **changes}.items():
            body[table] = {**body.get(table, {}), **fields}
        return TrainerConfig.model_validate(body)

    def start(self, seed: int) -> Path:
        """The policy after the demo's warm start, made once."""
        config = self.config(f"start-{seed}", seed)
        if not (config.output / "start").exists():
            torch.set_num_threads(config.threads)
            tasks = fetch_tasks(self.client, config.tasks, None)
            starting_policy(config, self.client, tasks, Console(quiet=True))
        return config.output / "start"

    def run(
        self,
        config: TrainerConfig,
        module: str,
        *,
        python: str = sys.executable,
        start: Path | None = None,
        **settings: Any,
    ) -> Ran:
        """Run `bench/<module>.py` on a configuration; a run that is there is not done again.

        Args:
            config: of the run.
            module: what runs it.
            python: the interpreter.
            start: folder of the policy to start from; None for the seed's.
            settings: what the module takes beside the configuration.
        """
        result = config.output / "bench.json"
        if not result.exists():
            shutil.rmtree(config.output, ignore_errors=True)
            shutil.copytree(start or self.start(config.seed), config.output / "start")
            with served(config.output) as url, (config.output / "log").open("wb") as log:
                body = config.model_dump(mode="json", exclude_unset=True)
                body["service"] = {**body["service"], "url": url}
                (config.output / "config.json").write_text(json.dumps({**settings, "config": body}))
                subprocess.run(
                    [python, "-m", f"bench.{module}", config.output],
                    stdout=log,
                    stderr=log,
                    env={**os.environ, "OMP_NUM_THREADS": str(config.threads)},
                    check=True,
                    timeout=RUN_LIMIT_S,
                )
        return Ran(config.output, **json.loads(result.read_text()))

    def examined(self, config: TrainerConfig, policy_folder: Path) -> Examination:
        """The demo's examination of a policy, with the seeds of the run's own."""

        def sit() -> Examination:
            policy = load_policy(config.policy, policy_folder)
            tasks = fetch_tasks(self.client, config.tasks, None)
            room = config.grpo.max_new_tokens
            exam = as_questions(tasks.test, tasks.digest, policy, max_new_tokens=room)[: config.eval.questions]
            with Rewarder(self.client, run=config.run, max_unscorable=0.0) as rewarder:
                return examine(
                    policy,
                    HfEngine(policy, batch_size=config.grpo.generation_batch),
                    rewarder,
                    exam,
                    step=config.grpo.steps,
                    seed=config.seed,
                    samples=config.eval.samples,
                    max_new_tokens=room,
                    executes_check=config.eval.executes_check,
                )

        torch.set_num_threads(config.threads)
        name = "after" if policy_folder.name == "policy" else policy_folder.name  # our runs have sat theirs
        return load_or(policy_folder.parent / f"eval_{name}.json", sit)


@contextmanager
def service(folder: Path) -> Iterator[Bench]:
    """A bench whose runs lie in the folder, with a service for its starts and examinations."""
    with served(folder) as url:
        yield Bench(url, folder)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Address of a verifier service that is a child process on loopback."""
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "service.log"
    command = [sys.executable, "-m", "veredicto_verifier", "serve", "--port", "0", "--data-dir", folder / "service"]
    with log.open("wb") as stderr, subprocess.Popen(command, stderr=stderr) as process:
        try:
            yield ready(log)
        finally:
            process.terminate()


def metrics_of(ran: Ran) -> list[dict[str, Any]]:
    """A run's row of metrics per step."""
    return read_rows(ran.folder / "metrics.jsonl")
