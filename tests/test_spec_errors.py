"""A spec that is wrong is `invalid_task` with the JSON path of the fault first, whatever the verifier."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Context

CODES = {"task.spec_invalid", "task.gold_failed", "task.unknown_fixture", "task.empty_tests", "task.gold_volatile"}

OF_EVERY_SPEC: tuple[tuple[str, Any, str], ...] = (
    ("no_such_field", 1, "$.no_such_field"),
    ("extract", "fence:", "$.extract"),
    ("extract", 5, "$.extract"),
    ("think_prefilled", "perhaps", "$.think_prefilled"),
    ("stop", [""], "$.stop[0]"),
    ("stop", ["a", 5], "$.stop[1]"),
    ("limits", {"cpu_s": 0}, "$.limits.cpu_s"),
    ("limits", {"memory_mb": 10**9}, "$.limits.memory_mb"),
    ("limits", {"hours": 1}, "$.limits.hours"),
    ("limits", "much", "$.limits"),
    ("reward", "generous", "$.reward"),
    ("partial_cap", 0.9, "$.partial_cap"),
    ("partial_cap", float("nan"), "$.partial_cap"),
)

T = {"script": "CREATE TABLE t(a INT); INSERT INTO t VALUES (1)"}
ADD = {"format": "calls", "entry": "add", "cases": [{"args": [1, 2], "expected": 3}]}
TOOL = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
BANK = {"accounts": [{"id": "A", "balance": "1.00"}]}

OF_ONE: dict[str, tuple[tuple[Any, str], ...]] = {
    "all": (
        ({}, "$.criteria"),
        ({"criteria": []}, "$.criteria"),
        ({"criteria": [{"name": "a b", "verifier": "math", "spec": {"answer": "1"}}]}, "$.criteria[0].name"),
        (
            {"criteria": [{"name": "a", "verifier": "math", "spec": {"answer": "1"}, "weight": 0}]},
            "$.criteria[0].weight",
        ),
        ({"criteria": [{"name": "a", "verifier": "math", "spec": {"answer": ""}}]}, "$.criteria[0].spec.answer"),
        ({"criteria": [{"name": "a", "verifier": "math", "spec": {"answer": "1/0"}}]}, "$.criteria[0].spec.answer"),
        (
            {"criteria": [{"name": "a", "verifier": "json", "spec": {"schema": {"type": 5}}}]},
            "$.criteria[0].spec.schema",
        ),
    ),
    "cfdi": (
        ({"request": {}}, "$.request.tipo"),
        ({"now": "yesterday"}, "$.now"),
        ({"max_bytes": 1}, "$.max_bytes"),
        ({"profile": "sealed"}, "$"),
        ({"profile": "half"}, "$.profile"),
    ),
    "format": (
        ({"sections": []}, "$.sections"),
        ({"sections": ["a", "1x"]}, "$.sections[1]"),
        ({"sections": ["a", "a"]}, "$"),
        ({"min_reasoning": -1}, "$.min_reasoning"),
    ),
    "json": (
        ({}, "$"),
        ({"schema": 5}, "$.schema"),
        ({"schema": {"type": "objet"}}, "$.schema"),
        ({"schema": {"$ref": "file:///etc/passwd"}}, "$.schema"),
        ({"schema": {"pattern": "("}}, "$.schema"),
        ({"expected": {"a": float("inf")}}, "$.expected"),
        ({"expected": {"a": 1}, "compare": {"a": "fuzzy"}}, "$.compare.a"),
        ({"expected": {"a": "x"}, "compare": {"a": {"by": "regex", "pattern": "("}}}, "$.compare.a"),
        ({"expected": {"a": "x"}, "compare": {"a": "date"}}, "$.expected.a"),
        ({"model": "none"}, "$.model"),
    ),
    "math": (
        ({}, "$.answer"),
        ({"answer": ""}, "$.answer"),
        ({"answer": 5}, "$.answer"),
        ({"answer": "x +"}, "$.answer"),
        ({"answer": "1/0"}, "$.answer"),
        ({"answer": "5 cm"}, "$.answer"),
        ({"answer": "5", "abs_tol": -1}, "$.abs_tol"),
        ({"answer": "5", "decimal_mark": "'"}, "$.decimal_mark"),
        ({"answer": "x", "kind": "expression", "abs_tol": "0.1"}, "$.abs_tol"),
        ({"answer": "5", "units": [""]}, "$.units[0]"),
        ({"answer": "x", "symbols": {"x": "prime"}}, "$.symbols.x"),
        ({"answer": "2/4", "kind": "expression", "simplified": ["fraction"]}, "$.answer"),
        ({"answer": "5", "simplified": ["small"]}, "$.simplified[0]"),
    ),
    "python": (
        ({}, "$.format"),
        ({"format": "calls"}, "$"),
        ({**ADD, "cases": [{"args": 5}]}, "$.cases[0].args"),
        ({**ADD, "cases": [{"wrong": 5}]}, "$.cases[0].wrong"),
        ({**ADD, "float_rel": 2}, "$.float_rel"),
        ({"format": "asserts", "tests": 5}, "$.tests"),
        ({**ADD, "libraries": ["torch"]}, "$.libraries[0]"),
    ),
    "sql": (
        ({"gold": {"sql": "SELECT 1"}}, "$.fixtures"),
        ({"fixtures": [5], "gold": {"sql": "SELECT a FROM t"}}, "$.fixtures[0]"),
        ({"fixtures": [{"script": ""}], "gold": {"sql": "SELECT a FROM t"}}, "$.fixtures[0]"),
        ({"fixtures": [T]}, "$.gold"),
        ({"fixtures": [T], "gold": {}}, "$.gold"),
        ({"fixtures": [T], "gold": {"sql": "SELECT a FROM t"}, "order": "maybe"}, "$.order"),
        ({"fixtures": [T], "gold": {"sql": "SELECT a FROM t"}, "numeric": {"scale": 99}}, "$.numeric.scale"),
        ({"fixtures": [T], "gold": {"columns": ["a"], "types": ["INT"], "rows": [[1, 2]]}}, "$.gold"),
    ),
    "static": (
        ({}, "$.language"),
        ({"language": "cobol"}, "$.language"),
        ({"language": "python", "require": ["add"]}, "$.require[0]"),
        ({"language": "python", "require": ["def:a"], "forbid": ["def:b", "x:y"]}, "$.forbid[1]"),
        ({"language": "python", "require": ["node:Loop"]}, "$"),
        ({"language": "sql", "require": ["table:a"], "forbid": ["node:Loop"]}, "$.forbid[0]"),
        ({"language": "python", "lint": ["f"]}, "$.lint[0]"),
        ({"language": "python", "lint": ["QQQ999"]}, "$.lint"),
        ({"language": "sql"}, "$.require"),
    ),
    "tools": (
        ({"expected": []}, "$.tools"),
        ({"tools": [], "expected": []}, "$.tools"),
        ({"tools": [TOOL]}, "$.expected"),
        ({"tools": [{"name": "f", "parameters": {"type": 5}}], "expected": []}, "$.tools[0].parameters"),
        ({"tools": [{"name": "f", "parameters": {"$ref": "http://a/b"}}], "expected": []}, "$.tools[0].parameters"),
        ({"tools": [TOOL], "expected": [{"name": "f", "arguments": {"a": "x"}}]}, "$.expected[0].arguments"),
        ({"tools": [TOOL], "expected": [{"name": "f", "arguments": []}]}, "$.expected[0].arguments"),
        ({"tools": [TOOL], "expected": [{"name": "g"}]}, "$"),
        ({"tools": [TOOL], "expected": [], "max_calls": 0}, "$.max_calls"),
        ({"tools": [TOOL], "expected": [], "bank": {**BANK, "now": "noon"}}, "$.bank.now"),
        (
            {"tools": [TOOL], "expected": [], "bank": {"accounts": [{"id": "A", "balance": "1.001"}]}},
            "$.bank.accounts[0].balance",
        ),
        ({"tools": [TOOL], "expected": [], "bank": {**BANK, "floors": {"B": "1.00"}}}, "$.bank"),
        (
            {
                "tools": [TOOL],
                "expected": [
                    {"name": "f", "label": "x", "after": ["y"]},
                    {"name": "f", "label": "y", "after": ["x"]},
                ],
            },
            "$.expected",
        ),
    ),
}


def fault(name: str, raw: Any) -> TaskFault:
    verifier = VERIFIERS[name]
    with pytest.raises(TaskFault) as raised:
        verifier.prepare(parse_spec(name, raw, VERIFIERS), Context(verifiers=VERIFIERS))
    return raised.value


def _cases() -> list[Any]:
    cases = [
        (name, copy.deepcopy(dict(one.example)) | {field: value}, path)
        for name, one in VERIFIERS.items()
        for field, value, path in OF_EVERY_SPEC
    ]
    cases += [(name, raw, path) for name, rows in OF_ONE.items() for raw, path in rows]
    cases += [(name, raw, "$") for name in VERIFIERS for raw in (None, [], "x", 5)]
    return [pytest.param(*case, id=f"{case[0]}-{number}") for number, case in enumerate(cases)]


@pytest.mark.parametrize(("name", "raw", "path"), _cases())
def test_the_message_starts_with_the_json_path(name: str, raw: Any, path: str) -> None:
    raised = fault(name, raw)
    assert raised.code in CODES
    assert raised.message.partition(":")[0] == path, raised.message
    assert len(raised.message.partition(": ")[2]) > 10
    assert len(raised.message) <= 600


def test_a_hostile_field_name_does_not_fill_the_message() -> None:
    assert len(fault("math", {"answer": "1", "x" * 100_000: 1}).message) < 400
