"""Every task of the pack cfdi with every fault: the tests' reference builder must pass, each faulty invoice must fail.

The test suite does this on a sample; here are all tasks, at two, four and six decimals of the lines.

    python bench/cfdi_pack.py            all tasks, a few minutes
    python bench/cfdi_pack.py --short    every fifth task
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from figures import Figure, publish

from veredicto_verifier.packs.cfdi_mutants import NUM_KINDS, faulty_documents, unasked_requests
from veredicto_verifier.packs.generators.cfdi import build
from veredicto_verifier.verifier import Answer, Completion, Context
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.cfdi_builder import build_invoice

STEP = 5 if "--short" in sys.argv else 1
PLACES = (2, 4, 6)


def judge(task: Any, text: str) -> tuple[bool, set[str]]:
    """Whether the invoice passes, and its codes."""
    grade = CFDI.grade(task, Answer(text, Completion(text)))
    return grade.passed, {check.code for check in grade.checks if check.code is not None}


def measure(tasks: list[dict[str, Any]]) -> Counter[str]:
    """Counts over the tasks; what goes wrong is printed."""
    counts: Counter[str] = Counter()
    kinds: set[str] = set()
    for one in tasks:
        request = one["spec"]["request"]
        task = CFDI.prepare(CFDI.spec.model_validate(one["spec"]), Context())
        texts = [build_invoice(request, places=places) for places in PLACES]
        faulty = [(fault.name, fault.code, fault.text) for fault in faulty_documents(texts[0])]
        faulty += [(other.name, other.code, build_invoice(other.request)) for other in unasked_requests(request)]
        counts["references"] += len(texts)
        counts["references passed"] += sum(judge(task, text)[0] for text in texts)
        for name, code, text in faulty:
            passed, codes = judge(task, text)
            counts["faulty"] += 1
            counts["faulty passed"] += passed
            counts["without its code"] += code not in codes
            kinds.add(name)
            if passed or code not in codes:
                print(f"{one['id']}: {name}: expected {code}, found {sorted(codes)}")
    counts["kinds made"] = len(kinds)
    return counts


def main() -> None:
    """Judge the tasks and publish the counts."""
    files = build()
    tasks = [json.loads(line) for split in ("train", "test") for line in files[f"tasks/{split}.jsonl"].splitlines()]
    chosen = tasks[::STEP]
    counts = measure(chosen)
    failed = counts["references"] - counts["references passed"]
    figures = [
        Figure("tasks", len(chosen), "at least", len(tasks) // STEP),
        Figure("kinds of faults", NUM_KINDS, "at least", 60),
        Figure("kinds that occurred", counts["kinds made"], "at least", 60),
        Figure("reference invoices", counts["references"], "at least", len(PLACES) * len(chosen)),
        Figure("reference invoices that fail", failed, "at most", 0),
        Figure("faulty invoices", counts["faulty"], "at least", 60 * len(chosen)),
        Figure("faulty invoices that pass", counts["faulty passed"], "at most", 0),
        Figure("faults without their code", counts["without its code"], "at most", 0),
    ]
    publish("cfdi_pack", figures)


if __name__ == "__main__":
    main()
