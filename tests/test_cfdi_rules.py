"""Each fault of an invoice is named by its code; a correct invoice has none; nothing that a text holds raises."""

from __future__ import annotations

import random
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cfdi_builder import build_invoice
from tests.cfdi_complements import MUTANTS as COMPLEMENT_MUTANTS
from tests.cfdi_mutants import MUTANTS, Mutant, base_spec, base_text, mutant_text
from tests.cfdi_requests import EXENTO, IEPS_8, ISR_10, IVA_16, IVA_HELD, REQUESTS, line, request
from tests.cfdi_seals import SEAL_CODES
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask
from veredicto_verifier.verifiers.cfdi.rules import BY_SCHEMA, NOT_CHECKED, RULES, SAME_AS
from veredicto_verifier.verifiers.cfdi.rules_soft import SOFT
from veredicto_verifier.verifiers.cfdi.scoring import Findings

ELSEWHERE = (
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.sat.gob.mx/cfd/4 cfdv40.xsd"'
)


@cache
def prepared(base: str) -> CfdiTask:
    return CFDI.prepare(CFDI.spec.model_validate(base_spec(base)), Context())


def graded(base: str, text: str) -> Grade:
    return CFDI.grade(prepared(base), Answer(text, Completion(text)))


def codes(grade: Grade) -> set[str]:
    return {check.code for check in grade.checks if check.code is not None}


@pytest.mark.parametrize("base", [*REQUESTS, "?traslado"])
def test_a_correct_invoice_passes(base: str) -> None:
    grade = graded(base, base_text(base))
    assert codes(grade) == set()
    assert grade.passed
    assert grade.flags == ()


@pytest.mark.parametrize("one", MUTANTS, ids=lambda one: one.name)
def test_a_fault_is_named_by_its_code(one: Mutant) -> None:
    grade = graded(one.base, mutant_text(one))
    assert not grade.passed
    assert one.code in codes(grade), grade.checks
    assert 0.0 <= grade.score < 1.0


def test_every_rule_has_a_mutant_that_breaks_it() -> None:
    broken = {one.code for one in (*MUTANTS, *COMPLEMENT_MUTANTS)} | SEAL_CODES | {"cfdi.complement_missing"}
    assert set(RULES) - broken == set()


def test_every_code_of_the_matrix_is_a_rule_or_says_why_not() -> None:
    decided = {code.removeprefix("cfdi.") for code in RULES}
    known = decided | set(NOT_CHECKED) | set(BY_SCHEMA) | set(SAME_AS)
    matrix = [str(code) for code in range(40101, 40228)]
    matrix += [f"CRP{code}" for code in (*range(20101, 20124), *range(20201, 20280), 20999)]
    matrix += [f"NOM{number}" for number in range(1, 110)]
    assert {code for code in matrix if not {code, code.lower()} & known} == set()


def test_the_page_lists_every_rule_with_its_layer_severity_and_source() -> None:
    page = (Path(__file__).parent.parent / "docs/verifiers/cfdi.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in page if line.startswith("| `cfdi.") and line.count("|") == 6]
    assert rows == [
        f"| `{rule.code}` | {rule.layer} | {rule.severity} | {rule.source} | {rule.meaning} |"
        for rule in (*RULES.values(), *SOFT.values())
    ]
    assert all(rule.significado for rule in (*RULES.values(), *SOFT.values()))


def test_a_critical_fault_halves_arithmetic_and_a_soft_rule_never_fails_an_invoice() -> None:
    assert all(rule.severity != "soft" for rule in RULES.values())
    assert all(rule.severity == "soft" for rule in SOFT.values())
    for rule in RULES.values():
        if rule.layer == "arithmetic":
            left = Findings(schema_valid=True, faults={rule.code: []}, aspects=[], num_lines=1).fraction("arithmetic")
            assert (left <= 0.5) == (rule.severity == "critical"), rule.code


@pytest.mark.parametrize(
    ("old", "new", "flags"),
    [
        ("EKU9003173C9", "EKU9003173C8", {"rfc_digit"}),
        ("EKU9003173C9", "EKU9002303C0", {"rfc_date"}),
        ("EKU9003173C9", "EKU0002293C6", set()),
        ("EKU9003173C9", "XAXX010101000", set()),
        ('Version="4.0"', f'Version="4.0" {ELSEWHERE}', {"schema_location"}),
    ],
)
def test_what_is_only_suspicious_is_a_flag(old: str, new: str, flags: set[str]) -> None:
    task = CFDI.prepare(CFDI.spec.model_validate({}), Context())
    text = base_text("simple").replace(old, new)
    assert {flag.name for flag in CFDI.grade(task, Answer(text, Completion(text))).flags} == flags


@pytest.mark.parametrize("places", [2, 3, 4, 6])
@pytest.mark.parametrize("base", REQUESTS)
def test_lines_may_be_written_with_two_to_six_decimals(base: str, places: int) -> None:
    assert graded(base, build_invoice(REQUESTS[base], places=places)).passed


def test_a_rate_may_be_written_short_and_zeros_may_trail() -> None:
    text = base_text("simple").replace('TasaOCuota="0.160000"', 'TasaOCuota="0.16"')
    assert graded("simple", text.replace('Cantidad="1"', 'Cantidad="1.000000"')).passed


AMOUNTS = st.decimals(min_value=Decimal("0.01"), max_value=Decimal("99999.999999"), places=6)
TAXES = st.sampled_from([([IVA_16], []), ([EXENTO], []), ([IEPS_8, IVA_16], []), ([IVA_16], [ISR_10, IVA_HELD])])


@given(
    rows=st.lists(st.tuples(AMOUNTS, AMOUNTS, TAXES), min_size=1, max_size=6),
    places=st.sampled_from([2, 4, 6]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_request_is_fulfilled_by_the_reference_builder(rows: list[Any], places: int) -> None:
    lines = [
        line(
            descripcion=f"Servicio {number}",
            cantidad=f"{(quantity / 100).quantize(Decimal('0.0001')) + 1:f}",
            valor_unitario=f"{price + 1:f}",
            traslados=taxes[0],
            retenciones=taxes[1],
        )
        for number, (quantity, price, taxes) in enumerate(rows)
    ]
    asked = request(conceptos=lines)
    task = CFDI.prepare(CFDI.spec.model_validate({"request": asked}), Context())
    text = build_invoice(asked, places=places)
    grade = CFDI.grade(task, Answer(text, Completion(text)))
    assert grade.passed, (text, [check for check in grade.checks if not check.passed])


def test_repairing_a_fault_never_lowers_the_score() -> None:
    source = random.Random(7)
    faults = [one for one in MUTANTS if one.base == "ingreso"]
    for _ in range(150):
        chosen = source.sample(faults, 3)
        texts = [apply(chosen[:count]) for count in range(len(chosen), -1, -1)]
        scores = [value(graded("ingreso", text)) for text in texts if text is not None]
        assert scores == sorted(scores), [one.name for one in chosen]


def value(grade: Grade) -> float:
    return 1.0 if grade.passed else grade.score


def apply(mutants: list[Mutant]) -> str | None:
    text = base_text("ingreso")
    for one in mutants:
        for old, new in one.changes:
            if old not in text:
                return None
            text = text.replace(old, new)
    return text


PADDINGS = (
    ("</cfdi:Conceptos>", "<cfdi:Concepto/></cfdi:Conceptos>"),
    ("</cfdi:Comprobante>", "<cfdi:Addenda><nota/></cfdi:Addenda></cfdi:Comprobante>"),
    ("</cfdi:Comprobante>", "<cfdi:Complemento/></cfdi:Comprobante>"),
    (' Moneda="', ' Serie="A" Moneda="'),
)


@pytest.mark.parametrize("one", [one for one in MUTANTS if one.base == "ingreso"], ids=lambda one: one.name)
def test_padding_never_raises_the_score(one: Mutant) -> None:
    text = mutant_text(one)
    before = value(graded("ingreso", text))
    copied = text[text.index("<cfdi:Concepto ") : text.index("</cfdi:Concepto>") + len("</cfdi:Concepto>")]
    paddings = [*PADDINGS, ("</cfdi:Conceptos>", copied * 3 + "</cfdi:Conceptos>")]
    for old, new in paddings:
        assert value(graded("ingreso", text.replace(old, new))) <= before


@given(seed=st.integers(0, 10**9))
@settings(max_examples=150, deadline=None)
def test_no_damage_to_an_invoice_raises(seed: int) -> None:
    source = random.Random(seed)
    text = base_text("ingreso")
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(text))
        piece = source.choice(
            ["", '"', "<", ">", "&", "9", "é", "\u200b", '="', 'Total="x"', "\x00", "\ud800", text[:80]]
        )
        text = text[:at] + piece + text[at + source.randint(0, 30) :]
    grade = graded("ingreso", text)
    for check in grade.checks:
        assert check.passed == (check.code is None)
        assert len(check.reason) <= 300
        assert 0 <= check.score <= 1
    assert len(grade.checks) <= 20


@given(text=st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_no_text_raises(text: str) -> None:
    assert not graded("simple", text).passed
