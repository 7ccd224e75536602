"""A training run: practise, be judged, learn, and again; told in the order it happens.

`start` and `examine` come first, then per step: draw questions, generate, score, advantages, update, record,
checkpoint. A run that was killed continues from its last checkpoint and ends with the same weights.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console

from veredicto_proto.client import Client
from veredicto_trainer.advantages import Advantages
from veredicto_trainer.checkpoints import Checkpoint, Checkpoints, Position, write_folder
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.console import StepView
from veredicto_trainer.engines.engine import Engine, Request, Sampling, sample_seed
from veredicto_trainer.engines.hf import HfEngine
from veredicto_trainer.evaluate import Examination, examine, load_or
from veredicto_trainer.identity import RunIdentity, identify
from veredicto_trainer.learner import Learner, TrainingSample
from veredicto_trainer.metrics import (
    Metrics,
    StepLog,
    Timing,
    length_metrics,
    reward_metrics,
    rollout_rows,
    time_metrics,
    update_metrics,
)
from veredicto_trainer.policy import Policy
from veredicto_trainer.policy_loading import load_policy
from veredicto_trainer.rewards import Rewarder, Unscored
from veredicto_trainer.rollouts import Group, Question
from veredicto_trainer.shaping import advantages_of
from veredicto_trainer.start import reference_policy, starting_policy
from veredicto_trainer.tasks import as_questions, draw, fetch_tasks
from veredicto_trainer.update_stats import UpdateStats

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to."""

    position: Position
    before: Examination
    after: Examination | None
    """None where the run was asked to stop before its end."""
    identity: RunIdentity


def train(
    config: TrainerConfig,
    client: Client,
    console: Console,
    *,
    should_stop: Callable[[], bool] = lambda: False,
    fresh_engine: Callable[[Policy], Engine] | None = None,
) -> Outcome:
    """Do a whole run, or the rest of one that was interrupted.

    Args:
        config: the run's configuration.
        client: the verifier service.
        console: where a person looks.
        should_stop: asked after each step; True writes a checkpoint and ends the run early.
        fresh_engine: makes the rollout engine for a policy; the embedded one by default.

    Raises:
        TrainerError: see `errors.py`; what is on disk can be resumed.
        ClientError: the service stayed away for longer than the client's patience.
    """
    torch.set_num_threads(config.threads)
    torch.use_deterministic_algorithms(True)
    pin = config.service.pins.get(config.tasks.pack)
    tasks = fetch_tasks(client, config.tasks, pin)
    identity = identify(config, tasks.digest)
    checkpoints = Checkpoints(config.output / "checkpoints", config_digest=config.digest(), keep=config.checkpoint.keep)
    checkpoint = checkpoints.latest()
    start = starting_policy(config, client, tasks, console)
    base = config.output / "start"
    policy = start if checkpoint is None else load_policy(config.policy, checkpoint.folder, base=base)
    room = config.grpo.max_new_tokens
    practice = as_questions(tasks.train, tasks.digest, policy, max_new_tokens=room)
    exam = as_questions(tasks.test, tasks.digest, policy, max_new_tokens=config.eval.max_new_tokens or room)
    reference = reference_policy(config, policy)
    engine = fresh_engine(policy) if fresh_engine else HfEngine(policy, batch_size=config.grpo.generation_batch)
    learner = Learner(policy, config.grpo, reference)
    rewarder = Rewarder(client, run=identity.run, max_unscorable=config.grpo.max_unscorable)
    run = Run(config, policy, engine, learner, rewarder, practice, exam[: config.eval.questions], checkpoints)
    return run.to_end(checkpoint, identity, console, should_stop)


class Run:
    """The parts of a run, and its steps."""

    def __init__(
        self,
        config: TrainerConfig,
        policy: Policy,
        engine: Engine,
        learner: Learner,
        rewarder: Rewarder,
        practice: Sequence[Question],
        exam: Sequence[Question],
        checkpoints: Checkpoints,
    ) -> None:
        self._config = config
        self._policy = policy
        self._engine = engine
        self._learner = learner
        self._rewarder = rewarder
        self._practice = practice
        self._exam = exam
        self._checkpoints = checkpoints
        self._clock = _Clock(Position(0, 0, 0, 0.0, 0.0))

    def to_end(
        self,
        checkpoint: Checkpoint | None,
        identity: RunIdentity,
        console: Console,
        should_stop: Callable[[], bool],
    ) -> Outcome:
        """Examine, do every step that is left, examine again."""
        if checkpoint is not None:
            self._checkpoints.restore(checkpoint, self._policy, self._learner.optimiser)
            self._clock = _Clock(checkpoint.position)
            console.print(f"resuming after step {checkpoint.position.step} ({checkpoint.folder.name})")
        before = load_or(self._output / "eval_before.json", lambda: self._examine(0))
        console.print(f"before: greedy {before.greedy.share:.3f}, sampled {before.sampled.share:.3f}", highlight=False)
        stopped = self._steps(console, should_stop)
        position = self._clock.position
        if stopped:
            return Outcome(position, before, None, identity)
        after = load_or(self._output / "eval_after.json", lambda: self._examine(position.step))
        write_folder(self._output / "policy", self._policy.save)
        console.print(f"after: greedy {after.greedy.share:.3f}, sampled {after.sampled.share:.3f}", highlight=False)
        return Outcome(self._clock.at(position.step, self._policy.version, 0), before, after, identity)

    def step(self, number: int) -> tuple[Metrics, list[Group], list[Advantages]]:
        """One step: what it is made of, in order."""
        grpo = self._config.grpo
        began = time.perf_counter()
        questions = draw(self._practice, seed=self._config.seed, step=number, count=grpo.prompts_per_step)
        unscored = self._generate(questions, number)
        generated = time.perf_counter()
        groups = self._rewarder.score(unscored, step=number, phase="train")
        scored = time.perf_counter()
        advantages = [advantages_of(group, grpo) for group in groups]
        updates = self._learn(groups, advantages)
        learnt = time.perf_counter()
        timing = Timing(generate=generated - began, score=scored - generated, learn=learnt - scored)
        num_new_tokens = sum(len(rollout.completion.token_ids) for group in groups for rollout in group.rollouts)
        metrics = {
            **reward_metrics(groups, advantages),
            **length_metrics(groups),
            **update_metrics(updates),
            **time_metrics(timing, num_new_tokens=num_new_tokens),
            "tokens/new": float(num_new_tokens),
        }
        return metrics, groups, advantages

    @property
    def _output(self) -> Path:
        return self._config.output

    def _steps(self, console: Console, should_stop: Callable[[], bool]) -> bool:
        """Do the steps that are left; True when asked to stop before the last one."""
        total = self._config.grpo.steps
        done = self._clock.position.step
        rows = StepLog(self._output / "metrics.jsonl", last_step=done)
        rollouts = StepLog(self._output / "rollouts.jsonl", last_step=done)
        try:
            with StepView(console, total=total, done=done) as view:
                for number in range(done + 1, total + 1):
                    version = self._policy.version
                    metrics, groups, advantages = self.step(number)
                    position = self._clock.at(number, self._policy.version, int(metrics["tokens/new"]))
                    rows.write(
                        {"step": number, **metrics, "num_tokens": position.num_tokens, "updates": position.updates}
                    )
                    for row in rollout_rows(groups, advantages, step=number, trained_at=version):
                        rollouts.write(row)
                    view.show(number, metrics)
                    stop = should_stop()
                    if stop or number == total or number % self._config.checkpoint.every == 0:
                        rows.sync()
                        rollouts.sync()
                        self._checkpoints.write(self._policy, self._learner.optimiser, position)
                    if stop and number < total:
                        return True
        finally:
            rows.close()
            rollouts.close()
        return False

    def _generate(self, questions: Sequence[Question], step: int) -> list[Unscored]:
        size = self._config.grpo.group_size
        requests = [
            Request(q.token_ids, tuple(sample_seed(self._config.seed, "train", step, g, i) for i in range(size)))
            for g, q in enumerate(questions)
        ]
        answers = self._engine.generate(requests, Sampling(self._config.grpo.max_new_tokens))
        return [
            Unscored(str(index), question, completions, tuple(self._policy.decode(c.token_ids) for c in completions))
            for index, (question, completions) in enumerate(zip(questions, answers, strict=True))
        ]

    def _learn(self, groups: Sequence[Group], advantages: Sequence[Advantages]) -> list[UpdateStats]:
        samples = self._learner.anchored(
            training_samples(groups, advantages, mask_truncated=self._config.grpo.truncated == "mask")
        )
        updates = [self._learner.update(samples) for _ in range(self._config.grpo.updates_per_batch)]
        if not all(math.isfinite(update.grad_norm) for update in updates):
            log.warning("an update was skipped: its gradient is not finite; lower grpo.lr if this repeats")
        return updates

    def _examine(self, step: int) -> Examination:
        return examine(
            self._policy,
            self._engine,
            self._rewarder,
            self._exam,
            step=step,
            seed=self._config.seed,
            samples=self._config.eval.samples,
            max_new_tokens=self._config.eval.max_new_tokens or self._config.grpo.max_new_tokens,
            executes_check=self._config.eval.executes_check,
        )


def training_samples(
    groups: Sequence[Group], advantages: Sequence[Advantages], *, mask_truncated: bool
) -> list[TrainingSample]:
    """The completions that take part in the loss; unscorable ones, void groups and (if masked) cut ones do not."""
    return [
        TrainingSample(group.question.token_ids, rollout.completion.token_ids, rollout.completion.logprobs, advantage)
        for group, computed in zip(groups, advantages, strict=True)
        for rollout, advantage in zip(group.rollouts, computed.values, strict=True)
        if advantage is not None and not (mask_truncated and rollout.completion.finish == "length")
    ]


class _Clock:
    """Adds up time and tokens over resumptions."""

    def __init__(self, start: Position) -> None:
        self._start = start
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        self.position = start

    def at(self, step: int, updates: int, new_tokens: int) -> Position:
        """The position after a step."""
        self.position = Position(
            step,
            updates,
            self.position.num_tokens + new_tokens,
            self._start.wall_s + time.perf_counter() - self._wall,
            self._start.cpu_s + time.process_time() - self._cpu,
        )
        return self.position
