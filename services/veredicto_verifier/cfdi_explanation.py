"""Say in full what is wrong with an invoice, for a person: code, path, what was expected and what was found.

The verdict is the verifier's own. The schema's faults are told by xmlschema, the second engine, which knows exact
paths and what would have been right; where the two disagree, the verifier's engine decides what is a fault.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import xmlschema
from lxml import etree
from xmlschema.validators import XMLSchemaValidationError

from veredicto_verifier.cfdi_expectations import (
    ABSENT,
    SHOWN,
    Language,
    found_instead,
    right_by_request,
    right_by_schema,
    right_form,
)
from veredicto_verifier.verifier import Grade
from veredicto_verifier.verifiers.cfdi import VERIFIER
from veredicto_verifier.verifiers.cfdi.comprobante import CFD_FAMILY, Comprobante
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask, Examination, examine, judge_form
from veredicto_verifier.verifiers.cfdi.nodes import Node
from veredicto_verifier.verifiers.cfdi.rule import Fault, Rule, Severity
from veredicto_verifier.verifiers.cfdi.rules import RULES
from veredicto_verifier.verifiers.cfdi.rules_soft import SOFT, suspicions
from veredicto_verifier.verifiers.cfdi.schema_codes import MEANINGS, code_of
from veredicto_verifier.verifiers.cfdi.schemas import SchemaFault, data_folder, filled_in

FACETS: Mapping[str, str] = {
    "XsdEnumerationFacets": "enumeration",
    "XsdPatternFacets": "pattern",
    "XsdLengthFacet": "length",
    "XsdMinLengthFacet": "length",
    "XsdMaxLengthFacet": "length",
    "XsdMinInclusiveFacet": "range",
    "XsdMaxInclusiveFacet": "range",
    "XsdMinExclusiveFacet": "range",
    "XsdMaxExclusiveFacet": "range",
    "XsdTotalDigitsFacet": "digits",
    "XsdFractionDigitsFacet": "digits",
    "XsdAtomicBuiltin": "datatype",
    "XsdAttribute": "fixed",
    "XsdElement": "nil",
}
"""Which part of the schema refused -> our kind of fault."""
UNKNOWN: Mapping[Language, str] = {"es": "el esquema no lo admite", "en": "the schema does not admit it"}
UNNAMED: Mapping[Language, str] = {"es": "(véase la primera línea)", "en": "(see the first line)"}
ATTRIBUTE = re.compile(r"^attribute ([^=\s]+)=|'([^']+)' attribute|attribute '([^']+)'")
AMOUNT = re.compile(r"(?:= |, |se esperaba )([0-9]+(?:\.[0-9]+)?)\)?$")
CATALOGUE = re.compile(r"no está en (c_\w+)")
MISSING = re.compile(r"\bfalta (?:el nodo |el |la )?(\w+)")


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: code, layer and severity, where it is, what was expected and found, and the reason in a sentence."""

    code: str
    layer: str
    severity: Severity
    path: str
    line: int
    attribute: str
    expected: str
    found: str
    reason: str


def explain(task: CfdiTask, text: str, language: Language = "es") -> list[Finding]:
    """Every fault of the invoice in `text`, layer by layer, then what is only suspicious; see `passes`.

    A text that is no acceptable document gives one finding.
    """
    document = judge_form(task, text)
    if isinstance(document, Grade):
        check = next(check for check in document.checks if not check.passed)
        said = check.reason if language == "es" else VERIFIER.codes[str(check.code)]
        layer = check.name.removeprefix("cfdi.")
        expected = right_form(str(check.code), task, language)
        return [Finding(str(check.code), layer, "fatal", "/", 0, "", expected, text[:40], said)]
    examined = examine(task, document.root)
    return [
        *(_schema_findings(document.root, examined.schema, language) if examined.schema else ()),
        *_rule_findings(examined, language),
        *_match_findings(task, examined, language),
        *_suspicions(task, examined, language),
    ]


def passes(findings: list[Finding]) -> bool:
    """Whether an invoice with these findings passes: none of them is worse than suspicious."""
    return all(one.severity == "soft" for one in findings)


def _schema_findings(root: etree._Element, ours: list[SchemaFault], language: Language) -> list[Finding]:
    with filled_in(root):
        found = [_schema_finding(error, language) for error in second_engine(complements(root)).iter_errors(root)]
    if found:
        return found
    # The few documents on which the engines differ: the verifier's own words.
    return [
        Finding(fault.code, "xsd", "hard", fault.path, fault.line, fault.attribute, said, UNNAMED[language], said)
        for fault, said in {fault: _meaning(fault.kind, language) for fault in ours}.items()
    ]


def _meaning(kind: str, language: Language) -> str:
    return MEANINGS[kind][language == "es"] if kind else UNKNOWN[language]


def complements(root: etree._Element) -> frozenset[str]:
    """The namespaces of a document beside SAT's own invoice."""
    found = {etree.QName(one).namespace or "" for one in root.iter(etree.Element)}
    return frozenset(one for one in found if not one.startswith(CFD_FAMILY[1:]))


@functools.cache
def second_engine(namespaces: frozenset[str]) -> Any:
    """xmlschema with SAT's invoice and the complements of these namespaces: all of them take many seconds."""
    folder = data_folder() / "xsd"
    schema = xmlschema.XMLSchema(folder / "4" / "cfdv40.xsd", allow="local")
    locations = _locations(folder)
    for namespace in sorted(namespaces & locations.keys()):
        schema.import_schema(namespace, str(folder / locations[namespace]))
    schema.build()
    return schema


def _locations(folder: Path) -> dict[str, str]:
    wrapper = etree.parse(folder / "all.xsd", etree.XMLParser(resolve_entities=False, no_network=True))
    return {one.get("namespace", ""): one.get("schemaLocation", "") for one in wrapper.getroot()}


def _schema_finding(error: XMLSchemaValidationError, language: Language) -> Finding:
    reason, element = error.reason or "", cast(etree._Element, error.elem)
    named = ATTRIBUTE.search(reason)
    attribute = next((name for name in named.groups() if name), "") if named else ""
    kind = _kind(error, reason)
    path = error.path or ""
    depth = 1 + sum(1 for _ in element.iterancestors())
    code = code_of(kind, str(element.tag), attribute, depth)
    value = element.get(attribute) if attribute else None
    found = _unexpected(error, language) if not attribute else ABSENT[language] if value is None else value
    said = _meaning(kind, language) + ("" if kind else f" (xmlschema: {reason[:SHOWN]})")
    expected = right_by_schema(error, kind, attribute, language) or _meaning(kind, language)
    return Finding(code, "xsd", "hard", path, error.sourceline or 0, attribute, expected, found[:SHOWN], said)


def _kind(error: XMLSchemaValidationError, reason: str) -> str:
    part = type(error.validator).__name__
    if part == "XsdAttributeGroup":
        return "missing_attribute" if reason.startswith("missing") else "unexpected_attribute"
    if part == "XsdGroup" and "character data" in reason:
        return "unexpected_text"
    if part == "XsdGroup":
        return "missing_element" if "not complete" in reason else "unexpected_element"
    return FACETS.get(part, "")


def _unexpected(error: XMLSchemaValidationError, language: Language) -> str:
    """The tag that stands where another should."""
    tag = getattr(error, "invalid_tag", None)
    return etree.QName(tag).localname if tag else ABSENT[language]


def _rule_findings(examined: Examination, language: Language) -> Iterator[Finding]:
    nodes = {node.path: node for node in _nodes(examined.cfdi)}
    for code, faults in examined.faults.items():
        for fault in faults:
            yield _rule_finding(RULES[code], fault, nodes.get(fault.path), language)


def _suspicions(task: CfdiTask, examined: Examination, language: Language) -> Iterator[Finding]:
    nodes = {node.path: node for node in _nodes(examined.cfdi)}
    for name, fault in suspicions(examined.cfdi, task.facts):
        yield _rule_finding(SOFT[name], fault, nodes.get(fault.path), language)


def _rule_finding(rule: Rule, fault: Fault, node: Node | None, language: Language) -> Finding:
    said = fault.reason if language == "es" else f"broken: {rule.meaning}"
    found = _mentioned(node, fault) if node and not MISSING.search(fault.reason) else ""
    expected = _right_value(fault, language) or (rule.significado if language == "es" else rule.meaning)
    found = found or _unnamed(fault, language)
    return Finding(rule.code, rule.layer, rule.severity, fault.path, 0, "", expected, found, said)


def _unnamed(fault: Fault, language: Language) -> str:
    """What is found where no attribute can be shown: nothing, or what only the reason tells."""
    absent = MISSING.search(fault.reason) or ABSENT["es"] in fault.reason
    return ABSENT[language] if absent else UNNAMED[language]


def _nodes(cfdi: Comprobante) -> Iterator[Node]:
    yield from cfdi.nodes()
    yield from (cfdi.emisor, cfdi.receptor, *cfdi.relaciones)
    yield from (node for node in (cfdi.informacion_global, cfdi.locales) if node)
    yield from (concepto.terceros for concepto in cfdi.conceptos if concepto.terceros)


def _mentioned(node: Node, fault: Fault) -> str:
    """The attributes that the reason speaks of, as they are written."""
    named = [name for name in node.attributes if re.search(rf"\b{re.escape(name)}\b", fault.reason)]
    return " ".join(f'{name}="{node.attributes[name][:SHOWN]}"' for name in named)[: 2 * SHOWN]


def _right_value(fault: Fault, language: Language) -> str:
    amount, catalogue, missing = (pattern.search(fault.reason) for pattern in (AMOUNT, CATALOGUE, MISSING))
    if missing or amount:
        return (missing or amount).group(1)  # type: ignore[union-attr]  # one of them is there
    if catalogue:
        return f"{'un valor de' if language == 'es' else 'a value of'} {catalogue.group(1)}"
    return ""


def _match_findings(task: CfdiTask, examined: Examination, language: Language) -> Iterator[Finding]:
    asked, cfdi = task.expected, examined.cfdi
    if asked is None:
        return
    pairs = {
        "cfdi.match_emisor": (cfdi.emisor, asked.emisor),
        "cfdi.match_receptor": (cfdi.receptor, asked.receptor),
        "cfdi.match_header": (cfdi, asked.header),
    }
    for aspect in examined.aspects:
        if aspect.fraction == 1:
            continue
        said = aspect.reason if language == "es" else VERIFIER.codes[aspect.code]
        node, wanted = pairs.get(aspect.code, (cfdi, ()))
        wrong = [(name, value) for name, value in wanted if node.get(name) != value]
        for name, value in wrong:
            found = node.get(name) or ABSENT[language]
            yield Finding(aspect.code, "match", "hard", node.path, 0, name, value, found[:SHOWN], said)
        if not wrong:
            expected = right_by_request(aspect.code, task, language)
            found = found_instead(aspect.code, cfdi) or UNNAMED[language]
            yield Finding(aspect.code, "match", "hard", cfdi.path, 0, "", expected, found, said)
