"""Every rule by code, the codes that nobody can decide offline, and one pass over an invoice."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from decimal import Context, localcontext
from typing import NamedTuple

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante, Feature
from veredicto_verifier.verifiers.cfdi.gates import TYPES, shut_codes
from veredicto_verifier.verifiers.cfdi.rule import Check, Facts, Fault, Rule
from veredicto_verifier.verifiers.cfdi.rules_complements import COMPLEMENTS
from veredicto_verifier.verifiers.cfdi.rules_concepts import CONCEPTS
from veredicto_verifier.verifiers.cfdi.rules_customs import CUSTOMS
from veredicto_verifier.verifiers.cfdi.rules_employee import EMPLOYEE
from veredicto_verifier.verifiers.cfdi.rules_header import HEADER
from veredicto_verifier.verifiers.cfdi.rules_nomina import PAYROLL
from veredicto_verifier.verifiers.cfdi.rules_nomina_amounts import PAYROLL_AMOUNTS
from veredicto_verifier.verifiers.cfdi.rules_nomina_extras import PAYROLL_EXTRAS
from veredicto_verifier.verifiers.cfdi.rules_pagos import PAYMENTS
from veredicto_verifier.verifiers.cfdi.rules_pagos_banks import PAYMENT_BANKS
from veredicto_verifier.verifiers.cfdi.rules_pagos_taxes import PAYMENT_TAXES
from veredicto_verifier.verifiers.cfdi.rules_pagos_totals import PAYMENT_TOTALS
from veredicto_verifier.verifiers.cfdi.rules_parties import PARTIES
from veredicto_verifier.verifiers.cfdi.rules_seal import SEALED
from veredicto_verifier.verifiers.cfdi.rules_strict import STRICT
from veredicto_verifier.verifiers.cfdi.rules_summary import SUMMARY
from veredicto_verifier.verifiers.cfdi.rules_thirds import THIRDS
from veredicto_verifier.verifiers.cfdi.schema_codes import BY_ATTRIBUTE

PRECISION = 120
EXACT = Context(prec=PRECISION)
"""For every computation: products of two 24-digit numbers and their sums are exact."""

INVOICE: tuple[Rule, ...] = (*HEADER, *PARTIES, *CONCEPTS, *THIRDS, *CUSTOMS, *SUMMARY, *STRICT)
PAYMENT: tuple[Rule, ...] = (*PAYMENTS, *PAYMENT_BANKS, *PAYMENT_TAXES, *PAYMENT_TOTALS)
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
    *BY_ATTRIBUTE.values(), "CRP20245", "CRP20249", "CRP20250", "CRP20251", "CRP20255", "CRP20256", "CRP20257",
    "CRP20262", "CRP20270", "NOM10", "NOM32", "NOM47", "NOM51", "NOM52", "NOM56", "NOM59", "NOM60", "NOM88", "NOM97",
    "NOM104",
)  # fmt: skip
"""Codes whose condition is the schema's own; those of complements are reported as `cfdi.xsd.<kind>`."""

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


class Asked(NamedTuple):
    """Which tables are asked of an invoice beside those of every invoice."""

    sealed: bool
    complements: bool
    payment: bool
    payroll: bool

    def rules(self) -> Iterator[Rule]:
        """The rules of all of them, in the order of `RULES`."""
        yield from INVOICE
        if self.sealed:
            yield from SEALED
        if self.complements:
            yield from COMPLEMENTS
        if self.payment:
            yield from PAYMENT
        if self.payroll:
            yield from PAYROLLS


def asked(cfdi: Comprobante, facts: Facts) -> Asked:
    """What applies to an invoice of this type with these complements; other tables give no credit either."""
    complements = bool(cfdi.complementos or cfdi.line_complementos or facts.required)
    payment = cfdi.tipo == "P" or cfdi.pagos is not None
    return Asked(facts.sealed, complements, payment, cfdi.tipo == "N" or cfdi.nomina is not None)


def run_rules(cfdi: Comprobante, facts: Facts) -> dict[str, list[Fault]]:
    """The faults of every rule that found any, by code, in the order of the table, those behind a gate aside.

    An exception that escapes here is a bug of ours, and is left to escape.
    """
    found: dict[str, list[Fault]] = {}
    with localcontext(EXACT):
        for code, check in _plan(cfdi.tipo if cfdi.tipo in TYPES else None, cfdi.features, asked(cfdi, facts)):
            faults = check(cfdi, facts)
            # Hardly any rule finds something, and an empty list each would cost as much as a rule.
            first = next(faults, None)
            if first is not None:
                found[code] = [first, *faults]
    return found


@functools.lru_cache(maxsize=1024)
def _plan(tipo: str | None, features: frozenset[Feature], tables: Asked) -> tuple[tuple[str, Check], ...]:
    """The rules that can find something in an invoice of that type (None: of no known one) with those features."""
    shut = shut_codes(tipo, features)
    return tuple((rule.code, rule.check) for rule in tables.rules() if rule.code not in shut)
