"""Generate the pack demo-sql: questions on a small bank, graded by execution on three fixtures.

Train and test share no question text, no gold SQL and no (form, filter column, literal) combination. The public
demonstrations are noisy on purpose: each is valid SQL of the right form on the right tables, but in most of them the
other slots are drawn at random. They teach how to write; only execution teaches what to write.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from veredicto_verifier.packs.generators.bank import TABLES, draw_rows, fixture_script
from veredicto_verifier.packs.generators.bank_queries import (
    AGGREGATES,
    COMPARISONS,
    FORMS,
    Form,
    Query,
    answers,
    family,
)

NAME = "demo-sql"
VERSION = "1.0.0"
SEED = "demo-sql/1"
FIXTURES = ("bank_a", "bank_b", "bank_c")
NUM_TRAIN, NUM_TEST, NUM_EXAMPLES = 460, 50, 1
"""Per category."""
HELD_OUT = 0.16
"""Share of each form's (filter column, literal) combinations that only the test split asks about."""
NOISE = 0.85
"""Share of the demonstrations whose slots are drawn at random."""

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
    shown = demonstrations(split, NOISE)
    files = {f"fixtures/{name}.sql": fixture_script(rows[name], f"{NAME}/{name}") for name in FIXTURES}
    return {
        "pack.toml": PACK_TOML,
        "tasks/train.jsonl": _lines([_task(index, question) for index, question in enumerate(split.train)]),
        "tasks/test.jsonl": _lines([_task(index, question) for index, question in enumerate(split.test)]),
        "examples.jsonl": _lines([_shown(question, question.query) for question in split.examples]),
        "demonstrations/train.jsonl": _lines([_shown(*pair) for pair in zip(split.train, shown, strict=True)]),
        **files,
    }


def draw_split(fixtures: list[Any]) -> Split:
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


def demonstrations(split: Split, noise: float) -> list[Query]:
    """One query per train question, wrong in most cases; no held-out combination is shown."""
    rng = random.Random(f"{SEED}/demonstrations")
    shown = []
    for question in split.train:
        query = question.query
        if rng.random() < noise:
            query = _redrawn(query, rng)
            while combination(query) in split.held_out or query.column == query.target:
                query = _redrawn(query, rng)
        shown.append(query)
    return shown


def _unambiguous(form: Form, fixtures: list[Any]) -> list[Query]:
    """The queries of a form whose results no other query of the form shares."""
    found = answers(family(form), fixtures)
    times = Counter(found.values())
    return [query for query, results in found.items() if times[results] == 1 and query.target != query.column]


def _redrawn(query: Query, rng: random.Random) -> Query:
    """The same form on the same tables, every other slot drawn at random."""
    table = TABLES[query.table]
    filtered = TABLES[query.parent] if query.form == "join" else table
    column = rng.choice(list(filtered.numbers))
    targets = [*table.texts, *table.numbers] if query.form == "list" else list(table.numbers)
    return replace(
        query,
        aggregate=rng.choice(AGGREGATES) if query.aggregate else "",
        target=rng.choice(targets) if query.target else "",
        group=rng.choice(list(table.texts)) if query.group else "",
        column=column,
        comparison=rng.choice(COMPARISONS),
        literal=rng.choice(filtered.numbers[column]),
    )


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
