"""Faults of an invoice's parties, global period and relations: one attribute or node wrong, the rest as it was."""

from __future__ import annotations

from lxml import etree

from veredicto_verifier.packs.cfdi_edits import (
    NAMES,
    Mutant,
    add,
    at,
    both,
    of_type,
    put,
    remove,
    swapped,
    turned,
    twice,
    when,
)

SALE = of_type("I", "E")
EMISOR, RECEPTOR, GLOBAL, RELATION = "cfdi:Emisor", "cfdi:Receptor", "cfdi:InformacionGlobal", "cfdi:CfdiRelacionados"
UUID = f"{RELATION}/cfdi:CfdiRelacionado"
OTHER_PERSON = {"601": "612", "603": "612", "612": "601", "605": "601", "606": "601", "621": "601", "624": "612"}
"""A regime of the other kind of person."""
OTHER_USE = {"G01": "G03", "G03": "G01", "G02": "G03", "I04": "G01"}
GLOBAL_NODE = '<cfdi:InformacionGlobal Periodicidad="01" Meses="11" Año="2026"/>'
RELATED = '<cfdi:CfdiRelacionado UUID="5FB2822E-396D-4725-8521-CDC4BDD20CCF"/>'
RELATION_NODE = f'<cfdi:CfdiRelacionados TipoRelacion="04">{RELATED}</cfdi:CfdiRelacionados>'


def _swap_parties(root: etree._Element) -> bool:
    """Issuer and receiver exchange names and RFCs."""
    issuer, receiver = root.find(EMISOR, NAMES), root.find(RECEPTOR, NAMES)
    if issuer is None or receiver is None:
        return False
    for name in ("Rfc", "Nombre"):
        mine, theirs = issuer.get(name, ""), receiver.get(name, "")
        issuer.set(name, theirs)
        receiver.set(name, mine)
    return True


PARTY_MUTANTS: tuple[Mutant, ...] = (
    Mutant("RFC in small letters", "cfdi.xsd.pattern", put(EMISOR, "Rfc", str.lower), ("cfdi.40141",)),
    Mutant(
        "another issuer",
        "cfdi.match_emisor",
        put(EMISOR, "Rfc", lambda old: old[:-3] + ("A1" if old[-3:-1] != "A1" else "B2") + old[-1]),
    ),
    Mutant("issuer's name misspelt", "cfdi.match_emisor", put(EMISOR, "Nombre", turned)),
    Mutant("issuer with company form", "cfdi.match_emisor", put(EMISOR, "Nombre", lambda old: old + " SA DE CV")),
    Mutant(
        "issuer's withdrawn regime", "cfdi.40140", put(EMISOR, "RegimenFiscal", "609"), ("cfdi.40141", "cfdi.40132")
    ),
    Mutant(
        "issuer's regime of others", "cfdi.40141", put(EMISOR, "RegimenFiscal", swapped(OTHER_PERSON)), ("cfdi.40132",)
    ),
    Mutant(
        "another regime of the issuer",
        "cfdi.match_emisor",
        put(EMISOR, "RegimenFiscal", swapped({"601": "603", "612": "606", "606": "612", "624": "601"})),
    ),
    Mutant(
        "parties exchanged",
        "cfdi.match_emisor",
        _swap_parties,
        (
            "cfdi.40141",
            "cfdi.40158",
            "cfdi.40161",
            "cfdi.40130",
            "cfdi.global_only_public",
            "cfdi.use_of_type",
            "cfdi.xsd",
        ),
    ),
    Mutant(
        "another receiver",
        "cfdi.match_receptor",
        put(
            RECEPTOR,
            "Rfc",
            lambda old: None if old[0] == "X" else old[:-3] + ("A1" if old[-3:-1] != "A1" else "B2") + old[-1],
        ),
    ),
    Mutant(
        "receiver's name misspelt", "cfdi.match_receptor", put(RECEPTOR, "Nombre", turned), ("cfdi.global_only_public",)
    ),
    Mutant(
        "receiver called the public",
        "cfdi.40146",
        when(
            lambda root: not at(RECEPTOR, "Rfc", "XAXX010101000")(root), put(RECEPTOR, "Nombre", "PUBLICO EN GENERAL")
        ),
    ),
    Mutant(
        "public with a dot",
        "cfdi.public_name",
        put(RECEPTOR, "Nombre", swapped({"PUBLICO EN GENERAL": "PUBLICO EN GENERAL."})),
        ("cfdi.global_only_public",),
    ),
    Mutant(
        "address that does not exist",
        "cfdi.receiver_place",
        put(RECEPTOR, "DomicilioFiscalReceptor", "00001"),
        ("cfdi.40149",),
    ),
    Mutant(
        "another address", "cfdi.match_receptor", put(RECEPTOR, "DomicilioFiscalReceptor", "81200"), ("cfdi.40149",)
    ),
    Mutant(
        "generic receiver elsewhere",
        "cfdi.40149",
        when(at(RECEPTOR, "Rfc", "XAXX010101000", "XEXX010101000"), put(RECEPTOR, "DomicilioFiscalReceptor", "81200")),
    ),
    Mutant(
        "generic receiver with a regime",
        "cfdi.40159",
        put(RECEPTOR, "RegimenFiscalReceptor", swapped({"616": "612"})),
        ("cfdi.40158", "cfdi.40161"),
    ),
    Mutant(
        "receiver's withdrawn regime",
        "cfdi.40157",
        put(RECEPTOR, "RegimenFiscalReceptor", "609"),
        ("cfdi.40158", "cfdi.40161", "cfdi.40159"),
    ),
    Mutant(
        "receiver's regime of others",
        "cfdi.40158",
        put(RECEPTOR, "RegimenFiscalReceptor", swapped(OTHER_PERSON)),
        ("cfdi.40161",),
    ),
    Mutant(
        "another regime of the receiver",
        "cfdi.match_receptor",
        put(RECEPTOR, "RegimenFiscalReceptor", swapped({"601": "620", "612": "606"})),
    ),
    Mutant("withdrawn use", "cfdi.40160", put(RECEPTOR, "UsoCFDI", "P01"), ("cfdi.40161", "cfdi.use_of_type")),
    Mutant(
        "use of others",
        "cfdi.40161",
        when(
            lambda root: at(RECEPTOR, "RegimenFiscalReceptor", "601", "603")(root) and SALE(root),
            put(RECEPTOR, "UsoCFDI", "D01"),
        ),
    ),
    Mutant("another use", "cfdi.match_receptor", put(RECEPTOR, "UsoCFDI", swapped(OTHER_USE))),
    Mutant("use of a sale in the receipt", "cfdi.use_of_type", put(RECEPTOR, "UsoCFDI", swapped({"CP01": "G03"}))),
    Mutant(
        "use of a foreigner",
        "cfdi.use_of_type",
        when(at(RECEPTOR, "Rfc", "XEXX010101000"), put(RECEPTOR, "UsoCFDI", "G03")),
        ("cfdi.40161",),
    ),
    Mutant(
        "residence of a Mexican",
        "cfdi.40151",
        when(lambda root: not at(RECEPTOR, "Rfc", "XEXX010101000")(root), put(RECEPTOR, "ResidenciaFiscal", "USA")),
    ),
    Mutant("residence in Mexico", "cfdi.40152", put(RECEPTOR, "ResidenciaFiscal", "MEX"), ("cfdi.40151",)),
    Mutant(
        "foreign number of a Mexican",
        "cfdi.40154",
        when(lambda root: not at(RECEPTOR, "Rfc", "XEXX010101000")(root), put(RECEPTOR, "NumRegIdTrib", "123456789")),
    ),
    Mutant(
        "foreign number without residence",
        "cfdi.40153",
        when(at(RECEPTOR, "Rfc", "XEXX010101000"), put(RECEPTOR, "NumRegIdTrib", "123456789")),
    ),
    Mutant(
        "receiver missing",
        "cfdi.xsd.unexpected_element",
        remove(RECEPTOR),
        (
            "cfdi.40157",
            "cfdi.40160",
            "cfdi.receiver_place",
            "cfdi.global_only_public",
            "cfdi.use_of_type",
        ),
    ),
    Mutant("global node missing", "cfdi.40130", remove(GLOBAL)),
    Mutant(
        "global node for a customer",
        "cfdi.global_only_public",
        when(lambda root: SALE(root) and root.find(GLOBAL, NAMES) is None, add(".", GLOBAL_NODE, at=0)),
    ),
    Mutant(
        "period of two months",
        "cfdi.40132",
        when(lambda root: not at(EMISOR, "RegimenFiscal", "621")(root), put(GLOBAL, "Periodicidad", "05")),
        ("cfdi.40135",),
    ),
    Mutant(
        "two months in a month",
        "cfdi.40134",
        when(lambda root: not at(GLOBAL, "Periodicidad", "05")(root), put(GLOBAL, "Meses", "13")),
    ),
    Mutant("a month in two months", "cfdi.40135", when(at(GLOBAL, "Periodicidad", "05"), put(GLOBAL, "Meses", "12"))),
    Mutant("year of long ago", "cfdi.40136", put(GLOBAL, "Año", "2019")),
    Mutant(
        "another month",
        "cfdi.match_header",
        put(GLOBAL, "Meses", swapped({f"{at:02}": f"{at % 12 + 1:02}" for at in range(1, 13)})),
    ),
    Mutant("relation missing", "cfdi.match_header", remove(RELATION)),
    Mutant(
        "relation that nobody asked for",
        "cfdi.match_header",
        when(
            lambda root: root.find(RELATION, NAMES) is None and root.find(GLOBAL, NAMES) is None,
            add(".", RELATION_NODE, at=0),
        ),
    ),
    Mutant("withdrawn relation", "cfdi.40137", put(RELATION, "TipoRelacion", "08")),
    Mutant(
        "another relation",
        "cfdi.match_header",
        put(RELATION, "TipoRelacion", swapped({"01": "03", "03": "01", "04": "07", "07": "04"})),
    ),
    Mutant("another related invoice", "cfdi.match_header", put(UUID, "UUID", turned)),
    Mutant("one more related invoice", "cfdi.match_header", add(RELATION, RELATED)),
    Mutant("related invoice twice", "cfdi.match_header", twice(UUID)),
    Mutant(
        "regime and use of others",
        "cfdi.40158",
        both(put(RECEPTOR, "RegimenFiscalReceptor", swapped({"601": "605"})), put(RECEPTOR, "UsoCFDI", "D01")),
        ("cfdi.40161", "cfdi.use_of_type"),
    ),
)
