"""The journal of a run: everything that a step leaves behind on disk, written together and synced together."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from veredicto_trainer.checkpoints import Position
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.group_ledger import GroupLedger
from veredicto_trainer.learning import Lesson
from veredicto_trainer.metrics import Metrics, StepLog, read_rows, rollout_rows
from veredicto_trainer.rollouts import Batch
from veredicto_trainer.scalars import Scalars


class Journal:
    """Metrics, rollouts, hand-overs of weights and the ledger of groups; use it as a context.

    Args:
        config: of the run.
        last_step: what later steps wrote is dropped first: a resumed run writes it again.
    """

    def __init__(self, config: TrainerConfig, *, last_step: int) -> None:
        self._path = config.output / "metrics.jsonl"
        self._metrics = StepLog(self._path, last_step=last_step)
        self._rollouts = StepLog(config.output / "rollouts.jsonl", last_step=last_step)
        self.syncs = StepLog(config.output / "syncs.jsonl", last_step=last_step - 1)
        self.ledger = GroupLedger(config.output, last_step=last_step)
        self._scalars = Scalars(config, last_step=last_step)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for log in (self._metrics, self._rollouts, self.syncs, self.ledger, self._scalars):
            log.close()

    def metrics_so_far(self) -> Iterator[dict[str, Any]]:
        """The metrics of the steps that a resumed run has behind it."""
        yield from read_rows(self._path)

    def write(self, position: Position, metrics: Metrics, batch: Batch, lesson: Lesson) -> dict[str, Any]:
        """Write a step that is done; returns its row of metrics."""
        row = {"step": position.step, **metrics, "num_tokens": position.num_tokens, "updates": position.updates}
        self._metrics.write(row)
        self._scalars.write(position.step, row)
        for each in rollout_rows(batch, lesson):
            self._rollouts.write(each)
        self._settle(batch, lesson)
        return row

    def sync(self) -> None:
        """Put everything written so far on disk."""
        for log in (self._metrics, self._rollouts, self.syncs, self.ledger):
            log.sync()

    def _settle(self, batch: Batch, lesson: Lesson) -> None:
        """The last state of every group of a step."""
        for group, computed in zip(batch.groups, lesson.advantages, strict=True):
            if computed.state == "void":
                self.ledger.void(batch.step, group, "too_few_rewards")
                continue
            stats = [lesson.samples[r.id] for r in group.rollouts if r.id in lesson.samples]
            self.ledger.trained(batch.step, group, updates=lesson.numbers, trained_at=lesson.trained_at, stats=stats)
        for group in batch.replaced:
            self.ledger.void(batch.step, group, "no_signal_replaced")
