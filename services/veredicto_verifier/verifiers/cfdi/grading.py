"""Judge one answer: contract, well-formed, schema, catalogues, arithmetic, business rules, match, in that order.

A layer that fails gives one check per code (twenty at most in all). Contract and form end the judgement; the layers
after them all run, so that a shaped score can tell a near miss from a far one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import localcontext

from lxml import etree

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Answer, Flag, Grade
from veredicto_verifier.verifier import Context as TaskContext
from veredicto_verifier.verifiers.cfdi.catalogues import load_catalogues
from veredicto_verifier.verifiers.cfdi.checks import PASSED, PASSED_ALONE, failed, failed_checks, passed
from veredicto_verifier.verifiers.cfdi.comprobante import CFD4, CFD_FAMILY, Comprobante, read_comprobante
from veredicto_verifier.verifiers.cfdi.copying import Mark, copied_fields, traps_of
from veredicto_verifier.verifiers.cfdi.expected import Expected, expect
from veredicto_verifier.verifiers.cfdi.expected_payment import expect_payments
from veredicto_verifier.verifiers.cfdi.expected_payroll import expect_payroll
from veredicto_verifier.verifiers.cfdi.matching import Aspect, match
from veredicto_verifier.verifiers.cfdi.reference import write_reference
from veredicto_verifier.verifiers.cfdi.request import Request
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault
from veredicto_verifier.verifiers.cfdi.rules import EXACT, run_rules
from veredicto_verifier.verifiers.cfdi.rules_soft import suspicions
from veredicto_verifier.verifiers.cfdi.schemas import SchemaFault, load_schema, schema_faults
from veredicto_verifier.verifiers.cfdi.scoring import WEIGHTS, Findings, shaped_score
from veredicto_verifier.verifiers.cfdi.seal import cadena_original
from veredicto_verifier.verifiers.cfdi.spec import CfdiSpec
from veredicto_verifier.verifiers.cfdi.syntax_errors import explained
from veredicto_verifier.verifiers.cfdi.wanted import Wanted
from veredicto_verifier.verifiers.xml_document import CAUSES, Document, DocumentRules, Refusal, parse_document

COMMENT_SHARE = 0.05
CONTRACT = {
    "empty": "la respuesta está vacía",
    "too_large": "el documento pasa del tamaño permitido",
    "encoding": "el documento debe ser UTF-8, sin BOM y sin declarar otra codificación",
    "doctype": "no se admite DOCTYPE, ENTITY ni otra declaración de DTD",
    "instruction": "no se admiten instrucciones de proceso",
    "multiple_documents": "debe haber exactamente un documento",
    "too_many_elements": "el documento tiene demasiados elementos",
}


@dataclass(frozen=True, slots=True)
class CfdiTask:
    """A task ready to judge: what rules may know, and what the request expects (None: no request)."""

    spec: CfdiSpec
    facts: Facts
    expected: Expected | None
    complement: Wanted | None = None
    traps: Mapping[str, Mark] = field(default_factory=dict)
    """Values of the prompt's example that the request does not share."""

    @property
    def max_conceptos(self) -> int | None:
        """More lines than this are a flood, not an invoice."""
        return None if self.expected is None else 2 * len(self.expected.lines) + 5


@dataclass(frozen=True, slots=True)
class Examination:
    """What the layers found in a document that can be read."""

    cfdi: Comprobante
    schema: list[SchemaFault]
    faults: Mapping[str, list[Fault]]
    aspects: list[Aspect] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every layer holds."""
        return not self.schema and not self.faults and all(aspect.fraction == 1 for aspect in self.aspects)


def prepare(spec: CfdiSpec, context: TaskContext) -> CfdiTask:
    """Load schemas and catalogues, compute the request's invoice and prove that it can be written.

    Raises:
        TaskFault: `task.gold_failed`, when the invoice that the request describes breaks a rule itself.
    """
    load_schema()
    request = spec.request
    declared = request is not None and any(
        tax.base is not None for line in request.conceptos for tax in (*line.traslados, *line.retenciones)
    )
    facts = Facts(
        load_catalogues(),
        spec.now,
        strict_base=not declared,
        sealed=spec.profile == "sealed",
        authorities=spec.authorities,
        required=spec.required,
        allowed=spec.allowed,
        rfcs=frozenset((request.emisor.rfc, request.receptor.rfc) if request else ()),
    )
    if request is None:
        return CfdiTask(spec, facts, None)
    task = CfdiTask(spec, facts, _expected(request, facts), _complement(request, facts))
    wanted = _prove(task, request)
    if spec.example is None:
        return task
    return replace(task, traps=traps_of(_example(spec.example, task), wanted))


def grade(task: CfdiTask, answer: Answer) -> Grade:
    """Judge the answer's text; never raises for anything it can hold."""
    document = judge_form(task, answer.text)
    if isinstance(document, Grade):
        return document
    found = examine(task, document.root)
    flags = _flags(document, found.cfdi, task)
    if found.passed:
        return Grade(True, PASSED if task.expected else PASSED_ALONE, flags=flags)
    findings = _findings(task, found)
    checks = failed_checks(found.schema, findings, compared=task.expected is not None)
    return Grade(False, checks, shaped_score(findings), flags)


def judge_form(task: CfdiTask, text: str) -> Document | Grade:
    """The document in an answer, or the verdict when contract or form fail, after which nothing else is looked at."""
    document = parse_document(text, DocumentRules(task.spec.max_bytes, task.spec.max_elements))
    if isinstance(document, Refusal):
        return _refused(document)
    return _wrong_root(document.root) or _flood(document.root, task) or document


def examine(task: CfdiTask, root: etree._Element) -> Examination:
    """Run schema, rules and match over a parsed invoice."""
    cfdi = read_comprobante(root, cadena_original(root) if task.facts.sealed else b"")
    schema = schema_faults(root)
    faults = run_rules(cfdi, task.facts)
    aspects = []
    if task.expected is not None and task.spec.request is not None:
        aspects = match(cfdi, task.spec.request, task.expected, task.complement, task.facts.allowed)
        copied = copied_fields(cfdi, task.traps)
        if copied:
            reason = f"copia del ejemplo: {', '.join(copied[:6])}"
            aspects = [Aspect("cfdi.copied_example", WEIGHTS["match"], 0.0, reason)]
    return Examination(cfdi, schema, faults, aspects)


def _expected(request: Request, facts: Facts) -> Expected:
    decimals = facts.catalogues.currencies.get(request.moneda)
    if decimals is None:
        raise TaskFault("task.gold_failed", "$.request.moneda: not a currency of c_Moneda; correct the request")
    with localcontext(EXACT):
        return expect(request, decimals)


def _complement(request: Request, facts: Facts) -> Wanted | None:
    with localcontext(EXACT):
        if request.nomina is not None:
            return expect_payroll(request.nomina)
        return expect_payments(request.pagos, facts.catalogues.currencies) if request.pagos else None


def _example(text: str, task: CfdiTask) -> Comprobante:
    document = parse_document(text, DocumentRules(task.spec.max_bytes, task.spec.max_elements))
    if isinstance(document, Refusal):
        raise TaskFault("task.spec_invalid", f"$.example: {CAUSES[document.cause]}; give the invoice that is shown")
    if _wrong_root(document.root):
        raise TaskFault("task.spec_invalid", "$.example: not an invoice of CFDI 4.0; give the one that is shown")
    return read_comprobante(document.root)


def _prove(task: CfdiTask, request: Request) -> Comprobante:
    """The invoice that the request describes, judged as an answer would be."""
    assert task.expected is not None
    with localcontext(EXACT):
        root = write_reference(request, task.expected, task.complement)
    # What a request cannot describe (a Carta Porte) cannot be written either, nor a seal; they are not proven.
    described = replace(task.facts, required=request.described, sealed=False)
    found = examine(replace(task, facts=described), root)
    if found.passed:
        return found.cfdi
    wrong = [f"{fault.code} at {fault.path[:60]} {fault.attribute}" for fault in found.schema[:2]]
    wrong += [f"{code} at {faults[0].path}" for code, faults in found.faults.items()]
    wrong += [aspect.code for aspect in found.aspects if aspect.fraction != 1]
    text = "; ".join(wrong)[:180]
    raise TaskFault("task.gold_failed", f"$.request: the invoice that it describes breaks {text}; correct the request")


def _refused(refusal: Refusal) -> Grade:
    place = f" (línea {refusal.line})" if refusal.line else ""
    if refusal.cause != "not_well_formed":
        reason = CONTRACT[refusal.cause] + place
        return Grade(False, (failed("contract", f"cfdi.{refusal.cause}", reason),))
    reason = f"no es XML bien formado{place}: {explained(refusal.error, refusal.detail)}"
    checks = (passed("contract"), failed("well_formed", "cfdi.not_well_formed", reason))
    return Grade(False, checks, score=float(WEIGHTS["contract"]))


def _wrong_root(root: etree._Element) -> Grade | None:
    tag, version = str(root.tag), root.get("Version", "").strip(" \t\r\n")
    if tag == f"{{{CFD4}}}Comprobante" and version == "4.0":
        return None
    invoice = tag.startswith(CFD_FAMILY) and tag.endswith("}Comprobante")
    code = "cfdi.wrong_version" if invoice else "cfdi.wrong_root"
    reason = "debe ser un cfdi:Comprobante de http://www.sat.gob.mx/cfd/4 con Version 4.0"
    return Grade(False, (passed("contract"), failed("well_formed", code, reason, score=0.5)), score=0.05)


def _flood(root: etree._Element, task: CfdiTask) -> Grade | None:
    if task.max_conceptos is None:
        return None
    count = sum(1 for _ in root.iter(f"{{{CFD4}}}Concepto"))
    if count <= task.max_conceptos:
        return None
    reason = f"{count} conceptos son muchos más de los pedidos"
    return Grade(False, (failed("contract", "cfdi.too_many_concepts", reason),))


def _findings(task: CfdiTask, found: Examination) -> Findings:
    lines = len(task.expected.lines) if task.expected else max(1, len(found.cfdi.conceptos))
    return Findings(not found.schema, found.faults, found.aspects, lines)


def _flags(document: Document, cfdi: Comprobante, task: CfdiTask) -> tuple[Flag, ...]:
    flags = []
    if document.comment_bytes > COMMENT_SHARE * document.num_bytes:
        share = document.comment_bytes / document.num_bytes
        flags.append(Flag("comment_padding", f"{share:.0%} of the document is comments"))
    flags += [Flag(name, f"{one.path}: {one.reason}") for name, one in suspicions(cfdi, task.facts)]
    return tuple(flags)
