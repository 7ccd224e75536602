"""Rules on issuer, receiver and the global-invoice node (SAT's matrix: InformacionGlobal, Emisor, Receptor)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veredicto_verifier.verifiers.cfdi.comprobante import FOREIGN_RFC, NATIONAL_RFC, Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Node
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault, shown

GENERIC = (NATIONAL_RFC, FOREIGN_RFC)
PUBLIC = "PUBLICO EN GENERAL"
MONTHS = tuple(f"{month:02}" for month in range(1, 13))
BIMESTERS = tuple(str(code) for code in range(13, 19))
YEARS_BACK = 5


def _global_node(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    public = cfdi.receptor.get("Rfc") == NATIONAL_RFC and cfdi.receptor.get("Nombre") == PUBLIC
    if cfdi.tipo == "I" and public and cfdi.informacion_global is None:
        yield fault(cfdi, "falta InformacionGlobal: el receptor es PUBLICO EN GENERAL")


def _global_only_public(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    public = cfdi.receptor.get("Rfc") == NATIONAL_RFC and cfdi.receptor.get("Nombre") == PUBLIC
    if cfdi.informacion_global is not None and not (public and cfdi.tipo == "I"):
        yield fault(cfdi.informacion_global, "InformacionGlobal solo va en un ingreso a PUBLICO EN GENERAL")


def _global_bimester_regime(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    node = cfdi.informacion_global
    if node and node.get("Periodicidad") == "05" and cfdi.emisor.get("RegimenFiscal") != "621":
        yield fault(node, "con Periodicidad 05, el RegimenFiscal del emisor debe ser 621")


def _global_months(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    node = cfdi.informacion_global
    if node and node.get("Periodicidad") not in ("05", None) and node.get("Meses") not in MONTHS:
        yield fault(node, "con esa Periodicidad, Meses debe ser 01 a 12")


def _global_bimesters(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    node = cfdi.informacion_global
    if node and node.get("Periodicidad") == "05" and node.get("Meses") not in BIMESTERS:
        yield fault(node, "con Periodicidad 05, Meses debe ser 13 a 18")


def _global_year(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    node, issued = cfdi.informacion_global, (cfdi.get("Fecha") or "")[:4]
    year = node.get("Año") if node else None
    if node is None or year is None or not re.fullmatch("[0-9]{4}", year) or not re.fullmatch("[0-9]{4}", issued):
        return
    if not int(issued) - YEARS_BACK <= int(year) <= int(issued):
        yield fault(node, f"Año {year} no es el de la Fecha ni uno de los {YEARS_BACK} anteriores")


def _regime_known(node: Node, name: str, facts: Facts) -> Iterator[Fault]:
    if node.get(name) not in facts.catalogues.regimenes:
        yield fault(node, f"{name} {shown(node.get(name))} no está en c_RegimenFiscal")


def _regime_of_person(node: Node, name: str, facts: Facts) -> Iterator[Fault]:
    rfc, person = node.get("Rfc"), facts.catalogues.regimenes.get(node.get(name) or "")
    if rfc and person and not person.admits(rfc):
        kind = "moral" if len(rfc) == 12 else "física"
        yield fault(node, f"{name} {node.get(name)} no aplica a una persona {kind}")


def _issuer_regime_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _regime_known(cfdi.emisor, "RegimenFiscal", facts)


def _issuer_regime_of_person(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _regime_of_person(cfdi.emisor, "RegimenFiscal", facts)


def _receiver_regime_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _regime_known(cfdi.receptor, "RegimenFiscalReceptor", facts)


def _receiver_regime_of_person(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _regime_of_person(cfdi.receptor, "RegimenFiscalReceptor", facts)


def _public_rfc(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.receptor.get("Nombre") == PUBLIC and cfdi.receptor.get("Rfc") != NATIONAL_RFC:
        yield fault(cfdi.receptor, f"con Nombre {PUBLIC}, Rfc debe ser {NATIONAL_RFC}")


def _public_name(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    name = cfdi.receptor.get("Nombre") or ""
    letters = "".join(filter(str.isalnum, name.upper().replace("Ú", "U")))
    if letters == PUBLIC.replace(" ", "") and name != PUBLIC:
        yield fault(cfdi.receptor, f"Nombre debe escribirse exactamente {PUBLIC}")


def _receiver_place_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    place = cfdi.receptor.get("DomicilioFiscalReceptor")
    if place not in facts.catalogues.postal_codes:
        yield fault(cfdi.receptor, f"DomicilioFiscalReceptor {shown(place)} no está en c_CodigoPostal")


def _generic_place(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    same = cfdi.receptor.get("DomicilioFiscalReceptor") == cfdi.get("LugarExpedicion")
    if cfdi.receptor.get("Rfc") in GENERIC and not same:
        yield fault(cfdi.receptor, "con un RFC genérico, DomicilioFiscalReceptor debe ser igual a LugarExpedicion")


def _residence_absent(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.receptor.get("ResidenciaFiscal") is not None and cfdi.receptor.get("Rfc") != FOREIGN_RFC:
        yield fault(cfdi.receptor, f"ResidenciaFiscal solo existe con el RFC {FOREIGN_RFC}")


def _residence_abroad(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.receptor.get("ResidenciaFiscal") == "MEX":
        yield fault(cfdi.receptor, "ResidenciaFiscal no puede ser MEX")


def _residence_needed(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    reason = cfdi.comercio_exterior or cfdi.receptor.get("NumRegIdTrib") is not None
    if cfdi.receptor.get("Rfc") == FOREIGN_RFC and reason and cfdi.receptor.get("ResidenciaFiscal") is None:
        yield fault(cfdi.receptor, "falta ResidenciaFiscal del receptor extranjero")


def _tax_id_absent(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.receptor.get("NumRegIdTrib") is not None and cfdi.receptor.get("Rfc") != FOREIGN_RFC:
        yield fault(cfdi.receptor, f"NumRegIdTrib solo existe con el RFC {FOREIGN_RFC}")


def _tax_id_needed(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    foreign = cfdi.receptor.get("Rfc") == FOREIGN_RFC and cfdi.comercio_exterior
    if foreign and cfdi.receptor.get("NumRegIdTrib") is None:
        yield fault(cfdi.receptor, "falta NumRegIdTrib: hay complemento de comercio exterior")


def _tax_id_pattern(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    pattern = facts.catalogues.countries.get(cfdi.receptor.get("ResidenciaFiscal") or "")
    number = cfdi.receptor.get("NumRegIdTrib")
    if pattern and number is not None and not re.fullmatch(pattern, number):
        yield fault(cfdi.receptor, "NumRegIdTrib no cumple el patrón del país")


def _generic_regime(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    wrong = cfdi.receptor.get("RegimenFiscalReceptor") != "616"
    if cfdi.receptor.get("Rfc") in GENERIC and wrong and cfdi.tipo != "N":
        yield fault(cfdi.receptor, "con un RFC genérico, RegimenFiscalReceptor debe ser 616")


def _use_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.receptor.get("UsoCFDI") not in facts.catalogues.usos:
        yield fault(cfdi.receptor, f"UsoCFDI {shown(cfdi.receptor.get('UsoCFDI'))} no está en c_UsoCFDI")


def _use_of_receiver(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    rfc, regime = cfdi.receptor.get("Rfc"), cfdi.receptor.get("RegimenFiscalReceptor")
    use = facts.catalogues.usos.get(cfdi.receptor.get("UsoCFDI") or "")
    if use is None or not rfc or regime is None:
        return
    if not use.admits(rfc) or regime not in use.regimenes:
        yield fault(cfdi.receptor, "UsoCFDI no aplica al tipo de persona o al régimen del receptor")


def _use_of_type(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    needed = {"P": "CP01", "N": "CN01"}.get(cfdi.tipo or "")
    if needed is None and cfdi.receptor.get("Rfc") == FOREIGN_RFC:
        needed = "S01"
    if needed and cfdi.receptor.get("UsoCFDI") != needed:
        yield fault(cfdi.receptor, f"UsoCFDI debe ser {needed} en este comprobante")


# fmt: off
PARTIES: tuple[Rule, ...] = (
    Rule("cfdi.40130", "business", "O", _global_node,
         "an invoice to the public has InformacionGlobal",
         significado="un comprobante al público en general lleva InformacionGlobal"),
    Rule("cfdi.40132", "business", "O", _global_bimester_regime,
         "Periodicidad 05 needs regime 621", significado="Periodicidad 05 pide el régimen 621"),
    Rule("cfdi.40134", "business", "O", _global_months,
         "Meses is 01 to 12 unless Periodicidad is 05", significado="Meses va de 01 a 12, salvo con Periodicidad 05"),
    Rule("cfdi.40135", "business", "O", _global_bimesters,
         "Meses is 13 to 18 when Periodicidad is 05", significado="Meses va de 13 a 18 con Periodicidad 05"),
    Rule("cfdi.40136", "business", "K", _global_year,
         "Año is the year of Fecha or up to five before",
         significado="Año es el de Fecha o uno de los cinco anteriores"),
    Rule("cfdi.40140", "catalogues", "C", _issuer_regime_known,
         "RegimenFiscal is in the catalogue", significado="RegimenFiscal está en c_RegimenFiscal"),
    Rule("cfdi.40141", "business", "C", _issuer_regime_of_person,
         "RegimenFiscal fits the issuer's kind of person",
         significado="RegimenFiscal corresponde al tipo de persona del emisor"),
    Rule("cfdi.40146", "business", "O", _public_rfc,
         "PUBLICO EN GENERAL goes with XAXX010101000", significado="PUBLICO EN GENERAL va con XAXX010101000"),
    Rule("cfdi.40149", "business", "O", _generic_place,
         "a generic RFC has the place of issue as postal code",
         significado="un RFC genérico lleva el lugar de expedición como código postal"),
    Rule("cfdi.40151", "business", "O", _residence_absent,
         "ResidenciaFiscal only for a foreign receiver",
         significado="ResidenciaFiscal solo para un receptor extranjero"),
    Rule("cfdi.40152", "business", "O", _residence_abroad,
         "ResidenciaFiscal is not MEX", significado="ResidenciaFiscal no es MEX"),
    Rule("cfdi.40153", "business", "O", _residence_needed,
         "a foreign receiver with tax number has a residence",
         significado="un receptor extranjero con registro fiscal lleva residencia"),
    Rule("cfdi.40154", "business", "O", _tax_id_absent,
         "NumRegIdTrib only for a foreign receiver", significado="NumRegIdTrib solo para un receptor extranjero"),
    Rule("cfdi.40155", "business", "O", _tax_id_needed,
         "a foreign receiver of exported goods has a tax number",
         significado="un receptor extranjero de bienes exportados lleva NumRegIdTrib"),
    Rule("cfdi.40156", "business", "C", _tax_id_pattern,
         "NumRegIdTrib has the country's pattern", significado="NumRegIdTrib cumple el patrón de su país"),
    Rule("cfdi.40157", "catalogues", "C", _receiver_regime_known,
         "RegimenFiscalReceptor is in the catalogue", significado="RegimenFiscalReceptor está en c_RegimenFiscal"),
    Rule("cfdi.40158", "business", "C", _receiver_regime_of_person,
         "the receiver's regime fits its kind of person",
         significado="el régimen del receptor corresponde a su tipo de persona"),
    Rule("cfdi.40159", "business", "O", _generic_regime,
         "a generic RFC has regime 616", significado="un RFC genérico lleva el régimen 616"),
    Rule("cfdi.40160", "catalogues", "C", _use_known,
         "UsoCFDI is in the catalogue", significado="UsoCFDI está en c_UsoCFDI"),
    Rule("cfdi.40161", "business", "C", _use_of_receiver,
         "UsoCFDI fits the receiver's person and regime",
         significado="UsoCFDI corresponde a la persona y al régimen del receptor"),
    Rule("cfdi.receiver_place", "catalogues", "strict", _receiver_place_known,
         "DomicilioFiscalReceptor exists", significado="DomicilioFiscalReceptor es un código postal que existe"),
    Rule("cfdi.global_only_public", "business", "strict", _global_only_public,
         "InformacionGlobal only to the public", significado="InformacionGlobal solo para el público en general"),
    Rule("cfdi.public_name", "business", "strict", _public_name,
         "no near-variant of PUBLICO EN GENERAL", significado="sin variantes cercanas de PUBLICO EN GENERAL"),
    Rule("cfdi.use_of_type", "business", "strict", _use_of_type,
         "P has CP01, N has CN01, a foreigner S01", significado="el tipo P lleva CP01, el N CN01 y un extranjero S01"),
)
# fmt: on
