"""Rules on customs numbers (SAT's matrix: InformacionAduanera): year, customs office and customs agent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veredicto_verifier.verifiers.cfdi.comprobante import PART, Comprobante
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault

NUMBER = re.compile("([0-9]{2}) ([0-9]{2}) ([0-9]{4}) [0-9]([0-9]{6})")
"""With the two blanks between its parts collapsed to one; that they are two is the schema's to say."""
YEARS_BACK = 10


def _numbers(cfdi: Comprobante, facts: Facts, *, of_parts: bool) -> Iterator[Fault]:
    """The last group's first digit may be an earlier year's (a rectification), so only its sequence is looked at."""
    for node in (one for concepto in cfdi.conceptos for one in concepto.pedimentos):
        found = NUMBER.fullmatch(node.get("NumeroPedimento") or "")
        if (PART in node.path) != of_parts or found is None:
            continue
        year, customs, agent, sequence = found.groups()
        if not _recent(year, cfdi.get("Fecha") or ""):
            yield fault(node, f"NumeroPedimento: el año {year} no es de los últimos {YEARS_BACK}")
        elif customs not in facts.catalogues.customs:
            yield fault(node, f"NumeroPedimento: la aduana {customs} no está en c_Aduana")
        elif agent not in facts.catalogues.customs_agents:
            yield fault(node, f"NumeroPedimento: la patente {agent} no está en c_PatenteAduanal")
        elif sequence == "000000":
            yield fault(node, "NumeroPedimento: la numeración empieza en 000001")


def _recent(year: str, issued: str) -> bool:
    return re.match("[0-9]{4}-", issued) is None or (int(issued[2:4]) - int(year)) % 100 <= YEARS_BACK


def _of_lines(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _numbers(cfdi, facts, of_parts=False)


def _of_parts(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _numbers(cfdi, facts, of_parts=True)


# fmt: off
CUSTOMS: tuple[Rule, ...] = (
    Rule("cfdi.40194", "catalogues", "C", _of_lines,
         "NumeroPedimento names a year, an office and an agent that exist",
         significado="NumeroPedimento nombra un año, una aduana y una patente que existen"),
    Rule("cfdi.40199", "catalogues", "C", _of_parts,
         "a part's NumeroPedimento does so too",
         significado="NumeroPedimento de una parte nombra un año, una aduana y una patente que existen"),
)
# fmt: on
