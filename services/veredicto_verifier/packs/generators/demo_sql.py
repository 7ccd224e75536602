"""Generate the pack demo-sql: questions on a small bank, graded by execution on three fixtures.

Train and test share no question text, no gold SQL and no (form, filter column, literal) combination. The public
demonstrations are noisy on purpose: each is valid SQL of the right form on the right tables, but more than four in five
have a wrong aggregate, comparison, column or literal. They teach how to write; only execution teaches what to write.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from veredicto_verifier.packs.generators.bank import TABLES, Rows, draw_rows, fixture_script
from veredicto_verifier.packs.generators.bank_queries import (
    AGGREGATES,
    COMPARISONS,
    FORMS,
    Answer,
    Form,
    Query,
    answers,
    family,
)

T = TypeVar("T", str, int)

NAME = "demo-sql"
VERSION = "1.0.0"
SEED = "demo-sql/1"
FIXTURES = ("bank_a", "bank_b", "bank_c")
NUM_TRAIN, NUM_TEST, NUM_EXAMPLES = 460, 50, 1
"""Per category."""
HELD_OUT = 0.16
"""Share of each form's (filter column, literal) combinations that only the test split asks about."""
NOISE = {"aggregate": 0.55, "comparison": 0.55, "target": 0.25, "group": 0.2, "column": 0.15, "literal": 0.15}
"""Chance, slot by slot, that a demonstration has a wrong value there."""
CONFUSED = {"avg": "sum", "sum": "avg", "min": "max", "max": "min", ">": ">=", ">=": ">", "<": "<=", "<=": "<"}
"""What the demonstrations mostly take an aggregate or a comparison for when they have it wrong.

Imitation therefore ends at about one right aggregate and comparison in two, and most often picks the wrong one.
"""
NOTHING: frozenset[Answer] = frozenset({frozenset(), frozenset({(None, 1)}), frozenset({(0, 1)})})
"""No row, no value, a count of none: an answer that many wrong queries give too."""
CONFUSION = 0.85
"""How often a wrong aggregate or comparison is the confused one rather than another."""

WORDINGS: dict[Form, tuple[str, str]] = {
    "count": ("How many {table} have {filter}?", "Count the {table} with {filter}."),
    "aggregate": ("What is the {value} of {table} with {filter}?", "Give the {value} of {table} with {filter}."),
    "list": ("List the {target} of {table} with {filter}.", "Show the {target} of all {table} with {filter}."),
    "group": (
        "What is the {value} per {group} of {table} with {filter}?",
        "Give the {value} by {group} of {table} with {filter}.",
    ),
    "join": (
        "What is the {value} of {table} whose {parent} has {filter}?",
        "Give the {value} of {table} whose {parent} has {filter}.",
    ),
}
AGGREGATE_WORDS = {"avg": "average", "sum": "total", "min": "smallest", "max": "largest"}
COMPARISON_WORDS = {">": "above", "<": "below", ">=": "at least", "<=": "at most"}
DIFFICULTY: dict[Form, float] = {"count": 0.2, "list": 0.3, "aggregate": 0.4, "group": 0.6, "join": 0.7}

PACK_TOML = f"""\
name = "{NAME}"
version = "{VERSION}"
licence = "Apache-2.0"
language = "en"
description = "Templated one- and two-table questions on a small bank, graded by execution on three DuckDB fixtures."
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question text and the query that answers it."""

    text: str
    query: Query


@dataclass(frozen=True, slots=True)
class Split:
    """The questions of the pack, and the (form, column, literal) combinations kept for the test split."""

    train: tuple[Question, ...]
    test: tuple[Question, ...]
    examples: tuple[Question, ...]
    held_out: frozenset[tuple[Form, str, int]]


def build() -> dict[str, str]:
    """The pack's files: relative path to content, the same on every call."""
    rows = {name: draw_rows(f"{SEED}/{name}") for name in FIXTURES}
    split = draw_split(list(rows.values()))
    shown = demonstrations(split)
    files = {f"fixtures/{name}.sql": fixture_script(rows[name], f"{NAME}/{name}") for name in FIXTURES}
    return {
        "pack.toml": PACK_TOML,
        "tasks/train.jsonl": _lines([_task(index, question) for index, question in enumerate(split.train)]),
        "tasks/test.jsonl": _lines([_task(index, question) for index, question in enumerate(split.test)]),
        "examples.jsonl": _lines([_shown(question, question.query) for question in split.examples]),
        "demonstrations/train.jsonl": _lines([_shown(*pair) for pair in zip(split.train, shown, strict=True)]),
        **files,
    }


def draw_split(fixtures: Sequence[Rows]) -> Split:
    """Draw the questions: unambiguous ones only, held-out combinations in test only."""
    rng = random.Random(f"{SEED}/split")
    train: list[Question] = []
    test: list[Question] = []
    examples: list[Question] = []
    held_out: set[tuple[Form, str, int]] = set()
    for form in FORMS:
        queries = _unambiguous(form, fixtures)
        pairs = sorted({(query.column, query.literal) for query in queries})
        held = {(form, *pair) for pair in rng.sample(pairs, round(HELD_OUT * len(pairs)))}
        asked = [Question(_text(query, wording), query) for query in queries for wording in WORDINGS[form]]
        rng.shuffle(asked)
        seen = [question for question in asked if combination(question.query) not in held]
        train += seen[:NUM_TRAIN]
        examples += seen[NUM_TRAIN : NUM_TRAIN + NUM_EXAMPLES]
        test += [question for question in asked if combination(question.query) in held][:NUM_TEST]
        held_out |= held
    rng.shuffle(train)
    rng.shuffle(test)
    return Split(tuple(train), tuple(test), tuple(examples), frozenset(held_out))


def combination(query: Query) -> tuple[Form, str, int]:
    """What train and test never share: the form with the column and literal of its filter."""
    return (query.form, query.column, query.literal)


def demonstrations(split: Split) -> list[Query]:
    """One query per train question, wrong in most cases; no held-out combination is shown."""
    rng = random.Random(f"{SEED}/demonstrations")
    shown = []
    for question in split.train:
        query = _distorted(question.query, rng)
        while combination(query) in split.held_out or query.column == query.target:
            query = _distorted(question.query, rng)
        shown.append(query)
    return shown


def _unambiguous(form: Form, fixtures: Sequence[Rows]) -> list[Query]:
    """The queries that find something everywhere, not the same everywhere, and nothing that another query finds."""
    found = answers(family(form), fixtures)
    times = Counter(found.values())
    return [
        query
        for query, results in found.items()
        if times[results] == 1 and len(set(results)) > 1 and not NOTHING & set(results) and query.target != query.column
    ]


def _distorted(query: Query, rng: random.Random) -> Query:
    """The same form on the same tables, with each other slot wrong by its chance in `NOISE`."""
    table = TABLES[query.table]
    filtered = TABLES[query.parent] if query.form == "join" else table
    targets = [*table.texts, *table.numbers] if query.form == "list" else [*table.numbers]
    column = _slot("column", query.column, [*filtered.numbers], rng)
    literals = filtered.numbers[column]
    literal = query.literal if query.literal in literals else rng.choice(literals)
    return replace(
        query,
        aggregate=_slot("aggregate", query.aggregate, AGGREGATES, rng),
        target=_slot("target", query.target, targets, rng),
        group=_slot("group", query.group, [*table.texts], rng),
        column=column,
        comparison=_slot("comparison", query.comparison, COMPARISONS, rng),
        literal=_slot("literal", literal, literals, rng),
    )


def _slot(name: str, right: T, values: Sequence[T], rng: random.Random) -> T:
    """A slot's right value or, by its chance, a wrong one; a slot that the form lacks stays empty."""
    if right == "" or rng.random() >= NOISE[name]:
        return right
    confused = CONFUSED.get(str(right))
    if confused in values and rng.random() < CONFUSION:
        return confused  # type: ignore[return-value]
    return rng.choice([value for value in values if value not in (right, confused)])


def _text(query: Query, wording: str) -> str:
    return wording.format(
        table=query.table,
        target=query.target,
        group=query.group,
        value=f"{AGGREGATE_WORDS.get(query.aggregate, '')} {query.target}",
        parent=TABLES[query.parent].singular if query.form == "join" else "",
        filter=f"{query.column} {COMPARISON_WORDS[query.comparison]} {query.literal}",
    )


def _task(index: int, question: Question) -> dict[str, Any]:
    return {
        "id": f"{index:04d}",
        "prompt": question.text,
        "category": question.query.form,
        "difficulty": DIFFICULTY[question.query.form],
        "verifier": "sql",
        "spec": {"fixtures": [f"{NAME}/{name}" for name in FIXTURES], "gold": {"sql": question.query.sql()}},
    }


def _shown(question: Question, query: Query) -> dict[str, Any]:
    return {"prompt": question.text, "completion": query.sql(), "category": query.form}


def _lines(entries: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
