"""What a verifier is: a typed spec, `prepare` for the task, `grade` for an answer, and the words it may say.

A verifier is one module (or one small folder) under `verifiers/`, one line in `registry.py`, one page in
`docs/verifiers/` and one table in `tests/cases/`. It holds no state and reads no clock, network or environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Lane = Literal["light", "xml", "sql", "python"]
"""Which pool of worker processes judges the task, from the lightest to the heaviest (see `lanes.py`)."""

ExtractMode = Annotated[
    str, StringConstraints(pattern=r"^(auto|raw|tag|fence|fence:[A-Za-z0-9_+-]{1,32}|boxed|hash|calls)$")
]


class Limits(BaseModel):
    """How much time and memory one completion may use."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    cpu_s: Annotated[float, Field(gt=0, le=300)] = 5.0
    """CPU seconds for judging one completion (the task's own gold is not charged)."""
    memory_mb: Annotated[int, Field(ge=16, le=8192)] = 512
    """Memory in MiB for judging one completion."""
    wall_s: Annotated[float, Field(gt=0, le=3600)] | None = None
    """Wall seconds net of run-queue wait; null means 10 times `cpu_s`."""

    @property
    def wall_seconds(self) -> float:
        """The wall limit in seconds, with its default filled in."""
        return 10 * self.cpu_s if self.wall_s is None else self.wall_s


class Spec(BaseModel):
    """Fields that every verifier's spec takes."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    extract: ExtractMode = "auto"
    """How the answer is taken from the completion; see docs/extraction.md."""
    think_prefilled: bool = False
    """The prompt already opened `<think>`, so text without `</think>` is all reasoning."""
    stop: tuple[Annotated[str, StringConstraints(min_length=1, max_length=64)], ...] = ()
    """Further end markers; the completion is cut at the first one."""
    limits: Limits = Limits()
    """Time and memory for one completion."""
    reward: Literal["binary", "shaped"] = "binary"
    """`binary` pays 1 or 0; `shaped` pays `partial_cap` times the score to an answer that does not pass."""
    partial_cap: Annotated[float, Field(ge=0, le=0.5)] = 0.5
    """The most that an answer which does not pass can earn under `shaped`."""


@dataclass(frozen=True, slots=True)
class Check:
    """One named sub-result.

    `name` is the aspect, fixed per verifier (`sql.rows`); `code` the stable cause, None when passed; `reason` is
    prose for a person: at most 300 characters, at most 100 of them model text, never a gold value.
    """

    name: str
    passed: bool
    score: float
    code: str | None = None
    reason: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Flag:
    """A named suspicion with evidence (at most 300 characters, never gold); never changes a reward."""

    name: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One function call of an assistant message; `arguments` is the raw JSON text the model wrote."""

    name: str
    arguments: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model wrote: the last assistant turn's text and the calls of all assistant turns."""

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What extraction takes from a completion.

    `text` is the answer itself (for mode `calls` the calls as one JSON array); `calls` and `prose` (the text around
    the calls) are filled by mode `calls` only; `reasoning` is what stood before `</think>`; `flags` are suspicions
    of extraction (`fenced`); `completion` is the original, for verifiers that look at all of it (`format`, `all`).
    """

    text: str
    completion: Completion
    calls: tuple[ToolCall, ...] = ()
    prose: str = ""
    reasoning: str = ""
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class Grade:
    """What a verifier says of one answer.

    `score` in [0, 1) counts only under `shaped` and only when not passed. `cpu_s` is CPU that child processes used
    on the answer's behalf (the worker's own is measured by the worker). `answer_class` is for votes among wrong
    answers: equal for two answers to one task that come to the same, empty for one that comes to nothing, None where
    the verifier does not say. It leaves the service only keyed.
    """

    passed: bool
    checks: tuple[Check, ...]
    score: float = 0.0
    flags: tuple[Flag, ...] = ()
    cpu_s: float = 0.0
    answer_class: str | None = None


@dataclass(frozen=True, slots=True)
class Fixture:
    """A pack's fixture file, addressed by content."""

    path: Path
    digest: str
    cache: Path | None = None
    """A folder for what a verifier makes of the file once, by its digest; None keeps nothing."""


@dataclass(frozen=True, slots=True)
class Context:
    """What `prepare` may look at beside the spec."""

    fixtures: Mapping[str, Fixture] = field(default_factory=dict)
    """The fixtures that the spec names (`pack/fixture`), resolved; a name that is missing here is unknown."""
    verifiers: Mapping[str, Verifier[Any, Any]] = field(default_factory=dict)
    """The registry, for `all`."""


SpecT = TypeVar("SpecT", bound=Spec)
TaskT = TypeVar("TaskT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier(Generic[SpecT, TaskT]):
    """A deterministic checker with a name and a version.

    The worker calls `prepare(spec, context)` once per task (its result is cached by task digest; here gold is run
    and checked, and `TaskFault` raised if the task is broken), then `grade(task, answer)` once per completion. A task
    that holds resources has a `close()`; one whose resources can be evicted meanwhile has `evicted()` and `reopen()`,
    which the worker calls before it charges anything to a completion.
    `grade` never raises for anything a completion can hold; the ways out are `LimitExceeded`, and `TaskFault`
    where only an answer shows that the task is broken (a checker that raises and was never proven).
    """

    name: str
    version: str
    """Changes whenever any verdict could; a test compares it with the digest of the sources."""
    lane: Lane
    spec: type[SpecT]
    auto: Callable[[SpecT], str]
    """What `extract: "auto"` means for this spec: an extract mode, or `rest`, `math`, `completion`."""
    prepare: Callable[[SpecT, Context], TaskT]
    grade: Callable[[TaskT, Answer], Grade]
    codes: Mapping[str, str]
    """Every reason code this verifier can give, with one sentence; the doc page lists them (a test)."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Every flag this verifier can raise, with one sentence."""
    example: Mapping[str, Any]
    """A complete spec, published at `GET /verifiers` and used by the control probe."""
    good: str
    """A completion that passes `example`."""
    bad: str
    """A completion that `example` must refuse."""
    look_ahead: Callable[[TaskT, Sequence[Answer]], None] | None = None
    """Sees the answers to a task that wait together before each is graded: it may do at once what costs more one by
    one, and keep it with the task. No verdict may depend on it."""
    looks_ahead: Callable[[SpecT], bool] = lambda _spec: False
    """Whether a spec has anything for `look_ahead` to do."""
    sources: tuple[str, ...] = ()
    """Modules beside the verifier's own that can change a verdict (folders are walked)."""
    distributions: tuple[str, ...] = ()
    """Installed distributions whose version can change a verdict."""
    data: Callable[[], Mapping[str, str]] = dict
    """Digests of the data files it reads (schemas, catalogues)."""
    fixtures: Callable[[SpecT], Sequence[str]] = lambda _spec: ()
    """Names of the pack fixtures that a spec refers to."""
    children: Callable[[SpecT], Sequence[tuple[str, Mapping[str, Any]]]] = lambda _spec: ()
    """`(verifier, raw spec)` of each criterion, for `all`."""
    with_children: Callable[[SpecT, Sequence[Spec]], SpecT] = lambda spec, _children: spec
    """The spec with its criteria's specs replaced by normalised ones, for `all`."""


def reward(spec: Spec, grade: Grade) -> float:
    """The reward of a grade under its spec: 1.0 iff passed; below that `partial_cap` × score if shaped, else 0."""
    if grade.passed:
        return 1.0
    if spec.reward == "binary":
        return 0.0
    return spec.partial_cap * min(max(grade.score, 0.0), 1.0)
