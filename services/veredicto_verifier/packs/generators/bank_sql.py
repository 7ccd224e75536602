"""Generate the pack bank-sql: questions on a Latin American core bank in Spanish and English, judged on five fixtures.

Train and test share no query; a question is asked in one language only. What makes the fixtures strict is told in
`bank_sql_rows.py`; `veredicto pack check bank-sql` measures it with one-edit mutants of every gold query.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

from veredicto_verifier.packs.generators.bank_sql_advanced import DATES, SETS, SUBQUERY, WINDOW
from veredicto_verifier.packs.generators.bank_sql_basic import AGGREGATE, FILTER, JOIN
from veredicto_verifier.packs.generators.bank_sql_changes import DML
from veredicto_verifier.packs.generators.bank_sql_rows import draw_rows, schema, script
from veredicto_verifier.packs.generators.bank_sql_slots import Question, Template

NAME = "bank-sql"
SEED = "bank-sql/1"
FIXTURES = {"bank_a": 1.0, "bank_b": 0.8, "bank_c": 1.2, "bank_d": 0.9, "bank_e": 1.1}
"""Name and relative size of each fixture."""
NUM_TASKS, NUM_TEST = 60, 12
"""Per category: all tasks, and those of them in the test split."""
CATEGORIES: dict[str, Sequence[Template]] = {
    "filter": FILTER,
    "aggregate": AGGREGATE,
    "join": JOIN,
    "window": WINDOW,
    "subquery": SUBQUERY,
    "dates": DATES,
    "set": SETS,
    "dml": DML,
}
ASK = {
    "en": "Write one DuckDB SELECT for this database. Give exactly the columns that are asked for.",
    "es": "Escribe un único SELECT de DuckDB para esta base de datos. Da exactamente las columnas que se piden.",
}
CHANGE = {
    "en": "Write one DuckDB INSERT, UPDATE or DELETE for this database. Change nothing else.",
    "es": "Escribe un único INSERT, UPDATE o DELETE de DuckDB para esta base de datos. No cambies nada más.",
}
"""What stands before the schema, for questions and for changes."""

PACK_TOML = f"""\
name = "{NAME}"
version = "1.0.0"
licence = "Apache-2.0"
language = "es"
description = "Questions on a Latin American core bank in Spanish and English, graded by execution on five fixtures."
"""


def build() -> dict[str, str]:
    """The pack's files: relative path to content, the same on every call."""
    train, test, shown = split()
    fixtures = {f"fixtures/{name}.sql": script(draw_rows(f"{SEED}/{name}", scale)) for name, scale in FIXTURES.items()}
    return {
        "pack.toml": PACK_TOML,
        "tasks/train.jsonl": _lines(_task(index, question) for index, question in enumerate(train)),
        "tasks/test.jsonl": _lines(_task(index, question) for index, question in enumerate(test)),
        "examples.jsonl": _lines(
            {
                "prompt": _prompt(question, index),
                "completion": f"```sql\n{question.sql}\n```",
                "category": question.category,
            }
            for index, question in enumerate(shown)
        ),
        **fixtures,
    }


def split() -> tuple[list[Question], list[Question], list[Question]]:
    """The questions of train and test, and one example of each category that is in neither."""
    chance = random.Random(SEED)
    train, test, shown = [], [], []
    for category, templates in CATEGORIES.items():
        drawn = _in_turn(templates)[: NUM_TASKS + 1]
        assert len(drawn) == NUM_TASKS + 1, (category, len(drawn))
        shown.append(drawn.pop())
        chance.shuffle(drawn)
        test += drawn[:NUM_TEST]
        train += drawn[NUM_TEST:]
    chance.shuffle(train)
    chance.shuffle(test)
    return train, test, shown


def _in_turn(templates: Sequence[Template]) -> list[Question]:
    """The questions of the templates, one of each in turn as long as they last."""
    queues = [list(template.questions()) for template in templates]
    found = []
    for turn in range(max(map(len, queues))):
        found += [queue[turn] for queue in queues if turn < len(queue)]
    return found


def _task(index: int, question: Question) -> dict[str, Any]:
    spec: dict[str, Any] = {"fixtures": [f"{NAME}/{name}" for name in FIXTURES], "gold": {"sql": question.sql}}
    return {
        "id": f"{index:04d}",
        "prompt": _prompt(question, index),
        "category": question.category,
        "difficulty": question.difficulty,
        "verifier": "sql",
        "spec": {**spec, "mode": "dml"} if question.category == "dml" else spec,
    }


def _shown(index: int, question: Question) -> dict[str, Any]:
    completion = f"```sql\n{question.sql}\n```"
    return {"prompt": _prompt(question, index), "completion": completion, "category": question.category}


def _prompt(question: Question, index: int) -> str:
    """The question in Spanish (two of three) or English, behind the schema."""
    language = "en" if index % 3 == 0 else "es"
    text = question.en if language == "en" else question.es
    intro = CHANGE if question.category == "dml" else ASK
    return f"{intro[language]}\n\n{schema()}\n\n{text}"


def _lines(entries: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
