"""`json`: the answer is one JSON document, valid under a schema or a model, with the expected values in its fields.

Nothing is fetched: a `$ref` that leaves the schema is a fault of the task. Numbers are compared exactly.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Annotated, Any, Final

import jsonschema_rs
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from veredicto_verifier.comparators import EXACT, Comparator, Comparison, agrees
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.json_values import MAX_SHOWN, breach, closed_schema, place, plain_json
from veredicto_verifier.strict_json import Defect, read
from veredicto_verifier.verifier import Answer, Check, Context, Grade, Spec, Verifier
from veredicto_verifier.verifiers.json_models import MODELS

ASSERTIONS: Final = frozenset(
    "type enum const pattern format required dependentRequired dependencies multipleOf minimum maximum "
    "exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems uniqueItems minContains maxContains "
    "contains minProperties maxProperties not additionalItems disallow divisibleBy".split()
)
"""Without one of these keywords, or `false`, somewhere in it a schema demands nothing."""
FINAL: Final = frozenset(
    {"type", "properties", "patternProperties", "additionalProperties", "propertyNames", "maxProperties"}
)
"""What a document that breaks it breaks with more fields too."""


def _registered(name: str) -> str:
    if name not in MODELS:
        raise ValueError(f"no model of that name; registered: {', '.join(sorted(MODELS))}")
    return name


ModelName = Annotated[str, AfterValidator(_registered)]


class JsonSpec(Spec):
    """What `json` judges by."""

    model_config = ConfigDict(validate_by_alias=True, serialize_by_alias=True)

    json_schema: Annotated[dict[str, Any] | bool, Field(alias="schema"), AfterValidator(plain_json)] = True
    """A JSON Schema (2020-12 unless `$schema` names another draft from 4 on); every `$ref` must stay inside it."""
    expected: Annotated[dict[str, Any], AfterValidator(plain_json)] = Field(default_factory=dict)
    """Top-level fields and the values they must have; other fields are free."""
    compare: dict[str, Comparison] = Field(default_factory=dict)
    """How an expected field is compared; exactly, if not named."""
    model: ModelName | None = None
    """A registered model that the document must fit, beside the schema."""
    formats: bool = False
    """Whether `format` is asserted (dates, e-mail addresses, …)."""
    partial_cap: Annotated[float, Field(ge=0, le=0.3)] = 0.3
    """The most that an answer which does not pass can earn under `shaped`."""

    @model_validator(mode="after")
    def _demands_something(self) -> JsonSpec:
        if self.json_schema is False:
            raise ValueError("`schema` is false, so nothing would pass")
        if self.json_schema in (True, {}) and not self.expected and self.model is None:
            raise ValueError("give `schema`, `model` or `expected`; without them any JSON would pass")
        if not self.compare.keys() <= self.expected.keys():
            raise ValueError("`compare` names a field that is not in `expected`")
        return self


@dataclass(frozen=True, slots=True)
class JsonTask:
    """The compiled schema, the model and the expected fields."""

    validator: jsonschema_rs.Validator
    expected: dict[str, Any]
    compare: dict[str, Comparator]
    model: type[BaseModel] | None


def prepare(spec: JsonSpec, _context: Context) -> JsonTask:
    """Compile the schema and check that the expected values can be valid.

    Raises:
        TaskFault: `task.spec_invalid` for a schema that is none, refers elsewhere or demands nothing,
            `task.gold_failed` for expected values that the schema or the model refuses, or that do not agree with
            themselves, `task.gold_timeout` for a schema that takes a tenth of the limit by itself.
    """
    validator = closed_schema(spec.json_schema, "$.schema", formats=spec.formats)
    started = time.process_time()
    validator.is_valid(spec.expected)
    if time.process_time() - started > spec.limits.cpu_s / 10:
        raise TaskFault(
            "task.gold_timeout", "$.schema: validating needs over a tenth of the limit; simplify the schema"
        )
    if not spec.expected and spec.model is None and not _demands(spec.json_schema):
        raise TaskFault("task.spec_invalid", "$.schema: any JSON would pass; say more, or give `expected`")
    for error in validator.iter_errors(spec.expected):
        if spec.expected and _is_final(list(error.schema_path)):
            where = place(error.instance_path[:1])
            raise TaskFault("task.gold_failed", f"$.expected: {where} breaks `{error.kind.name}` of the schema")
    for name, value in spec.expected.items():
        if not agrees(value, value, spec.compare.get(name, EXACT)):
            raise TaskFault(
                "task.gold_failed", f"$.expected.{name[:MAX_SHOWN]}: does not agree with itself as compared"
            )
    model = None if spec.model is None else MODELS[spec.model]
    if model is not None:
        _check_model(model, spec.expected)
    return JsonTask(validator, spec.expected, spec.compare, model)


def _demands(schema: Any) -> bool:
    """Whether a keyword that can refuse a document stands somewhere in a schema."""
    if isinstance(schema, dict):
        return not ASSERTIONS.isdisjoint(schema) or any(map(_demands, schema.values()))
    return schema is False or (isinstance(schema, list) and any(map(_demands, schema)))


def _is_final(path: list[str | int]) -> bool:
    """Whether further fields beside the expected ones could not mend a breach of this rule of the schema."""
    while path[:1] == ["allOf"] or path[:1] == ["$ref"]:
        path = path[2:] if path[0] == "allOf" else path[1:]
    return bool(path) and path[0] in FINAL


def _check_model(model: type[BaseModel], expected: dict[str, Any]) -> None:
    """The expected fields are the model's, and valid as far as they go."""
    try:
        model.model_validate_json(json.dumps(expected))
    except ValidationError as error:
        for one in error.errors(include_url=False, include_input=False):
            if one["loc"] and one["type"] != "missing":
                where = "".join(f".{part}" for part in one["loc"])
                raise TaskFault(
                    "task.gold_failed", f"$.expected{where}: the model refuses it: {one['type']}"
                ) from error


def grade(task: JsonTask, answer: Answer) -> Grade:
    """Parse, validate, compare the expected fields."""
    document = read(answer.text)
    if isinstance(document, Defect):
        return Grade(passed=False, checks=(_failed("json.document", f"json.{document.kind}", document.reason),))
    parsed = Check("json.document", passed=True, score=1.0)
    if not task.validator.is_valid(document.value):
        broken = next(task.validator.iter_errors(document.value))
        return Grade(passed=False, checks=(parsed, _failed("json.schema", "json.schema", breach(broken))))
    checks = [parsed, Check("json.schema", passed=True, score=1.0)]
    if task.model is not None:
        checks.append(_modelled(task.model, answer.text))
        if not checks[-1].passed:
            return Grade(passed=False, checks=tuple(checks))
    if not task.expected:
        return Grade(passed=True, checks=tuple(checks))
    fields, share = _compare(task, document.value)
    return Grade(passed=fields.passed, checks=(*checks, fields), score=share)


def _modelled(model: type[BaseModel], text: str) -> Check:
    try:
        model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        reason = f"{place(list(first['loc']))}: {first['msg'][:150]}"
        return _failed("json.model", "json.model", reason)
    return Check("json.model", passed=True, score=1.0)


def _compare(task: JsonTask, value: Any) -> tuple[Check, float]:
    """The check over the expected fields, and the share of them that are right."""
    expected = task.expected
    members = value if isinstance(value, dict) else {}
    missing = [name for name in expected if name not in members]
    different = [
        name
        for name, wanted in expected.items()
        if name in members and not agrees(members[name], wanted, task.compare.get(name, EXACT))
    ]
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
    version="1.4.1",
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
        "json.model": "the document does not fit the registered model",
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
    sources=(
        "veredicto_verifier.comparators",
        "veredicto_verifier.json_values",
        "veredicto_verifier.verifiers.json_models",
    ),
    distributions=("jsonschema-rs", "pydantic-core"),
)
"""Registered as `json`."""
