"""The pack `python-mini`: small functions over text, numbers, collections, dates and money, with hidden cases.

Deterministic: the same sources give the same bytes. Of a problem with several parameters the last one is a test task
and the others are train tasks; every third problem without a parameter is a test task, so that the test split also
asks what training never saw.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from veredicto_verifier.packs.generators.python_data_problems import COLLECTIONS, DATES, MONEY
from veredicto_verifier.packs.generators.python_inputs import Problem
from veredicto_verifier.packs.generators.python_problems import NUMBERS, TEXT

NAME = "python-mini"
SEED = 20261130
NUM_VISIBLE = 3
NUM_HIDDEN = 5

PROBLEMS = (*TEXT, *NUMBERS, *COLLECTIONS, *DATES, *MONEY)

MANIFEST = f"""name = "{NAME}"
version = "1.0.0"
licence = "CC0-1.0"
language = "en"
description = "Small Python functions over text, numbers, collections, dates and money; hidden cases, seeded generator."
"""

_EXAMPLE = Problem(
    "text",
    "shout",
    1,
    "Return `text` in upper case with '!' at its end.",
    "def shout(text):\n    return text.upper() + '!'\n",
    ("",),
    lambda _rng: ("pay",),
)


def build() -> dict[str, str]:
    """The files of the pack: relative path to content."""
    splits: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
    for split, problem, parameter in _assigned():
        number = len(splits[split]) + 1
        splits[split].append(_task(f"{number:04d}", problem, parameter))
    return {
        "pack.toml": MANIFEST,
        **{f"tasks/{split}.jsonl": _lines(tasks) for split, tasks in splits.items()},
        "examples.jsonl": _lines([_example()]),
    }


def _assigned() -> Iterator[tuple[str, Problem, str]]:
    single = 0
    for problem in PROBLEMS:
        if len(problem.parameters) == 1:
            yield ("test" if single % 3 == 1 else "train"), problem, problem.parameters[0]
            single += 1
            continue
        *train, test = problem.parameters
        yield from (("train", problem, parameter) for parameter in train)
        yield "test", problem, test


def _task(task_id: str, problem: Problem, parameter: str) -> dict[str, Any]:
    cases = _cases(problem, parameter)
    return {
        "id": task_id,
        "prompt": _prompt(problem, parameter, cases[:NUM_VISIBLE]),
        "category": problem.category,
        "difficulty": problem.difficulty,
        "verifier": "python",
        "spec": {
            "format": "calls",
            "entry": problem.entry,
            "cases": cases,
            "limits": {"cpu_s": 2.0, "memory_mb": 256},
            "reference": _with(problem.program, parameter),
        },
    }


def _cases(problem: Problem, parameter: str) -> list[dict[str, Any]]:
    """Three visible cases, then the edges and five more, hidden; no two with the same arguments."""
    rng = random.Random(f"{SEED} {problem.entry} {parameter}")
    function = _function(problem, parameter)
    seen: set[str] = set()
    chosen: list[tuple[Any, ...]] = []
    drawn = (problem.inputs(rng) for _ in range(200))
    for args in (*[next(drawn) for _ in range(NUM_VISIBLE)], *problem.edges, *drawn):
        if json.dumps(args) not in seen and len(chosen) < NUM_VISIBLE + len(problem.edges) + NUM_HIDDEN:
            seen.add(json.dumps(args))
            chosen.append(args)
    return [
        {"args": list(args), "expected": function(*json.loads(json.dumps(args))), "hidden": index >= NUM_VISIBLE}
        for index, args in enumerate(chosen)
    ]


def _function(problem: Problem, parameter: str) -> Any:
    # The programs are constants of this package; running them is how expected values cannot differ from the reference.
    namespace: dict[str, Any] = {}
    exec(compile(_with(problem.program, parameter), problem.entry, "exec", dont_inherit=True), namespace)
    return namespace[problem.entry]


def _prompt(problem: Problem, parameter: str, visible: list[dict[str, Any]]) -> str:
    shown = "\n".join(
        f"{problem.entry}({', '.join(map(repr, case['args']))}) == {case['expected']!r}" for case in visible
    )
    return (
        f"Write the Python function `{problem.entry}`. {_with(problem.statement, parameter)}\n\n"
        f"Examples:\n{shown}\n\nAnswer with one Python code block."
    )


def _example() -> dict[str, str]:
    case = {"args": ["pay"], "expected": "PAY!"}
    return {"prompt": _prompt(_EXAMPLE, "", [case]), "completion": f"```python\n{_EXAMPLE.program}```"}


def _with(text: str, parameter: str) -> str:
    return text.replace("<k>", parameter)


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
