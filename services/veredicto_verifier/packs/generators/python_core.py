"""The pack `python-core`: functions over strings, numbers, collections, dates, parsing and money, in two languages.

Deterministic: the same sources give the same bytes. Every problem is asked in English and in Spanish, with a
function name in that language; of its parameters the last one is a test task in both, the others are train tasks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from veredicto_verifier.packs.generators.core_data_problems import DATA_PROBLEMS
from veredicto_verifier.packs.generators.core_inputs import CoreProblem, a_written_amount, pairs
from veredicto_verifier.packs.generators.core_number_problems import NUMBER_PROBLEMS
from veredicto_verifier.packs.generators.core_text_problems import TEXT_PROBLEMS

NAME = "python-core"
SEED = 20261201
NUM_VISIBLE = 3
NUM_HIDDEN = 10

PROBLEMS: tuple[CoreProblem, ...] = (*TEXT_PROBLEMS, *NUMBER_PROBLEMS, *DATA_PROBLEMS)

MANIFEST = f"""name = "{NAME}"
version = "1.1.0"
licence = "CC0-1.0"
language = "en, es"
description = "Python functions over strings, numbers, collections, dates, parsing and money, with hidden cases."
"""

_WORDING = (
    ("Write the Python function `{name}({parameters})`. {text}", "Examples:", "Answer with one Python code block."),
    (
        "Escribe la función de Python `{name}({parameters})`. {text}",
        "Ejemplos:",
        "Responde con un solo bloque de código Python.",
    ),
)
_SOURCES_WITH_PARAMETER = {"key_values": pairs, "parse_amount": a_written_amount}
"""Problems whose inputs depend on the parameter, by English name."""


def build() -> dict[str, str]:
    """The files of the pack: relative path to content."""
    splits: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
    for split, problem, parameter in _assigned():
        for language in (0, 1):
            task_id = f"{len(splits[split]) + 1:04d}"
            splits[split].append(_task(task_id, problem, parameter, language))
    return {
        "pack.toml": MANIFEST,
        **{f"tasks/{split}.jsonl": _lines(tasks) for split, tasks in splits.items()},
        "examples.jsonl": _lines([_example(0), _example(1)]),
    }


def _assigned() -> Iterator[tuple[str, CoreProblem, str]]:
    for problem in PROBLEMS:
        *train, test = problem.parameters
        yield from (("train", _filled(problem, parameter), parameter) for parameter in train)
        yield "test", _filled(problem, test), test


def _filled(problem: CoreProblem, parameter: str) -> CoreProblem:
    """The problem with its parameter in texts, program, inputs and edges."""
    source = _SOURCES_WITH_PARAMETER.get(problem.names[0])
    return replace(
        problem,
        english=problem.english.replace("<k>", parameter),
        spanish=problem.spanish.replace("<k>", parameter),
        program=problem.program.replace("<k>", parameter),
        inputs=problem.inputs if source is None else source(parameter),
        edges=tuple(
            tuple(arg.replace("<k>", parameter) if isinstance(arg, str) else arg for arg in edge)
            for edge in problem.edges
        ),
    )


def _task(task_id: str, problem: CoreProblem, parameter: str, language: int) -> dict[str, Any]:
    name = problem.names[language]
    reference = problem.program.replace("<f>", name)
    cases = _cases(problem, parameter, name, reference)
    return {
        "id": task_id,
        "prompt": _prompt(problem, reference, language, cases[:NUM_VISIBLE]),
        "category": problem.category,
        "difficulty": problem.difficulty,
        "verifier": "python",
        "spec": {
            "format": "calls",
            "entry": name,
            "cases": cases,
            "limits": {"cpu_s": 2.0, "memory_mb": 256},
            "reference": reference,
            **({"perturbed": list(problem.perturbed)} if problem.perturbed else {}),
            **({"metamorphic": list(problem.metamorphic)} if problem.metamorphic else {}),
        },
    }


def _cases(problem: CoreProblem, parameter: str, name: str, reference: str) -> list[dict[str, Any]]:
    """Three visible cases, then the edges and ten more, hidden; no two with the same arguments."""
    rng = random.Random(f"{SEED} {name} {parameter}")
    # The programs are constants of this package; running them is how expected values cannot differ from the reference.
    namespace: dict[str, Any] = {}
    exec(compile(reference, name, "exec", dont_inherit=True), namespace)
    seen: set[str] = set()
    chosen: list[tuple[Any, ...]] = []
    drawn = (problem.inputs(rng) for _ in range(300))
    for args in (*[next(drawn) for _ in range(NUM_VISIBLE)], *problem.edges, *drawn):
        if json.dumps(args) not in seen and len(chosen) < NUM_VISIBLE + len(problem.edges) + NUM_HIDDEN:
            seen.add(json.dumps(args))
            chosen.append(args)
    return [
        {"args": list(args), "expected": namespace[name](*json.loads(json.dumps(args))), "hidden": index >= NUM_VISIBLE}
        for index, args in enumerate(chosen)
    ]


def _prompt(problem: CoreProblem, reference: str, language: int, visible: list[dict[str, Any]]) -> str:
    name = problem.names[language]
    opening, examples, closing = _WORDING[language]
    parameters = reference.partition(f"def {name}(")[2].partition(")")[0]
    text = (problem.english, problem.spanish)[language]
    shown = "\n".join(f"{name}({', '.join(map(repr, case['args']))}) == {case['expected']!r}" for case in visible)
    return f"{opening.format(name=name, parameters=parameters, text=text)}\n\n{examples}\n{shown}\n\n{closing}"


def _example(language: int) -> dict[str, str]:
    shout = CoreProblem(
        "strings",
        ("shout", "gritar"),
        1,
        "Return `text` in upper case with '!' at its end.",
        "Devuelve `text` en mayúsculas con '!' al final.",
        "def <f>(text):\n    return text.upper() + '!'\n",
        ("",),
        lambda _rng: ("pay",),
        (),
    )
    reference = shout.program.replace("<f>", shout.names[language])
    prompt = _prompt(shout, reference, language, [{"args": ["pay"], "expected": "PAY!"}])
    return {"prompt": prompt, "completion": f"```python\n{reference}```"}


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
