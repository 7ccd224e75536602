"""What `pack check` finds out about cfdi tasks by trying them: their sums again, and faulty invoices that pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from pydantic import ValidationError

from veredicto_verifier.packs.cfdi_invoices import written_invoice
from veredicto_verifier.packs.cfdi_mutants import faulty_documents, unasked_requests
from veredicto_verifier.packs.cfdi_sums import sums_of
from veredicto_verifier.verifier import Answer, Completion
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask, grade
from veredicto_verifier.verifiers.cfdi.request import Request
from veredicto_verifier.verifiers.cfdi.spec import CfdiSpec
from veredicto_verifier.verifiers.cfdi.wanted import Quantity

Found = tuple[Literal["error", "lint"], str, str]


def lint_sums(spec: CfdiSpec, task: CfdiTask) -> Iterator[Found]:
    """The sums that the verifier expects against a second computation."""
    if spec.request is None:
        return
    sums = sums_of(plain_request(spec.request))
    wrong = [name for name, value in sums.items() if value != _expected(task, name)]
    if wrong:
        text = f"a second computation finds another {', '.join(wrong)} than the verifier expects"
        yield "error", "lint.sums", f"{text}; leave the task out and report it"


def lint_invoices(spec: CfdiSpec, task: CfdiTask, tally: Counter[str]) -> Iterator[Found]:
    """Invoices with one fault, and invoices for other requests, that pass; counted by family."""
    if spec.request is None:
        return
    accepted = list(_accepted(spec.request, task, tally))
    tally["tasks"] += 1
    tally["mutants.most_accepted"] = max(tally["mutants.most_accepted"], len(accepted))
    if accepted:
        names = ", ".join(accepted[:5])
        yield "lint", "lint.mutants", f"{len(accepted)} faulty invoices pass ({names}); state what tells them apart"


def plain_request(request: Request) -> dict[str, Any]:
    """A request as its JSON, without what it leaves open."""
    return request.model_dump(mode="json", exclude_none=True)


def _accepted(request: Request, task: CfdiTask, tally: Counter[str]) -> Iterator[str]:
    currencies = task.facts.catalogues.currencies
    for one in faulty_documents(written_invoice(request, currencies)):
        if _passes(one.family, one.text, task, tally):
            yield one.name
    for other in unasked_requests(plain_request(request)):
        try:
            text = written_invoice(Request.model_validate(other.request), currencies)
        except ValidationError:
            continue
        if _passes(other.family, text, task, tally):
            yield other.name


def _passes(family: str, text: str, task: CfdiTask, tally: Counter[str]) -> bool:
    passed = grade(task, Answer(text, Completion(text))).passed
    for name in ("mutants", f"kind.{family}"):
        tally[f"{name}.counted"] += 1
        tally[f"{name}.accepted"] += passed
    return passed


def _expected(task: CfdiTask, name: str) -> Fraction | None:
    """The exact sum that the verifier compares with, 0 for one that must be absent."""
    expected = task.expected
    if expected is None:
        return None
    if name == "MontoTotalPagos":
        return _total_paid(task)
    found = {
        "SubTotal": expected.subtotal,
        "Descuento": expected.discount,
        "TotalImpuestosTrasladados": expected.transferred,
        "TotalImpuestosRetenidos": expected.withheld,
        "Total": expected.total,
    }[name]
    return Fraction(Decimal(0) if found is None else found.exact)


def _total_paid(task: CfdiTask) -> Fraction | None:
    totals: Mapping[str, object] = {} if task.complement is None else task.complement.children[0].attributes
    total = totals.get("MontoTotalPagos")
    return Fraction(total.written) if isinstance(total, Quantity) else None
