"""What `pack check` says beyond errors: tasks that are valid but weak, by verifier.

A lint is a suspicion about a task, never an outcome. The exception is a task that one constant completion would
pass: that is an error of the check, since nobody can learn from it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from veredicto_verifier.packs.cfdi_prompts import lint_requests
from veredicto_verifier.packs.loading import comparable
from veredicto_verifier.packs.pack import Pack
from veredicto_verifier.packs.python_proof import lint_by_running
from veredicto_verifier.verifier import Answer, Completion, Spec
from veredicto_verifier.verifiers import json_schema

Level = Literal["error", "lint"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or weak, where it stands and what to do about it."""

    level: Level
    where: str
    code: str
    message: str


Found = tuple[Level, str, str]
"""Level, code, message."""
Tally = Counter[str]
"""The numbers of a pack's report by name (`mutants.counted`)."""
CountingLint = Callable[[Any, Any, Tally], Iterator[Found]]
Lint = Callable[[Any, Any], Iterator[Found]]
"""From a verifier's spec and its prepared task to what is weak about it."""


def lint_cfdi(spec: Any, _task: Any) -> Iterator[Found]:
    """A task without a request is passed by any one valid invoice."""
    if spec.request is None:
        yield (
            "error",
            "lint.no_request",
            "request is null, so one constant invoice passes; state what the invoice is for",
        )


def lint_cfdi_sums(spec: Any, task: Any) -> Iterator[Found]:
    """The expected sums once more; the verifier is loaded only for a pack that needs it."""
    from veredicto_verifier.packs.cfdi_proof import lint_sums

    yield from lint_sums(spec, task)


def lint_cfdi_invoices(spec: Any, task: Any, tally: Tally) -> Iterator[Found]:
    """Faulty invoices that pass."""
    from veredicto_verifier.packs.cfdi_proof import lint_invoices

    yield from lint_invoices(spec, task, tally)


def lint_sql(spec: Any, task: Any) -> Iterator[Found]:
    """Gold that a constant can match: one fixture, no rows anywhere, or the same rows everywhere."""
    if len(spec.fixtures) == 1:
        yield (
            "lint",
            "lint.one_fixture",
            "one fixture does not tell a query from its result; give at least two that differ",
        )
    results = [_comparable_rows(expected) for expected in task.expected]
    if not any(value is not None for expected in task.expected for row in expected.table.rows for value in row):
        yield "lint", "lint.empty_gold", "gold gives no rows, or only NULL, on every fixture; add rows that it finds"
    elif len(results) > 1 and all(result == results[0] for result in results):
        yield (
            "lint",
            "lint.same_everywhere",
            "gold gives the same on every fixture, so a constant passes; vary the rows",
        )


def _comparable_rows(expected: Any) -> list[str]:
    rows = [repr(row) for row in expected.table.rows]
    return sorted(rows) if expected.ties is None else rows


def lint_python(spec: Any, task: Any) -> Iterator[Found]:
    """Few cases, declared hidden ones included, are passed by a table of answers."""
    if spec.format in ("calls", "stdio") and len(task.hidden) < MIN_CASES:
        yield "lint", "lint.few_cases", f"fewer than {MIN_CASES} cases are passed by a table of answers; add cases"


MIN_CASES = 3


def lint_json(_spec: Any, task: Any) -> Iterator[Found]:
    """A document that says nothing must not pass."""
    for trivial in ("{}", "[]", "null", '""', "0"):
        if json_schema.grade(task, Answer(trivial, Completion(trivial))).passed:
            yield (
                "error",
                "lint.trivial",
                f"the constant {trivial} passes; require fields, or list values in `expected`",
            )
            return


def lint_echo(spec: Any, task: Any) -> Iterator[Found]:
    """What the schema itself shows must not pass: models echo it."""
    for shown in _shown(spec.json_schema):
        text = json.dumps(shown)
        if json_schema.grade(task, Answer(text, Completion(text))).passed:
            yield "lint", "lint.echo", "the schema's own defaults or examples pass; list values in `expected`"
            return


def _shown(schema: Any) -> Iterator[Any]:
    """The documents that a schema shows: its examples and default, and one made of those of its properties."""
    if not isinstance(schema, dict):
        return
    yield from _examples(schema)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        yield {name: found[0] for name, one in properties.items() if (found := list(_examples(one)))}


def _examples(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        examples = schema.get("examples")
        yield from examples if isinstance(examples, list) else ()
        yield from (schema[word] for word in ("default", "const") if word in schema)
        yield from schema["enum"][:1] if isinstance(schema.get("enum"), list) else ()


def lint_static(spec: Any, _task: Any) -> Iterator[Found]:
    """Without requirements any clean program passes."""
    if not spec.require:
        yield "lint", "lint.no_requirement", "one constant program passes; say in `require` what must be there"


def lint_tools(spec: Any, _task: Any) -> Iterator[Found]:
    """A refusal that may be any words is passed by one constant."""
    if spec.wants_refusal and not spec.refusal_words:
        yield "lint", "lint.any_words", "any words pass as the refusal; list in `refusal_words` what it must name"


def lint_sql_queries(spec: Any, task: Any, tally: Tally) -> Iterator[Found]:
    """Mutants of gold, constants and shuffled rows; DuckDB is loaded only for a pack that needs it."""
    from veredicto_verifier.packs.sql_lints import lint_queries

    yield from lint_queries(spec, task, tally)


LINTS: dict[str, tuple[Lint, ...]] = {
    "cfdi": (lint_cfdi, lint_cfdi_sums),
    "json": (lint_json, lint_echo),
    "python": (lint_python, lint_by_running),
    "sql": (lint_sql,),
    "static": (lint_static,),
    "tools": (lint_tools,),
}
"""By verifier; the order is the order of the report."""

COUNTING_LINTS: dict[str, tuple[CountingLint, ...]] = {"cfdi": (lint_cfdi_invoices,), "sql": (lint_sql_queries,)}
"""Lints that run many queries or judge many invoices, and add their numbers to the report."""


def lint_task(name: str, spec: Spec, task: Any, tally: Tally | None = None) -> Iterator[Found]:
    """What is weak about one prepared task; the lints that count run only when there is a tally to add to."""
    for lint in LINTS.get(name, ()):
        yield from lint(spec, task)
    if tally is not None:
        for counting in COUNTING_LINTS.get(name, ()):
            yield from counting(spec, task, tally)


def lint_pack(pack: Pack) -> Iterator[Finding]:
    """What is weak about the pack as a whole: a question of another split that training also sees."""
    trained = {comparable(task.prompt): task.where for task in pack.tasks.get("train", {}).values()}
    for split, tasks in pack.tasks.items():
        for task in tasks.values() if split != "train" else ():
            seen = trained.get(comparable(task.prompt))
            if seen is not None:
                message = f"asks what {seen} asks, so a score on {split} is no generalisation"
                yield Finding("lint", task.where, "lint.overlap", message)


def twin_tasks(pack: Pack) -> Iterator[Finding]:
    """Tasks of one split that ask the same with the same words."""
    for tasks in pack.tasks.values():
        first: dict[str, str] = {}
        for task in tasks.values():
            where = first.setdefault(comparable(task.prompt), task.where)
            if where != task.where:
                yield Finding("lint", task.where, "lint.twin", f"asks what {where} asks; drop one of them")


def cfdi_requests(pack: Pack) -> Iterator[Finding]:
    """Prompts of cfdi tasks that say too little or too much, and requests made twice."""
    for where, code, message in lint_requests(pack):
        yield Finding("lint", where, code, message)


PACK_LINTS: Mapping[str, Callable[[Pack], Iterator[Finding]]] = {
    "overlap": lint_pack,
    "twin": twin_tasks,
    "cfdi": cfdi_requests,
}
