"""Every rule by code, the codes that nobody can decide offline, and one pass over an invoice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Context, localcontext

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule
from veredicto_verifier.verifiers.cfdi.rules_complements import COMPLEMENTS
from veredicto_verifier.verifiers.cfdi.rules_concepts import CONCEPTS
from veredicto_verifier.verifiers.cfdi.rules_customs import CUSTOMS
from veredicto_verifier.verifiers.cfdi.rules_employee import EMPLOYEE
from veredicto_verifier.verifiers.cfdi.rules_header import HEADER
from veredicto_verifier.verifiers.cfdi.rules_nomina import PAYROLL
from veredicto_verifier.verifiers.cfdi.rules_nomina_amounts import PAYROLL_AMOUNTS
from veredicto_verifier.verifiers.cfdi.rules_nomina_extras import PAYROLL_EXTRAS
from veredicto_verifier.verifiers.cfdi.rules_pagos import PAYMENTS
from veredicto_verifier.verifiers.cfdi.rules_pagos_taxes import PAYMENT_TAXES
from veredicto_verifier.verifiers.cfdi.rules_pagos_totals import PAYMENT_TOTALS
from veredicto_verifier.verifiers.cfdi.rules_parties import PARTIES
from veredicto_verifier.verifiers.cfdi.rules_seal import SEALED
from veredicto_verifier.verifiers.cfdi.rules_strict import STRICT
from veredicto_verifier.verifiers.cfdi.rules_summary import SUMMARY

PRECISION = 120
"""Digits of every computation: products of two 24-digit numbers and their sums are exact."""

INVOICE: tuple[Rule, ...] = (*HEADER, *PARTIES, *CONCEPTS, *CUSTOMS, *SUMMARY, *STRICT)
PAYMENT: tuple[Rule, ...] = (*PAYMENTS, *PAYMENT_TAXES, *PAYMENT_TOTALS)
PAYROLLS: tuple[Rule, ...] = (*PAYROLL, *EMPLOYEE, *PAYROLL_AMOUNTS, *PAYROLL_EXTRAS)
RULES: Mapping[str, Rule] = {rule.code: rule for rule in (*INVOICE, *SEALED, *COMPLEMENTS, *PAYMENT, *PAYROLLS)}

NOT_CHECKED: Mapping[str, str] = {
    "40118": "needs the day's exchange rate",
    "40120": "needs the year's limit",
    "40128": "needs the PAC's list of confirmations",
    "40129": "needs the PAC's list of confirmations",
    "40138": "needs SAT's list of taxpayers (the match compares the name)",
    "40139": "needs SAT's list of taxpayers (the match compares the name)",
    "40142": "needs SAT's online service",
    "40143": "needs SAT's list of taxpayers",
    "40144": "needs SAT's list of taxpayers (the match compares the name)",
    "40145": "needs SAT's list of taxpayers (the match compares the name)",
    "40147": "needs SAT's list of taxpayers",
    "40148": "needs SAT's list of taxpayers",
    "40163": "needs columns of c_ClaveProdServ that the schemas lack",
    "40164": "needs columns of c_ClaveProdServ that the schemas lack",
    "40187": "needs SAT's list of obligations",
    "40190": "needs SAT's list of taxpayers",
    "40192": "needs SAT's list of taxpayers",
    "40224": "needs a mark in SAT's list of taxpayers",
    "40225": "needs a mark in SAT's list of taxpayers",
    "CRP20216": "needs the day's exchange rate",
    "CRP20220": "needs the year's limit",
    "CRP20222": "needs SAT's list of taxpayers",
    "CRP20275": "its limits are not defined for one amount alone (CRP20276 compares their sum)",
    "CRP20277": "SAT contradicts itself; 1 and 1.0000000000 are both taken for 1",
    "CRP20999": "SAT's code for faults without one",
    "NOM9": "needs SAT's list of taxpayers",
    "NOM41": "needs SAT's list of taxpayers",
    "NOM45": "needs a mark in SAT's list of taxpayers",
    "NOM46": "needs a mark in SAT's list of taxpayers",
    "NOM67": "needs SAT's list of taxpayers",
    "NOM109": "SAT's code for faults without one",
}
"""Codes of SAT's matrix that this version does not decide, with the reason."""

BY_SCHEMA: tuple[str, ...] = (
    "40101", "40121", "40123", "40124", "40131", "40133", "40150", "40170", "40174", "40175", "40176", "40181",
    "40182", "40183", "40207", "40217", "CRP20245", "CRP20249", "CRP20250", "CRP20251", "CRP20255", "CRP20256",
    "CRP20257", "CRP20262", "CRP20270", "NOM10", "NOM32", "NOM47", "NOM51", "NOM52", "NOM56", "NOM59", "NOM60",
    "NOM88", "NOM97", "NOM104",
)  # fmt: skip
"""Codes whose condition is the schema's own, reported as `cfdi.xsd`."""

SAME_AS: Mapping[str, str] = {
    "40200": "40195",
    "40209": "40206",
    "CRP20104": "currency_of_type",
    "CRP20105": "40103",
    "CRP20106": "40125",
    "CRP20107": "payment_terms",
    "CRP20108": "40111",
    "CRP20109": "40116",
    "CRP20123": "40201",
    "CRP20232": "crp20230",
    "CRP20233": "crp20231",
    "CRP20234": "crp20230",
    "CRP20235": "crp20231",
    "NOM1": "currency_of_type",
    "NOM12": "use_of_type",
    **{f"NOM{number}": "nom13" for number in range(24, 30)},
    "NOM89": "nom80",
    "NOM90": "nom81",
}
"""Codes whose condition another code already states."""


def rules_for(cfdi: Comprobante, facts: Facts) -> Iterator[Rule]:
    """The rules that apply to an invoice of this type with these complements; the others give no credit either."""
    yield from INVOICE
    if facts.sealed:
        yield from SEALED
    if cfdi.complementos or cfdi.line_complementos or facts.required:
        yield from COMPLEMENTS
    if cfdi.tipo == "P" or cfdi.pagos is not None:
        yield from PAYMENT
    if cfdi.tipo == "N" or cfdi.nomina is not None:
        yield from PAYROLLS


def run_rules(cfdi: Comprobante, facts: Facts, rules: Iterable[Rule] = ()) -> dict[str, list[Fault]]:
    """The faults of every rule that found any, by code, in the order of the table (`rules` empty: all that apply).

    An exception that escapes here is a bug of ours, and is left to escape.
    """
    found: dict[str, list[Fault]] = {}
    with localcontext(Context(prec=PRECISION)):
        for rule in rules or rules_for(cfdi, facts):
            faults = list(rule.check(cfdi, facts))
            if faults:
                found[rule.code] = faults
    return found
