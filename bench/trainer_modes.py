"""Mode `staged` against `sync`: accuracy, reward, wall time, its parts, clips on the same data, drift and age.

Each mode runs at every learning rate of one grid with every seed, and is judged at its best: the rate with the highest
sampled accuracy, the mean over seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any

from rich.table import Table

from bench.figures import Figure
from bench.trainer_runs import TABLES, Bench, Ran, metrics_of
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.evaluate import Examination
from veredicto_trainer.metrics import read_rows
from veredicto_trainer.replay import replay

LRS = (1.25e-4, 2.5e-4, 5e-4)
STAGES = 4
MODES: dict[str, dict[str, Any]] = {
    "sync": {"mode": {"name": "sync"}, "grpo": {"loss": "grpo"}},
    # Nobody waits for the first rewards of a stage, so that it is sampled in larger batches than the demo's.
    "staged": {"mode": {"name": "staged", "stages": STAGES}, "grpo": {"loss": "mu_grpo", "generation_batch": 256}},
}
CLIPS: dict[str, tuple[str, ...]] = {
    "mu_grpo, as run": (),
    "tight clip": ("grpo.loss=dapo", "grpo.clip_high=0.2"),
    "no clip, no veto": (
        "grpo.clip_low=1.0",
        "grpo.clip_high=1e9",
        "grpo.dual_clip=0",
        "grpo.veto.threshold=1e-9",
    ),
}
"""Losses that learn again from what a staged run recorded."""


@dataclass(frozen=True)
class Judged:
    """A run with its final examination."""

    config: TrainerConfig
    ran: Ran
    exam: Examination

    @property
    def wall_s(self) -> float:
        return self.ran.marks[-1][0] - self.ran.marks[0][0]

    @property
    def parts(self) -> dict[str, float]:
        """Seconds of generation, of handing weights over, of waiting for rewards, and of learning."""
        rows = metrics_of(self.ran)
        return {
            "generate": sum(row["time/generate"] for row in rows),
            "sync": sum(row["seconds"] for row in read_rows(self.ran.folder / "syncs.jsonl")),
            "score": sum(self.ran.reward_s),
            "learn": sum(row["time/learn"] for row in rows),
        }


def modes(bench: Bench, *, seeds: int, steps: int, lrs: tuple[float, ...]) -> list[Figure]:
    """What `staged` keeps of `sync`'s accuracy and reward, and what it saves.

    Args:
        bench: with the service.
        seeds: runs per mode and rate.
        steps: updates of each.
        lrs: the grid.
    """
    done: dict[tuple[str, float], list[Judged]] = {(mode, lr): [] for mode in MODES for lr in lrs}
    for lr, seed, mode in product(lrs, range(1, seeds + 1), MODES):  # in turn, so that a busy hour meets both modes
        done[mode, lr].append(_run(bench, mode, lr, seed, steps))
    best = {mode: max(lrs, key=lambda lr: _sampled(done[mode, lr])) for mode in MODES}
    sync, staged = done["sync", best["sync"]], done["staged", best["staged"]]
    _runs_table(done, best)
    _clips_table(bench, staged[0])
    slow_sync, slow_staged = (_run(bench, mode, best[mode], 1, steps, hand_over="reload") for mode in MODES)
    _parts_table({"sync": sync[0], "staged": staged[0], "sync, reload": slow_sync, "staged, reload": slow_staged})
    return [
        Figure("staged_over_sync_greedy", _greedy(staged) / _greedy(sync), "at least", 0.95),
        Figure("staged_over_sync_sampled", _sampled(staged) / _sampled(sync), "at least", 0.85),
        Figure("staged_runs_collapsed", sum(map(_collapsed, staged)), "at most", 0),
        Figure("staged_over_sync_wall", _mean(staged, "wall_s") / _mean(sync, "wall_s"), "at most", 1.0),
        Figure("staged_over_sync_generate_and_sync_fastest", _made(staged) / _made(sync), "at most", 0.9),
        Figure("staged_over_sync_generate_and_sync_slowest", _made([slow_staged]) / _made([slow_sync]), "at most", 1.0),
    ]


def _run(bench: Bench, mode: str, lr: float, seed: int, steps: int, *, hand_over: str = "shared") -> Judged:
    fields = MODES[mode]
    config = bench.config(
        f"{mode}-{lr:g}-{seed}-{hand_over}",
        seed,
        mode=fields["mode"],
        grpo={**fields["grpo"], "lr": lr, "steps": steps},
        alarm={"halt_after": 0},
    )
    ran = bench.run(config, "trainer_ours_run", sync=hand_over)
    return Judged(config, ran, bench.examined(config, ran.folder / "policy"))


def _greedy(runs: list[Judged]) -> float:
    return fmean(run.exam.greedy.share for run in runs)


def _sampled(runs: list[Judged]) -> float:
    return fmean(run.exam.sampled.share for run in runs)


def _mean(runs: list[Judged], name: str) -> float:
    return fmean(getattr(run, name) for run in runs)


def _made(runs: list[Judged]) -> float:
    """Seconds of generation and of handing weights over."""
    return fmean(run.parts["generate"] + run.parts["sync"] for run in runs)


def _collapsed(run: Judged) -> bool:
    """Whether the last rewards are below the first."""
    return run.ran.last_rewards < fmean(run.ran.rewards[:10])


def _runs_table(done: dict[tuple[str, float], list[Judged]], best: dict[str, float]) -> None:
    titles = ("mode", "lr", "seeds", "greedy", "sampled", "last 10 rewards", "wall s")
    steps = next(iter(done.values()))[0].config.grpo.steps
    table = Table(
        *titles,
        *("age mean", "age max", "drift", "ratio max", "mismatch KL max"),
        title=f"modes after {steps} updates",
        caption="drift: learning rate times the updates that one hand-over of weights lasts; * best rate of the mode",
    )
    for (mode, lr), runs in done.items():
        rows = [row for run in runs for row in metrics_of(run.ran)]
        age = max(row["off_policy/max"] for row in rows)
        values = (_greedy(runs), _sampled(runs), fmean(run.ran.last_rewards for run in runs))
        table.add_row(
            mode,
            f"{lr:g}{'*' if best[mode] == lr else ''}",
            str(len(runs)),
            *(f"{value:.3f}" for value in values),
            f"{_mean(runs, 'wall_s'):.0f}",
            f"{fmean(row['off_policy/mean'] for row in rows):.1f}",
            f"{age:.0f}",
            f"{lr * (age + 1):.2g}",
            f"{max(row['ratio/max'] for row in rows):.3g}",
            f"{max(row['mismatch_kl/all/mean'] for row in rows):.3g}",
        )
    TABLES.print(table)


def _clips_table(bench: Bench, staged: Judged) -> None:
    """What other bounds make of the completions and rewards of one staged run."""
    titles = ("loss", "greedy", "sampled", "clipped tokens", "vetoed tokens", "ratio max", "mean gradient")
    caption = f"learnt again from the recordings of {staged.config.output.name}, which its own policy sampled"
    table = Table(*titles, title="bounds on the same data", caption=caption)
    for number, (name, changes) in enumerate(CLIPS.items()):
        target = staged.ran.folder / f"replay-{number}"
        rows: list[dict[str, float]] = []
        replay(staged.ran.folder, changes, target=target, progress=partial(_keep, rows))
        exam = bench.examined(staged.config, target / "policy")
        table.add_row(
            name,
            f"{exam.greedy.share:.3f}",
            f"{exam.sampled.share:.3f}",
            f"{fmean(row['clip_ratio/region_mean'] for row in rows):.2%}",
            f"{fmean(row['veto/token_frac'] for row in rows):.2%}",
            f"{max(row['ratio/max'] for row in rows):.3g}",
            f"{fmean(row['grad_norm'] for row in rows):.2f}",
        )
    TABLES.print(table)


def _keep(rows: list[dict[str, float]], step: int, metrics: dict[str, float]) -> None:
    rows.append(metrics)


def _parts_table(runs: dict[str, Judged]) -> None:
    table = Table("run, seed 1", "generate s", "sync s", "score s", "learn s", "wall s", title="where the time goes")
    for name, run in runs.items():
        table.add_row(name, *(f"{seconds:.2f}" for seconds in (*run.parts.values(), run.wall_s)))
    TABLES.print(table)
