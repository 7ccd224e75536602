"""Mexican invoices (CFDI 4.0): SAT's schema, catalogues, arithmetic and rules, and whether it is the one asked for.

Nothing is fetched and nothing of the document is trusted; see docs/verifiers/cfdi.md for what earns what.
"""

from __future__ import annotations

from collections.abc import Mapping

from veredicto_verifier.verifier import Verifier
from veredicto_verifier.verifiers.cfdi.catalogues import tables_digest
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask, grade, prepare
from veredicto_verifier.verifiers.cfdi.probes import BAD, EXAMPLE, GOOD
from veredicto_verifier.verifiers.cfdi.rules import RULES
from veredicto_verifier.verifiers.cfdi.rules_soft import SOFT
from veredicto_verifier.verifiers.cfdi.schema_codes import CODES as SCHEMA_CODES
from veredicto_verifier.verifiers.cfdi.schemas import data_digest
from veredicto_verifier.verifiers.cfdi.spec import CfdiSpec
from veredicto_verifier.verifiers.xml_document import CAUSES

CODES: Mapping[str, str] = {
    **{f"cfdi.{cause}": meaning for cause, meaning in CAUSES.items()},
    "cfdi.too_many_concepts": "the document has more than twice the lines asked for, plus five",
    "cfdi.wrong_root": "the root is not a CFDI invoice",
    "cfdi.wrong_version": "an invoice of another version than 4.0",
    **SCHEMA_CODES,
    **{code: f"broken: {rule.meaning}" for code, rule in RULES.items()},
    "cfdi.match_emisor": "the issuer is not the one of the request",
    "cfdi.match_receptor": "the receiver is not the one of the request",
    "cfdi.match_header": "type, date, place, currency, payment, relations or global period differ from the request",
    "cfdi.match_conceptos": "the lines are not the ones of the request",
    "cfdi.match_totals": "the totals are not the ones computed from the request",
    "cfdi.match_taxes": "the tax summary is not the one computed from the request",
    "cfdi.match_extra": "the document holds nodes or attributes that nobody asked for",
    "cfdi.match_complement": "the payment or payroll is not the one of the request",
    "cfdi.copied_example": "the document repeats the values of the prompt's example",
    "cfdi.timeout": "judging the document used up its time, twice",
    "cfdi.memory": "judging the document used up its memory, twice",
    "cfdi.crash": "judging the document ended the worker, twice",
}


def _data() -> Mapping[str, str]:
    return {"schemas": data_digest(), "tables": tables_digest()}


VERIFIER: Verifier[CfdiSpec, CfdiTask] = Verifier(
    name="cfdi",
    version="1.6.1",
    lane="xml",
    spec=CfdiSpec,
    auto=lambda _spec: "rest",
    prepare=prepare,
    grade=grade,
    codes=CODES,
    flags={
        "comment_padding": "more than 5 % of the document is comments",
        "fenced": "the document came in a Markdown fence",
        **{name: f"not so: {rule.meaning}" for name, rule in SOFT.items()},
    },
    example=EXAMPLE,
    good=GOOD,
    bad=BAD,
    sources=(
        "veredicto_verifier.verifiers.json_models",
        "veredicto_verifier.verifiers.schema_faults",
        "veredicto_verifier.verifiers.xml_document",
    ),
    distributions=("cryptography", "lxml"),
    data=_data,
)
