"""`json`: the answer is one JSON document, valid under a schema, with the expected values in its fields.

Nothing is fetched: a `$ref` that leaves the schema is a fault of the task. Numbers are compared exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any, Final, NoReturn

import jsonschema_rs
from pydantic import AfterValidator, ConfigDict, Field, model_validator

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.strict_json import MAX_DEPTH, Defect, read
from veredicto_verifier.verifier import Answer, Check, Context, Grade, Spec, Verifier

MAX_SHOWN: Final = 100
"""Most characters of the model's text in a reason."""


def _plain_json(value: Any) -> Any:
    """Refuse what is not JSON: NaN, infinities, half surrogates, endless nesting."""
    for item, depth in _walk(value, 1):
        if depth > MAX_DEPTH:
            raise ValueError(f"nests deeper than {MAX_DEPTH}")
        if isinstance(item, float) and not isfinite(item):
            raise ValueError("NaN and Infinity are not JSON")
        if isinstance(item, str) and _has_surrogate(item):
            raise ValueError("holds half of a surrogate pair, which is no character")
    return value


class JsonSpec(Spec):
    """What `json` judges by."""

    model_config = ConfigDict(validate_by_alias=True, serialize_by_alias=True)

    json_schema: Annotated[dict[str, Any] | bool, Field(alias="schema"), AfterValidator(_plain_json)] = True
    """A JSON Schema (2020-12 unless `$schema` names another draft from 4 on); every `$ref` must stay inside it."""
    expected: Annotated[dict[str, Any], AfterValidator(_plain_json)] = Field(default_factory=dict)
    """Top-level fields and the values they must have, compared exactly; other fields are free."""
    formats: bool = False
    """Whether `format` is asserted (dates, e-mail addresses, …)."""
    partial_cap: Annotated[float, Field(ge=0, le=0.3)] = 0.3
    """The most that an answer which does not pass can earn under `shaped`."""

    @model_validator(mode="after")
    def _demands_something(self) -> JsonSpec:
        if self.json_schema is False:
            raise ValueError("`schema` is false, so nothing would pass")
        if self.json_schema in (True, {}) and not self.expected:
            raise ValueError("give `schema`, `expected` or both; without them any JSON would pass")
        return self


@dataclass(frozen=True, slots=True)
class JsonTask:
    """The compiled schema and the expected fields."""

    validator: jsonschema_rs.Validator
    expected: dict[str, Any]


def prepare(spec: JsonSpec, _context: Context) -> JsonTask:
    """Compile the schema and check that the expected values can be valid.

    Raises:
        TaskFault: `task.spec_invalid` for a schema that is none or refers elsewhere, `task.gold_failed` for expected
            values that the schema itself refuses.
    """
    try:
        validator = jsonschema_rs.validator_for(spec.json_schema, validate_formats=spec.formats, retriever=_deny)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise TaskFault("task.spec_invalid", f"$.schema: {_first_line(error)}") from error
    for breach in validator.iter_errors(spec.expected):
        if breach.schema_path[:1] == ["properties"] or breach.schema_path == ["additionalProperties"]:
            where = _place(breach.instance_path[:1])
            raise TaskFault("task.gold_failed", f"$.expected: {where} breaks `{breach.kind.name}` of the schema")
    return JsonTask(validator, spec.expected)


def grade(task: JsonTask, answer: Answer) -> Grade:
    """Parse, validate, compare the expected fields."""
    document = read(answer.text)
    if isinstance(document, Defect):
        return Grade(passed=False, checks=(_failed("json.document", f"json.{document.kind}", document.reason),))
    parsed = Check("json.document", passed=True, score=1.0)
    if not task.validator.is_valid(document.value):
        broken = next(task.validator.iter_errors(document.value))
        return Grade(passed=False, checks=(parsed, _failed("json.schema", "json.schema", _breach(broken))))
    valid = Check("json.schema", passed=True, score=1.0)
    if not task.expected:
        return Grade(passed=True, checks=(parsed, valid))
    fields, share = _compare(task.expected, document.value)
    return Grade(passed=fields.passed, checks=(parsed, valid, fields), score=share)


def _compare(expected: dict[str, Any], value: Any) -> tuple[Check, float]:
    """The check over the expected fields, and the share of them that are equal."""
    members = value if isinstance(value, dict) else {}
    missing = [name for name in expected if name not in members]
    different = [name for name in expected if name in members and not equal(members[name], expected[name])]
    share = 1 - (len(missing) + len(different)) / len(expected)
    if missing:
        return _failed("json.fields", "json.field_missing", f"missing: {_names(missing)}", share), share
    if different:
        return _failed("json.fields", "json.field_differs", f"another value: {_names(different)}", share), share
    return Check("json.fields", passed=True, score=1.0), 1.0


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: numbers by exact value, `true` is not 1, arrays in order, objects not."""
    one, other = _exact(one), _exact(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | Decimal) and isinstance(other, int | Decimal):
        return one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and bool(one == other)


def _exact(value: Any) -> Any:
    """A float of the spec as the decimal that was written; anything else as it is."""
    if isinstance(value, float):
        return Decimal(repr(value))
    return list(value) if isinstance(value, tuple) else value


def _walk(value: Any, depth: int) -> Iterator[tuple[Any, int]]:
    """Every value inside a JSON value, keys too, with its depth; without recursion, since depth is hostile."""
    queue = [(value, depth)]
    while queue:
        item, level = queue.pop()
        yield item, level
        if isinstance(item, dict):
            queue.extend((inner, level + 1) for pair in item.items() for inner in pair)
        elif isinstance(item, list | tuple):
            queue.extend((inner, level + 1) for inner in item)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _deny(_uri: str) -> NoReturn:
    raise ValueError("nothing is fetched; put the definition under `$defs` and refer to it by `#/$defs/…`")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


def _breach(error: jsonschema_rs.ValidationError) -> str:
    """Which rule is broken where; the rule's own values stay out, since they could give gold away."""
    wanted = f" ({error.kind.as_dict()['property'][:MAX_SHOWN]})" if error.kind.name == "required" else ""
    return f"{_place(error.instance_path)} breaks `{error.kind.name}`{wanted}"


def _place(path: list[str | int]) -> str:
    """A JSON pointer, cut to the length that a reason may echo."""
    if not path:
        return "the document"
    pointer = "".join(f"/{part}" for part in path)
    return pointer if len(pointer) <= MAX_SHOWN else pointer[: MAX_SHOWN - 1] + "…"


def _names(names: list[str]) -> str:
    listed = ", ".join(names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{listed[:200]}{more}"


def _failed(name: str, code: str, reason: str, score: float = 0.0) -> Check:
    return Check(name, passed=False, score=score, code=code, reason=reason)


VERIFIER: Final = Verifier(
    name="json",
    version="1.0.0",
    lane="light",
    spec=JsonSpec,
    auto=lambda _spec: "fence:json",
    prepare=prepare,
    grade=grade,
    codes={
        "json.syntax": "the answer is not JSON",
        "json.trailing_text": "text follows the JSON document",
        "json.duplicate_key": "an object names one key twice",
        "json.not_finite": "NaN or Infinity, which JSON does not have",
        "json.number_out_of_range": "a number with over 1,000 digits or too large an exponent",
        "json.bad_text": "a string holds half of a surrogate pair",
        "json.too_deep": "arrays and objects nest deeper than 64",
        "json.too_large": "the document is longer than 262,144 characters",
        "json.schema": "the document is not valid under the schema",
        "json.field_missing": "an expected field is missing",
        "json.field_differs": "an expected field has another value",
        "json.timeout": "judging ran out of time, twice",
        "json.memory": "judging ran out of memory, twice",
        "json.crash": "judging killed the worker, twice",
    },
    example={
        "schema": {"type": "object", "properties": {"rfc": {"type": "string"}}, "required": ["rfc"]},
        "expected": {"rfc": "XAXX010101000"},
    },
    good='```json\n{"rfc": "XAXX010101000"}\n```',
    bad='{"rfc": "XEXX010101000"}',
    distributions=("jsonschema-rs",),
)
"""Registered as `json`."""
