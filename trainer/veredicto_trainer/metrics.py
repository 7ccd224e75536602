"""What a step is measured by, under the names that users of other trainers know, and the files it is written to."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veredicto_trainer.advantages import Advantages
from veredicto_trainer.loss_metrics import loss_metrics
from veredicto_trainer.rollouts import Group
from veredicto_trainer.update_stats import UpdateStats

Metrics = dict[str, float]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that the parts of a step took."""

    generate: float
    score: float
    learn: float


def reward_metrics(groups: Sequence[Group], advantages: Sequence[Advantages]) -> Metrics:
    """Rewards and what they can teach: completions without a reward are counted, never averaged in."""
    known = [[r for r in group.rewards if r is not None] for group in groups]
    rewards = [reward for group in known for reward in group]
    scored = [rewards for rewards, a in zip(known, advantages, strict=True) if a.state != "void"]
    equal = [rewards for rewards, a in zip(known, advantages, strict=True) if a.state == "equal"]
    return {
        "reward": statistics.fmean(rewards) if rewards else 0.0,
        "reward_std": statistics.fmean([statistics.stdev(group) for group in scored]) if scored else 0.0,
        "frac_reward_zero_std": len(equal) / len(scored) if scored else 0.0,
        "groups/mixed": float(len(scored) - len(equal)),
        "groups/all_pass": float(sum(group[0] == 1.0 for group in equal)),
        "groups/all_fail": float(sum(group[0] == 0.0 for group in equal)),
        "groups/void": float(len(groups) - len(scored)),
        "samples/unscorable": float(sum(reward is None for group in groups for reward in group.rewards)),
    }


def length_metrics(groups: Sequence[Group]) -> Metrics:
    """How long completions are and how many were cut, by what the engine said of them."""
    completions = [rollout.completion for group in groups for rollout in group.rollouts]
    lengths = [len(completion.token_ids) for completion in completions]
    ended = [len(completion.token_ids) for completion in completions if completion.finish == "stop"]
    return {
        "completions/mean_length": statistics.fmean(lengths),
        "completions/min_length": float(min(lengths)),
        "completions/max_length": float(max(lengths)),
        "completions/clipped_ratio": 1.0 - len(ended) / len(lengths),
        "completions/mean_terminated_length": statistics.fmean(ended) if ended else 0.0,
    }


def update_metrics(updates: Sequence[UpdateStats]) -> Metrics:
    """What the updates of a step did: sampling figures of the first (same weights as sampled), means of the rest."""
    first, count = updates[0], len(updates)
    return {
        "loss": sum(update.loss for update in updates) / count,
        "grad_norm": sum(update.grad_norm for update in updates) / count,
        "lr": updates[-1].lr,
        "entropy": first.entropy,
        **loss_metrics(updates),
        "sampling/sampling_logp_difference/mean": first.logprob_gap_mean,
        "sampling/sampling_logp_difference/max": first.logprob_gap_max,
        "tokens/in_loss": float(first.num_tokens),
        "tokens/with_signal": float(first.num_signal_tokens),
        "updates/skipped": float(sum(not update.applied for update in updates)),
    }


def time_metrics(timing: Timing, *, num_new_tokens: int) -> Metrics:
    """Where the time of a step went."""
    return {
        "step_time": timing.generate + timing.score + timing.learn,
        "time/generate": timing.generate,
        "time/score": timing.score,
        "time/learn": timing.learn,
        "wait_scoring_ms": 1000.0 * timing.score,
        "generation_tok_per_s": num_new_tokens / max(timing.generate, 1e-9),
    }


def rollout_rows(
    groups: Sequence[Group], advantages: Sequence[Advantages], *, step: int, trained_at: int
) -> Iterator[dict[str, Any]]:
    """One row per completion: what it was, what the service said, and whether and how it was trained on."""
    for group, computed in zip(groups, advantages, strict=True):
        for rollout, advantage in zip(group.rollouts, computed.values, strict=True):
            yield {
                "step": step,
                "id": rollout.id,
                "group": group.id,
                "ref": group.question.ref,
                "category": group.question.category,
                "policy_version": rollout.completion.policy_version,
                "trained_at": trained_at,
                "age": trained_at - rollout.completion.policy_version,
                "num_tokens": len(rollout.completion.token_ids),
                "finish": rollout.completion.finish,
                "text": rollout.text,
                "reward": rollout.verdict.reward,
                "passed": rollout.verdict.passed,
                "error": rollout.verdict.error,
                "failed": list(rollout.verdict.failed),
                "record": rollout.verdict.record,
                "advantage": advantage,
                "group_state": computed.state,
            }


class StepLog:
    """A JSONL file with one or more rows per step, line-buffered so that others can follow it while it grows.

    Args:
        path: the file.
        last_step: rows after this step are dropped first: a resumed run writes them again.
    """

    def __init__(self, path: Path, *, last_step: int) -> None:
        if path.exists():
            _drop_after(path, last_step)
        self._stream = path.open("a", buffering=1, encoding="utf-8")

    def write(self, row: dict[str, Any]) -> None:
        """Append one row; it has a `step`."""
        self._stream.write(json.dumps(row, separators=(",", ":")) + "\n")

    def sync(self) -> None:
        """Put everything written so far on disk."""
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a log; a last line that was cut off by a kill is left out."""
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    return [json.loads(line) for line in whole.splitlines()]


def _drop_after(path: Path, last_step: int) -> None:
    kept = [row for row in read_rows(path) if row["step"] <= last_step]
    building = path.with_name(f".{path.name}.tmp")
    building.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept), encoding="utf-8")
    building.replace(path)
