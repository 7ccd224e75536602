"""What a verdict on an answer costs in CPU, and which of GSM8K's golds and their neighbours `math` accepts.

python bench/answers.py [GSM8K=PATH]     # or GSM8K=PATH in the environment; gsm8k_test.jsonl, one object a line
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from figures import Figure, publish
from hostile_items import hostile

from veredicto_verifier.judging import judge, look_ahead
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Completion, Context

TRIES = 300
ROWS = [{"sku": f"S-{n}", "qty": n, "price": n * 1.25, "tags": ["a", "b"]} for n in range(10)]
DOCUMENT = {"folio": "A-1", "items": ROWS}
ITEM = {
    "type": "object",
    "required": ["sku", "qty", "price"],
    "properties": {
        "sku": {"type": "string", "pattern": "^S-[0-9]+$"},
        "qty": {"type": "integer", "minimum": 0},
        "price": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
SCHEMA = {"type": "object", "required": ["items"], "properties": {"items": {"type": "array", "items": ITEM}}}
FUNCTION = """
def step_{n}(values, limit={n}):
    total = 0
    for index, value in enumerate(values):
        if value > limit and index % 2 == 0:
            total += value * {n}
        elif value < 0:
            total -= abs(value)
    return total
"""
FUNCTIONS = "\n".join(FUNCTION.format(n=n) for n in range(7))
PROGRAM = f"import math\n{FUNCTIONS}\n\ndef area(r):\n    return math.pi * r ** 2\n"
PAIRS = (
    ("x^2+2x+1", "(x+1)^2"),
    ("\\frac{1}{1+\\frac{1}{x}}", "\\frac{x}{x+1}"),
    ("2\\sqrt{2}", "\\sqrt{8}"),
    ("\\sin 2x", "2\\sin x\\cos x"),
    ("\\{1,2,3\\}", "\\{3,2,1\\}"),
    ("(-\\infty,1)\\cup(2,\\infty)", "(2,\\infty)\\cup(-\\infty,1)"),
    ("3x-y+13=0", "y=3x+13"),
    ("(x-1)(x-2)(x-3)(x-4)", "x^4-10x^3+35x^2-50x+24"),
    ("\\frac{\\pi}{6}+\\sqrt[3]{2}", "\\sqrt[3]{2}+\\frac{2\\pi}{12}"),
    ("e^{x+y}", "e^x e^y + 1"),
    ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}"),
)


def judged(name: str, spec: dict[str, Any]) -> Callable[[str], bool]:
    parsed = parse_spec(name, spec, VERIFIERS)
    task = VERIFIERS[name].prepare(parsed, Context(verifiers=VERIFIERS))
    return lambda text: judge(VERIFIERS[name], task, parsed, Completion(text))[0].passed


def cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def seconds(accepts: Callable[[str], bool], text: str, tries: int = TRIES) -> float:
    """Median CPU seconds of one verdict, in ten bursts, since the clock of CPU time is coarse."""
    assert accepts(text), text[:60]
    bursts = []
    for _ in range(10):
        started = time.process_time()
        for _ in range(tries // 10):
            accepts(text)
        bursts.append((time.process_time() - started) / (tries // 10))
    return statistics.median(bursts)


def speeds() -> list[Figure]:
    answer = "```json\n" + json.dumps(DOCUMENT) + "\n```"
    checked = {"schema": SCHEMA, "expected": {"folio": "A-1"}}
    solution = "Natalia sold 48 / 2 = 24 clips in May.\nShe sold 48 + 24 = 72 in all.\n#### 72"
    formatted = f"<think>{'so ' * 40}</think>\n<answer>{'x' * 60}</answer>"
    plain = {"language": "python", "require": ["def:area/1"], "forbid": ["import:os"]}
    static = seconds(judged("static", plain), PROGRAM, 60)
    return [
        Figure("json_us", seconds(judged("json", checked), answer) * 1e6, "at most", 100, "µs"),
        Figure("format_us", seconds(judged("format", {}), formatted) * 1e6, "at most", 50, "µs"),
        Figure("number_us", seconds(judged("math", {"answer": "72"}), solution) * 1e6, "at most", 150, "µs"),
        Figure("static_ms", static * 1e3, "at most", 12, "ms"),
        Figure("static_lint_extra_ms", lint_extra(plain), "at most", 5, "ms"),
        Figure("symbolic_p95_ms", symbolic_p95(), "at most", 150, "ms"),
    ]


def lint_extra(plain: dict[str, Any]) -> float:
    """CPU milliseconds that `lint` adds to one verdict of a batch of 64, children included; median of five rounds."""
    extra = [batched({**plain, "lint": ["E9", "F"]}) - batched(plain) for _ in range(5)]
    return statistics.median(extra) * 1e3


def batched(spec: dict[str, Any]) -> float:
    """CPU seconds of one verdict of `static`, in a batch of 64 as a worker judges it."""
    verifier, parsed = VERIFIERS["static"], parse_spec("static", spec, VERIFIERS)
    task = verifier.prepare(parsed, Context(verifiers=VERIFIERS))
    completions = [Completion(f"{PROGRAM}\nLAST = {number}\n") for number in range(64)]
    started = cpu()
    look_ahead(verifier, task, parsed, completions)
    assert all(judge(verifier, task, parsed, completion)[0].passed for completion in completions)
    return (cpu() - started) / 64


def symbolic_p95() -> float:
    """CPU milliseconds, the first item of a process aside: it loads the libraries."""
    spent = []
    for gold, answer in PAIRS:
        accepts = judged("math", {"answer": gold, "kind": "latex" if "matrix" in gold else "auto"})
        for _ in range(10):
            started = time.process_time()
            accepts(f"\\boxed{{{answer}}}")
            spent.append(time.process_time() - started)
    return statistics.quantiles(spent[1:], n=20)[-1] * 1e3


def gsm8k(path: Path) -> list[Figure]:
    golds = [json.loads(line)["answer"].rpartition("#### ")[2] for line in path.read_text().splitlines()]
    refused = accepted = 0
    for index, gold in enumerate(golds):
        number = int(gold.replace(",", ""))
        accepts = judged("math", {"answer": gold})
        forms = (str(number), f"#### {gold}", f"\\boxed{{{number}}}", f"{number:,}", f"{number}.0")
        refused += sum(not accepts(form) for form in forms)
        other = int(golds[(index + 1) % len(golds)].replace(",", ""))
        accepted += sum(accepts(f"#### {wrong}") for wrong in wrongs(number, other))
    return [
        Figure("gsm8k_golds", len(golds), "at least", 1319),
        Figure("gsm8k_forms_refused", refused, "at most", 0),
        Figure("gsm8k_wrong_accepted", accepted, "at most", 0),
    ]


def wrongs(number: int, other: int) -> list[int]:
    """Wrong values: one off, ten times, the other sign, two digits swapped, another item's gold."""
    digits = str(abs(number))
    swapped = int(digits[1] + digits[0] + digits[2:]) if len(digits) > 1 else number + 9
    found = [number + 1, number * 10 or 10, -number or -1, swapped, other]
    return [value if value != number else number - 1 for value in found]


def main() -> None:
    told = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    given = told.get("GSM8K") or os.environ.get("GSM8K")
    figures = [*speeds(), *hostile()]
    if given:
        figures.extend(gsm8k(Path(given)))
    else:
        print("gsm8k: not run; give GSM8K=PATH of gsm8k_test.jsonl")
    publish("answers", figures)


if __name__ == "__main__":
    main()
