"""The questions: fetched from the service by pages, pinned to a pack digest, drawn in a seeded order."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veredicto_proto.client import Client
from veredicto_proto.messages import TaskInfo
from veredicto_trainer.config import TasksSection
from veredicto_trainer.errors import TasksFault
from veredicto_trainer.policy import Policy
from veredicto_trainer.rollouts import Question

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskSet:
    """What the service serves of one pack."""

    pack: str
    digest: str
    train: tuple[TaskInfo, ...]
    test: tuple[TaskInfo, ...]


def fetch_tasks(client: Client, config: TasksSection, pin: str | None) -> TaskSet:
    """Every task of the pack's two splits.

    Args:
        client: the service.
        config: the `[tasks]` section.
        pin: digest that the pack must have; None takes what it has.

    Raises:
        TasksFault: no such pack, another digest than the pin, or no task in a split.
    """
    packs = {pack.name: pack for pack in client.packs()}
    if config.pack not in packs:
        known = ", ".join(sorted(packs)) or "none"
        raise TasksFault(f"the service has no pack {config.pack!r}, only: {known}; serve it with --packs")
    digest = packs[config.pack].digest
    if pin is not None and pin != digest:
        raise TasksFault(f"pack {config.pack} is pinned to {pin} but the service has {digest}; serve the pinned pack")
    train = tuple(_split(client, config, config.train_split))
    train = tuple(t for t in train if not config.categories or t.category in config.categories)
    test = tuple(_split(client, config, config.test_split))
    if not train or not test:
        raise TasksFault(
            f"pack {config.pack} has {len(train)} tasks to practise and {len(test)} to examine; see [tasks]"
        )
    return TaskSet(config.pack, digest, train, test)


def _split(client: Client, config: TasksSection, split: str) -> list[TaskInfo]:
    return list(client.tasks(config.pack, split=split))


def as_questions(
    tasks: Sequence[TaskInfo], digest: str, policy: Policy, *, max_new_tokens: int
) -> tuple[Question, ...]:
    """The tasks with their prompts as token ids; prompts that leave no room for an answer are left out and logged.

    Raises:
        TasksFault: no prompt fits.
    """
    room = policy.context - max_new_tokens
    questions = [
        Question(pinned(task.ref, digest), task.category, task.prompt, policy.encode_prompt(task.prompt))
        for task in tasks
    ]
    fitting = tuple(question for question in questions if 0 < len(question.token_ids) <= room)
    if not fitting:
        raise TasksFault(
            f"no prompt fits {room} tokens (context {policy.context} less {max_new_tokens} for the answer)"
        )
    if len(fitting) < len(questions):
        log.warning(
            "%d of %d prompts do not fit %d tokens and are left out",
            len(questions) - len(fitting),
            len(questions),
            room,
        )
    return fitting


def pinned(ref: str, digest: str) -> str:
    """`pack/split/id` as `pack@digest/split/id`; a ref that carries a pin stays."""
    pack, _, rest = ref.partition("/")
    return ref if "@" in pack else f"{pack}@{digest}/{rest}"


def draw(questions: Sequence[Question], *, seed: int, step: int, count: int) -> list[Question]:
    """The questions of a step (from 1): a new seeded order each time all have been seen.

    A pure function of its arguments, so that a resumed run neither repeats nor skips a question.
    """
    first = (step - 1) * count
    return [_at(questions, seed, position) for position in range(first, first + count)]


def _at(questions: Sequence[Question], seed: int, position: int) -> Question:
    epoch, offset = divmod(position, len(questions))
    order = np.random.Generator(np.random.Philox(key=[seed, epoch])).permutation(len(questions))
    return questions[int(order[offset])]
