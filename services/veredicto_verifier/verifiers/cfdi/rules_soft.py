"""Rules that only raise a suspicion: each fault is a flag of the verdict, never a check, and costs nothing.

No code of SAT's matrices states them, and right invoices break them: about one real RFC in a hundred has another check
digit, and nothing is ever read from the place that `xsi:schemaLocation` names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from veredicto_verifier.verifiers.cfdi.comprobante import CFD4, Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Node
from veredicto_verifier.verifiers.cfdi.rfc import check_digit, has_date
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault

GENERIC = frozenset(("XAXX010101000", "XEXX010101000", "EXT990101NI1"))
LOCATION = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
PLACE = "http://www.sat.gob.mx/sitio_internet/cfd/4/cfdv40.xsd"


def _rfcs(cfdi: Comprobante, facts: Facts) -> Iterator[tuple[Node, str]]:
    for node in (cfdi.emisor, cfdi.receptor):
        rfc = node.get("Rfc")
        if rfc and rfc not in facts.rfcs and rfc not in GENERIC:
            yield node, rfc


def _digit(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for node, rfc in _rfcs(cfdi, facts):
        if check_digit(rfc) != rfc[-1]:
            yield fault(node, "el dígito verificador de Rfc no corresponde")


def _date(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for node, rfc in _rfcs(cfdi, facts):
        if not has_date(rfc):
            yield fault(node, "la fecha de Rfc no existe en el calendario")


def _place(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    words = (cfdi.get(LOCATION) or "").split()
    if words and (len(words) % 2 == 1 or (CFD4, PLACE) not in list(pairwise(words))[::2]):
        yield fault(cfdi, "xsi:schemaLocation no nombra el esquema del SAT para su espacio de nombres")


# fmt: off
SOFT: Mapping[str, Rule] = {
    "rfc_digit": Rule(
        "cfdi.rfc_digit", "business", "strict", _digit, "an RFC's check digit fits",
        significado="el dígito verificador de un RFC corresponde", severity="soft"),
    "rfc_date": Rule(
        "cfdi.rfc_date", "business", "strict", _date, "an RFC's date is in the calendar",
        significado="la fecha de un RFC existe en el calendario", severity="soft"),
    "schema_location": Rule(
        "cfdi.schema_location", "business", "strict", _place, "`xsi:schemaLocation` names SAT's schema",
        significado="xsi:schemaLocation nombra el esquema del SAT", severity="soft"),
}
# fmt: on
"""By the name of their flag."""


def suspicions(cfdi: Comprobante, facts: Facts) -> Iterator[tuple[str, Fault]]:
    """The flag and fault of every soft rule that found any."""
    for name, rule in SOFT.items():
        for one in rule.check(cfdi, facts):
            yield name, one
