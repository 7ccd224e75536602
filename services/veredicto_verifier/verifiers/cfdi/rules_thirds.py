"""Rules on the third party for whom a line is invoiced (SAT's matrix: ACuentaTerceros)."""

from __future__ import annotations

from collections.abc import Iterator

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Node
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault

FOREIGN_THIRD = "EXT990101NI1"
FOREIGN_THIRD_NAME = (
    "EXPEDICIÓN DE CFDI POR RESIDENTES EN MÉXICO QUE PRESTAN SERVICIOS DE INTERMEDIACIÓN ENTRE TERCEROS "
    "A OFERENTES DE BIENES Y SERVICIOS RESIDENTES EN EL EXTRANJERO"
)


def _third_differs(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for third in _thirds(cfdi):
        if third.get("RfcACuentaTerceros") in (cfdi.emisor.get("Rfc"), cfdi.receptor.get("Rfc")):
            yield fault(third, "RfcACuentaTerceros debe ser distinto del emisor y del receptor")


def _third_name(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for third in _foreign_thirds(cfdi):
        if third.get("NombreACuentaTerceros") != FOREIGN_THIRD_NAME:
            yield fault(third, f"con {FOREIGN_THIRD}, NombreACuentaTerceros es la leyenda que fija el SAT")


def _third_regime_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for third in _thirds(cfdi):
        if third.get("RegimenFiscalACuentaTerceros") not in facts.catalogues.regimenes:
            yield fault(third, "RegimenFiscalACuentaTerceros no está en c_RegimenFiscal")


def _third_place(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for third in _foreign_thirds(cfdi):
        if third.get("DomicilioFiscalACuentaTerceros") != cfdi.get("LugarExpedicion"):
            yield fault(third, f"con {FOREIGN_THIRD}, el domicilio debe ser igual a LugarExpedicion")


def _third_regime(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for third in _foreign_thirds(cfdi):
        if third.get("RegimenFiscalACuentaTerceros") != "616":
            yield fault(third, f"con {FOREIGN_THIRD}, RegimenFiscalACuentaTerceros debe ser 616")


def _thirds(cfdi: Comprobante) -> list[Node]:
    return [concepto.terceros for concepto in cfdi.conceptos if concepto.terceros]


def _foreign_thirds(cfdi: Comprobante) -> list[Node]:
    return [third for third in _thirds(cfdi) if third.get("RfcACuentaTerceros") == FOREIGN_THIRD]


# fmt: off
THIRDS: tuple[Rule, ...] = (
    Rule("cfdi.40188", "business", "O", _third_differs,
         "a third party is neither issuer nor receiver", significado="un tercero no es ni el emisor ni el receptor"),
    Rule("cfdi.40189", "business", "O", _third_name,
         "EXT990101NI1 carries SAT's fixed name", significado="EXT990101NI1 lleva el nombre que fija el SAT"),
    Rule("cfdi.40191", "catalogues", "C", _third_regime_known,
         "a third party's regime is in the catalogue", significado="el régimen de un tercero está en c_RegimenFiscal"),
    Rule("cfdi.40193", "business", "O", _third_place,
         "EXT990101NI1 has the place of issue as postal code",
         significado="EXT990101NI1 lleva el lugar de expedición como código postal"),
    Rule("cfdi.40223", "business", "C", _third_regime,
         "EXT990101NI1 has regime 616", significado="EXT990101NI1 lleva el régimen 616"),
)
# fmt: on
