"""The order in which questions are practised: shuffled or balanced over categories, all at once or the easiest first.

Every draw is a pure function of the seed and of numbers that a checkpoint knows, so that a resumed run neither
repeats nor skips a question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veredicto_trainer.config import TasksSection
from veredicto_trainer.errors import TasksFault
from veredicto_trainer.rollouts import Question


class Sampler:
    """Draws the questions of a run.

    Args:
        questions: all that may be practised, in pack order.
        config: the `[tasks]` section.
        seed: the run's.

    Raises:
        TasksFault: a curriculum is asked for and a question has no difficulty.
    """

    def __init__(self, questions: Sequence[Question], config: TasksSection, *, seed: int) -> None:
        self._questions = tuple(questions)
        self._config = config
        self._seed = seed
        bare = sum(question.difficulty is None for question in questions)
        if config.curriculum_steps and bare:
            raise TasksFault(
                f"{bare} of {len(questions)} questions of pack {config.pack} have no difficulty; "
                "set tasks.curriculum_steps = 0 or add difficulties to the pack"
            )

    def draw(self, *, step: int, first: int, count: int) -> list[Question]:
        """The questions at positions `first` and after, counted over the whole run.

        Args:
            step: from 1; decides how much of a curriculum is open.
            first: how many questions were drawn before.
            count: how many to draw.
        """
        lanes = self._lanes(self.open_at(step))
        return [self._at(lanes, position) for position in range(first, first + count)]

    def open_at(self, step: int) -> tuple[Question, ...]:
        """The questions that may be drawn at a step: with a curriculum, a share of the easiest that grows to all."""
        steps, start = self._config.curriculum_steps, self._config.curriculum_start
        if step > steps or not self._questions:
            return self._questions
        share = start + (1.0 - start) * (step - 1) / steps
        ranked = sorted(range(len(self._questions)), key=lambda i: (self._questions[i].difficulty or 0.0, i))
        chosen = sorted(ranked[: max(1, math.ceil(share * len(ranked)))])
        return tuple(self._questions[i] for i in chosen)

    def _lanes(self, questions: Sequence[Question]) -> list[list[Question]]:
        """One lane for all, or one per category; draws take turns over the lanes."""
        if self._config.order == "shuffle":
            return [list(questions)]
        lanes: dict[str, list[Question]] = {}
        for question in questions:
            lanes.setdefault(question.category or "", []).append(question)
        return [lanes[name] for name in sorted(lanes)]

    def _at(self, lanes: Sequence[Sequence[Question]], position: int) -> Question:
        turn, which = divmod(position, len(lanes))
        lane = lanes[which]
        epoch, offset = divmod(turn, len(lane))
        key = [self._seed, epoch] if len(lanes) == 1 else [self._seed, epoch * len(lanes) + which]
        order = np.random.Generator(np.random.Philox(key=key)).permutation(len(lane))
        return lane[int(order[offset])]
