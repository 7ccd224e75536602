"""What a rule is: a small function that names the faults of one kind in an invoice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, NamedTuple

from veredicto_verifier.verifiers.cfdi.catalogues import Catalogues
from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Node

Layer = Literal["catalogues", "arithmetic", "business"]
Part = Literal["header", "conceptos", "summary", ""]
"""Where an arithmetic rule counts in the shaped score."""
Source = Literal["O", "C", "K", "S", "strict"]
"""What decides it: the document alone, a catalogue, a given clock, the seal; `strict` is ours, not SAT's."""
Severity = Literal["fatal", "critical", "hard", "soft"]
"""What a fault costs. `fatal`: nothing else is looked at (contract and form, which are no rules). `critical`: the
invoice does not pass, and its arithmetic is worth half at most. `hard`: it does not pass. `soft`: a flag, no cost."""
ZERO = Decimal(0)
UNITS: tuple[Decimal, ...] = tuple(Decimal(1).scaleb(-places) for places in range(32))
"""One unit of the last of so many decimals."""


class Fault(NamedTuple):
    """One violation: path of the element and the reason in Spanish."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What a rule may know beside the invoice."""

    catalogues: Catalogues
    now: datetime | None = None
    strict_base: bool = True
    """False when the request itself states bases (fuel, margin schemes), which the match then compares."""
    sealed: bool = False
    """Whether the invoice must be sealed; otherwise it must not be."""
    authorities: tuple[str, ...] = ()
    """Certificates (base64 DER) of those who may issue a sealed invoice's certificate."""
    required: frozenset[str] = frozenset()
    """Complements that must be there, by name (`Pagos20`)."""
    allowed: frozenset[str] | None = None
    """Complements that may be there; None: any that SAT's schema knows."""
    rfcs: frozenset[str] = frozenset()
    """RFCs that the request states, which are beyond suspicion."""


Check = Callable[[Comprobante, Facts], Iterator[Fault]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: `meaning` is the condition that must hold, `significado` the same in Spanish."""

    code: str
    layer: Layer
    source: Source
    check: Check
    meaning: str
    part: Part = ""
    significado: str = field(kw_only=True)
    severity: Severity = field(default="hard", kw_only=True)


def fault(node: Node, reason: str) -> Fault:
    """A fault at a node."""
    return Fault(node.path, reason)


def shown(text: str | None) -> str:
    """At most 30 characters of the document's text, for a reason."""
    if text is None:
        return "(ausente)"
    return text if len(text) <= 30 else text[:29] + "…"


def rounded(value: Decimal, decimals: int) -> Decimal:
    """`value` to that many decimals, halves away from zero, as SAT rounds."""
    return value.quantize(UNITS[decimals], rounding=ROUND_HALF_UP)


def total(nodes: Iterable[Node], name: str) -> Decimal | None:
    """The sum of one attribute over nodes that carry it; None when one is written as no number."""
    added = ZERO
    for node in nodes:
        amount = node.amount(name)
        if amount is not None:
            added += amount
        elif node.get(name) is not None:
            return None
    return added


def currency_decimals(cfdi: Comprobante, facts: Facts) -> int | None:
    """Decimals of the invoice's currency; None for an unknown one."""
    return facts.catalogues.currencies.get(cfdi.get("Moneda") or "")
