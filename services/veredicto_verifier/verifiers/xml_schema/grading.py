"""Judge one answer of `xml`: one document, its element, its schema, its values; each needs the one before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from lxml import etree

from veredicto_verifier.comparators import EXACT, Comparator, agrees
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Answer, Check, Context, Grade
from veredicto_verifier.verifiers.schema_faults import SchemaFault, read_fault
from veredicto_verifier.verifiers.xml_document import CAUSES, DocumentRules, Refusal, parse_document
from veredicto_verifier.verifiers.xml_schema.loading import load_schema
from veredicto_verifier.verifiers.xml_schema.paths import XmlPath, parse_path, values_at
from veredicto_verifier.verifiers.xml_schema.spec import XmlSpec

MOST_CODES = 6
SCHEMA_CODES: Final[Mapping[str, str]] = {
    "xml.root": "the document's element is not the one asked for",
    "xml.element": "an element is missing, not expected or empty against the schema",
    "xml.attribute": "an attribute is missing or not allowed",
    "xml.value": "a text or an attribute has no value of its type",
    "xml.key": "a key is repeated, or a reference has no key",
    "xml.schema": "another rule of the schema is broken",
}
KINDS: Final[tuple[tuple[str, str], ...]] = (
    ("ELEMENT_CONTENT", "xml.element"),
    ("CVC_COMPLEX_TYPE_2", "xml.element"),
    ("CVC_ELT_1", "xml.element"),
    ("CVC_ELT_3", "xml.element"),
    ("CVC_COMPLEX_TYPE_3", "xml.attribute"),
    ("CVC_COMPLEX_TYPE_4", "xml.attribute"),
    ("CVC_TYPE_3_1_1", "xml.attribute"),
    ("CVC_TYPE_3_1_2", "xml.element"),
    ("CVC_IDC", "xml.key"),
    ("CVC_DATATYPE", "xml.value"),
    ("CVC_ATTRIBUTE", "xml.value"),
    ("CVC_AU", "xml.value"),
    ("CVC_TYPE_3_1", "xml.value"),
    ("CVC_ELT_5", "xml.value"),
    ("CVC_FACET", "xml.value"),
)
"""Beginnings of libxml2's error types; those that end in `_VALID` are values too."""


@dataclass(frozen=True, slots=True)
class XmlTask:
    """The compiled schema, the element that a document must be, the paths with their values."""

    spec: XmlSpec
    schema: etree.XMLSchema
    root: str
    paths: Mapping[str, XmlPath]


def prepare(spec: XmlSpec, context: Context) -> XmlTask:
    """Compile the schema and check that the task is consistent.

    Raises:
        TaskFault: `task.spec_invalid` for a schema that is none, leaves the task or declares several elements without
            `root`; `task.gold_failed` for an expected value that does not agree with itself.
    """
    schema, declared = load_schema(spec.xml_schema, context)
    root = spec.root or (declared[0] if len(declared) == 1 else None)
    if root is None or root not in declared:
        known = ", ".join(declared[:5])
        raise TaskFault(
            "task.spec_invalid", f"$.root: name one of the elements that the schema declares: {known[:150]}"
        )
    for name, value in spec.expected.items():
        wanted = _plain(value)
        if not agrees(wanted, wanted, spec.compare.get(name, EXACT)):
            raise TaskFault("task.gold_failed", f"$.expected: {name[:80]} does not agree with itself as compared")
    return XmlTask(spec, schema, root, {name: parse_path(name, spec.namespaces) for name in spec.expected})


def grade(task: XmlTask, answer: Answer) -> Grade:
    """Parse, validate, compare the expected values."""
    document = parse_document(answer.text, DocumentRules(task.spec.max_bytes, task.spec.max_elements))
    if isinstance(document, Refusal):
        reason = f"line {document.line}: {CAUSES[document.cause]}" if document.line else CAUSES[document.cause]
        return _stopped([], _failed("xml.document", f"xml.{document.cause}", reason))
    if _is_deeper(document.root, task.spec.max_depth):
        reason = f"elements nest deeper than {task.spec.max_depth}"
        return _stopped([], _failed("xml.document", "xml.too_deep", reason))
    checks = [Check("xml.document", passed=True, score=1.0)]
    if document.root.tag != task.root:
        return _stopped(checks, _failed("xml.schema", "xml.root", "line 1: the document is another element"))
    faults = _faults(task.schema, document.root)
    if faults:
        return _stopped(checks, *_broken(faults))
    checks.append(Check("xml.schema", passed=True, score=1.0))
    if not task.paths:
        return Grade(passed=True, checks=tuple(checks))
    values, share = _compare(task, document.root)
    return Grade(passed=values.passed, checks=(*checks, values), score=share)


def _is_deeper(root: etree._Element, most: int) -> bool:
    layer = [root]
    for _ in range(most):
        layer = [child for node in layer for child in node]
        if not layer:
            return False
    return True


def _faults(schema: etree.XMLSchema, root: etree._Element) -> list[SchemaFault]:
    return [] if schema.validate(root) else [read_fault(error) for error in cast(Any, schema.error_log)]


def _broken(faults: list[SchemaFault]) -> list[Check]:
    """One check a code, each with its first place and the number of further ones."""
    groups: dict[str, list[SchemaFault]] = {}
    for fault in faults:
        groups.setdefault(_code(fault.kind), []).append(fault)
    checks = []
    for code, own in list(groups.items())[:MOST_CODES]:
        more = f" (and {len(own) - 1} more)" if len(own) > 1 else ""
        checks.append(_failed("xml.schema", code, f"line {own[0].line}: {own[0].place}: {own[0].kind}{more}"))
    return checks


def _code(kind: str) -> str:
    found = next((code for start, code in KINDS if kind.startswith(start)), None)
    return found or ("xml.value" if kind.endswith("_VALID") else "xml.schema")


def _compare(task: XmlTask, root: etree._Element) -> tuple[Check, float]:
    """The check over the expected values, and the share of them that are right."""
    missing, different = [], []
    for name, path in task.paths.items():
        wanted, found = task.spec.expected[name], values_at(root, path)
        if not found and wanted != ():
            missing.append(name)
        elif not _agrees(found, wanted, task.spec.compare.get(name, EXACT)):
            different.append(name)
    share = 1 - (len(missing) + len(different)) / len(task.paths)
    if missing:
        return _failed("xml.values", "xml.value_missing", f"missing: {_names(missing)}", share), share
    if different:
        return _failed("xml.values", "xml.value_differs", f"another value: {_names(different)}", share), share
    return Check("xml.values", passed=True, score=1.0), 1.0


def _agrees(found: list[str], wanted: str | tuple[str, ...], comparator: Comparator) -> bool:
    if isinstance(wanted, str):
        return len(found) == 1 and agrees(found[0], wanted, comparator)
    if comparator.by in ("set", "ignore"):
        return agrees(found, list(wanted), comparator)
    pairs = zip(found, wanted, strict=False)
    return len(found) == len(wanted) and all(agrees(one, other, comparator) for one, other in pairs)


def _plain(value: str | tuple[str, ...]) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _names(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{', '.join(names[:5])[:200]}{more}"


def _failed(name: str, code: str, reason: str, score: float = 0.0) -> Check:
    return Check(name, passed=False, score=score, code=code, reason=reason[:300])


def _stopped(before: list[Check], *failed: Check) -> Grade:
    return Grade(passed=False, checks=(*before, *failed))
