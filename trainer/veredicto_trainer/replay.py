"""Replay: learn again from what a run recorded, without engine and service, under the same settings or others.

With the run's own settings the weights come out the same, bit for bit (fp32, same machine and threads); with others
it answers what another loss would have made of the same completions.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from veredicto_trainer.checkpoints import read_json, write_folder, write_json
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.errors import ConfigFault, ReportFault
from veredicto_trainer.identity import FILE as RUN_FILE
from veredicto_trainer.learner import Learner
from veredicto_trainer.learning import learn
from veredicto_trainer.metrics import Metrics, read_rows, reward_metrics, update_metrics
from veredicto_trainer.modes import schedule_of
from veredicto_trainer.policy_loading import load_policy, with_adapter
from veredicto_trainer.recordings import Recordings
from veredicto_trainer.rewards import rollout_id
from veredicto_trainer.rollouts import Batch, Group, Rollout, Unscored, Verdict
from veredicto_trainer.start import reference_policy

CHANGEABLE = ("grpo",)
"""Tables whose fields may differ from the run's; what was sampled cannot be sampled otherwise."""
FIXED = ("grpo.prompts_per_step", "grpo.group_size", "grpo.max_new_tokens", "grpo.generation_rounds")
"""Fields of these tables that say what was sampled."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay came to."""

    weights: str
    """SHA-256 over the weights, as `sha256:…`."""
    expected: str | None
    """What the run ended with; None for a run without a report, or one that was replayed in part."""
    same_settings: bool
    steps: int
    updates: int


def replay(
    output: Path, changes: Sequence[str] = (), *, target: Path | None = None, progress: Callable[[int, Metrics], None]
) -> Replayed:
    """Learn from a run's recordings.

    Args:
        output: folder of the run.
        changes: `key=value`, with the configuration's names and TOML values, for what-if.
        target: folder for the policy, its metrics and the settings; None keeps only the digest.
        progress: called after each step with its number and its metrics.

    Raises:
        ReportFault: the folder holds no run, or a recording or a verdict is missing.
        ConfigFault: a change is not possible.
    """
    recorded = _recorded_config(output)
    config = changed(recorded, changes)
    torch.set_num_threads(config.threads)
    torch.use_deterministic_algorithms(True)
    base = output / "start"
    policy = with_adapter(load_policy(config.policy, base), config.policy, seed=config.seed, base=base)
    learner = Learner(policy, config.grpo, reference_policy(config, policy))
    limit = max(schedule_of(config).max_age, config.grpo.updates_per_batch * config.grpo.steps)
    rows: list[dict[str, Any]] = []
    for batch in _batches(output, config.grpo.steps):
        lesson = learn(learner, policy, batch, config.grpo, max_age=limit)
        metrics = {**reward_metrics(batch.groups, lesson.advantages), **update_metrics(lesson.updates)}
        rows.append({"step": batch.step, **metrics, "updates": policy.version})
        progress(batch.step, metrics)
    if not rows:
        raise ReportFault(f"{output} has no step to replay; run it first")
    same = config.digest() == recorded.digest()
    whole = same and len(rows) == config.grpo.steps
    result = Replayed(policy.weights_digest(), _expected(output) if whole else None, same, len(rows), policy.version)
    if target is not None:
        write_folder(target / "policy", policy.save)
        write_json(target / "metrics.json", rows)
        write_json(target / "replay.json", {**asdict(result), "changes": list(changes), "of": str(output)})
    return result


def changed(config: TrainerConfig, changes: Sequence[str]) -> TrainerConfig:
    """A configuration with some fields replaced.

    Raises:
        ConfigFault: a change is not `key=value`, names no field, is wrong, or would ask for other completions.
    """
    body = config.model_dump(mode="json", exclude_unset=True)
    for change in changes:
        key, separator, text = change.partition("=")
        path = key.strip().split(".")
        if not separator or len(path) < 2:
            raise ConfigFault(f"{change!r} is not table.field=value, for example grpo.loss=dr_grpo")
        if path[0] not in CHANGEABLE or key.strip() in FIXED:
            raise ConfigFault(
                f"{key.strip()} says what was sampled and cannot be changed after the fact; change [grpo]"
            )
        where = body
        for part in path[:-1]:
            where = where.setdefault(part, {})
            if not isinstance(where, dict):
                raise ConfigFault(f"{key.strip()} names no field; see docs/trainer.md for the fields")
        where[path[-1]] = _value(text.strip())
    try:
        return TrainerConfig.model_validate(body)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ConfigFault(f"{faults}; see docs/trainer.md for the fields") from error


def _value(text: str) -> Any:
    """A TOML value; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _recorded_config(output: Path) -> TrainerConfig:
    try:
        body = json.loads((output / RUN_FILE).read_text(encoding="utf-8"))
        return TrainerConfig.model_validate(body["config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReportFault(f"{output / RUN_FILE} cannot be read ({error}); give the folder of a run") from error


def _expected(output: Path) -> str | None:
    report = read_json(output / "report.json")
    weights = (report or {}).get("weights")
    return None if weights is None else str(weights)


def _batches(output: Path, steps: int) -> Iterator[Batch]:
    """Every step that was learnt from, with the verdicts that it was learnt from with.

    Raises:
        ReportFault: a step between others is missing: without it the rest cannot come out as it did.
    """
    recordings = Recordings(output / "recordings")
    verdicts: dict[int, dict[str, dict[str, Any]]] = {}
    for row in read_rows(output / "rollouts.jsonl"):
        verdicts.setdefault(row["step"], {})[row["id"]] = row
    for step in range(1, steps + 1):
        if step > max(verdicts, default=0) and not (output / "report.json").exists():
            return  # the run has not come further
        groups = [group for taken in recordings.rounds(step) for group in taken.groups]
        if step not in verdicts or not groups:
            missing = "verdicts in rollouts.jsonl" if step not in verdicts else "tokens in recordings/"
            raise ReportFault(f"the {missing} of step {step} are missing; restore them from a copy to replay this run")
        judged = [_judged(group, step, verdicts[step]) for group in groups]
        used = [g for g in judged if verdicts[step][g.rollouts[0].id]["group_state"] != "replaced"]
        yield Batch(step, tuple(used))


def _judged(group: Unscored, step: int, rows: dict[str, dict[str, Any]]) -> Group:
    rollouts = []
    for index, (completion, text) in enumerate(zip(group.completions, group.texts, strict=True)):
        row = rows.get(rollout_id(step, group.id, index))
        if row is None:
            raise ReportFault(f"step {step} was recorded but its verdicts are not in rollouts.jsonl; run it to its end")
        verdict = Verdict(row["reward"], row["passed"], row["record"], row["error"])
        rollouts.append(Rollout(row["id"], completion, text, verdict))
    return Group(group.id, group.question, tuple(rollouts))
