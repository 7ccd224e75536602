"""A gate spares a rule and never a fault: the rules that do not run would have found nothing."""

from __future__ import annotations

import random
from decimal import localcontext

from tests.cfdi_complements import MUTANTS as COMPLEMENT_MUTANTS
from tests.cfdi_complements import mutant_text as complement_text
from tests.cfdi_mutants import MUTANTS, base_text, mutant_text
from tests.cfdi_requests import REQUESTS
from veredicto_verifier.verifiers.cfdi.catalogues import load_catalogues
from veredicto_verifier.verifiers.cfdi.comprobante import read_comprobante
from veredicto_verifier.verifiers.cfdi.gates import NEEDS, ONLY
from veredicto_verifier.verifiers.cfdi.rule import Facts
from veredicto_verifier.verifiers.cfdi.rules import EXACT, RULES, asked, run_rules
from veredicto_verifier.verifiers.xml_document import DocumentRules, Refusal, parse_document

TYPES = ("I", "E", "T", "N", "P", "X")


def texts() -> list[str]:
    """Every mutant, and pairs of them that meet in one invoice of another type."""
    found = [mutant_text(one) for one in MUTANTS] + [complement_text(one) for one in COMPLEMENT_MUTANTS]
    source = random.Random(11)
    for _ in range(200):
        text = base_text(source.choice(list(REQUESTS)))
        for one in source.sample(MUTANTS, 6):
            for old, new in one.changes:
                text = text.replace(old, new)
        found.append(text.replace('Comprobante="I"', f'Comprobante="{source.choice(TYPES)}"'))
    return found


def test_a_rule_behind_a_shut_gate_finds_nothing() -> None:
    facts = Facts(load_catalogues())
    for text in texts():
        document = parse_document(text, DocumentRules())
        if isinstance(document, Refusal):
            continue  # two changes that do not fit together
        cfdi = read_comprobante(document.root)
        with localcontext(EXACT):
            found = {rule.code: list(rule.check(cfdi, facts)) for rule in asked(cfdi, facts).rules()}
        assert run_rules(cfdi, facts) == {code: faults for code, faults in found.items() if faults}, text


def test_every_gate_stands_before_a_rule() -> None:
    gated = [code for codes in (*NEEDS.values(), *ONLY.values()) for code in codes]
    assert set(gated) <= set(RULES)
