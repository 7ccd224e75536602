"""The verifier xml: schemas of a pack and what they import, paths, places of errors, nothing opened."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.test_xml_document import num_events, watched
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Answer, Completion, Context, Fixture, Grade
from veredicto_verifier.verifiers.xml_schema import VERIFIER as XML
from veredicto_verifier.verifiers.xml_schema.paths import parse_path, values_at

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
MAIN = (
    f'<xs:schema {XS} xmlns:t="urn:t"><xs:import namespace="urn:t" schemaLocation="{{place}}"/>'
    '<xs:element name="a"><xs:complexType><xs:sequence><xs:element name="b" type="t:two" maxOccurs="9"/></xs:sequence>'
    "</xs:complexType></xs:element></xs:schema>"
)
TYPES = (
    f'<xs:schema {XS} targetNamespace="urn:t"><xs:simpleType name="two"><xs:restriction base="xs:string">'
    '<xs:length value="2"/></xs:restriction></xs:simpleType></xs:schema>'
)
GOOD = "<a><b>xy</b></a>"


def fixture(path: Path, text: str) -> Fixture:
    path.write_text(text)
    return Fixture(path, f"sha256:{hashlib.sha256(text.encode()).hexdigest()}")


def judged(spec: dict[str, Any], text: str, context: Context | None = None) -> Grade:
    task = XML.prepare(XML.spec.model_validate(spec), context or Context())
    return XML.grade(task, Answer(text, Completion(text)))


def test_a_schema_of_a_pack_imports_another_of_the_pack(tmp_path: Path) -> None:
    spec = {"schema": {"fixture": "bank/order", "imports": {"types/two.xsd": "bank/types/two"}}}
    assert XML.fixtures(XML.spec.model_validate(spec)) == ["bank/order", "bank/types/two"]
    context = Context(
        {
            "bank/order": fixture(tmp_path / "order.xsd", MAIN.format(place="types/two.xsd")),
            "bank/types/two": fixture(tmp_path / "two.xsd", TYPES),
        }
    )
    assert judged(spec, GOOD, context).passed
    assert not judged(spec, "<a><b>xyz</b></a>", context).passed
    (tmp_path / "two.xsd").write_text(TYPES.replace('"2"', '"3"'))
    with pytest.raises(TaskFault, match="changed on disk"):
        judged(spec, GOOD, context)


@pytest.mark.parametrize("place", ["{secret}", "file://{secret}", "http://127.0.0.1:9/t.xsd", "../secret.xsd"])
def test_a_schema_opens_no_file_and_no_address(place: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.xsd"
    secret.write_text(TYPES)
    place = place.format(secret=secret)
    with watched(secret) as descriptor:
        with pytest.raises(TaskFault, match="nothing is fetched"):
            judged({"schema": {"xsd": MAIN.format(place=place)}}, GOOD)
        part = TYPES.replace("<xs:simpleType", f'<xs:include schemaLocation="{place}"/><xs:simpleType')
        with pytest.raises(TaskFault, match="nothing is fetched"):
            judged({"schema": {"xsd": MAIN.format(place="t"), "imports": {"t": part}}}, GOOD)
        assert num_events(descriptor) == 0


def test_a_document_opens_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.xsd"
    secret.write_text(TYPES)
    spec = {"schema": {"xsd": MAIN.format(place="t"), "imports": {"t": TYPES}}}
    xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    with watched(secret) as descriptor:
        for attribute in (f'xsi:schemaLocation="urn:x {secret}"', f'xsi:noNamespaceSchemaLocation="{secret}"'):
            judged(spec, f"<a {xsi} {attribute}><b>xy</b></a>")
        judged(spec, f'<!DOCTYPE a SYSTEM "{secret}">{GOOD}')
        assert num_events(descriptor) == 0


def test_an_error_names_line_path_and_type_but_not_the_text() -> None:
    spec = {"schema": {"xsd": MAIN.format(place="t"), "imports": {"t": TYPES}}}
    grade = judged(spec, "<a>\n<b>xy</b>\n<b>secret</b>\n<b>secret</b></a>")
    [check] = [check for check in grade.checks if not check.passed]
    assert check.code == "xml.value"
    assert check.reason.startswith("line 3: /a/b[2]: CVC_LENGTH_VALID")
    assert check.reason.endswith("(and 1 more)")
    assert "secret" not in check.reason


DOCUMENT = etree.fromstring('<r k="1"><l n="a"><v> x </v></l><l n="b"><v>y<i/>z</v></l><l/><q xmlns="urn:q">w</q></r>')


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/r/@k", ["1"]),
        ("/r/l/@n", ["a", "b"]),
        ("/r/l[2]/@n", ["b"]),
        ("/r/l/v", ["x", "yz"]),
        ("/r[1]/l[1]/v", ["x"]),
        ("/r[2]/l", []),
        ("/r/l[9]", []),
        ("/s/l", []),
        ("/r/q", []),
        ("/r/p:q", ["w"]),
        ("/r/@none", []),
    ],
)
def test_a_path_leads_to_its_values(path: str, values: list[str]) -> None:
    assert values_at(DOCUMENT, parse_path(path, {"p": "urn:q"})) == values


@pytest.mark.parametrize(
    "path", ["", "r", "//r", "/", "/r/", "/r//v", "/r[0]", "/r[last()]", "/r/@k/v", "/@k", "/r/.."]
)
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        parse_path(path, {})


@given(path=st.text(st.sampled_from("/ab:[]1@.-*()'"), max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_path_or_a_value_error(path: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(values_at(DOCUMENT, parse_path(path, {})), list)


@given(text=st.text(st.sampled_from('<>/ab="&; !-?[]xy'), max_size=60))
@settings(max_examples=200, deadline=None)
def test_no_answer_raises(text: str) -> None:
    spec = {"schema": {"xsd": MAIN.format(place="t"), "imports": {"t": TYPES}}, "expected": {"/a/b": "xy"}}
    for check in judged(spec, text).checks:
        assert check.passed == (check.code is None)
        assert check.code is None or check.code in XML.codes
