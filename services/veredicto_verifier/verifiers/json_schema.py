"""`json`: the answer is one JSON document, valid under a schema, with the expected values in its fields.

Nothing is fetched: a `$ref` that leaves the schema is a fault of the task. Numbers are compared exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

import jsonschema_rs
from pydantic import AfterValidator, ConfigDict, Field, model_validator

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.json_values import breach, closed_schema, equal, place, plain_json
from veredicto_verifier.strict_json import Defect, read
from veredicto_verifier.verifier import Answer, Check, Context, Grade, Spec, Verifier


class JsonSpec(Spec):
    """What `json` judges by."""

    model_config = ConfigDict(validate_by_alias=True, serialize_by_alias=True)

    json_schema: Annotated[dict[str, Any] | bool, Field(alias="schema"), AfterValidator(plain_json)] = True
    """A JSON Schema (2020-12 unless `$schema` names another draft from 4 on); every `$ref` must stay inside it."""
    expected: Annotated[dict[str, Any], AfterValidator(plain_json)] = Field(default_factory=dict)
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
    validator = closed_schema(spec.json_schema, "$.schema", formats=spec.formats)
    for error in validator.iter_errors(spec.expected):
        if error.schema_path[:1] == ["properties"] or error.schema_path == ["additionalProperties"]:
            where = place(error.instance_path[:1])
            raise TaskFault("task.gold_failed", f"$.expected: {where} breaks `{error.kind.name}` of the schema")
    return JsonTask(validator, spec.expected)


def grade(task: JsonTask, answer: Answer) -> Grade:
    """Parse, validate, compare the expected fields."""
    document = read(answer.text)
    if isinstance(document, Defect):
        return Grade(passed=False, checks=(_failed("json.document", f"json.{document.kind}", document.reason),))
    parsed = Check("json.document", passed=True, score=1.0)
    if not task.validator.is_valid(document.value):
        broken = next(task.validator.iter_errors(document.value))
        return Grade(passed=False, checks=(parsed, _failed("json.schema", "json.schema", breach(broken))))
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
    sources=("veredicto_verifier.json_values",),
    distributions=("jsonschema-rs",),
)
"""Registered as `json`."""
