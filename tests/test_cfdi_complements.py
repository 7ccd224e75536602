"""Payments, payrolls and transfers: correct ones pass, each fault is named by its code, wherever it stands."""

from __future__ import annotations

import re
from decimal import Context as Arithmetic
from decimal import localcontext

import pytest
from lxml import etree

from tests.cfdi_complements import (
    FIRST,
    MUTANTS,
    NOW,
    REQUESTS,
    base_text,
    document,
    mutant_text,
    of_type,
    payment,
    prepared,
)
from tests.cfdi_complements import PAYER as RECEIVER
from tests.cfdi_mutants import Mutant
from tests.cfdi_mutants import base_text as invoice
from tests.cfdi_requests import EXENTO, IVA_16, line, request
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.cfdi.complements import NAMES, SAT
from veredicto_verifier.verifiers.cfdi.grading import examine
from veredicto_verifier.verifiers.cfdi.reference import write_reference
from veredicto_verifier.verifiers.cfdi.schemas import data_folder


def graded(base: str, text: str) -> Grade:
    return CFDI.grade(prepared(base), Answer(text, Completion(text)))


def codes(grade: Grade) -> set[str]:
    return {check.code for check in grade.checks if check.code is not None}


@pytest.mark.parametrize("base", [*REQUESTS, *(f"?{base}" for base in REQUESTS)])
def test_a_correct_document_passes_with_and_without_its_request(base: str) -> None:
    grade = graded(base, base_text(base))
    assert codes(grade) == set()
    assert grade.passed
    assert grade.flags == ()


@pytest.mark.parametrize("one", MUTANTS, ids=lambda one: one.name)
def test_a_fault_is_named_by_its_code(one: Mutant) -> None:
    grade = graded(one.base, mutant_text(one))
    assert not grade.passed
    assert all(len(check.reason) <= 300 for check in grade.checks)
    assert one.code in all_codes(one), codes(grade)


def all_codes(one: Mutant) -> set[str]:
    """Every code, also those beyond the twenty checks that a verdict shows."""
    found = examine(prepared(one.base), etree.fromstring(mutant_text(one).encode()))
    return {*found.faults, *(aspect.code for aspect in found.aspects if aspect.fraction != 1)}


@pytest.mark.parametrize(
    "one", [one for one in MUTANTS if one.name.startswith(("pago-", "nomina-"))], ids=lambda one: one.name
)
def test_each_fault_of_a_complement_costs_under_shaped(one: Mutant) -> None:
    assert 0.0 <= graded(one.base, mutant_text(one)).score < 1.0


def test_amounts_of_a_payment_may_have_up_to_six_decimals() -> None:
    text = base_text("pagos")
    text = text.replace('BaseDR="862.07"', 'BaseDR="862.068966"').replace(
        'ImporteDR="137.93"', 'ImporteDR="137.931034"'
    )
    assert graded("pagos", text).passed, codes(graded("pagos", text))


def test_a_uuid_may_be_in_lower_case_and_documents_in_another_order() -> None:
    assert graded("pago", base_text("pago").replace(FIRST, FIRST.lower())).passed
    text = base_text("pagos")
    documents = re.findall(r"<pago20:DoctoRelacionado.*?</pago20:DoctoRelacionado>", text)[:2]
    swapped = text.replace(documents[0], "@").replace(documents[1], documents[0]).replace("@", documents[1])
    assert swapped != text
    assert graded("pagos", swapped).passed


def test_open_fields_of_a_document_are_free() -> None:
    text = base_text("pago").replace(f'IdDocumento="{FIRST}"', f'IdDocumento="{FIRST}" Serie="A" Folio="7"')
    assert graded("pago", text).passed


def test_a_tax_under_another_document_does_not_count() -> None:
    asked = of_type(
        "P",
        moneda="XXX",
        receptor=RECEIVER,
        pagos=[
            payment(
                "2000.00",
                [
                    document(FIRST, "1000.00", "1000.00", objeto_imp="02", traslados=[IVA_16 | {"base": "100.00"}]),
                    document(FIRST[:-1] + "9", "1000.00", "1000.00", traslados=[IVA_16 | {"base": "200.00"}]),
                ],
            )
        ],
    )
    task = CFDI.prepare(CFDI.spec.model_validate({"request": asked, "now": NOW, "reward": "shaped"}), Context())
    right = (
        '<pago20:TrasladoDR BaseDR="{}" ImpuestoDR="002" TipoFactorDR="Tasa" TasaOCuotaDR="0.160000" ImporteDR="{}"/>'
    )
    one, other = right.format("100.00", "16.00"), right.format("200.00", "32.00")
    text = written(asked)
    assert CFDI.grade(task, Answer(text, Completion(text))).passed
    swapped = text.replace(one, "@").replace(other, one).replace("@", other)
    assert codes(CFDI.grade(task, Answer(swapped, Completion(swapped)))) == {"cfdi.match_complement"}


def written(asked: dict[str, object]) -> str:
    task = CFDI.prepare(CFDI.spec.model_validate({"request": asked, "now": NOW}), Context())
    assert task.spec.request is not None
    assert task.expected is not None
    with localcontext(Arithmetic(prec=120)):
        return etree.tostring(write_reference(task.spec.request, task.expected, task.complement), encoding="unicode")


def test_a_payment_without_tax_and_one_exempt_are_written() -> None:
    for taxes, objeto in (
        ([], "01"),
        ([EXENTO], "02"),
        ([IVA_16 | {"tasa_o_cuota": "0.000000"}], "02"),
        ([IVA_16 | {"tasa_o_cuota": "0.080000"}], "02"),
    ):
        paid = document(FIRST, "300.00", "100.00", objeto_imp=objeto, traslados=taxes)
        assert written(of_type("P", moneda="XXX", receptor=RECEIVER, pagos=[payment("100.00", [paid])]))


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"tipo": "P", "pagos": []}, "pagos"),
        ({"tipo": "N"}, "nomina"),
        (
            {"tipo": "P", "pagos": [payment("1.00", [document(FIRST, "1.00", "1.00")])], "conceptos": [line()]},
            "conceptos",
        ),
        ({"tipo": "P", "pagos": [payment("1.00", [document(FIRST, "1.00", "1.00")], tipo_cambio="2")]}, "tipo_cambio"),
        ({"tipo": "P", "pagos": [payment("1.00", [document(FIRST, "1.00", "1.00", moneda="USD")])]}, "equivalencia"),
    ],
)
def test_a_request_of_another_type_says_what_is_wrong(values: dict[str, object], place: str) -> None:
    with pytest.raises(ValueError, match=place):
        CFDI.spec.model_validate({"request": of_type("P", moneda="XXX", receptor=RECEIVER) | values})


def test_a_payment_that_breaks_a_rule_is_no_task() -> None:
    asked = of_type("P", moneda="XXX", receptor=RECEIVER, pagos=[payment("1.00", [document(FIRST, "9.00", "5.00")])])
    with pytest.raises(TaskFault, match="crp20217"):
        CFDI.prepare(CFDI.spec.model_validate({"request": asked}), Context())


def test_complements_are_named_as_sat_publishes_them() -> None:
    wrapper = (data_folder() / "xsd" / "all.xsd").read_text()
    published = {name.removeprefix(SAT) for name in re.findall('namespace="([^"]*)"', wrapper)} - {"cfd/4"}
    assert published == NAMES


IMPLOCAL = (
    '<cfdi:Complemento><implocal:ImpuestosLocales xmlns:implocal="http://www.sat.gob.mx/implocal" version="1.0" '
    'TotaldeRetenciones="0.00" TotaldeTraslados="0.00"/></cfdi:Complemento></cfdi:Comprobante>'
)


def with_complements(complements: dict[str, str] | None, text: str) -> set[str]:
    spec = CFDI.spec.model_validate({"request": request(conceptos=[line()]), "now": NOW, "complements": complements})
    return codes(CFDI.grade(CFDI.prepare(spec, Context()), Answer(text, Completion(text))))


def test_a_complement_is_there_when_it_must_or_may_be() -> None:
    bare = invoice("simple")
    local = bare.replace("</cfdi:Comprobante>", IMPLOCAL)
    assert with_complements(None, bare) == set()
    assert with_complements(None, local) == {"cfdi.complement_unexpected", "cfdi.match_extra"}
    assert with_complements({"implocal": "allowed"}, bare) == set()
    assert with_complements({"implocal": "allowed"}, local) == set()
    assert with_complements({"implocal": "required"}, bare) == {"cfdi.complement_missing"}
    assert with_complements({"implocal": "required"}, local) == set()
    assert with_complements({"iedu": "allowed"}, local) == {"cfdi.complement_unexpected", "cfdi.match_extra"}
    with pytest.raises(ValueError, match="no complement is named 'Pagos10'"):
        with_complements({"Pagos10": "allowed"}, bare)


def test_newer_codes_of_payroll_are_known_to_the_schema_too() -> None:
    text = base_text("?nomina").replace('TipoDeduccion="001"', 'TipoDeduccion="115"')
    text = text.replace('TipoPercepcion="029"', 'TipoPercepcion="057"')
    assert codes(graded("?nomina", text)) == set()
