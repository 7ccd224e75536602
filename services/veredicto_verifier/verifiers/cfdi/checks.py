"""The checks of a verdict: what every layer says, one check for each code, twenty in all at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from veredicto_verifier.verifier import Check
from veredicto_verifier.verifiers.cfdi.rule import Fault, Layer
from veredicto_verifier.verifiers.cfdi.rules import RULES
from veredicto_verifier.verifiers.cfdi.schema_codes import MEANINGS
from veredicto_verifier.verifiers.cfdi.schemas import SchemaFault
from veredicto_verifier.verifiers.cfdi.scoring import WEIGHTS, Findings

MAX_CHECKS = 20
MAX_REASON = 300


def failed_checks(schema: list[SchemaFault], findings: Findings, *, compared: bool) -> tuple[Check, ...]:
    """The checks of an invoice that was read and does not pass; `compared`: there is a request to match."""
    checks = [passed("contract"), passed("well_formed")]
    checks += _layer_checks("xsd", _schema_reasons(schema), 0.0)
    layers: tuple[Layer, ...] = ("catalogues", "arithmetic", "business")
    for layer in layers:
        codes = [code for code in findings.faults if RULES[code].layer == layer]
        reasons = {code: _reason(findings.faults[code]) for code in codes}
        checks += _layer_checks(layer, reasons, findings.fraction(layer))
    wrong = {aspect.code: aspect.reason for aspect in findings.aspects if aspect.fraction != 1}
    checks += _layer_checks("match", wrong, findings.fraction("match"))
    if not compared:
        checks[-1] = PASSED_ALONE[-1]
    return tuple(_capped(checks))


def passed(layer: str, reason: str = "") -> Check:
    """The check of a layer that holds."""
    return Check(f"cfdi.{layer}", passed=True, score=1.0, reason=reason, weight=float(WEIGHTS[layer]))


def failed(layer: str, code: str, reason: str, *, score: float = 0.0) -> Check:
    """The check of a layer that one fault ends."""
    weight = float(WEIGHTS[layer])
    return Check(f"cfdi.{layer}", passed=False, score=score, code=code, reason=reason[:MAX_REASON], weight=weight)


def _layer_checks(layer: str, reasons: Mapping[str, str], score: float) -> list[Check]:
    if not reasons:
        return [passed(layer)]
    score, weight = round(score, 6), round(float(WEIGHTS[layer]) / len(reasons), 6)
    return [
        Check(f"cfdi.{layer}", passed=False, score=score, code=code, reason=reason[:MAX_REASON], weight=weight)
        for code, reason in reasons.items()
    ]


def _capped(checks: list[Check]) -> list[Check]:
    """Twenty checks at most; the last says how many codes are left out."""
    if len(checks) <= MAX_CHECKS:
        return checks
    kept, left = checks[: MAX_CHECKS - 1], checks[MAX_CHECKS - 1 :]
    wrong = [check for check in left if not check.passed]
    if len(wrong) < 2:
        return [*kept, *wrong] if wrong else [*kept, left[0]]
    reason = f"{wrong[0].reason[: MAX_REASON - 40]} (y {len(wrong) - 1} códigos más)"
    return [*kept, replace(wrong[0], reason=reason)]


def _schema_reasons(faults: list[SchemaFault]) -> dict[str, str]:
    """One reason for each code, of its first fault."""
    counts = Counter(fault.code for fault in faults)
    reasons: dict[str, str] = {}
    for fault in faults:
        at = f"@{fault.attribute[:30]}" if fault.attribute else ""
        more = f" (y {counts[fault.code] - 1} más)" if counts[fault.code] > 1 else ""
        path = fault.path if len(fault.path) <= 60 else "…" + fault.path[-59:]
        said = MEANINGS[fault.kind][1] if fault.kind else "el esquema no lo admite"
        reasons.setdefault(fault.code, f"línea {fault.line}: {path}{at}: {said}{more}")
    return reasons


def _reason(faults: list[Fault]) -> str:
    more = f" (y {len(faults) - 1} más)" if len(faults) > 1 else ""
    return f"{faults[0].path}: {faults[0].reason}{more}"


PASSED = tuple(passed(layer) for layer in WEIGHTS)
PASSED_ALONE = (
    *PASSED[:-1],
    passed("match", "not_checked: la tarea no trae una solicitud con la cual comparar"),
)
"""The checks of an invoice that nothing is wrong with, with and without a request."""
