"""What a step is measured by, under the names that users of other trainers know, and the files it is written to."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from veredicto_trainer.advantages import Advantages
from veredicto_trainer.errors import CheckpointFault, ReportFault
from veredicto_trainer.learning import Lesson
from veredicto_trainer.loss_metrics import loss_metrics
from veredicto_trainer.rollouts import Batch, Group, Rollout
from veredicto_trainer.update_stats import SampleStats, UpdateStats

Metrics = dict[str, float]


def step_metrics(batch: Batch, lesson: Lesson, *, step_s: float, learn_s: float, ready: int) -> Metrics:
    """Everything that a step is measured by.

    Args:
        batch: what was learnt from.
        lesson: what came of it.
        step_s: seconds of the whole step.
        learn_s: seconds of its updates.
        ready: batches that were sampled and not yet learnt from when it ended.
    """
    groups = (*batch.groups, *batch.replaced)
    num_new_tokens = sum(len(rollout.completion.token_ids) for group in groups for rollout in group.rollouts)
    return {
        **reward_metrics(batch.groups, lesson.advantages),
        **length_metrics(batch.groups),
        **update_metrics(lesson.updates),
        **age_metrics(batch, trained_at=lesson.trained_at),
        **time_metrics(batch, step_s=step_s, learn_s=learn_s, ready=ready, num_new_tokens=num_new_tokens),
        "tokens/new": float(num_new_tokens),
    }


def reward_metrics(groups: Sequence[Group], advantages: Sequence[Advantages]) -> Metrics:
    """Rewards and what they can teach: completions without a reward are counted, never averaged in."""
    known = [[r for r in group.rewards if r is not None] for group in groups]
    rewards = [reward for group in known for reward in group]
    same = [g for g, a in zip(groups, advantages, strict=True) if a.state == "equal" and _all_alike(g)]
    scored = [rewards for rewards, a in zip(known, advantages, strict=True) if a.state != "void"]
    equal = [rewards for rewards, a in zip(known, advantages, strict=True) if a.state == "equal"]
    return {
        "reward": statistics.fmean(rewards) if rewards else 0.0,
        "reward_std": statistics.fmean([statistics.stdev(group) for group in scored]) if scored else 0.0,
        "frac_reward_zero_std": len(equal) / len(scored) if scored else 0.0,
        "groups/mixed": float(len(scored) - len(equal)),
        "groups/all_pass": float(sum(group[0] == 1.0 for group in equal)),
        "groups/all_fail": float(sum(group[0] == 0.0 for group in equal)),
        "groups/constant": float(sum(0.0 < group[0] < 1.0 for group in equal)),
        "groups/duplicates": float(len(same)),
        "groups/void": float(len(groups) - len(scored)),
        "groups/all": float(len(groups)),
        "samples/unscorable": float(sum(reward is None for group in groups for reward in group.rewards)),
    }


def _all_alike(group: Group) -> bool:
    """Whether all completions of a group are the same tokens."""
    return len({rollout.completion.token_ids for rollout in group.rollouts}) == 1


def length_metrics(groups: Sequence[Group]) -> Metrics:
    """How long completions are and how many were cut, by what the engine said of them."""
    completions = [rollout.completion for group in groups for rollout in group.rollouts]
    lengths = [len(completion.token_ids) for completion in completions]
    ended = [len(completion.token_ids) for completion in completions if completion.finish == "stop"]
    metrics = {
        "completions/mean_length": statistics.fmean(lengths),
        "completions/min_length": float(min(lengths)),
        "completions/max_length": float(max(lengths)),
        "completions/clipped_ratio": 1.0 - len(ended) / len(lengths),
    }
    if ended:  # a length of 0 would be a measurement
        metrics |= {
            "completions/mean_terminated_length": statistics.fmean(ended),
            "completions/min_terminated_length": float(min(ended)),
            "completions/max_terminated_length": float(max(ended)),
        }
    return metrics


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


def age_metrics(batch: Batch, *, trained_at: int) -> Metrics:
    """Policy updates between sampling and training: the oldest token's weights count, time in the queue included."""
    rollouts = [rollout for group in batch.groups for rollout in group.rollouts]
    ages = [trained_at - rollout.completion.policy_version for rollout in rollouts]
    sampled_at = [max(batch.sampled_at, rollout.completion.policy_version) for rollout in rollouts]
    flights = [at - rollout.completion.policy_version for at, rollout in zip(sampled_at, rollouts, strict=True)]
    return {
        "off_policy/mean": statistics.fmean(ages),
        "off_policy/max": float(max(ages)),
        "off_policy/in_flight/mean": statistics.fmean(flights),
        "off_policy/in_flight/max": float(max(flights)),
        "off_policy/in_queue/mean": trained_at - statistics.fmean(sampled_at),
        "off_policy/in_queue/max": float(trained_at - min(sampled_at)),
        "off_policy/dropped": 0.0,
    }


def time_metrics(batch: Batch, *, step_s: float, learn_s: float, ready: int, num_new_tokens: int) -> Metrics:
    """Where the time of a step went.

    Args:
        batch: what was learnt from.
        step_s: seconds of the whole step.
        learn_s: seconds of its updates.
        ready: batches that were sampled and not yet learnt from when it ended.
        num_new_tokens: of the batch.
    """
    return {
        "step_time": step_s,
        "time/generate": batch.generate_s,
        "time/score": batch.score_s,
        "time/learn": learn_s,
        "queue_wait_time_s": batch.wait_s,
        "wait_scoring_ms": 1000.0 * batch.wait_score_s,
        "scoring_time_ms": 1000.0 * batch.score_s,
        "buffer_qsize": float(ready),
        "generation_tok_per_s": num_new_tokens / max(batch.generate_s, 1e-9),
        "generation/rounds": float(batch.rounds),
        "groups/replaced": float(len(batch.replaced)),
    }


def rollout_rows(batch: Batch, lesson: Lesson) -> Iterator[dict[str, Any]]:
    """One row per completion: what it was, what the service said, and whether and how it was trained on.

    Args:
        batch: of the step; groups that were replaced come last, with state `replaced`.
        lesson: what came of it.
    """
    for group, computed in zip(batch.groups, lesson.advantages, strict=True):
        for rollout, advantage in zip(group.rollouts, computed.values, strict=True):
            in_loss = rollout.id in lesson.in_loss
            yield {
                **_rollout_row(batch.step, group, rollout, lesson.trained_at),
                "advantage": advantage if in_loss else None,
                "group_state": computed.state,
                "updates": list(lesson.numbers) if in_loss else [],
                **_stats_row(lesson.samples.get(rollout.id)),
            }
    for group in batch.replaced:
        for rollout in group.rollouts:
            row = _rollout_row(batch.step, group, rollout, lesson.trained_at)
            yield {**row, "advantage": None, "group_state": "replaced", "updates": [], **_stats_row(None)}


def _rollout_row(step: int, group: Group, rollout: Rollout, trained_at: int) -> dict[str, Any]:
    completion, verdict = rollout.completion, rollout.verdict
    return {
        "step": step,
        "id": rollout.id,
        "group": group.id,
        "ref": group.question.ref,
        "category": group.question.category,
        "policy_version": completion.policy_version,
        "newest_version": completion.newest_version or completion.policy_version,
        "trained_at": trained_at,
        "age": trained_at - completion.policy_version,
        "num_tokens": len(completion.token_ids),
        "finish": completion.finish,
        "text": rollout.text,
        "reward": verdict.reward,
        "passed": verdict.passed,
        "error": verdict.error,
        "failed": list(verdict.failed),
        "record": verdict.record,
        "verifier": verdict.verifier,
    }


def _stats_row(stats: SampleStats | None) -> dict[str, Any]:
    if stats is None:
        return {"ratio_mean": None, "ratio_min": None, "ratio_max": None, "clipped_tokens": 0, "vetoed_tokens": 0}
    return {
        "ratio_mean": stats.ratio / max(stats.num_tokens, 1),
        "ratio_min": stats.ratio_min,
        "ratio_max": stats.ratio_max,
        "clipped_tokens": stats.clipped_low + stats.clipped_high + stats.clipped_dual,
        "vetoed_tokens": stats.vetoed,
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
        """Append one row; it has a `step`.

        Raises:
            CheckpointFault: the disk refused.
        """
        try:
            self._stream.write(json.dumps(row, separators=(",", ":")) + "\n")
        except OSError as error:
            raise CheckpointFault(
                f"cannot write {self._stream.name}: {error.strerror}; make room and run again to resume"
            ) from error

    def sync(self) -> None:
        """Put everything written so far on disk.

        Raises:
            CheckpointFault: the disk refused.
        """
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise CheckpointFault(
                f"cannot write {self._stream.name}: {error.strerror}; make room and run again to resume"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a log; a last line that was cut off by a kill is left out.

    Raises:
        ReportFault: there is no such log, or a line of it is damaged.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReportFault(f"{path} cannot be read ({error}); give the folder of a run") from error
    return [_row(path, number, line) for number, line in enumerate(text[: text.rfind("\n") + 1].splitlines(), 1)]


def _row(path: Path, number: int, line: str) -> dict[str, Any]:
    advice = "restore the file from a copy, or start the run again with --fresh"
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ReportFault(f"line {number} of {path} is damaged ({error}); {advice}") from error
    if not isinstance(row, dict) or "step" not in row:
        raise ReportFault(f"line {number} of {path} is damaged (no row of a step); {advice}")
    return row


def _drop_after(path: Path, last_step: int) -> None:
    kept = [row for row in read_rows(path) if row["step"] <= last_step]
    building = path.with_name(f".{path.name}.tmp")
    building.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept), encoding="utf-8")
    building.replace(path)
