"""Write the invoice of a request as text: what a pack shows as an example, and what `pack check` damages."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import localcontext

from lxml import etree

from veredicto_verifier.verifiers.cfdi.expected import expect
from veredicto_verifier.verifiers.cfdi.expected_payment import expect_payments
from veredicto_verifier.verifiers.cfdi.expected_payroll import expect_payroll
from veredicto_verifier.verifiers.cfdi.reference import write_reference
from veredicto_verifier.verifiers.cfdi.request import Request
from veredicto_verifier.verifiers.cfdi.rules import EXACT
from veredicto_verifier.verifiers.cfdi.wanted import Wanted

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


def written_invoice(request: Request, currencies: Mapping[str, int], *, indent: bool = False) -> str:
    """One correct document for the request; `currencies` are decimals by currency.

    Raises:
        KeyError: the request's currency is not among them.
    """
    with localcontext(EXACT):
        root = write_reference(request, expect(request, currencies[request.moneda]), _complement(request, currencies))
    if indent:
        etree.indent(root)
    return DECLARATION + etree.tostring(root, encoding="unicode")


def _complement(request: Request, currencies: Mapping[str, int]) -> Wanted | None:
    if request.nomina is not None:
        return expect_payroll(request.nomina)
    return expect_payments(request.pagos, currencies) if request.pagos else None
