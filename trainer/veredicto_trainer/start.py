"""The policy that a run starts from: loaded, or built from nothing, then warmed up on public demonstrations."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from rich.console import Console

from veredicto_proto.client import Client
from veredicto_proto.messages import ChatMessage, Demonstration
from veredicto_trainer import scratch, warmstart
from veredicto_trainer.checkpoints import write_folder, write_json
from veredicto_trainer.config import TrainerConfig, WarmStartSection
from veredicto_trainer.errors import TasksFault
from veredicto_trainer.learner import Scorer
from veredicto_trainer.policy import Policy
from veredicto_trainer.policy_loading import WithoutAdapter, load_policy, save_whole, with_adapter
from veredicto_trainer.tasks import TaskSet


def starting_policy(config: TrainerConfig, client: Client, tasks: TaskSet, console: Console) -> Policy:
    """The policy that reinforcement learning starts from, kept whole in `start/` so that a resumed run finds the same.

    With `[policy.lora]` a warm start trains an adapter too, which `start/` holds merged; a new one learns from rewards.

    Raises:
        PolicyFault: the folder in `policy.path` cannot be loaded.
        TasksFault: a warm start is asked for and the pack has no demonstrations.
    """
    folder = config.output / "start"
    if not folder.exists():
        demonstrations = client.demonstrations(tasks.pack).demonstrations if config.warm_start else ()
        policy = _initial(config, tasks, demonstrations)
        if config.warm_start is not None:
            policy = with_adapter(policy, config.policy, seed=config.seed, base=folder)
            _warm_up(config, config.warm_start, policy, demonstrations, console)
        write_folder(folder, partial(save_whole, policy))
    return with_adapter(load_policy(config.policy, folder), config.policy, seed=config.seed, base=folder)


def reference_policy(config: TrainerConfig, policy: Policy) -> Scorer | None:
    """The start again, frozen, where a divergence from it is configured: the weights under an adapter, or a copy."""
    if config.grpo.kl == 0:
        return None
    return WithoutAdapter(policy) if policy.adapter is not None else load_policy(config.policy, config.output / "start")


def _initial(config: TrainerConfig, tasks: TaskSet, demonstrations: tuple[Demonstration, ...]) -> Policy:
    if config.policy.path is not None:
        return load_policy(config.policy, config.policy.path)
    size = config.policy.scratch
    assert size is not None  # the configuration holds one of the two
    folder = config.output / "scratch"
    # Words of the test questions stay unknown: the vocabulary is learnt from what may be practised.
    texts = [_text(task.prompt) for task in tasks.train]
    texts += [text for each in demonstrations for text in (_text(each.prompt), each.completion)]
    write_folder(
        folder,
        lambda where: scratch.build(
            texts, where, hidden=size.hidden, layers=size.layers, heads=size.heads, seed=config.seed
        ),
    )
    return load_policy(config.policy, folder)


def _warm_up(
    config: TrainerConfig,
    section: WarmStartSection,
    policy: Policy,
    demonstrations: tuple[Demonstration, ...],
    console: Console,
) -> None:
    if not demonstrations:
        raise TasksFault(
            f"pack {config.tasks.pack} has no demonstrations; leave out [warm_start] or add some to the pack"
        )

    def progress(step: int, loss: float) -> None:
        if step % 20 == 0 or step == section.steps:
            console.print(f"warm start {step}/{section.steps}  loss {loss:.3f}", highlight=False)

    report = warmstart.warm_start(
        policy,
        demonstrations,
        steps=section.steps,
        batch_size=section.batch_size,
        lr=section.lr,
        seed=config.seed,
        progress=progress,
    )
    write_json(config.output / "warm_start.json", asdict(report))


def _text(prompt: str | tuple[ChatMessage, ...]) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(message.content or "" for message in prompt)
