"""The calls of an answer as typed arguments, or what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema_rs

from veredicto_verifier.comparators import EXACT, Comparator, agrees
from veredicto_verifier.json_values import MAX_SHOWN, breach, closed_schema, equal
from veredicto_verifier.strict_json import Defect, read
from veredicto_verifier.verifier import ToolCall
from veredicto_verifier.verifiers.tool_calls.spec import ExpectedCall, Tool


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool with its compiled schema."""

    tool: Tool
    validator: jsonschema_rs.Validator
    required: frozenset[str]
    defaults: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call whose arguments are valid for its tool; numbers are exact."""

    tool: Tool
    arguments: Mapping[str, Any]

    @property
    def key(self) -> Any:
        """The value of the idempotency key; None if the tool has none or the call gives none."""
        return None if self.tool.idempotency_key is None else self.arguments.get(self.tool.idempotency_key)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a call is none: a code and a reason."""

    code: str
    reason: str


def offer(tool: Tool, where: str) -> OfferedTool:
    """Compile a tool's schema, closed against arguments that it does not name.

    Raises:
        TaskFault: it is no schema, or refers to something outside itself.
    """
    schema = tool.parameters
    if isinstance(schema, bool):
        return OfferedTool(tool, closed_schema(schema, where), frozenset(), {})
    if "properties" in schema and not {"additionalProperties", "unevaluatedProperties"} & schema.keys():
        schema = {**schema, "additionalProperties": False}
    validator = closed_schema(schema, where)
    properties = schema.get("properties", {})
    defaults = {
        name: one["default"] for name, one in properties.items() if isinstance(one, Mapping) and "default" in one
    }
    return OfferedTool(tool, validator, frozenset(schema.get("required", ())), defaults)


def read_calls(calls: Sequence[ToolCall], tools: Mapping[str, OfferedTool]) -> list[Call] | Fault:
    """The typed calls of an answer, or the first fault."""
    given = [call.id for call in calls if call.id is not None]
    if len(set(given)) != len(given):
        return Fault("tools.duplicate_id", "two calls have the same id")
    typed = []
    for number, call in enumerate(calls, start=1):
        offered = tools.get(call.name)
        if offered is None:
            return Fault("tools.unknown_tool", f"call {number}: no tool is named {call.name[:MAX_SHOWN]!r}")
        one = _typed(call.arguments, offered, number)
        if isinstance(one, Fault):
            return one
        typed.append(one)
    return typed


def _typed(text: str, offered: OfferedTool, number: int) -> Call | Fault:
    document = read(text)
    if isinstance(document, Defect):
        return Fault("tools.arguments", f"call {number}: {document.reason}")
    return typed_call(document.value, offered, f"call {number}: ")


def typed_call(value: Any, offered: OfferedTool, prefix: str = "") -> Call | Fault:
    """A call from its arguments: null for one that may be left out is the same as leaving it out."""
    if isinstance(value, Mapping):
        value = {name: one for name, one in value.items() if one is not None or name in offered.required}
    if not isinstance(value, dict) or not offered.validator.is_valid(value):
        reason = breach(next(offered.validator.iter_errors(value))) if isinstance(value, dict) else "no object"
        return Fault("tools.arguments", f"{prefix}{reason.replace('the document', 'the arguments')}")
    return Call(offered.tool, value)


def fits(call: Call, expected: ExpectedCall, offered: OfferedTool) -> bool:
    """Whether a call is the expected one: same tool, every argument right, none beside them.

    An argument that is left out has its schema's `default`; the idempotency key is compared only if expected.
    """
    if call.tool.name != expected.name:
        return False
    rules: dict[str, Comparator] = {**call.tool.compare, **expected.compare}
    wanted = {name: one for name, one in expected.arguments.items() if one is not None or name in offered.required}
    found = {**offered.defaults, **call.arguments}
    wanted = {**offered.defaults, **wanted}
    if call.tool.idempotency_key is not None and call.tool.idempotency_key not in wanted:
        found.pop(call.tool.idempotency_key, None)
    free = {name for name, rule in rules.items() if rule.by == "ignore"}
    if found.keys() - free != wanted.keys() - free:
        return False
    return all(agrees(found[name], wanted[name], rules.get(name, EXACT)) for name in wanted.keys() - free)


def holds(call: Call, arguments: Mapping[str, Any]) -> bool:
    """Whether a call has all of these arguments, compared as its tool says."""
    return all(
        name in call.arguments and agrees(call.arguments[name], value, call.tool.compare.get(name, EXACT))
        for name, value in arguments.items()
    )


def without_retries(calls: Sequence[Call]) -> list[Call] | Fault:
    """Calls with the same idempotency key and body once, where they came first."""
    kept: list[Call] = []
    for number, call in enumerate(calls, start=1):
        if call.tool.idempotency_key is None:
            kept.append(call)
            continue
        if call.key is None or (isinstance(call.key, str) and not call.key.strip()):
            return Fault("tools.key_missing", f"call {number} has no `{call.tool.idempotency_key[:MAX_SHOWN]}`")
        earlier = next((one for one in kept if one.tool == call.tool and equal(one.key, call.key)), None)
        if earlier is None:
            kept.append(call)
        elif not equal(earlier.arguments, call.arguments):
            return Fault("tools.key_reused", f"call {number} reuses an idempotency key for another request")
    return kept
