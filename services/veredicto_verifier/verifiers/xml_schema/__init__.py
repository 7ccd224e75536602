"""`xml`: the answer is one XML document, valid under the task's XSD, with the expected values at their paths.

Nothing is fetched: a schema that includes or imports another finds it in the task or its pack, or nowhere.
"""

from __future__ import annotations

from typing import Final

from veredicto_verifier.verifier import Verifier
from veredicto_verifier.verifiers.xml_document import CAUSES
from veredicto_verifier.verifiers.xml_schema.grading import SCHEMA_CODES, XmlTask, grade, prepare
from veredicto_verifier.verifiers.xml_schema.spec import XmlSpec, fixture_names

EXAMPLE: Final = {
    "schema": {
        "xsd": '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="pago"><xs:complexType>'
        '<xs:sequence><xs:element name="monto" type="xs:decimal"/></xs:sequence>'
        '<xs:attribute name="moneda" type="xs:string" use="required"/></xs:complexType></xs:element></xs:schema>'
    },
    "expected": {"/pago/monto": "150.00", "/pago/@moneda": "MXN"},
    "compare": {"/pago/monto": "decimal"},
}

VERIFIER: Final[Verifier[XmlSpec, XmlTask]] = Verifier(
    name="xml",
    version="1.3.1",
    lane="xml",
    spec=XmlSpec,
    auto=lambda _spec: "rest",
    prepare=prepare,
    grade=grade,
    codes={
        **{f"xml.{cause}": meaning for cause, meaning in CAUSES.items()},
        "xml.too_deep": "elements nest deeper than allowed",
        **SCHEMA_CODES,
        "xml.value_missing": "an expected path leads nowhere in the document",
        "xml.value_differs": "an expected path has another value",
        "xml.timeout": "judging ran out of time, twice",
        "xml.memory": "judging ran out of memory, twice",
        "xml.crash": "judging killed the worker, twice",
    },
    flags={"fenced": "the document came in a Markdown fence"},
    example=EXAMPLE,
    good='<pago moneda="MXN"><monto>150.0</monto></pago>',
    bad='<pago moneda="USD"><monto>150.0</monto></pago>',
    sources=(
        "veredicto_verifier.comparators",
        "veredicto_verifier.json_values",
        "veredicto_verifier.verifiers.schema_faults",
        "veredicto_verifier.verifiers.xml_document",
    ),
    distributions=("lxml", "pydantic-core"),
    fixtures=fixture_names,
)
"""Registered as `xml`."""
