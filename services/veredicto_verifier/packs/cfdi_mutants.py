"""All faults that an invoice is tried with, by family: single edits of the document, and other requests' invoices."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lxml import etree

from veredicto_verifier.packs.cfdi_edits import Mutant
from veredicto_verifier.packs.cfdi_header_mutants import HEADER_MUTANTS
from veredicto_verifier.packs.cfdi_line_mutants import LINE_MUTANTS
from veredicto_verifier.packs.cfdi_other_payments import OTHER_PAYMENTS
from veredicto_verifier.packs.cfdi_party_mutants import PARTY_MUTANTS
from veredicto_verifier.packs.cfdi_payment_mutants import PAYMENT_MUTANTS
from veredicto_verifier.packs.cfdi_request_mutants import REQUEST_MUTANTS, RequestMutant
from veredicto_verifier.packs.cfdi_tax_mutants import SUMMARY_MUTANTS, TAX_MUTANTS
from veredicto_verifier.packs.cfdi_text_mutants import TEXT_MUTANTS

DOCUMENT_FAMILIES: Mapping[str, tuple[Mutant, ...]] = {
    "header": HEADER_MUTANTS,
    "parties": PARTY_MUTANTS,
    "lines": LINE_MUTANTS,
    "taxes": TAX_MUTANTS,
    "summary": SUMMARY_MUTANTS,
    "payments": PAYMENT_MUTANTS,
}
REQUEST_FAMILIES: Mapping[str, tuple[RequestMutant, ...]] = {
    "other requests": REQUEST_MUTANTS,
    "other payments": OTHER_PAYMENTS,
}
NUM_KINDS = sum(map(len, DOCUMENT_FAMILIES.values())) + sum(map(len, REQUEST_FAMILIES.values())) + len(TEXT_MUTANTS)


class Faulty(NamedTuple):
    """A faulty document: the family and name of its fault, the code that must name it, and codes beside it."""

    family: str
    name: str
    code: str
    beside: tuple[str, ...]
    text: str

    def admits(self, code: str) -> bool:
        """Whether the code may stand in the verdict: the fault's own, one beside it or of its kind, or a mismatch."""
        kinds = ("cfdi.match", *self.beside)
        return code == self.code or any(code == kind or code.startswith((f"{kind}.", f"{kind}_")) for kind in kinds)


class Unasked(NamedTuple):
    """A request that was not made: its invoice is valid, and must differ in the aspect of the code."""

    family: str
    name: str
    code: str
    request: Mapping[str, Any]


def faulty_documents(text: str) -> Iterator[Faulty]:
    """Every single fault that can be made in a correct invoice."""
    for family, kinds in DOCUMENT_FAMILIES.items():
        for kind in kinds:
            root = etree.fromstring(text.encode())
            if kind.edit(root):
                yield Faulty(family, kind.name, kind.code, kind.beside, etree.tostring(root, encoding="unicode"))
    for one in TEXT_MUTANTS:
        changed = one.edit(text)
        if changed is not None:
            yield Faulty("text", one.name, one.code, one.beside, changed)


def unasked_requests(request: dict[str, Any]) -> Iterator[Unasked]:
    """Every other request that can be made of a request."""
    for family, kinds in REQUEST_FAMILIES.items():
        for kind in kinds:
            other = copy.deepcopy(request)
            if kind.change(other):
                yield Unasked(family, kind.name, kind.code, other)
