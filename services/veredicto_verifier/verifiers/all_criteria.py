"""`all`: several verifiers on one completion, each by its own rules; passed means that every criterion passed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.judging import judge, look_ahead
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Check, Context, Flag, Grade, Spec, Verifier, reward

INHERITED: Final[tuple[str, ...]] = ("think_prefilled", "stop")
"""Fields of `all` that its criteria take over unless they set their own."""
MAX_EVIDENCE: Final = 300
"""Longest evidence of a flag, in characters."""


class Criterion(BaseModel):
    """One verifier with its spec, and what it counts for."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,32}$")]
    """Prefix of the criterion's checks."""
    verifier: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    """Wire name of the verifier that judges it."""
    spec: dict[str, Any]
    """That verifier's spec."""
    weight: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 1.0
    """Share of the shaped score; a gate's weight is not used there."""
    gate: bool = False
    """Under `shaped`, an answer that fails this criterion earns nothing."""


class AllSpec(Spec):
    """What `all` judges by."""

    criteria: Annotated[tuple[Criterion, ...], Field(min_length=1, max_length=16)]
    """What is judged; each takes its own answer from the original completion."""

    @model_validator(mode="after")
    def _named_apart(self) -> AllSpec:
        names = [criterion.name for criterion in self.criteria]
        if len(set(names)) != len(names):
            raise ValueError("two criteria have the same name")
        return self


@dataclass(frozen=True, slots=True)
class _Part:
    criterion: Criterion
    verifier: Verifier[Any, Any]
    spec: Spec
    task: Any


@dataclass(frozen=True, slots=True)
class AllTask:
    """The prepared criteria, in the spec's order."""

    parts: tuple[_Part, ...]

    def close(self) -> None:
        """Close the criteria's tasks that hold resources."""
        for part in self.parts:
            _close(part.task)

    def evicted(self) -> bool:
        """Whether a criterion's task lost resources that it must open again."""
        return any(getattr(part.task, "evicted", bool)() for part in self.parts)

    def reopen(self) -> None:
        """Open again what criteria's tasks lost."""
        for part in self.parts:
            if getattr(part.task, "evicted", bool)():
                part.task.reopen()


def prepare(spec: AllSpec, context: Context) -> AllTask:
    """Prepare every criterion.

    Raises:
        TaskFault: the fault of the first broken criterion, with its place in the spec.
    """
    parts: list[_Part] = []
    with ExitStack() as opened:
        for index, criterion in enumerate(spec.criteria):
            part = _prepared(index, criterion, context)
            opened.callback(_close, part.task)
            parts.append(part)
        opened.pop_all()
    return AllTask(tuple(parts))


def grade(task: AllTask, answer: Answer) -> Grade:
    """Judge the original completion by every criterion."""
    verdicts = [(part, judge(part.verifier, part.task, part.spec, answer.completion)[0]) for part in task.parts]
    return Grade(
        passed=all(verdict.passed for _part, verdict in verdicts),
        checks=tuple(_prefixed(part, check) for part, verdict in verdicts for check in verdict.checks),
        score=_score(verdicts),
        flags=tuple(_told_apart(part, flag) for part, verdict in verdicts for flag in verdict.flags),
        cpu_s=sum(verdict.cpu_s for _part, verdict in verdicts),
    )


def look_ahead_all(task: AllTask, answers: Sequence[Answer]) -> None:
    """Show every criterion the answers that it is about to grade."""
    for part in task.parts:
        look_ahead(part.verifier, part.task, part.spec, [answer.completion for answer in answers])


def children(spec: AllSpec) -> list[tuple[str, dict[str, Any]]]:
    """Each criterion's verifier and raw spec; what it does not set itself of `INHERITED` comes from `all`."""
    inherited = {name: getattr(spec, name) for name in INHERITED if name in spec.model_fields_set}
    return [(criterion.verifier, {**inherited, **criterion.spec}) for criterion in spec.criteria]


def with_children(spec: AllSpec, parsed: Sequence[Spec]) -> AllSpec:
    """The spec with its criteria's specs normalised, so that equal tasks have equal digests."""
    criteria = tuple(
        criterion.model_copy(update={"spec": _normalised(child, spec)})
        for criterion, child in zip(spec.criteria, parsed, strict=True)
    )
    return spec.model_copy(update={"criteria": criteria})


def _normalised(child: Spec, parent: AllSpec) -> dict[str, Any]:
    fields = child.model_dump(mode="python", exclude_defaults=True, by_alias=True)
    # Stated even at their default, so that reading the normalised spec again inherits nothing else.
    stated = {name: getattr(child, name) for name in INHERITED if name in parent.model_fields_set}
    return {**fields, **stated}


def _prepared(index: int, criterion: Criterion, context: Context) -> _Part:
    try:
        spec = parse_spec(criterion.verifier, criterion.spec, context.verifiers)
        verifier = context.verifiers[criterion.verifier]
        return _Part(criterion, verifier, spec, verifier.prepare(spec, context))
    except TaskFault as fault:
        inner = fault.message.removeprefix("$")
        raise TaskFault(fault.code, f"$.criteria[{index}].spec{inner}") from fault


def _score(verdicts: list[tuple[_Part, Grade]]) -> float:
    """0 if a gate failed, else the weighted mean of the other criteria's own rewards."""
    if any(part.criterion.gate and not verdict.passed for part, verdict in verdicts):
        return 0.0
    counted = [
        (part.criterion.weight, reward(part.spec, verdict)) for part, verdict in verdicts if not part.criterion.gate
    ]
    total = sum(weight for weight, _reward in counted)
    return sum(weight * earned for weight, earned in counted) / total if counted else 0.0


def _prefixed(part: _Part, check: Check) -> Check:
    return replace(check, name=f"{part.criterion.name}.{check.name}")


def _told_apart(part: _Part, flag: Flag) -> Flag:
    return Flag(flag.name, f"{part.criterion.name}: {flag.evidence}"[:MAX_EVIDENCE])


def _close(task: Any) -> None:
    close = getattr(task, "close", None)
    if close is not None:
        close()


VERIFIER: Final = Verifier(
    name="all",
    version="1.12.2",
    lane="light",
    spec=AllSpec,
    auto=lambda _spec: "completion",
    prepare=prepare,
    grade=grade,
    look_ahead=look_ahead_all,
    looks_ahead=lambda _spec: True,
    codes={
        "all.timeout": "judging ran out of time, twice",
        "all.memory": "judging ran out of memory, twice",
        "all.crash": "judging killed the worker, twice",
    },
    example={
        "criteria": [
            {"name": "form", "verifier": "format", "spec": {"sections": ["think", "answer"]}, "gate": True},
            {"name": "result", "verifier": "math", "spec": {"answer": "42", "extract": "tag"}},
        ]
    },
    good="<think>6 times 7 is 42.</think><answer>42</answer>",
    bad="<think>6 times 7 is 43.</think><answer>43</answer>",
    children=children,
    with_children=with_children,
)
"""Registered as `all`."""
