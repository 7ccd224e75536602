"""Judge the calls of an answer: typed, matched, in order, nothing extra, and the state that they leave."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from veredicto_verifier.verifier import Answer, Check, Grade
from veredicto_verifier.verifiers.tool_calls.bank import WRITES, Bank
from veredicto_verifier.verifiers.tool_calls.books import canonical
from veredicto_verifier.verifiers.tool_calls.calls import (
    Call,
    Fault,
    OfferedTool,
    fits,
    holds,
    read_calls,
    without_retries,
)
from veredicto_verifier.verifiers.tool_calls.matching import in_order, maximum
from veredicto_verifier.verifiers.tool_calls.simulation import run
from veredicto_verifier.verifiers.tool_calls.spec import ToolsSpec

_WORD: Final = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class ToolsTask:
    """The spec with its tools compiled, the order as indices, and the bank before and after the expected calls."""

    spec: ToolsSpec
    tools: Mapping[str, OfferedTool]
    after: tuple[tuple[int, ...], ...]
    bank: Bank | None = None
    settled: str | None = None


@dataclass(frozen=True, slots=True)
class _Matched:
    """What the calls stand for; `fits[expected][call]` over all expected calls."""

    fits: list[list[bool]]
    chosen: list[int | None]

    def extra(self, calls: Sequence[Call]) -> list[Call]:
        taken = set(self.chosen)
        return [call for index, call in enumerate(calls) if index not in taken]


def grade(task: ToolsTask, answer: Answer) -> Grade:
    """Read the calls, then judge them."""
    if len(answer.calls) > task.spec.max_calls:
        return _stopped("tools.typed", "tools.too_many_calls", f"more than {task.spec.max_calls} calls")
    calls = read_calls(answer.calls, task.tools)
    if isinstance(calls, Fault):
        return _stopped("tools.typed", calls.code, calls.reason)
    once = without_retries(calls)
    if isinstance(once, Fault):
        return _stopped("tools.typed", once.code, once.reason)
    return grade_calls(task, once, answer.prose)


def grade_calls(task: ToolsTask, calls: Sequence[Call], prose: str) -> Grade:
    """Judge typed calls, each intent once."""
    fitting = [[fits(call, wanted, task.tools[wanted.name]) for call in calls] for wanted in task.spec.expected]
    matched = _Matched(fitting, maximum(fitting))
    checks = [Check("tools.typed", passed=True, score=1.0), _called(task, calls, matched)]
    if task.spec.forbidden:
        checks.append(_forbidden(task.spec, calls))
    if any(task.after):
        checks.append(_ordered(task, matched))
    if task.spec.wants_refusal:
        checks.append(_refusal(task.spec, prose))
    if task.spec.bank is not None:
        checks.extend(_settled(task, calls))
    passed = all(check.passed for check in checks)
    return Grade(passed=passed, checks=tuple(checks), score=_score(task.spec, calls, matched, checks))


def _called(task: ToolsTask, calls: Sequence[Call], matched: _Matched) -> Check:
    """Every call that must be there is, and none that may not."""
    spec = task.spec
    if not spec.expected:
        return _failed("tools.calls", "tools.call_made", "a call was made where none was wanted") if calls else _CALLED
    if not calls:
        return _failed("tools.calls", "tools.no_call", "a call was wanted and none was made")
    for wanted, found in zip(spec.expected, matched.chosen, strict=True):
        if found is None and not (spec.judge_by == "state" and wanted.name in WRITES):
            tried = any(call.tool.name == wanted.name for call in matched.extra(calls))
            code = "tools.wrong_arguments" if tried else "tools.missing_call"
            reason = "with other arguments than expected" if tried else "not called as often as expected"
            return _failed("tools.calls", code, f"`{wanted.name}`: {reason}")
    for call in matched.extra(calls):
        if call.tool.writes and not (spec.judge_by == "state" and call.tool.name in WRITES):
            return _failed("tools.calls", "tools.extra_write", f"`{call.tool.name}`: called beyond what was asked")
        if not call.tool.writes and not spec.extra_reads:
            return _failed("tools.calls", "tools.extra_read", f"`{call.tool.name}`: called beyond what was asked")
    return _CALLED


def _forbidden(spec: ToolsSpec, calls: Sequence[Call]) -> Check:
    for rule in spec.forbidden:
        if any(call.tool.name == rule.name and holds(call, rule.arguments) for call in calls):
            return _failed("tools.forbidden", "tools.forbidden", f"`{rule.name}`: called in a way that is forbidden")
    return Check("tools.forbidden", passed=True, score=1.0)


def _ordered(task: ToolsTask, matched: _Matched) -> Check:
    """The calls that were found stand in the order that `after` gives; a missing one is the fault of another check."""
    found = [index for index, call in enumerate(matched.chosen) if call is not None]
    place = {index: position for position, index in enumerate(found)}
    after = [[place[before] for before in task.after[index] if before in place] for index in found]
    if in_order([matched.fits[index] for index in found], after) is None:
        return _failed("tools.order", "tools.order", "the calls stand in another order than they must")
    return Check("tools.order", passed=True, score=1.0)


def _refusal(spec: ToolsSpec, prose: str) -> Check:
    """Saying nothing is no refusal: doing nothing must not pay."""
    text = prose.casefold()
    if not _WORD.search(text):
        return _failed("tools.refusal", "tools.no_refusal", "nothing says in words that the request is not carried out")
    words = [re.escape(word.casefold()) for word in spec.refusal_words]
    if words and not re.search(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", text):
        return _failed("tools.refusal", "tools.no_refusal", "the words do not refuse the request as they must")
    return Check("tools.refusal", passed=True, score=1.0)


def _settled(task: ToolsTask, calls: Sequence[Call]) -> list[Check]:
    assert task.spec.bank is not None
    assert task.bank is not None
    done = run(task.spec.bank, task.bank, calls)
    same = canonical(done.bank, task.spec.bank.ignored) == task.settled
    state = Check("tools.state", passed=True, score=1.0)
    if not same:
        why = "the bank refused a call" if done.refused else "the calls leave the bank in another state than they must"
        state = _failed("tools.state", "tools.state", why)
    kept = Check("tools.invariants", passed=True, score=1.0)
    if done.broken:
        kept = _failed("tools.invariants", "tools.invariant", done.broken[0])
    return [state, kept]


def _score(spec: ToolsSpec, calls: Sequence[Call], matched: _Matched, checks: Sequence[Check]) -> float:
    """Share of the expected writes that were made times that of the checks that hold; an extra write leaves nothing."""
    if any(check.code == "tools.forbidden" for check in checks) or any(
        call.tool.writes for call in matched.extra(calls)
    ):
        return 0.0
    writing = {tool.name for tool in spec.tools if tool.writes}
    counted = [index for index, call in enumerate(spec.expected) if call.name in writing] or range(len(spec.expected))
    share = sum(matched.chosen[index] is not None for index in counted) / len(counted) if counted else 0.0
    return share * sum(check.passed for check in checks) / len(checks)


def _stopped(name: str, code: str, reason: str) -> Grade:
    return Grade(passed=False, checks=(_failed(name, code, reason),))


def _failed(name: str, code: str, reason: str) -> Check:
    return Check(name, passed=False, score=0.0, code=code, reason=reason[:300])


_CALLED: Final = Check("tools.calls", passed=True, score=1.0)
