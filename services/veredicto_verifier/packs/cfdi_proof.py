"""What `pack check` finds out about cfdi tasks by trying them: their sums again, and faulty invoices that pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Context, localcontext
from fractions import Fraction
from typing import Any, Literal

from lxml import etree
from pydantic import ValidationError

from veredicto_verifier.packs.cfdi_mutants import faulty_documents, unasked_requests
from veredicto_verifier.packs.cfdi_prompts import canonical, told, unsaid
from veredicto_verifier.packs.cfdi_sums import sums_of
from veredicto_verifier.packs.pack import Pack, PackTask
from veredicto_verifier.verifier import Answer, Completion
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask, grade
from veredicto_verifier.verifiers.cfdi.invoice import written_invoice
from veredicto_verifier.verifiers.cfdi.spec import Request

Found = tuple[Literal["error", "lint"], str, str]
PRECISION = 120


def lint_sums(task: CfdiTask, request: Mapping[str, Any]) -> Iterator[Found]:
    """The verifier's expected sums against a second computation."""
    wrong = [name for name, value in sums_of(request).items() if value != _expected(task, name)]
    if wrong:
        text = f"the verifier expects another {', '.join(wrong)} than a second computation finds"
        yield "error", "lint.sums", f"{text}; report this, and leave the task out"


def lint_invoices(spec: Any, task: CfdiTask, tally: Counter[str]) -> Iterator[Found]:
    """Faulty invoices that pass, counted by family."""
    if spec.request is None:
        return
    request = spec.request.model_dump(mode="json", exclude_none=True)
    yield from lint_sums(task, request)
    accepted = list(_accepted(spec.request, task, request, tally))
    tally["tasks"] += 1
    tally["mutants.most_accepted"] = max(tally["mutants.most_accepted"], len(accepted))
    if accepted:
        names = ", ".join(accepted[:5])
        yield "lint", "lint.mutants", f"{len(accepted)} invoices with a fault pass ({names}); state what tells them apart"


def _accepted(asked: Request, task: CfdiTask, request: dict[str, Any], tally: Counter[str]) -> Iterator[str]:
    for one in faulty_documents(written_invoice(asked)):
        if _counts(one.family, one.text, task, tally):
            yield one.name
    for other in unasked_requests(request):
        try:
            text = written_invoice(Request.model_validate(other.request))
        except ValidationError:
            continue
        if _counts(other.family, text, task, tally):
            yield other.name


def _counts(family: str, text: str, task: CfdiTask, tally: Counter[str]) -> bool:
    passed = grade(task, Answer(text, Completion(text))).passed
    for name in ("mutants", f"kind.{family}"):
        tally[f"{name}.counted"] += 1
        tally[f"{name}.accepted"] += passed
    return passed


def _expected(task: CfdiTask, name: str) -> Fraction | None:
    expected = task.expected
    if expected is None:
        return None
    if name == "MontoTotalPagos":
        totals = None if task.complement is None else task.complement.children[0].attributes[name]
        return None if totals is None else Fraction(totals.written)
    sums = {
        "SubTotal": expected.subtotal,
        "Descuento": expected.discount,
        "TotalImpuestosTrasladados": expected.transferred,
        "TotalImpuestosRetenidos": expected.withheld,
        "Total": expected.total,
    }
    found = sums[name]
    return Fraction(0) if found is None else Fraction(found.exact)
