"""The held-out layer of `calls`: hidden inputs and relations that a task declares instead of writing cases.

Made when the task is loaded, from its own cases, with chance seeded by its digest: the same task has the same hidden
tests everywhere. What is expected of a perturbed input is what the reference answers, in a sandboxed process of its
own; no process that runs a candidate ever holds it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import BadFrame
from veredicto_verifier.sandbox.process import Child, OutputLimit
from veredicto_verifier.specs import canonical_task, task_digest
from veredicto_verifier.verifiers.python_code.calls import Gone, ask, case_meter, load
from veredicto_verifier.verifiers.python_code.perturbations import Perturbation, perturbed
from veredicto_verifier.verifiers.python_code.relations import Metamorphic, Unfit, changed
from veredicto_verifier.verifiers.python_code.spec import PythonSpec
from veredicto_verifier.verifiers.python_code.task import (
    Call,
    CallTask,
    Pair,
    argument,
    call_request,
    quota,
    suite_meter,
    with_argument,
)

_TRIES = 20
"""Draws for each input that is wanted: many give one that was there before, or that the reference refuses."""


def extended(task: CallTask) -> CallTask:
    """The task with the calls and pairs that its `perturbed` and `metamorphic` declare.

    Raises:
        TaskFault: a declaration fits no case, or the reference does not answer, or not twice the same.
        LimitExceeded, InfraFault: see the sandbox.
    """
    seed = task_digest(canonical_task("python", task.spec, {}))
    bases = [call for call in task.calls if call.raises is None]
    seen = {_key(call) for call in task.calls}
    found: list[Call] = []
    for index, how in enumerate(task.spec.perturbed):
        where = f"$.perturbed[{index}]"
        drawn = _perturbed_calls(task.spec, bases, how, random.Random(f"{seed} {where}"), seen)
        answered: list[Call] = []
        while len(answered) < how.count and (batch := list(islice(drawn, how.count - len(answered)))):
            answered += _answered(task, batch)
        if not answered:
            raise TaskFault(
                "task.gold_failed",
                f"{where}: {how.kind!r} makes no new input that the reference answers; check `arg` and the bounds",
            )
        found += answered
    pairs: list[Pair] = []
    for index, relation in enumerate(task.spec.metamorphic):
        where = f"$.metamorphic[{index}]"
        drawn_pairs = _pairs(task.spec, [*bases, *found], relation, random.Random(f"{seed} {where}"))
        few = list(islice(drawn_pairs, relation.count))
        if not few:
            raise TaskFault(
                "task.gold_failed",
                f"{where}: {relation.change!r} changes no case's argument; check `arg` and the types",
            )
        pairs += few
    return replace(task, calls=(*task.calls, *found), pairs=tuple(pairs))


def _perturbed_calls(
    spec: PythonSpec, bases: list[Call], how: Perturbation, rng: random.Random, seen: set[str]
) -> Iterator[Call]:
    """Calls that are not there yet, at most `_TRIES` for each that is wanted."""
    with_it = []
    for base in bases:
        with suppress(LookupError):
            with_it.append((base, argument(base, how.arg)))
    others = [value for _, value in with_it]
    for _ in range(_TRIES * how.count if with_it else 0):
        base, value = rng.choice(with_it)
        new = perturbed(value, how, rng, others)
        if new is None:
            continue
        args, kwargs = with_argument(base, how.arg, new)
        call = Call(args, kwargs, call_request(spec, args, kwargs))
        if _key(call) not in seen:
            seen.add(_key(call))
            yield call


def _pairs(spec: PythonSpec, bases: list[Call], how: Metamorphic, rng: random.Random) -> Iterator[Pair]:
    """Pairs of a call and a changed one, those from cases in random order; without those that the change leaves."""
    for base in rng.sample(bases, len(bases)):
        try:
            argument(base, how.arg)
            second = None if how.change == "answer" else _second(spec, base, how, rng)
        except (LookupError, Unfit):
            continue
        if second is None or _key(second) != _key(base):
            yield Pair(base, second, how)


def _second(spec: PythonSpec, base: Call, how: Metamorphic, rng: random.Random) -> Call:
    value = argument(base, how.arg)
    if how.other is None:
        args, kwargs = with_argument(base, how.arg, changed(value, how, rng))
    else:
        other = argument(base, how.other)
        args, kwargs = with_argument(base, how.arg, other)
        args, kwargs = with_argument(replace(base, args=args, kwargs=kwargs), how.other, value)
    return Call(args, kwargs, call_request(spec, args, kwargs))


def _key(call: Call) -> str:
    return json.dumps(call.request)


def _answered(task: CallTask, calls: list[Call]) -> Iterator[Call]:
    """The calls that the reference answers with plain data, each with its answer as what is expected."""
    first, second = (_reference_replies(task, calls) for _ in range(2))
    if first != second:
        raise TaskFault("task.gold_volatile", "the reference answers differently when it is asked again")
    for call, reply in zip(calls, first, strict=True):
        if reply[0] == "value":
            try:
                yield replace(call, expected=codec.decode(reply[1], _no_object))
            except codec.CodecError as error:
                raise TaskFault("task.gold_failed", "the reference returns an object, not plain data") from error


def _reference_replies(task: CallTask, calls: list[Call]) -> list[list[Any]]:
    """What the reference answers, in a process of its own.

    Raises:
        TaskFault: it does not load, or its process ends.
    """
    replies = []
    with Child(quota(task.spec), profile=task.spec.profile) as child:
        suite = suite_meter(task.spec, [child])
        failed, _ = load(child, task.spec.preamble, task.spec.reference or "", task.spec.entry, [suite])
        if failed is not None:
            raise TaskFault("task.gold_failed", f"the reference does not load: {failed.code}: {failed.reason}"[:300])
        for call in calls:
            try:
                replies.append(ask(child, call.request, [suite, case_meter(task, child)]))
            except (Gone, OutputLimit, BadFrame) as error:
                raise TaskFault("task.gold_failed", "the reference does not survive a perturbed input") from error
    return replies


def _no_object(form: list[Any]) -> Any:
    raise codec.CodecError("an object")
