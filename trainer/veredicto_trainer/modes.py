"""The modes of a run: which weights sample the completions of each step, decided by counts and never by a clock.

`sync` samples every step from the newest weights. `staged` is the schedule of μ-GRPO (arXiv 2605.17570): a few large
stages, each generated at once from the weights at its start and then learnt from, so that weights are pushed only as
often as there are stages. `bounded` admits the steps that keep every age within `max_age` and samples them ahead.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass

from veredicto_trainer.config import ModeSection, TrainerConfig


@dataclass(frozen=True, slots=True)
class Schedule:
    """Which step's weights sample which step's completions."""

    steps: int
    sampled_after: Callable[[int], int]
    """For a step (from 1), the step after which its completions are sampled; 0 is before the first."""
    max_age: int
    """The most policy updates that may lie between sampling and training, the step's own repeats included."""
    ahead: bool
    """Whether completions are sampled beside learning, from a copy of the weights."""

    def admitted(self, after: int) -> range:
        """The steps whose completions are sampled from the weights after step `after`, and from no others."""
        first = after + 1
        while first <= self.steps and self.sampled_after(first) < after:
            first += 1
        last = first
        while last <= self.steps and self.sampled_after(last) == after:
            last += 1
        return range(first, last)


def schedule_of(config: TrainerConfig) -> Schedule:
    """The schedule of a run's mode."""
    return MODES[config.mode.name](config.mode, config.grpo.steps, config.grpo.updates_per_batch)


def _sync(mode: ModeSection, steps: int, repeats: int) -> Schedule:
    return Schedule(steps, lambda step: step - 1, repeats - 1, ahead=False)


def _staged(mode: ModeSection, steps: int, repeats: int) -> Schedule:
    starts = [stage * steps // mode.stages for stage in range(mode.stages)]
    longest = max(b - a for a, b in zip(starts, [*starts[1:], steps], strict=True))
    return Schedule(
        steps, lambda step: starts[bisect.bisect_left(starts, step) - 1], longest * repeats - 1, ahead=False
    )


def _bounded(mode: ModeSection, steps: int, repeats: int) -> Schedule:
    """The last repeat of a batch that waited for `lag` others trains at age (lag + 1) * repeats - 1."""
    lag = (mode.max_age + 1) // repeats - 1
    return Schedule(steps, lambda step: max(0, step - 1 - lag), mode.max_age, ahead=lag > 0)


MODES: dict[str, Callable[[ModeSection, int, int], Schedule]] = {
    "sync": _sync,
    "staged": _staged,
    "bounded": _bounded,
}
"""Every mode, by its name in the configuration: (section, steps, updates per batch) -> schedule."""
