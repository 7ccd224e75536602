"""Every rule by code, the codes that nobody can decide offline, and one pass over an invoice."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from decimal import Context, localcontext

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante, Feature
from veredicto_verifier.verifiers.cfdi.gates import TYPES, shut_codes
from veredicto_verifier.verifiers.cfdi.rule import Check, Facts, Fault, Rule
from veredicto_verifier.verifiers.cfdi.rules_concepts import CONCEPTS
from veredicto_verifier.verifiers.cfdi.rules_header import HEADER
from veredicto_verifier.verifiers.cfdi.rules_parties import PARTIES
from veredicto_verifier.verifiers.cfdi.rules_strict import STRICT
from veredicto_verifier.verifiers.cfdi.rules_summary import SUMMARY
from veredicto_verifier.verifiers.cfdi.schema_codes import BY_ATTRIBUTE

EXACT = Context(prec=120)
"""For every computation: products of two 24-digit numbers and their sums are exact."""

RULES: Mapping[str, Rule] = {rule.code: rule for rule in (*HEADER, *PARTIES, *CONCEPTS, *SUMMARY, *STRICT)}

NOT_CHECKED: Mapping[str, str] = {
    "40102": "needs the seal",
    "40106": "needs the certificate",
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
    "40194": "needs the customs catalogues",
    "40199": "needs the customs catalogues",
    "40224": "needs a mark in SAT's list of taxpayers",
    "40225": "needs a mark in SAT's list of taxpayers",
}
"""Codes of SAT's matrix that this version does not decide, with the reason."""

BY_SCHEMA: tuple[str, ...] = tuple(BY_ATTRIBUTE.values())
"""Codes whose condition is the schema's own."""

SAME_AS: Mapping[str, str] = {"40200": "40195", "40209": "40206"}
"""Codes whose condition another code already states."""


def run_rules(cfdi: Comprobante, facts: Facts) -> dict[str, list[Fault]]:
    """The faults of every rule that found any, by code, in the order of the table, those behind a gate aside.

    An exception that escapes here is a bug of ours, and is left to escape.
    """
    found: dict[str, list[Fault]] = {}
    with localcontext(EXACT):
        for code, check in _plan(cfdi.tipo if cfdi.tipo in TYPES else None, cfdi.features):
            faults = check(cfdi, facts)
            # Hardly any rule finds something, and an empty list each would cost as much as a rule.
            first = next(faults, None)
            if first is not None:
                found[code] = [first, *faults]
    return found


@functools.lru_cache(maxsize=1024)
def _plan(tipo: str | None, features: frozenset[Feature]) -> tuple[tuple[str, Check], ...]:
    """The rules that can find something in an invoice of that type (None: of no known one) with those features."""
    shut = shut_codes(tipo, features)
    return tuple((rule.code, rule.check) for rule in RULES.values() if rule.code not in shut)
