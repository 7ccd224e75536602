"""`tools`: the answer makes the calls that were wanted, with the right arguments, and changes nothing else.

All or nothing by default. Arguments are typed by JSON Schema and compared exactly; calls are matched, not zipped; with
a bank in the spec they also run in a pure simulator, whose final state must be the expected one.
"""

from __future__ import annotations

from typing import Final

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Context, Verifier
from veredicto_verifier.verifiers.tool_calls.books import canonical
from veredicto_verifier.verifiers.tool_calls.calls import Call, Fault, OfferedTool, offer, typed_call
from veredicto_verifier.verifiers.tool_calls.grading import ToolsTask, grade, grade_calls
from veredicto_verifier.verifiers.tool_calls.matching import topological
from veredicto_verifier.verifiers.tool_calls.simulation import opened, run
from veredicto_verifier.verifiers.tool_calls.spec import ExpectedCall, ToolsSpec


def prepare(spec: ToolsSpec, _context: Context) -> ToolsTask:
    """Compile the tools, run the expected calls and judge them as an answer.

    Raises:
        TaskFault: `task.spec_invalid` for a schema that is none or an order that is a circle; `task.gold_failed` if
            the expected calls are not valid, are refused by the bank, or do not pass.
    """
    tools = {tool.name: offer(tool, f"$.tools[{at}].parameters") for at, tool in enumerate(spec.tools)}
    labels = {call.label: at for at, call in enumerate(spec.expected) if call.label is not None}
    after = tuple(tuple(labels[label] for label in call.after) for call in spec.expected)
    order = topological(after)
    if order is None:
        raise TaskFault("task.spec_invalid", "$.expected: `after` goes in a circle")
    gold = [_gold(at, spec.expected[at], tools[spec.expected[at].name]) for at in order]
    bank = settled = None
    if spec.bank is not None:
        bank = opened(spec.bank)
        done = run(spec.bank, bank, gold)
        if done.refused:
            raise TaskFault("task.gold_failed", "$.expected: the bank refuses one of the expected calls")
        settled = canonical(done.bank, spec.bank.ignored)
    task = ToolsTask(spec, tools, after, bank, settled)
    verdict = grade_calls(task, gold, next(iter(spec.refusal_words), "no"))
    if not verdict.passed:
        code = next(check.code for check in verdict.checks if not check.passed)
        raise TaskFault("task.gold_failed", f"$.expected: the expected calls do not pass themselves ({code})")
    return task


def _gold(at: int, expected: ExpectedCall, offered: OfferedTool) -> Call:
    """An expected call as a model would make it; an idempotency key that is left open gets a value."""
    key = offered.tool.idempotency_key
    arguments = dict(expected.arguments) if key is None else {key: f"key-{at}", **expected.arguments}
    call = typed_call(arguments, offered)
    if isinstance(call, Fault):
        raise TaskFault("task.gold_failed", f"$.expected[{at}].arguments: {call.reason}")
    return call


VERIFIER: Final = Verifier(
    name="tools",
    version="1.3.1",
    lane="light",
    spec=ToolsSpec,
    auto=lambda _spec: "calls",
    prepare=prepare,
    grade=grade,
    codes={
        "tools.unknown_tool": "a call names a tool that is not on offer",
        "tools.arguments": "a call's arguments are not valid for its tool",
        "tools.duplicate_id": "two calls have the same id",
        "tools.too_many_calls": "more calls than the task allows",
        "tools.key_missing": "a call has no idempotency key where its tool needs one",
        "tools.key_reused": "an idempotency key comes back with another body",
        "tools.no_call": "a call was wanted and none was made",
        "tools.call_made": "a call was made where none was wanted",
        "tools.missing_call": "an expected call is not there",
        "tools.wrong_arguments": "an expected tool was called with other arguments",
        "tools.extra_write": "a call that changes something, beyond what was asked",
        "tools.extra_read": "a call that reads, beyond what was asked, where the task allows none",
        "tools.forbidden": "a call that the task forbids",
        "tools.order": "the calls stand in another order than they must",
        "tools.no_refusal": "nothing says in words that the request is not carried out",
        "tools.state": "the bank's final state is not the expected one",
        "tools.invariant": "a bound that holds whatever the calls are was broken",
        "tools.timeout": "judging ran out of time, twice",
        "tools.memory": "judging ran out of memory, twice",
        "tools.crash": "judging killed the worker, twice",
    },
    example={
        "tools": [
            {
                "name": "transfer",
                "parameters": {
                    "type": "object",
                    "properties": {"target": {"type": "string"}, "amount": {"type": "string"}},
                    "required": ["target", "amount"],
                },
                "compare": {"amount": "decimal"},
            }
        ],
        "expected": [{"name": "transfer", "arguments": {"target": "ACC-2", "amount": "10.00"}}],
    },
    good='<tool_call>{"name": "transfer", "arguments": {"target": "ACC-2", "amount": "10.00"}}</tool_call>',
    bad='<tool_call>{"name": "transfer", "arguments": {"target": "acc-2", "amount": "1000"}}</tool_call>',
    sources=(
        "veredicto_verifier.comparators",
        "veredicto_verifier.json_values",
    ),
    distributions=("jsonschema-rs", "pydantic-core"),
)
"""Registered as `tools`."""
