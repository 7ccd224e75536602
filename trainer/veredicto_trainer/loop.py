"""A training run: practise, be judged, learn, and again; told in the order it happens.

`start` and `examine` come first, then per step: admit what may be sampled, take the step's batch (sampled and judged),
advantages, update, record, checkpoint. Which weights sample a batch is the mode's affair (`modes.py`), how it is
sampled and judged the pipeline's. A run that was killed continues from its last checkpoint and ends with the same
weights.
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
from veredicto_proto.client_errors import ClientError
from veredicto_trainer.alarm import Alarm
from veredicto_trainer.checkpoints import Checkpoint, Checkpoints, Position, write_folder
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.console import StepView
from veredicto_trainer.engines.choice import configured_engine
from veredicto_trainer.engines.engine import Engine
from veredicto_trainer.errors import CheckpointFault, Stopped, TrainerError
from veredicto_trainer.evaluate import Examination, examine, load_or
from veredicto_trainer.identity import RunIdentity, identify
from veredicto_trainer.journal import Journal
from veredicto_trainer.learner import Learner
from veredicto_trainer.learning import Lesson, learn
from veredicto_trainer.metrics import Metrics, step_metrics
from veredicto_trainer.modes import Schedule, schedule_of
from veredicto_trainer.pipeline import Pipeline
from veredicto_trainer.policy import Policy
from veredicto_trainer.policy_loading import load_policy
from veredicto_trainer.producer import Producer
from veredicto_trainer.recordings import Recordings
from veredicto_trainer.rewards import Rewarder
from veredicto_trainer.rollouts import Batch, Question
from veredicto_trainer.sampler import Sampler
from veredicto_trainer.start import reference_policy, starting_policy
from veredicto_trainer.tasks import as_questions, examples_of, fetch_tasks

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to."""

    position: Position
    before: Examination | None
    """None where the run was asked to stop before it was examined."""
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
        should_stop: asked after each step and while waiting; True writes a checkpoint and ends the run early.
        fresh_engine: makes the rollout engine for a policy; the configured one by default.

    Raises:
        TrainerError: see `errors.py`; what is on disk can be resumed.
        ClientError: the service stayed away for longer than the client's patience.
    """
    torch.set_num_threads(config.threads)
    torch.use_deterministic_algorithms(True)
    tasks = fetch_tasks(client, config.tasks, config.service.pins.get(config.tasks.pack))
    identity = identify(config, tasks.digest)
    checkpoints = Checkpoints(config.output / "checkpoints", config_digest=config.digest(), keep=config.checkpoint.keep)
    checkpoint = checkpoints.latest()
    start = starting_policy(config, client, tasks, console)
    base = config.output / "start"
    policy = start if checkpoint is None else load_policy(config.policy, checkpoint.folder, base=base)
    room = config.grpo.max_new_tokens
    shots = examples_of(client, tasks.pack, config.tasks.shots)
    practice = as_questions(tasks.train, tasks.digest, policy, max_new_tokens=room, shots=shots)
    exam = as_questions(
        tasks.test, tasks.digest, policy, max_new_tokens=config.eval.max_new_tokens or room, shots=shots
    )
    reference = reference_policy(config, policy)
    engine = fresh_engine(policy) if fresh_engine else configured_engine(config, policy)
    learner = Learner(policy, config.grpo, reference)
    with Rewarder(
        client,
        run=identity.run,
        max_unscorable=config.grpo.max_unscorable,
        concurrency=config.service.concurrency,
        should_stop=should_stop,
    ) as rewarder:
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
        self._sampler = Sampler(practice, config.tasks, seed=config.seed)
        self._exam = exam
        self._checkpoints = checkpoints
        self._schedule: Schedule = schedule_of(config)
        self._clock = _Clock(Position(0, 0, 0, 0.0, 0.0))
        self._saved_step = -1

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
            self._saved_step = checkpoint.position.step
            console.print(f"resuming after step {checkpoint.position.step} ({checkpoint.folder.name})")
            if not (self._output / "eval_before.json").exists():  # these weights cannot sit it any more
                raise CheckpointFault(f"{self._output} has lost eval_before.json; restore it, or use --fresh")
        before: Examination | None = None
        try:
            before = load_or(self._output / "eval_before.json", lambda: self._examine(0))
            console.print(
                f"before: greedy {before.greedy.share:.3f}, sampled {before.sampled.share:.3f}", highlight=False
            )
            self._steps(console, should_stop)
            position = self._clock.position
            after = load_or(self._output / "eval_after.json", lambda: self._examine(position.step))
        except Stopped:
            return Outcome(self._clock.position, before, None, identity)
        write_folder(self._output / "policy", self._policy.save)
        console.print(f"after: greedy {after.greedy.share:.3f}, sampled {after.sampled.share:.3f}", highlight=False)
        return Outcome(self._clock.at(position.step, self._policy.version, 0), before, after, identity)

    def step(self, number: int, pipeline: Pipeline) -> tuple[Metrics, Batch, Lesson]:
        """One step: what it is made of, in order."""
        began = time.perf_counter()
        pipeline.admit(number - 1)
        batch = pipeline.batch(number)
        ready = time.perf_counter()
        lesson = learn(self._learner, self._policy, batch, self._config.grpo, max_age=self._schedule.max_age)
        if not all(math.isfinite(update.loss) and math.isfinite(update.grad_norm) for update in lesson.updates):
            log.warning("an update was skipped: its loss or gradient is not finite; lower grpo.lr if this repeats")
        ended = time.perf_counter()
        metrics = step_metrics(batch, lesson, step_s=ended - began, learn_s=ended - ready, ready=pipeline.ready)
        return metrics, batch, lesson

    @property
    def _output(self) -> Path:
        return self._config.output

    def _steps(self, console: Console, should_stop: Callable[[], bool]) -> None:
        """Do the steps that are left; a checkpoint is written also where the run stops or cannot go on.

        Raises:
            Stopped: the run was asked to stop before the last step.
            TrainerError, ClientError: the run cannot go on.
        """
        total = self._config.grpo.steps
        done = self._clock.position.step
        alarm = Alarm(self._config.alarm)
        with Journal(self._config, last_step=done) as journal:
            pipeline = self._pipeline(journal, should_stop)
            for row in journal.metrics_so_far():
                alarm.heed(row)
            try:
                pipeline.recover(done)
                with StepView(console, total=total, done=done) as view:
                    for number in range(done + 1, total + 1):
                        metrics, batch, lesson = self.step(number, pipeline)
                        position = self._clock.at(number, self._policy.version, int(metrics["tokens/new"]))
                        row = journal.write(position, metrics, batch, lesson)
                        view.show(number, metrics, alarm.heed(row))
                        if number == total or number % self._config.checkpoint.every == 0:
                            self._save(journal, pipeline)
                        alarm.demand()
                        if number < total and should_stop():
                            raise Stopped("the run was asked to stop; the same command resumes")
            except (TrainerError, ClientError):
                self._save(journal, pipeline)
                raise
            finally:
                pipeline.close()

    def _save(self, journal: Journal, pipeline: Pipeline) -> None:
        """Write a checkpoint of the last step that was done, unless one is there or its batches cannot be had."""
        position = self._clock.position
        whole = self._policy.version == position.updates  # no update of a step that was not finished
        if whole and self._saved_step < position.step and pipeline.drained():
            journal.sync()
            self._checkpoints.write(self._policy, self._learner.optimiser, position)
            self._saved_step = position.step

    def _pipeline(self, journal: Journal, should_stop: Callable[[], bool]) -> Pipeline:
        producer = Producer(
            self._config,
            self._engine,
            self._sampler,
            self._rewarder,
            Recordings(self._output / "recordings"),
            journal.ledger,
            decode=self._policy.decode,
            version=lambda: self._policy.version,
            should_stop=should_stop,
        )
        return Pipeline(
            self._schedule,
            self._policy,
            self._engine,
            producer,
            journal.syncs,
            threads=self._config.threads,
            should_stop=should_stop,
        )

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
