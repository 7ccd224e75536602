"""What an update was trained on: `veredicto-train show RUN --update N`, from the ledger of groups and the rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from veredicto_trainer.errors import ReportFault
from veredicto_trainer.group_ledger import FILE
from veredicto_trainer.metrics import read_rows


def trained_on(output: Path, update: int) -> list[dict[str, Any]]:
    """The groups that an update learnt from, each with everything that is known of it and of its completions.

    Raises:
        ReportFault: the run has no such update, or no ledger.
    """
    if not (output / FILE).exists():
        raise ReportFault(f"{output} holds no {FILE}; give the folder of a run")
    rows = read_rows(output / FILE)
    trained = [row for row in rows if row["state"] == "trained" and update in row["updates"]]
    if not trained:
        last = max((number for row in rows if row["state"] == "trained" for number in row["updates"]), default=0)
        raise ReportFault(f"{output} has updates 1 to {last}, none with number {update}")
    step = trained[0]["step"]
    chosen = {row["group"] for row in trained}
    groups: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["step"] == step and row["group"] in chosen:
            known = groups.setdefault(row["group"], {"step": step, "group": row["group"]})
            times = {f"{row['state']}_at": row["at"]}
            known.update({k: v for k, v in row.items() if k not in ("at", "state")} | times)
    for group in groups.values():
        group["completions"] = []
    for row in read_rows(output / "rollouts.jsonl"):
        if row["step"] == step and row["group"] in groups:
            groups[row["group"]]["completions"].append(row)
    return [groups[row["group"]] for row in trained]


def print_groups(groups: Sequence[dict[str, Any]], update: int, console: Console) -> None:
    """A table of the groups of an update, and the ledger records of its completions."""
    completions = [row for group in groups for row in group["completions"]]
    rewards = [row["reward"] for row in completions if row["reward"] is not None]
    mean = sum(rewards) / len(rewards) if rewards else 0.0
    console.print(
        f"update {update} learnt in step {groups[0]['step']} from {len(groups)} groups, "
        f"{len(completions)} completions, mean reward {mean:.3f}",
        highlight=False,
    )
    table = Table("group", "task", "category", "rewards", "weights", "age", "ratio", "clipped", "vetoed", "state")
    for group in groups:
        given = " ".join("-" if reward is None else f"{reward:g}" for reward in group["rewards"])
        table.add_row(
            group["group"],
            _short(group["ref"]),
            group["category"] or "",
            given,
            f"{group['policy_version']}",
            _span(*(age + group["updates"].index(update) for age in (group["age_min"], group["age_max"]))),
            "" if group["ratio_mean"] is None else f"{group['ratio_mean']:.3f} (max {group['ratio_max']:.2f})",
            f"{group['clipped_tokens']}",
            f"{group['vetoed_tokens']}",
            group["completions"][0]["group_state"],
        )
    console.print(table)
    console.print("records: " + " ".join(str(row["record"]) for row in completions), highlight=False, markup=False)


def _short(ref: str) -> str:
    """A ref without its digest."""
    pack, _, rest = ref.partition("/")
    return f"{pack.partition('@')[0]}/{rest}"


def _span(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}-{high}"
