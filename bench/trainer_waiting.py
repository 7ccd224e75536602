"""How long learning waits for rewards and for nothing else, and whether the demo learns; from runs and reports."""

from __future__ import annotations

import json
from pathlib import Path

from bench.figures import Figure
from bench.trainer_runs import ROOT, Bench, metrics_of
from bench.trainer_shape import random_smollm2
from veredicto_trainer.config import TrainerConfig, load_config

DEMO_REPORT = ROOT / "runs" / "demo" / "report.json"
SMOLLM2 = ROOT / "models" / "smollm2-135m-instruct"


def demo_waiting(bench: Bench, *, steps: int) -> list[Figure]:
    """Share of the demo's steps in which it waited for rewards; the service is a child process on loopback."""
    config = bench.config("ours-1", 1, grpo={"steps": steps})
    ran = bench.run(config, "trainer_ours_run")
    rows = metrics_of(ran)
    return [
        Figure("demo_waiting_for_rewards", sum(ran.reward_s) / sum(row["step_time"] for row in rows), "at most", 0.2)
    ]


def smollm2_waiting(bench: Bench, *, steps: int) -> list[Figure]:
    """The same for SmolLM2-135M; without its folder (see configs/smollm2.toml) for random weights of its shape.

    Random weights cost what trained ones do to sample, but their rewards are all 0: nothing is learnt from, so steps
    are shorter and the share is higher than that of a step that learns; and their answers fail before they are run.
    """
    trained = SMOLLM2.is_dir()
    start = SMOLLM2 if trained else random_smollm2(bench.folder / "smollm2-shape")
    name = "smollm2" if trained else "smollm2_shape"
    body = load_config(ROOT / "configs" / "smollm2.toml").model_dump(mode="json", exclude_unset=True)
    body |= {"output": str(bench.folder / name), "warm_start": None, "eval": {"questions": 1, "samples": 0}}
    body |= {"policy": {"path": str(start), "prompt_format": "chat"}, "service": {"url": bench.url}}
    config = TrainerConfig.model_validate({**body, "grpo": {**body["grpo"], "steps": steps}})
    ran = bench.run(config, "trainer_ours_run", start=start)
    rows = metrics_of(ran)
    share = sum(ran.reward_s) / sum(row["step_time"] for row in rows)
    shortest, scored = min(row["step_time"] for row in rows), sum(ran.reward_s) / len(rows)
    print(f"{name}: {steps} steps, the shortest {shortest:.1f} s; {scored:.2f} s of a step waiting for rewards")
    return [Figure(f"{name}_waiting_for_rewards", share, "at most", 0.03)]


def demo_learns(report: Path = DEMO_REPORT) -> list[Figure]:
    """From the report of `make demo`: its first and last ten steps, and its time."""
    if not report.exists():
        print(f"the demo's learning not judged: {report.relative_to(ROOT)} is missing; run make demo first")
        return []
    body = json.loads(report.read_text())
    gap = body["reward_last10_interval"][0] - body["reward_first10_interval"][1]
    return [
        Figure("demo_gap_between_first_and_last_rewards", gap, "at least", 0.0),
        Figure("demo_seconds", body["wall_s"], "at most", 360, "s"),
    ]
