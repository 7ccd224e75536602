"""The questions: fetched from the service by pages, pinned to a pack digest, with examples before them if wanted."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from veredicto_proto.client import Client
from veredicto_proto.messages import ChatMessage, Demonstration, TaskInfo
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
    tasks: Sequence[TaskInfo],
    digest: str,
    policy: Policy,
    *,
    max_new_tokens: int,
    shots: Sequence[Demonstration] = (),
) -> tuple[Question, ...]:
    """The tasks with their prompts as token ids; prompts that leave no room for an answer are left out and logged.

    Args:
        tasks: as the service serves them.
        digest: of the pack.
        policy: whose tokenizer and template render the prompts.
        max_new_tokens: room for the answer.
        shots: examples to show before each question; one with the question's own prompt is left out.

    Raises:
        TasksFault: no prompt fits.
    """
    room = policy.context - max_new_tokens
    prompts = [with_examples(task.prompt, shots) for task in tasks]
    questions = [
        Question(pinned(task.ref, digest), task.category, prompt, policy.encode_prompt(prompt), task.difficulty)
        for task, prompt in zip(tasks, prompts, strict=True)
    ]
    fitting = tuple(question for question in questions if 0 < len(question.token_ids) <= room)
    if room < 1:
        raise TasksFault(f"the context of {policy.context} tokens has no room beside max_new_tokens = {max_new_tokens}")
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


def examples_of(client: Client, pack: str, count: int) -> tuple[Demonstration, ...]:
    """The first `count` of the pack's public examples; all prompts of a run show the same ones.

    Raises:
        TasksFault: the pack has fewer.
    """
    if count == 0:
        return ()
    known = client.examples(pack).demonstrations
    if len(known) < count:
        raise TasksFault(f"pack {pack} has {len(known)} examples, {count} were asked for; lower the number of shots")
    return known[:count]


def with_examples(
    prompt: str | tuple[ChatMessage, ...], shots: Sequence[Demonstration]
) -> str | tuple[ChatMessage, ...]:
    """A prompt with examples before it, as turns of user and assistant; system turns of the prompt stay first."""
    shown = [shot for shot in shots if shot.prompt != prompt]
    if not shown:
        return prompt
    turns = _turns(prompt)
    system = [turn for turn in turns if turn.role in ("system", "developer")]
    pairs = [
        turn
        for shot in shown
        for turn in (
            *(t for t in _turns(shot.prompt) if t.role not in ("system", "developer")),
            ChatMessage(role="assistant", content=shot.completion),
        )
    ]
    return (*system, *pairs, *(turn for turn in turns if turn.role not in ("system", "developer")))


def _turns(prompt: str | tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    return (ChatMessage(role="user", content=prompt),) if isinstance(prompt, str) else prompt
