"""The trainer's configuration: one TOML file, read once into frozen models; docs/trainer.md explains every field."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from veredicto_trainer.engines.engine_config import WHERE, EngineSection
from veredicto_trainer.errors import ConfigFault
from veredicto_trainer.loss_config import LossFields
from veredicto_trainer.policy_config import PolicySection
from veredicto_trainer.section import Positive, Section, Share

MOVABLE: dict[str, bool | set[str]] = {
    "output": True,
    "service": True,
    "checkpoint": True,
    "alarm": True,
    "log": True,
    "engine": WHERE,
}
"""What may differ between a run and its resumption, since it cannot change what is learnt (but for `service.pins`)."""


class ServiceSection(Section):
    """`[service]`: where rewards come from."""

    url: str = "http://127.0.0.1:8080"
    """Address of the verifier service."""
    api_key_env: str = "VEREDICTO_API_KEY"
    """Name of the environment variable that holds the key; without it no key is sent."""
    pins: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it for each instance
    """Digest per pack name that the service must have; a pack not named here is pinned to what it has at the start."""
    timeout_s: Annotated[float, Field(gt=0)] = 300.0
    """Seconds to wait for one answer."""
    patience_s: Annotated[float, Field(ge=0)] = 300.0
    """Seconds for which a request that finds the service busy or gone is sent again before the run stops."""
    groups_per_request: Positive = 4
    """Groups that travel together; they are sent as soon as the last of them is sampled."""
    concurrency: Positive = 4
    """Requests under way at a time."""


class TasksSection(Section):
    """`[tasks]`: what the policy practises and is examined on."""

    pack: str
    """Name of the pack."""
    train_split: str = "train"
    """Split whose questions are practised."""
    test_split: str = "test"
    """Split whose questions are only ever evaluated."""
    categories: tuple[str, ...] = ()
    """Practise these categories only; empty means all."""
    order: Literal["shuffle", "balanced"] = "shuffle"
    """`shuffle` draws all questions in a seeded order; `balanced` draws every category equally often."""
    curriculum_steps: Annotated[int, Field(ge=0)] = 0
    """Steps over which the harder questions join, by the pack's difficulty; 0 practises all from the start."""
    curriculum_start: Annotated[float, Field(gt=0, le=1)] = 0.3
    """Share of the questions, the easiest, that a curriculum begins with."""
    shots: Annotated[int, Field(ge=0)] = 0
    """Examples of the pack that are shown before each question."""


class WarmStartSection(Section):
    """`[warm_start]`: supervised steps on the pack's public demonstrations, before any reward."""

    steps: Positive
    """Optimiser steps."""
    batch_size: Positive = 48
    """Demonstrations per step."""
    lr: Annotated[float, Field(gt=0)] = 1e-3
    """Learning rate."""


class ModeSection(Section):
    """`[mode]`: which weights sample the completions of a step."""

    name: Literal["sync", "staged", "bounded"] = "sync"
    """`sync`: the newest; `staged`: those at the start of a large stage; `bounded`: older by at most `max_age`."""
    stages: Positive = 4
    """Stages of `staged`; each generates first and then learns."""
    max_age: Annotated[int, Field(ge=0)] = 1
    """Policy updates of `bounded` that may lie between the oldest weights of a completion and its training."""


class GrpoSection(LossFields):
    """`[grpo]`: the reinforcement learning itself; `LossFields` holds the fields of the loss."""

    steps: Positive
    """Steps; each samples, scores and learns once."""
    prompts_per_step: Positive = 16
    """Questions per step; each becomes one group."""
    group_size: Annotated[int, Field(ge=2)] = 8
    """Completions per question."""
    max_new_tokens: Positive = 64
    """Tokens after which a completion is cut."""
    generation_rounds: Positive = 1
    """Rounds in which groups without a signal may be replaced by other questions (DAPO); 1 never replaces."""
    lr: Annotated[float, Field(gt=0)] = 1e-6
    """Learning rate after its warm-up."""
    lr_warmup_updates: Annotated[int, Field(ge=0)] = 5
    """Updates over which the learning rate rises linearly."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """AdamW's decoupled weight decay."""
    adam_beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Decay of AdamW's first moment."""
    adam_beta2: Annotated[float, Field(ge=0, lt=1)] = 0.95
    """Decay of AdamW's second moment."""
    max_grad_norm: Annotated[float, Field(gt=0)] = 1.0
    """Gradients are scaled down to this norm."""
    max_bad_updates: Positive = 3
    """Updates in a row whose gradient is not finite after which the run stops."""
    updates_per_batch: Positive = 1
    """Optimiser updates on each batch of completions."""
    micro_batch: Positive = 64
    """Completions per forward pass; changes memory, never the result beyond rounding."""
    generation_batch: Positive = 128
    """Completions sampled side by side; changes memory, never which tokens are drawn beyond rounding."""
    max_unscorable: Share = 0.2
    """Share of a step's completions without a reward above which the run stops."""


class EvalSection(Section):
    """`[eval]`: the examination before and after."""

    questions: Positive = 200
    """Questions of the test split, the first ones in pack order."""
    samples: Annotated[int, Field(ge=0)] = 1
    """Sampled completions per question, beside the greedy one."""
    max_new_tokens: Positive | None = None
    """Tokens after which an answer is cut; null means `grpo.max_new_tokens`."""
    executes_check: str = "sql.run"
    """Name of the check that tells whether an answer ran at all."""


class AlarmSection(Section):
    """`[alarm]`: when a run that has stopped learning says so."""

    signal_share: Share = 0.1
    """A step whose share of groups with a signal is at most this counts as dead."""
    warn_after: Positive = 5
    """Dead steps in a row before a warning, and live steps in a row before it is taken back."""
    halt_after: Annotated[int, Field(ge=0)] = 20
    """Dead steps in a row before the run stops with status 4; 0 never stops. Saturation never stops a run."""


class LogSection(Section):
    """`[log]`: where metrics go beside `metrics.jsonl`."""

    tensorboard: bool = False
    """Write TensorBoard event files to `tensorboard/` in the output folder."""


class CheckpointSection(Section):
    """`[checkpoint]`: what a killed run continues from."""

    every: Positive = 20
    """Steps between checkpoints; one more is written at the end."""
    keep: Positive = 2
    """How many are kept, newest first."""


class TrainerConfig(Section):
    """The whole file."""

    run: Annotated[str, Field(min_length=1, max_length=200)]
    """Name of the run in the service's ledger; a random suffix tells repeated runs apart."""
    output: Path
    """Folder of the run: metrics, rollouts, checkpoints, report."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Fixes the order of questions, every sampled token, and new weights."""
    threads: Positive = 1
    """Torch threads; results are repeatable for the same number."""
    service: ServiceSection = ServiceSection()
    """Where rewards come from."""
    tasks: TasksSection
    """What is practised."""
    policy: PolicySection
    """What learns."""
    warm_start: WarmStartSection | None = None
    """Supervised steps first; leave out for none (`[policy.scratch]` needs it)."""
    engine: EngineSection = EngineSection()
    """What samples."""
    mode: ModeSection = ModeSection()
    """Which weights sample."""
    grpo: GrpoSection
    """How it learns."""
    eval: EvalSection = EvalSection()
    """How it is examined."""
    checkpoint: CheckpointSection = CheckpointSection()
    """How it survives."""
    alarm: AlarmSection = AlarmSection()
    """When it warns."""
    log: LogSection = LogSection()
    """What it writes beside."""

    @model_validator(mode="after")
    def _scratch_is_warmed(self) -> TrainerConfig:
        if self.policy.scratch is not None and self.warm_start is None:
            raise ValueError(
                "a policy from [policy.scratch] writes nothing sensible before a [warm_start]; add that table"
            )
        return self

    @model_validator(mode="after")
    def _pins_are_of_the_pack(self) -> TrainerConfig:
        if unused := sorted(set(self.service.pins) - {self.tasks.pack}):
            raise ValueError(
                f"service.pins names {unused[0]!r} but the run uses only pack {self.tasks.pack!r}; correct the name"
            )
        return self

    @model_validator(mode="after")
    def _engine_fits(self) -> TrainerConfig:
        if self.engine.kind != "hf" and self.engine.sync == "lora" and self.policy.lora is None:
            raise ValueError("engine.sync is `lora` but no adapter is trained; add [policy.lora] or use `reload`")
        return self

    @model_validator(mode="after")
    def _mode_fits(self) -> TrainerConfig:
        if self.mode.name == "staged" and self.mode.stages > self.grpo.steps:
            raise ValueError(
                f"mode.stages is {self.mode.stages} but there are {self.grpo.steps} steps; use fewer stages"
            )
        if self.mode.name == "bounded" and self.mode.max_age < self.grpo.updates_per_batch - 1:
            raise ValueError(
                f"mode.max_age is {self.mode.max_age} but grpo.updates_per_batch makes a batch "
                f"{self.grpo.updates_per_batch - 1} updates old by itself; raise the one or lower the other"
            )
        return self

    def digest(self) -> str:
        """SHA-256 over every field that can change what is learnt, as `sha256:…`."""
        body = {"pins": self.service.pins, **self.model_dump(mode="json", exclude=MOVABLE)}
        return "sha256:" + hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def load_config(path: Path) -> TrainerConfig:
    """Read a configuration file.

    Raises:
        ConfigFault: the file is missing, is not TOML, or a field is wrong; the message names file and field.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigFault(f"cannot read {path}: {error.strerror}; give the path of a TOML file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigFault(f"{path} is not TOML: {error}") from error
    return checked(raw, str(path))


def checked(raw: dict[str, Any], source: str) -> TrainerConfig:
    """The configuration with these fields.

    Raises:
        ConfigFault: a field is wrong; the message names it and the source.
    """
    try:
        return TrainerConfig.model_validate(raw)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors())
        raise ConfigFault(f"{source}: {faults}; see docs/trainer.md for the fields") from error
