"""`veredicto cfdi explain` names every fault as the verdict does; a second schema engine agrees with the first."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from typer.testing import CliRunner, Result

from tests.cfdi_mutants import MUTANTS, base_spec, base_text, mutant_text
from tests.cfdi_requests import REQUESTS
from veredicto_verifier.__main__ import app
from veredicto_verifier.answer_files import root_name, task_for
from veredicto_verifier.cfdi_explanation import complements, explain, second_engine
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask
from veredicto_verifier.verifiers.cfdi.schemas import filled_in, schema_faults
from veredicto_verifier.verifiers.xml_document import DocumentRules, Refusal, parse_document

CASES = Path(__file__).parent / "cases" / "cfdi.jsonl"


@cache
def prepared(base: str) -> CfdiTask:
    return CFDI.prepare(CFDI.spec.model_validate(base_spec(base)), Context())


def graded(base: str, text: str) -> Grade:
    return CFDI.grade(prepared(base), Answer(text, Completion(text)))


def readable_fixtures() -> list[etree._Element]:
    cases = [json.loads(line)["completion"] for line in CASES.read_text(encoding="utf-8").splitlines()]
    texts = [*map(base_text, REQUESTS), *map(mutant_text, MUTANTS), *cases]
    documents = [parse_document(text, DocumentRules()) for text in texts]
    return [one.root for one in documents if not isinstance(one, Refusal)]


def test_a_second_engine_says_the_same_of_every_fixture() -> None:
    num_invalid = 0
    for root in readable_fixtures():
        ours = not schema_faults(root)
        num_invalid += not ours
        with filled_in(root):
            assert second_engine(complements(root)).is_valid(root) == ours, etree.tostring(root)
    assert num_invalid > 30


def test_the_engines_differ_where_the_second_is_wrong() -> None:
    blank = base_text("simple").replace('Total="1160.00" Tipo', 'Total="1 00" Tipo')
    root = etree.fromstring(blank.encode())
    assert schema_faults(root)
    assert [one.code for one in explain(prepared("simple"), blank) if one.layer == "xsd"]


@pytest.mark.parametrize("one", MUTANTS, ids=lambda one: one.name)
def test_an_explanation_names_the_codes_of_the_verdict(one: Any) -> None:
    text = mutant_text(one)
    found = [finding for finding in explain(prepared(one.base), text) if finding.severity != "soft"]
    verdict = {check.code for check in graded(one.base, text).checks if not check.passed}
    assert {finding.code for finding in found} == verdict
    for finding in found:
        assert finding.path
        assert finding.expected not in ("", finding.reason)
        assert finding.found
        assert finding.code in CFDI.codes


def test_a_correct_invoice_needs_no_explanation() -> None:
    for base in REQUESTS:
        assert explain(prepared(base), base_text(base)) == []


FAULTS = [
    ("rfc-minusculas", "/cfdi:Comprobante/cfdi:Emisor", "Rfc", "[A-Z&Ñ]{3,4}", "cacx7605101p8"),
    ("metodo-otro", "/cfdi:Comprobante", "MetodoPago", "PUE, PPD", "PPP"),
    ("sin-fecha", "/cfdi:Comprobante", "Fecha", "Fecha", "(ausente)"),
    ("sin-conceptos", "/cfdi:Comprobante", "", "Conceptos", "(ausente)"),
    ("total", "Comprobante", "", "1160.00", 'Total="1160.01"'),
    ("unidad", "Concepto[1]", "", "un valor de c_ClaveUnidad", 'ClaveUnidad="ZZ9"'),
    ("sin-metodo", "Comprobante", "", "MetodoPago", "(ausente)"),
    ("emisor-otro", "Emisor", "Nombre", "XOCHILT CASAS CHAVEZ", "XOCHILT CASAS CHAVES"),
]


@pytest.mark.parametrize(("name", "path", "attribute", "expected", "found"), FAULTS)
def test_a_fault_tells_what_was_expected_and_what_was_found(
    name: str, path: str, attribute: str, expected: str, found: str
) -> None:
    one = next(one for one in MUTANTS if one.name == name)
    first = next(finding for finding in explain(prepared(one.base), mutant_text(one)) if finding.code == one.code)
    assert (first.path, first.attribute) == (path, attribute)
    assert expected in first.expected
    assert found in first.found


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["cfdi", "explain", *arguments])


def test_the_command_explains_in_spanish_or_english_and_exits_by_the_verdict(tmp_path: Path) -> None:
    wrong, right, request = tmp_path / "wrong.xml", tmp_path / "right.xml", tmp_path / "request.json"
    right.write_text(base_text("simple"), encoding="utf-8")
    wrong.write_text(base_text("simple").replace('="1160.00" Tipo', '="1160.01" Tipo'), encoding="utf-8")
    request.write_text(json.dumps(REQUESTS["simple"]), encoding="utf-8")
    spanish = run(str(wrong))
    assert spanish.exit_code == 1
    assert "cfdi.40119" in spanish.stdout
    assert "se espera: 1160.00" in spanish.stdout
    assert "expected: 1160.00" in run(str(wrong), "--lang", "en").stdout
    assert run(str(right), "--request", str(request)).exit_code == 0
    body = json.loads(run(str(wrong), "--request", str(request), "--json").stdout)
    assert not body["passed"]
    assert {one["code"] for one in body["faults"]} == {"cfdi.40119", "cfdi.match_totals"}


def test_what_cannot_be_explained_is_a_usage_error(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_text("<a/>", encoding="utf-8")
    assert run(str(tmp_path / "none.xml")).exit_code == 2
    for text in ("[]", "{", '{"conceptos": []}', '{"unknown": 1}'):
        (tmp_path / "request.json").write_text(text, encoding="utf-8")
        assert run(str(file), "--request", str(tmp_path / "request.json")).exit_code == 2


def test_what_is_only_suspicious_is_a_warning_and_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_text(base_text("simple").replace("EKU9003173C9", "EKU9002303C1"), encoding="utf-8")
    told = run(str(file), "--json")
    body = json.loads(told.stdout)
    assert (told.exit_code, body["passed"]) == (0, True)
    assert {(one["code"], one["severity"]) for one in body["faults"]} == {
        ("cfdi.rfc_digit", "soft"),
        ("cfdi.rfc_date", "soft"),
    }
    assert "cfdi.rfc_date (aviso): la fecha de Rfc no existe" in run(str(file)).stdout


def test_a_text_that_is_no_document_is_explained_too() -> None:
    (only,) = explain(prepared("simple"), "no es XML")
    assert (only.code, only.layer, only.severity) == ("cfdi.not_well_formed", "well_formed", "fatal")
    assert only.reason.startswith("no es XML bien formado (línea 1): el documento no empieza con un elemento")
    assert only.expected.startswith("un solo cfdi:Comprobante 4.0")
    (only,) = explain(prepared("simple"), "<a>" + "x" * 300_000)
    assert only.expected == "a lo más 262144 bytes"


BROKEN = [
    ("<a>", "falta la etiqueta de cierre"),
    ("<a><b></a>", "la etiqueta de cierre no es la del elemento abierto"),
    ("<a>&x;</a>", "una entidad que no es de XML"),
    ("<a>P & G</a>", "&amp;"),
    ("<a b='1' b='2'/>", "dos veces"),
    ("<a b=1/>", "no está entre comillas"),
    ("<a b='<'/>", "&lt;"),
    ("<a/>x", "después del elemento raíz"),
    ("<a>\x01</a>", "un carácter que XML no admite"),
    ("<x:a/>", "no tiene declarado su espacio de nombres"),
    ("<a><!-- -- --></a>", "dos guiones"),
    ("<?xml version='1.1'?><a/>", "no es 1.0"),
    ("<b>" * 300, "256 niveles"),
]


@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_what_is_not_well_formed_is_said_in_spanish(text: str, said: str) -> None:
    (only,) = explain(prepared("simple"), text)
    told, _label, detail = only.reason.partition(" (libxml2: ")
    assert said in told
    assert detail


def test_an_explanation_shows_the_request_beside_what_the_document_says() -> None:
    text = base_text("simple").replace("Consultoría de procesos", "Otra cosa").replace('"160.00"', '"150.00"')
    found = {one.code: one for one in explain(prepared("simple"), text)}
    lines, totals, taxes = (found[f"cfdi.match_{name}"] for name in ("conceptos", "totals", "taxes"))
    assert lines.expected == "80101500 Consultoría de procesos: 1 × 1000.00"
    assert lines.found == "80101500 Otra cosa 1 1000.00"
    assert totals.expected == "SubTotal 1000.00; Total 1160.00; TotalImpuestosTrasladados 160.00"
    assert totals.found == "SubTotal 1000.00; Total 1160.00; TotalImpuestosTrasladados 150.00"
    assert taxes.expected == "Traslado 002 Tasa 0.160000: Base 1000.00, Importe 160.00"
    assert taxes.found == "1000.00 002 Tasa 0.160000 150.00"


def scored(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(app, ["score", *arguments])
    (only,) = [json.loads(line) for line in done.stdout.splitlines()]
    return done.exit_code, only


def test_an_invoice_is_judged_alone_by_its_request_by_a_spec_or_by_a_task(tmp_path: Path) -> None:
    text, spec = "\n<!-- <a> -->" + base_text("simple").partition("?>")[2], tmp_path / "spec.json"
    assert task_for(text, None, None) == {"verifier": "cfdi", "spec": {}}
    task = {"verifier": "cfdi", "spec": {"request": REQUESTS["simple"]}}
    for body in (REQUESTS["simple"], {"request": REQUESTS["simple"]}, task):
        spec.write_text(json.dumps(body), encoding="utf-8")
        assert task_for(text, spec, None) == task_for(text, spec, "cfdi") == task


def test_score_judges_an_invoice_as_it_is(tmp_path: Path) -> None:
    file, spec = tmp_path / "a.xml", tmp_path / "request.json"
    file.write_text(base_text("simple"), encoding="utf-8")
    spec.write_text(json.dumps(REQUESTS["simple"]), encoding="utf-8")
    code, result = scored(str(file), "--spec", str(spec))
    assert (code, result["reward"], result["verifier"]["name"]) == (0, 1.0, "cfdi")
    assert result["checks"][-1]["reason"] == ""


def test_score_says_by_its_exit_code_that_a_file_could_not_be_judged(tmp_path: Path) -> None:
    other, invoice, spec = tmp_path / "a.xml", tmp_path / "b.xml", tmp_path / "spec.json"
    other.write_text("<note/>", encoding="utf-8")
    invoice.write_text(base_text("simple"), encoding="utf-8")
    code, result = scored(str(other))
    assert (code, result["error"]["code"]) == (1, "task.malformed")
    assert "'note'" in result["error"]["message"]
    assert "--verifier xml" in result["error"]["message"]
    spec.write_text("{", encoding="utf-8")
    code, result = scored(str(invoice), "--spec", str(spec))
    assert (code, result["error"]["code"]) == (1, "task.malformed")
    assert "spec.json is not JSON" in result["error"]["message"]
    assert CliRunner().invoke(app, ["score", str(invoice), "--spec", str(tmp_path / "none.json")]).exit_code == 2


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"completion": "<a/>"}', None),
        ("", None),
        ("\ufeff<?xml version='1.0'?><!-- <x> --><!DOCTYPE y><cfdi:Comprobante", ""),
        ("<?xml version='1.0'?> <!-- <x> --> <cfdi:Comprobante\n Version='4.0'", "Comprobante"),
        ("<Comprobante/>", "Comprobante"),
        ("<!-- never closed <Comprobante/>", ""),
        ("<", ""),
        ("<1a/>", ""),
    ],
)
def test_the_root_of_a_text_is_its_first_element(text: str, name: str | None) -> None:
    assert root_name(text) == name


def test_a_broken_document_cannot_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_text("\x1b[2J<a/>", encoding="utf-8")
    assert "\x1b" not in run(str(file)).stdout


def test_what_is_there_is_never_called_absent() -> None:
    stamp = '<cfdi:Complemento><t:TimbreFiscalDigital xmlns:t="http://www.sat.gob.mx/TimbreFiscalDigital"/>'
    text = base_text("simple").replace("</cfdi:Comprobante>", f"{stamp}</cfdi:Complemento></cfdi:Comprobante>")
    (only,) = [one for one in explain(prepared("simple"), text) if one.code == "cfdi.invented_seal"]
    assert only.found == "(véase la primera línea)"
