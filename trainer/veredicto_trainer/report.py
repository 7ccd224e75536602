"""The report of a run: what it learnt, with intervals, from the files that the run wrote."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from veredicto_proto.client import Client
from veredicto_proto.client_errors import ClientError
from veredicto_trainer.categories import age_histogram, age_reports, category_reports, category_table
from veredicto_trainer.checkpoints import read_json, write_json
from veredicto_trainer.curve import svg_curve, text_curve
from veredicto_trainer.errors import ReportFault
from veredicto_trainer.evaluate import Accuracy, Examination
from veredicto_trainer.identity import RunIdentity
from veredicto_trainer.intervals import bootstrap_mean, paired_difference
from veredicto_trainer.loop import Outcome
from veredicto_trainer.metrics import read_rows

WINDOW = 10
"""Steps at the beginning and at the end whose mean rewards are compared."""


def write_report(output: Path, outcome: Outcome, client: Client) -> dict[str, Any]:
    """Compute a finished run's report, write `report.json` and `curve.svg`, and return the report.

    Raises:
        ReportFault: the run has not been examined after its last step.
    """
    if outcome.before is None or outcome.after is None:
        raise ReportFault(f"the run in {output} has not ended; run it again to resume, then report")
    rollouts = read_rows(output / "rollouts.jsonl")
    report = {
        **_identity(outcome.identity),
        **_rewards(rollouts),
        **_examinations(outcome.before, outcome.after),
        "steps": outcome.position.step,
        "updates": outcome.position.updates,
        "num_tokens": outcome.position.num_tokens,
        "wall_s": round(outcome.position.wall_s, 1),
        "cpu_s": round(outcome.position.cpu_s, 1),
        "weights": outcome.after.weights,
        "warm_start": read_json(output / "warm_start.json"),
        "categories": [each.to_json() for each in category_reports(rollouts)],
        "age_histogram": age_histogram(rollouts),
        "ages": age_reports(rollouts),
        "audit": _audit(outcome, rollouts, client),
    }
    write_json(output / "report.json", report)
    rewards = learning_curve(output)
    (output / "curve.svg").write_text(
        svg_curve(rewards, title=f"Mean reward per step, {outcome.identity.run}"), "utf-8"
    )
    return report


def print_report(output: Path, console: Console) -> None:
    """Print the learning curve and the figures of a run that has a report.

    Raises:
        ReportFault: there is no report in the folder.
    """
    report = read_json(output / "report.json")
    if report is None:
        raise ReportFault(f"{output} holds no report.json; finish the run first: veredicto-train run CONFIG.toml")
    try:
        lines, table = report_lines(report), category_table(report["categories"])
    except (KeyError, TypeError) as error:
        path = output / "report.json"
        raise ReportFault(f"{path} is no report ({error!r}); the run's own command writes it again") from error
    console.print(text_curve(learning_curve(output)), highlight=False, markup=False)
    for line in lines:
        console.print(line, highlight=False, markup=False)
    console.print(table)
    console.print(f"report: {output / 'report.json'}   curve: {output / 'curve.svg'}", highlight=False, markup=False)


def report_lines(report: dict[str, Any]) -> list[str]:
    """The figures of a report as lines of text."""
    audit = report["audit"]
    return [
        f"reward, first {report['window']} steps  {_with(report, 'reward_first10')}",
        f"reward, last {report['window']} steps   {_with(report, 'reward_last10')}",
        f"greedy accuracy before   {_with(report, 'greedy_before')}",
        f"greedy accuracy after    {_with(report, 'greedy_after')}",
        f"greedy difference        {_with(report, 'greedy_difference')}  (paired)",
        f"sampled accuracy before  {_with(report, 'sampled_before')}",
        f"sampled accuracy after   {_with(report, 'sampled_after')}",
        f"executes, before         {_with(report, 'executes_warm')}",
        f"time {report['wall_s']} s wall, {report['cpu_s']} s CPU; {report['updates']} updates, seed {report['seed']}",
        f"ledger: run {report['run']}, {audit['records']} records of {audit['completions']} completions",
        "age of completions  " + ", ".join(f"{age}: {count}" for age, count in report["age_histogram"].items()),
        f"weights {report['weights']}",
    ]


def learning_curve(output: Path) -> list[float]:
    """Mean reward of each step, in order."""
    return [row["reward"] for row in read_rows(output / "metrics.jsonl")]


def _with(report: dict[str, Any], name: str) -> str:
    low, high = report[f"{name}_interval"]
    return f"{report[name]:.3f}  [{low:.3f}, {high:.3f}]"


def _identity(identity: RunIdentity) -> dict[str, Any]:
    return {**asdict(identity), "seeds": {"run": identity.seed}}


def _rewards(rollouts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean rewards of the first and the last steps; the unit of the intervals is the group, not the completion."""
    last = max(row["step"] for row in rollouts)
    window = min(WINDOW, last)
    first10 = _group_means(row for row in rollouts if row["step"] <= window)
    last10 = _group_means(row for row in rollouts if row["step"] > last - window)
    return {
        "window": window,
        "reward_first10": statistics.fmean(first10) if first10 else 0.0,
        "reward_first10_interval": bootstrap_mean(first10),
        "reward_last10": statistics.fmean(last10) if last10 else 0.0,
        "reward_last10_interval": bootstrap_mean(last10),
    }


def _group_means(rows: Any) -> list[float]:
    groups: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        if row["reward"] is not None:
            groups.setdefault((row["step"], row["group"]), []).append(row["reward"])
    return [statistics.fmean(group) for group in groups.values()]


def _examinations(before: Examination, after: Examination) -> dict[str, Any]:
    pairs = [
        (b.greedy, a.greedy)
        for b, a in zip(before.answers, after.answers, strict=True)
        if b.greedy is not None and a.greedy is not None
    ]
    return {
        **_accuracy("greedy_before", before.greedy),
        **_accuracy("greedy_after", after.greedy),
        "greedy_difference": (sum(a for _, a in pairs) - sum(b for b, _ in pairs)) / max(len(pairs), 1),
        "greedy_difference_interval": paired_difference([b for b, _ in pairs], [a for _, a in pairs]),
        **_accuracy("sampled_before", before.sampled),
        **_accuracy("sampled_after", after.sampled),
        **_accuracy("executes_warm", before.executes),
    }


def _accuracy(name: str, accuracy: Accuracy) -> dict[str, Any]:
    return {name: accuracy.share, f"{name}_interval": accuracy.interval, f"{name}_count": accuracy.count}


def _audit(outcome: Outcome, rollouts: Sequence[dict[str, Any]], client: Client) -> dict[str, Any]:
    """How many completions have a ledger record, and what the service's own summary of the run says."""
    assert outcome.before is not None
    assert outcome.after is not None
    records = [row["record"] for row in rollouts]
    records += [
        record for exam in (outcome.before, outcome.after) for answer in exam.answers for record in answer.records
    ]
    try:
        summary = client.audit_run(outcome.identity.run)
    except ClientError as error:
        summary = {"unavailable": str(error)[:300]}
    return {
        "completions": len(records),
        "records": sum(record is not None for record in records),
        "unscorable": sum(row["reward"] is None for row in rollouts),
        "void_groups": len({(row["step"], row["group"]) for row in rollouts if row["group_state"] == "void"}),
        "service": summary,
    }
