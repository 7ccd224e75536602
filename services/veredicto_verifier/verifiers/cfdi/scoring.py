"""The shaped score: seven groups with fixed weights, scaled by how much of the request the document matches.

Denominators are constants or the request's, never the document's: easy extra lines cannot dilute a fault. A schema
error pays nothing for its group, whatever its number, since libxml2 hides errors behind others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.matching import Aspect
from veredicto_verifier.verifiers.cfdi.rule import Fault, Part
from veredicto_verifier.verifiers.cfdi.rules import RULES

WEIGHTS: Mapping[str, Decimal] = {
    "contract": Decimal("0.02"),
    "well_formed": Decimal("0.08"),
    "xsd": Decimal("0.15"),
    "catalogues": Decimal("0.10"),
    "arithmetic": Decimal("0.20"),
    "business": Decimal("0.15"),
    "match": Decimal("0.30"),
}
PARTS: Mapping[Part, float] = {"header": 0.4, "conceptos": 0.3, "summary": 0.3}
"""Shares of the arithmetic group."""
CODES_TO_ZERO = 5
"""So many different codes leave nothing of a group."""
INVALID_CAP = 0.35
"""The most that a document which breaks the schema can score."""
GENERIC_SHARE = 0.25
"""What the rule groups are worth to a document that matches nothing of the request."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the layers said: schema validity, faults by code, aspects of the match and the number of lines asked for."""

    schema_valid: bool
    faults: Mapping[str, list[Fault]]
    aspects: list[Aspect]
    num_lines: int

    def fraction(self, layer: str) -> float:
        """In [0, 1], how much of a layer holds."""
        if layer == "match":
            weight = sum(aspect.weight for aspect in self.aspects)
            kept = sum(float(aspect.weight) * aspect.fraction for aspect in self.aspects)
            return kept / float(weight) if self.aspects else 1.0
        if layer == "arithmetic":
            return self._arithmetic()
        return _left(sum(1 for code in self.faults if RULES[code].layer == layer))

    def _arithmetic(self) -> float:
        codes = [code for code in self.faults if RULES[code].layer == "arithmetic"]
        header = _left(sum(1 for code in codes if RULES[code].part == "header"))
        summary = _left(sum(1 for code in codes if RULES[code].part == "summary"))
        faulty = {
            fault.path.partition("/")[0]
            for code in codes
            if RULES[code].part == "conceptos"
            for fault in self.faults[code]
        }
        lines = max(0.0, 1 - len(faulty) / self.num_lines)
        value = PARTS["header"] * header + PARTS["conceptos"] * lines + PARTS["summary"] * summary
        return min(value, 0.5) if any(RULES[code].severity == "critical" for code in codes) else value


def shaped_score(findings: Findings) -> float:
    """The score in [0, 1) of a document that was read and does not pass."""
    rules = sum(float(WEIGHTS[layer]) * findings.fraction(layer) for layer in ("catalogues", "arithmetic", "business"))
    form = float(WEIGHTS["contract"] + WEIGHTS["well_formed"])
    form += float(WEIGHTS["xsd"]) if findings.schema_valid else 0.0
    if findings.aspects:
        matched = findings.fraction("match")
        score = form + rules * (GENERIC_SHARE + (1 - GENERIC_SHARE) * matched) + float(WEIGHTS["match"]) * matched
    else:
        score = (form + rules) / (1 - float(WEIGHTS["match"]))
    return round(score if findings.schema_valid else min(score, INVALID_CAP), 6)


def _left(num_codes: int) -> float:
    return max(0.0, 1 - num_codes / CODES_TO_ZERO)
