"""The wire contract, version 1: what a trainer sends to `POST /score` and what comes back.

Additions are optional fields; nothing is renamed. `proto/openapi.json` is generated from these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints

Identifier = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Phase = Literal["train", "eval", "probe"]
Outcome = Literal["scored", "invalid_task", "infra_error"]

ERROR_CODES: dict[str, bool] = {
    "task.malformed": False,
    "task.unknown_verifier": False,
    "task.unknown_ref": False,
    "task.spec_invalid": False,
    "task.unknown_fixture": False,
    "task.gold_failed": False,
    "task.gold_timeout": False,
    "task.gold_volatile": False,
    "task.empty_tests": False,
    "infra.worker_lost": True,
    "infra.starved": True,
    "infra.memory": True,
}
"""The closed list of `error.code`, each with whether sending the item again can help."""


class Message(BaseModel):
    """A base for everything on the wire: frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class FunctionCall(Message):
    """The function half of a tool call."""

    name: str
    arguments: str
    """The arguments as the JSON text the model wrote."""


class ToolCallMessage(Message):
    """One entry of an assistant message's `tool_calls`."""

    model_config = ConfigDict(extra="ignore")

    id: str | None = None
    type: Literal["function"] = "function"
    function: FunctionCall


class ChatMessage(Message):
    """One turn of a conversation. Only assistant turns are judged."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | None = None
    tool_calls: tuple[ToolCallMessage, ...] | None = None


class Task(Message):
    """What to judge against: a pack's task by `ref`, or an inline `verifier` and `spec`."""

    ref: Identifier | None = None
    """`pack[@sha256:…]/split/id`."""
    verifier: Identifier | None = None
    """Wire name of a verifier; together with `spec`, instead of `ref`."""
    spec: dict[str, Any] | None = None
    """The verifier's typed input (gold, fixtures, limits); see `GET /verifiers`."""
    category: Identifier | None = None
    """A business segment, for reports only."""


class Item(Message):
    """One completion to score."""

    id: Identifier | None = None
    """Echoed in the result."""
    group: Identifier | None = None
    """The completions of one prompt share it; unique within run, phase and step."""
    policy_version: Annotated[int, Field(ge=0, strict=True)] | None = None
    """Version of the weights that sampled the completion."""
    completion: str | tuple[ChatMessage, ...]
    """What the model wrote: text, or messages of which only assistant turns are judged."""
    prompt: str | tuple[ChatMessage, ...] | None = None
    """Kept by digest beside the ledger; never judged."""
    metadata: dict[str, str | bool | int | FiniteFloat | None] | None = None
    """A small flat dict (32 keys at most), kept by digest beside the ledger."""
    task: Task


class ScoreRequest(Message):
    """The body of `POST /score`."""

    run: Identifier | None = None
    """Name of the training run, for the audit."""
    step: Annotated[int, Field(ge=0)] | None = None
    """Policy update that these completions belong to."""
    phase: Phase = "train"
    """`train`, `eval` or `probe`; alarms read train only."""
    items: Annotated[tuple[Item, ...], Field(min_length=1)]
    """1 to 4,096 completions."""


class CheckResult(Message):
    """One named sub-result of a verdict."""

    name: str
    """The aspect, fixed per verifier."""
    code: str | None
    """The stable cause; null when the check passed."""
    score: float
    """In [0, 1]."""
    weight: float
    passed: bool
    reason: str
    """Prose for a person; may change between versions."""


class FlagResult(Message):
    """A named suspicion; never changes a reward."""

    name: str
    evidence: str


class ItemError(Message):
    """Why an item has no reward."""

    code: str
    message: str
    retryable: bool


class VerifierStamp(Message):
    """Which verifier gave the verdict."""

    name: str
    version: str
    digest: str


class Result(Message):
    """The verdict for one completion."""

    id: str | None
    outcome: Outcome
    reward: Annotated[float, Field(ge=0, le=1)] | None
    """Null unless `outcome` is `scored`."""
    passed: bool | None
    checks: tuple[CheckResult, ...]
    flags: tuple[FlagResult, ...]
    answer: str | None
    """What extraction took from the completion."""
    answer_class: str | None = None
    """For votes: equal for two wrong answers to one task that come to the same (`sql`: the same rows), empty for one
    that comes to nothing, null where the verifier does not say. Keyed anew at every start of the service."""
    error: ItemError | None
    verifier: VerifierStamp | None
    task_digest: str | None
    cached: bool
    queue_ms: float
    exec_ms: float
    record: str | None
    """Id of the ledger record: an anchor that `audit verify --head` proves the ledger still contains."""
    index: int | None = None
    """Position in the request; only in streamed answers."""


class ScoreResponse(Message):
    """The answer to `POST /score`: one result per item, same order."""

    request_id: str
    results: tuple[Result, ...]


class Problem(Message):
    """An RFC 9457 problem document."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    request_id: str | None = None


class VerifierInfo(Message):
    """One entry of `GET /verifiers`."""

    name: str
    version: str
    digest: str
    spec_schema: dict[str, Any]
    """JSON Schema of the spec."""
    example: dict[str, Any]
    codes: dict[str, str]
    flags: dict[str, str]


class PackInfo(Message):
    """One entry of `GET /packs`."""

    name: str
    version: str
    digest: str
    """Pin it in a ref: `name@sha256:…/split/id`."""
    licence: str
    language: str
    splits: dict[str, int]
    """Number of tasks per split."""
    categories: dict[str, int]
    """Number of tasks per category, all splits."""
    refused: int = 0
    """Tasks that the loader refused; `veredicto pack check` lists them."""


class TaskInfo(Message):
    """A task as it is served: its prompt, never its spec."""

    ref: str
    id: str
    category: str | None
    difficulty: float | None
    verifier: str
    prompt: str | tuple[ChatMessage, ...]


class TaskPage(Message):
    """One page of `GET /packs/{pack}/tasks`."""

    tasks: tuple[TaskInfo, ...]
    next_cursor: str | None


class Demonstration(Message):
    """A prompt with a completion that the pack's author declared public."""

    prompt: str | tuple[ChatMessage, ...]
    completion: str
    category: str | None = None


class DemonstrationPage(Message):
    """`GET /packs/{pack}/examples` and `GET /packs/{pack}/demonstrations`."""

    demonstrations: tuple[Demonstration, ...]
