"""The ledger of groups: what became of every group of completions, from its question to the update it was trained in.

A group goes planned -> generated -> scored -> trained or void, each state once; the file is JSON lines, appended.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from veredicto_trainer.errors import LedgerFault
from veredicto_trainer.metrics import StepLog
from veredicto_trainer.rollouts import Group, Question, Unscored
from veredicto_trainer.update_stats import SampleStats

State = Literal["planned", "generated", "scored", "trained", "void"]
Reason = Literal["too_few_rewards", "no_signal_replaced"]
"""Why a group is void: fewer than two rewards, or its place went to another question (dynamic sampling)."""

AFTER: dict[State, State | None] = {
    "planned": None,
    "generated": "planned",
    "scored": "generated",
    "trained": "scored",
    "void": "scored",
}
"""The one state that each state follows."""

FILE = "groups.jsonl"


class GroupLedger:
    """Appends what happens to groups; safe to use from several threads.

    Args:
        output: folder of the run.
        last_step: groups of later steps are forgotten first: a resumed run goes through their states again.
    """

    def __init__(self, output: Path, *, last_step: int) -> None:
        self._log = StepLog(output / FILE, last_step=last_step)
        self._lock = threading.Lock()
        self._states: dict[tuple[int, str], State] = {}

    def planned(self, step: int, groups: Mapping[str, Question], *, sampled_after: int) -> None:
        """Questions were drawn for a step, to be answered by the weights after step `sampled_after`."""
        for group, question in groups.items():
            detail = {"ref": question.ref, "category": question.category, "sampled_after": sampled_after}
            self._append(step, group, "planned", detail)

    def generated(self, step: int, group: Unscored, *, at: float) -> None:
        """All completions of a group were sampled, at this Unix time."""
        versions = [completion.policy_version for completion in group.completions]
        newest = [completion.newest_version or completion.policy_version for completion in group.completions]
        tokens = sum(len(completion.token_ids) for completion in group.completions)
        detail = {"policy_version": min(versions), "newest_version": max(newest), "num_tokens": tokens}
        self._append(step, group.id, "generated", detail, at=at)

    def scored(self, step: int, group: Group) -> None:
        """The service gave a verdict on every completion of a group."""
        verdicts = [rollout.verdict for rollout in group.rollouts]
        detail = {
            "rewards": list(group.rewards),
            "records": [verdict.record for verdict in verdicts],
            "verifier": next((verdict.verifier for verdict in verdicts if verdict.verifier), None),
        }
        self._append(step, group.id, "scored", detail)

    def trained(
        self, step: int, group: Group, *, updates: Sequence[int], trained_at: int, stats: Sequence[SampleStats]
    ) -> None:
        """A group was learnt from.

        Args:
            step: of the run.
            group: with its verdicts.
            updates: numbers (from 1) of the updates that applied it; none where nothing was applied.
            trained_at: updates that the weights had seen before.
            stats: of its completions that the first of these updates computed.
        """
        ages = [trained_at - rollout.completion.policy_version for rollout in group.rollouts]
        detail = {"updates": list(updates), "age_min": min(ages), "age_max": max(ages), **_ratios(stats)}
        self._append(step, group.id, "trained", detail)

    def void(self, step: int, group: Group, reason: Reason) -> None:
        """A group takes no part in learning."""
        self._append(step, group.id, "void", {"reason": reason})

    def sync(self) -> None:
        """Put everything written so far on disk."""
        with self._lock:
            self._log.sync()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._log.close()

    def _append(
        self, step: int, group: str, state: State, detail: Mapping[str, Any], *, at: float | None = None
    ) -> None:
        with self._lock:
            before = self._states.get((step, group))
            if AFTER[state] != before:
                raise LedgerFault(f"group {step}.{group} is {before or 'new'} and cannot become {state}; report this")
            if state in ("trained", "void"):
                del self._states[step, group]
            else:
                self._states[step, group] = state
            moment = round(time.time() if at is None else at, 3)
            self._log.write({"step": step, "group": group, "state": state, **detail, "at": moment})


def _ratios(stats: Sequence[SampleStats]) -> dict[str, float | int | None]:
    """Ratio statistics over completions; null where none carried a gradient."""
    tokens = sum(sample.num_tokens for sample in stats)
    return {
        "ratio_mean": math.fsum(sample.ratio for sample in stats) / tokens if tokens else None,
        "ratio_min": min((sample.ratio_min for sample in stats), default=None),
        "ratio_max": max((sample.ratio_max for sample in stats), default=None),
        "clipped_tokens": sum(s.clipped_low + s.clipped_high + s.clipped_dual for s in stats),
        "vetoed_tokens": sum(sample.vetoed for sample in stats),
    }
