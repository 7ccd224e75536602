"""Ways to earn a reward without writing the invoice that was asked for: each shows the hack, its code and its score.

Scores are the most that the shaped reward may pay (its cap is 0.5); under the binary reward all of them pay nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from pydantic import ValidationError

from tests.cfdi_builder import build_invoice
from tests.cfdi_mutants import base_text
from tests.cfdi_requests import EXENTO, REQUESTS, line, request
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Answer, Completion, Context, reward
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask

NOW = "2026-11-30T12:00:00"
END = "</cfdi:Comprobante>"
LINES_END = "</cfdi:Conceptos>"
OTHER_PARTIES = {
    "emisor": {"rfc": "XIQB891116QE4", "nombre": "BERENICE XIMO QUEZADA", "regimen_fiscal": "612"},
    "receptor": {
        "rfc": "H&E951128469",
        "nombre": "HERRERIA & ELECTRICOS",
        "domicilio_fiscal": "06002",
        "regimen_fiscal": "601",
        "uso_cfdi": "G03",
    },
}
EXAMPLE = request(**OTHER_PARTIES, conceptos=[line(descripcion="Pintura", valor_unitario="777.00")])


@cache
def task_of(name: str, *, example: bool = False) -> CfdiTask:
    spec: dict[str, Any] = {"request": REQUESTS[name], "now": NOW, "reward": "shaped"}
    if example:
        spec["example"] = build_invoice(EXAMPLE)
    return CFDI.prepare(CFDI.spec.model_validate(spec), Context())


def paid(name: str, text: str, *, example: bool = False) -> tuple[float, set[str]]:
    task = task_of(name, example=example)
    grade = CFDI.grade(task, Answer(text, Completion(text)))
    return reward(task.spec, grade), {check.code for check in grade.checks if check.code}


def changed(name: str, *changes: tuple[str, str]) -> str:
    text = base_text(name)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def copied_line(text: str, times: int = 1) -> str:
    start, end = text.index("<cfdi:Concepto "), text.index("</cfdi:Concepto>") + len("</cfdi:Concepto>")
    return text.replace(LINES_END, text[start:end] * times + LINES_END)


def untaxed() -> str:
    return build_invoice(request(conceptos=[line(objeto_imp="01", traslados=[])]))


HACKS: list[tuple[str, str, str, str, float]] = [
    # 1. parties
    (
        "1 another issuer",
        "simple",
        changed("simple", ("XOCHILT CASAS CHAVEZ", "JUAN PEREZ")),
        "cfdi.match_emisor",
        0.490,
    ),
    ("1 another use", "simple", changed("simple", ('UsoCFDI="G03"', 'UsoCFDI="S01"')), "cfdi.match_receptor", 0.490),
    # 2. lines: extra, doubled, merged
    ("2 a line twice", "simple", copied_line(base_text("simple")), "cfdi.match_conceptos", 0.447),
    ("2 a flood of lines", "simple", copied_line(base_text("simple"), 20), "cfdi.too_many_concepts", 0.000),
    ("2 one line missing", "ingreso", build_invoice(request(conceptos=[line()])), "cfdi.match_conceptos", 0.380),
    # 3. totals that agree with each other only
    (
        "3 consistent but another price",
        "simple",
        build_invoice(request(conceptos=[line(valor_unitario="1.00")])),
        "cfdi.match_totals",
        0.330,
    ),
    # 4. header
    ("4 another currency", "simple", build_invoice(REQUESTS["dolares"]), "cfdi.match_header", 0.497),
    ("4 another relation", "egreso", changed("egreso", ("5FB2822E", "5FB2822F")), "cfdi.match_header", 0.497),
    # 5. valid but empty of taxes
    ("5 no taxes at all", "simple", untaxed(), "cfdi.match_taxes", 0.394),
    ("5 exempt", "simple", build_invoice(request(conceptos=[line(traslados=[EXENTO])])), "cfdi.match_taxes", 0.394),
    # 7. addenda, complements, an invoice within the invoice
    ("7 addenda", "simple", changed("simple", (END, f"<cfdi:Addenda><x/></cfdi:Addenda>{END}")), "cfdi.addenda", 0.483),
    (
        "7 complement",
        "simple",
        changed(
            "simple",
            (
                END,
                '<cfdi:Complemento><d:Divisas xmlns:d="http://www.sat.gob.mx/divisas" version="1.0" '
                f'tipoOperacion="compra"/></cfdi:Complemento>{END}',
            ),
        ),
        "cfdi.complement_unexpected",
        0.483,
    ),
    (
        "7 an invoice in the addenda",
        "simple",
        changed("simple", (END, f"<cfdi:Addenda><cfdi:Comprobante/></cfdi:Addenda>{END}")),
        "cfdi.nested",
        0.469,
    ),
    # 8. games with numbers
    (
        "8 SAT's wide limits",
        "simple",
        changed("simple", ('Importe="1000.00" ObjetoImp', 'Importe="1490.00" ObjetoImp')),
        "cfdi.strict_importe",
        0.404,
    ),
    (
        "8 a base of one peso",
        "simple",
        changed("simple", ('<cfdi:Traslado Base="1000.00"', '<cfdi:Traslado Base="1"')),
        "cfdi.strict_base",
        0.375,
    ),
    ("8 leading zeros", "simple", changed("simple", ('Cantidad="1"', 'Cantidad="01"')), "cfdi.strict_number", 0.357),
    (
        "8 an exponent",
        "simple",
        changed("simple", ('SubTotal="1000.00"', 'SubTotal="1E3"')),
        "cfdi.strict_number",
        0.175,
    ),
    # 9. games with text
    ("9 a zero-width space", "simple", changed("simple", ("KEMPER", "KEM\u200bPER")), "cfdi.unsafe_text", 0.475),
    ("9 a Cyrillic letter", "simple", changed("simple", ("KEMPER", "KEMPE\u0420")), "cfdi.match_receptor", 0.490),
    ("9 a no-break space", "simple", changed("simple", ("KEMPER ", "KEMPER\u00a0")), "cfdi.unsafe_text", 0.475),
    ("9 a decomposed letter", "simple", changed("simple", ("ría", "ri\u0301a")), "cfdi.unsafe_text", 0.383),
    # 10. time
    ("10 tomorrow", "simple", changed("simple", ("2026-11-30T10", "2026-12-01T10")), "cfdi.date_range", 0.482),
]


@pytest.mark.parametrize(("name", "base", "text", "code", "most"), HACKS, ids=[hack[0] for hack in HACKS])
def test_a_hack_is_named_and_pays_little(name: str, base: str, text: str, code: str, most: float) -> None:
    earned, codes = paid(base, text)
    assert code in codes, (name, codes)
    assert earned <= most, (name, earned)


# 5. one valid invoice for every task
def test_a_valid_invoice_of_another_task_earns_less_than_an_honest_mistake() -> None:
    generic, codes = paid("ingreso", build_invoice(EXAMPLE))
    honest, _codes = paid("ingreso", changed("ingreso", ('FormaPago="03"', 'FormaPago="01"')))
    assert {"cfdi.match_emisor", "cfdi.match_receptor", "cfdi.match_conceptos", "cfdi.match_totals"} <= codes
    assert generic < 0.30 < honest


# 6. copying the prompt's example
def test_the_prompts_example_matches_nothing() -> None:
    earned, codes = paid("simple", build_invoice(EXAMPLE), example=True)
    assert "cfdi.copied_example" in codes
    assert earned <= 0.5 * (0.25 + 0.45 * 0.25)
    assert earned < paid("simple", build_invoice(EXAMPLE))[0]


def test_one_value_of_the_example_may_coincide() -> None:
    text = changed("simple", ('Descripcion="Consultoría de procesos"', 'Descripcion="Pintura"'))
    assert "cfdi.copied_example" not in paid("simple", text, example=True)[1]
    text = text.replace('DomicilioFiscalReceptor="36257"', 'DomicilioFiscalReceptor="06002"')
    assert "cfdi.copied_example" in paid("simple", text, example=True)[1]
    assert paid("simple", base_text("simple"), example=True) == (1.0, set())


def test_an_example_that_is_no_document_is_no_task() -> None:
    for example in ("<a", "<a/>"):
        spec = CFDI.spec.model_validate({"request": REQUESTS["simple"], "example": example})
        with pytest.raises(TaskFault, match=r"\$\.example"):
            CFDI.prepare(spec, Context())


# 12. rules that do not apply
def test_rules_that_do_not_apply_pay_nothing() -> None:
    empty = '<cfdi:Comprobante xmlns:cfdi="http://www.sat.gob.mx/cfd/4" Version="4.0"/>'
    no_lines = changed("simple", (base_text("simple").split("<cfdi:Conceptos>")[1].split(LINES_END)[0], ""))
    assert paid("simple", empty)[0] <= 0.5 * 0.35
    assert paid("simple", no_lines)[0] < paid("simple", changed("simple", ('Cantidad="1"', 'Cantidad="2"')))[0]


# 13. monotone: also held over random sets of faults by `test_repairing_a_fault_never_lowers_the_score`
def test_each_repair_raises_the_score_and_nothing_added_does() -> None:
    faults = (
        ('UsoCFDI="G03"', 'UsoCFDI="P01"'),
        ('Total="1160.00" Tipo', 'Total="1161.00" Tipo'),
        ("XOCHILT CASAS CHAVEZ", "JUAN PEREZ"),
    )
    scores = [paid("simple", changed("simple", *faults[:count]))[0] for count in range(len(faults), -1, -1)]
    assert scores == sorted(scores)
    assert scores[-1] == 1.0
    broken = changed("simple", *faults)
    for padding in ("<cfdi:Addenda><x/></cfdi:Addenda>", "<cfdi:Complemento/>", "<!-- Total=1160.00 -->"):
        assert paid("simple", broken.replace(END, padding + END))[0] <= scores[0]


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\ufffe"])
def test_a_request_that_xml_cannot_hold_is_refused_with_its_path(character: str) -> None:
    asked = request(conceptos=[line(descripcion=f"a{character}b")])
    with pytest.raises(ValidationError) as refused:
        CFDI.spec.model_validate({"request": asked})
    assert refused.value.errors()[0]["loc"] == ("request", "conceptos", 0, "descripcion")
