"""Faults of an invoice's header and parties: one attribute or node wrong, the rest as it was."""

from __future__ import annotations

from lxml import etree

from veredicto_verifier.packs.cfdi_edits import (
    NAMES,
    Edit,
    Mutant,
    add,
    at,
    both,
    drop,
    of_type,
    padded,
    plus,
    put,
    remove,
    swapped,
    turned,
    twice,
    when,
)

SALE, RECEIPT = of_type("I", "E"), of_type("P")
EMISOR, RECEPTOR, GLOBAL, RELATION = "cfdi:Emisor", "cfdi:Receptor", "cfdi:InformacionGlobal", "cfdi:CfdiRelacionados"
UUID = f"{RELATION}/cfdi:CfdiRelacionado"
TOTALS = ("cfdi.40108", "cfdi.40119", "cfdi.crp20103", "cfdi.crp20110")
OTHER_PERSON = {"601": "612", "603": "612", "612": "601", "605": "601", "606": "601", "621": "601", "624": "612"}
"""A regime of the other kind of person."""
OTHER_USE = {"G01": "G03", "G03": "G01", "G02": "G03", "I04": "G01"}
OTHER_FORM = {"01": "03", "02": "01", "03": "01", "04": "03", "28": "04"}
STAMP = (
    '<cfdi:Complemento><tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" Version="1.1" '
    'UUID="5FB2822E-396D-4725-8521-CDC4BDD20CCF" FechaTimbrado="2026-11-30T10:00:00" RfcProvCertif="SAT970701NN3" '
    'SelloCFD="QUJD" NoCertificadoSAT="00001000000504465028" SelloSAT="QUJD"/></cfdi:Complemento>'
)
GLOBAL_NODE = '<cfdi:InformacionGlobal Periodicidad="01" Meses="11" Año="2026"/>'
RELATED = '<cfdi:CfdiRelacionado UUID="5FB2822E-396D-4725-8521-CDC4BDD20CCF"/>'
RELATION_NODE = f'<cfdi:CfdiRelacionados TipoRelacion="04">{RELATED}</cfdi:CfdiRelacionados>'
NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"


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


def _pesos(edit: Edit) -> Edit:
    return when(at(".", "Moneda", "MXN"), edit)


HEADER_MUTANTS: tuple[Mutant, ...] = (
    Mutant("total a cent more", "cfdi.40119", when(SALE, put(".", "Total", plus("0.01")))),
    Mutant("total a hundred more", "cfdi.40119", when(SALE, put(".", "Total", plus("100.00")))),
    Mutant("total in the receipt", "cfdi.40119", when(RECEIPT, put(".", "Total", "1")), TOTALS),
    Mutant("total with a comma", "cfdi.xsd", put(".", "Total", lambda old: old.replace(".", ",") + ",0"), ("cfdi.strict_number", *TOTALS)),
    Mutant("total missing", "cfdi.xsd", drop(".", "Total"), ("cfdi.crp20110",)),
    Mutant("subtotal a cent more", "cfdi.40108", when(SALE, put(".", "SubTotal", plus("0.01"))), TOTALS),
    Mutant("subtotal in the receipt", "cfdi.40109", when(RECEIPT, put(".", "SubTotal", "1")), TOTALS),
    Mutant("subtotal with a third decimal", "cfdi.40107", when(SALE, put(".", "SubTotal", padded))),
    Mutant("subtotal as an exponent", "cfdi.xsd", put(".", "SubTotal", "1E3"), ("cfdi.strict_number", *TOTALS)),
    Mutant("subtotal of 19 digits", "cfdi.strict_number", put(".", "SubTotal", "1" * 19), TOTALS),
    Mutant("subtotal with a leading zero", "cfdi.strict_number", put(".", "SubTotal", lambda old: "0" + old), TOTALS),
    Mutant("discount a cent more", "cfdi.40111", put(".", "Descuento", plus("0.01")), TOTALS),
    Mutant("discount above the subtotal", "cfdi.40110", put(".", "Descuento", plus("99999999")), ("cfdi.40111", *TOTALS)),
    Mutant("discount missing", "cfdi.40111", drop(".", "Descuento"), TOTALS),
    Mutant("discount with a third decimal", "cfdi.40112", put(".", "Descuento", padded)),
    Mutant(
        "discount that no line has",
        "cfdi.40111",
        when(lambda root: SALE(root) and root.get("Descuento") is None, put(".", "Descuento", "0.00")),
    ),
    Mutant("date a second later", "cfdi.match_header", put(".", "Fecha", lambda old: old[:-1] + str(9 - int(old[-1])))),
    Mutant("date with a zone", "cfdi.xsd", put(".", "Fecha", lambda old: old + "Z")),
    Mutant("date without time", "cfdi.xsd", put(".", "Fecha", lambda old: old[:10])),
    Mutant("date missing", "cfdi.xsd", drop(".", "Fecha")),
    Mutant("place that does not exist", "cfdi.40126", put(".", "LugarExpedicion", "00001"), ("cfdi.40149",)),
    Mutant("another place", "cfdi.match_header", put(".", "LugarExpedicion", "81200"), ("cfdi.40149",)),
    Mutant("no such currency", "cfdi.40113", put(".", "Moneda", "MXX"), ("cfdi.xsd", "cfdi.40115", "cfdi.currency_of_type", "cfdi.crp20104")),
    Mutant("currency without rate", "cfdi.40115", _pesos(put(".", "Moneda", "USD"))),
    Mutant("receipt in pesos", "cfdi.currency_of_type", when(RECEIPT, put(".", "Moneda", "MXN")), ("cfdi.crp20104",)),
    Mutant("rate in pesos", "cfdi.40114", _pesos(put(".", "TipoCambio", "18.5000"))),
    Mutant("rate missing", "cfdi.40115", drop(".", "TipoCambio")),
    Mutant("another rate", "cfdi.match_header", put(".", "TipoCambio", plus("0.0001"))),
    Mutant("rate that ends in a point", "cfdi.40117", put(".", "TipoCambio", lambda old: old[:2] + ".")),
    Mutant("withdrawn form of payment", "cfdi.40104", when(SALE, put(".", "FormaPago", "07")), ("cfdi.xsd", "cfdi.40105")),
    Mutant("another form of payment", "cfdi.match_header", put(".", "FormaPago", swapped(OTHER_FORM))),
    Mutant("deferred and paid", "cfdi.40105", put(".", "FormaPago", swapped({"99": "03"}))),
    Mutant("form of payment in the receipt", "cfdi.40103", when(RECEIPT, put(".", "FormaPago", "03")), ("cfdi.crp20105",)),
    Mutant("form of payment missing", "cfdi.payment_missing", drop(".", "FormaPago"), ("cfdi.40105",)),
    Mutant("method missing", "cfdi.payment_missing", drop(".", "MetodoPago")),
    Mutant("method in the receipt", "cfdi.40125", when(RECEIPT, put(".", "MetodoPago", "PUE")), ("cfdi.crp20106",)),
    Mutant("another method", "cfdi.match_header", put(".", "MetodoPago", swapped({"PUE": "PPD", "PPD": "PUE"})), ("cfdi.40105",)),
    Mutant("export without complement", "cfdi.40122", put(".", "Exportacion", "02"), ("cfdi.crp20102",)),
    Mutant("confirmation", "cfdi.40127", put(".", "Confirmacion", "AB12C")),
    Mutant(
        "another type",
        "cfdi.match_header",
        put(".", "TipoDeComprobante", swapped({"I": "E", "E": "I"})),
        ("cfdi.global_only_public", "cfdi.40130"),
    ),
    Mutant("series missing", "cfdi.match_header", drop(".", "Serie")),
    Mutant("another number", "cfdi.match_header", put(".", "Folio", plus("1"))),
    Mutant("other terms", "cfdi.match_header", put(".", "CondicionesDePago", turned)),
    Mutant("invented seal", "cfdi.invented_seal", put(".", "Sello", "QUJDRA==")),
    Mutant("invented certificate", "cfdi.invented_seal", put(".", "NoCertificado", "00001000000504465028")),
    Mutant("invented stamp", "cfdi.invented_seal", add(".", STAMP), ("cfdi.xsd",)),
    Mutant("addenda", "cfdi.addenda", add(".", "<cfdi:Addenda><nota/></cfdi:Addenda>")),
    Mutant("invoice in the addenda", "cfdi.nested", add(".", "<cfdi:Addenda><cfdi:Emisor/></cfdi:Addenda>"), ("cfdi.addenda",)),
    Mutant("empty complement", "cfdi.match_extra", when(SALE, add(".", "<cfdi:Complemento/>"))),
    Mutant("unknown attribute", "cfdi.xsd", put(".", "Extra", "1")),
    Mutant("nil", "cfdi.xsd", put(EMISOR, NIL, "true")),
    Mutant("unknown element", "cfdi.xsd", add(".", "<cfdi:Otro/>")),
)  # fmt: skip

PARTY_MUTANTS: tuple[Mutant, ...] = (
    Mutant("RFC in small letters", "cfdi.xsd", put(EMISOR, "Rfc", str.lower), ("cfdi.40141",)),
    Mutant("another issuer", "cfdi.match_emisor", put(EMISOR, "Rfc", lambda old: old[:-3] + ("A1" if old[-3:-1] != "A1" else "B2") + old[-1])),
    Mutant("issuer's name misspelt", "cfdi.match_emisor", put(EMISOR, "Nombre", turned)),
    Mutant("issuer with company form", "cfdi.match_emisor", put(EMISOR, "Nombre", lambda old: old + " SA DE CV")),
    Mutant("issuer's withdrawn regime", "cfdi.40140", put(EMISOR, "RegimenFiscal", "609"), ("cfdi.40141", "cfdi.40132")),
    Mutant("issuer's regime of others", "cfdi.40141", put(EMISOR, "RegimenFiscal", swapped(OTHER_PERSON)), ("cfdi.40132",)),
    Mutant("another regime of the issuer", "cfdi.match_emisor", put(EMISOR, "RegimenFiscal", swapped({"601": "603", "612": "606", "606": "612", "624": "601"}))),
    Mutant("parties exchanged", "cfdi.match_emisor", _swap_parties, (
        "cfdi.40141", "cfdi.40158", "cfdi.40161", "cfdi.40130", "cfdi.global_only_public", "cfdi.use_of_type", "cfdi.xsd",
    )),
    Mutant("another receiver", "cfdi.match_receptor", put(RECEPTOR, "Rfc", lambda old: None if old[0] == "X" else old[:-3] + ("A1" if old[-3:-1] != "A1" else "B2") + old[-1])),
    Mutant("receiver's name misspelt", "cfdi.match_receptor", put(RECEPTOR, "Nombre", turned), ("cfdi.global_only_public",)),
    Mutant("receiver called the public", "cfdi.40146", when(
        lambda root: not at(RECEPTOR, "Rfc", "XAXX010101000")(root), put(RECEPTOR, "Nombre", "PUBLICO EN GENERAL"))),
    Mutant("public with a dot", "cfdi.public_name", put(RECEPTOR, "Nombre", swapped({"PUBLICO EN GENERAL": "PUBLICO EN GENERAL."})), ("cfdi.global_only_public",)),
    Mutant("address that does not exist", "cfdi.receiver_place", put(RECEPTOR, "DomicilioFiscalReceptor", "00001"), ("cfdi.40149",)),
    Mutant("another address", "cfdi.match_receptor", put(RECEPTOR, "DomicilioFiscalReceptor", "81200"), ("cfdi.40149",)),
    Mutant("generic receiver elsewhere", "cfdi.40149", when(
        at(RECEPTOR, "Rfc", "XAXX010101000", "XEXX010101000"), put(RECEPTOR, "DomicilioFiscalReceptor", "81200"))),
    Mutant("generic receiver with a regime", "cfdi.40159", put(RECEPTOR, "RegimenFiscalReceptor", swapped({"616": "612"})), ("cfdi.40158", "cfdi.40161")),
    Mutant("receiver's withdrawn regime", "cfdi.40157", put(RECEPTOR, "RegimenFiscalReceptor", "609"), ("cfdi.40158", "cfdi.40161", "cfdi.40159")),
    Mutant("receiver's regime of others", "cfdi.40158", put(RECEPTOR, "RegimenFiscalReceptor", swapped(OTHER_PERSON)), ("cfdi.40161",)),
    Mutant("another regime of the receiver", "cfdi.match_receptor", put(RECEPTOR, "RegimenFiscalReceptor", swapped({"601": "620", "612": "606"}))),
    Mutant("withdrawn use", "cfdi.40160", put(RECEPTOR, "UsoCFDI", "P01"), ("cfdi.40161", "cfdi.use_of_type")),
    Mutant("use of others", "cfdi.40161", when(
        lambda root: at(RECEPTOR, "RegimenFiscalReceptor", "601", "603")(root) and SALE(root), put(RECEPTOR, "UsoCFDI", "D01"))),
    Mutant("another use", "cfdi.match_receptor", put(RECEPTOR, "UsoCFDI", swapped(OTHER_USE))),
    Mutant("use of a sale in the receipt", "cfdi.use_of_type", put(RECEPTOR, "UsoCFDI", swapped({"CP01": "G03"}))),
    Mutant("use of a foreigner", "cfdi.use_of_type", when(at(RECEPTOR, "Rfc", "XEXX010101000"), put(RECEPTOR, "UsoCFDI", "G03")), ("cfdi.40161",)),
    Mutant("residence of a Mexican", "cfdi.40151", when(
        lambda root: not at(RECEPTOR, "Rfc", "XEXX010101000")(root), put(RECEPTOR, "ResidenciaFiscal", "USA"))),
    Mutant("residence in Mexico", "cfdi.40152", put(RECEPTOR, "ResidenciaFiscal", "MEX"), ("cfdi.40151",)),
    Mutant("foreign number of a Mexican", "cfdi.40154", when(
        lambda root: not at(RECEPTOR, "Rfc", "XEXX010101000")(root), put(RECEPTOR, "NumRegIdTrib", "123456789"))),
    Mutant("foreign number without residence", "cfdi.40153", when(
        at(RECEPTOR, "Rfc", "XEXX010101000"), put(RECEPTOR, "NumRegIdTrib", "123456789"))),
    Mutant("receiver missing", "cfdi.xsd", remove(RECEPTOR), (
        "cfdi.40157", "cfdi.40160", "cfdi.receiver_place", "cfdi.global_only_public", "cfdi.use_of_type",
    )),
    Mutant("global node missing", "cfdi.40130", remove(GLOBAL)),
    Mutant("global node for a customer", "cfdi.global_only_public", when(
        lambda root: SALE(root) and root.find(GLOBAL, NAMES) is None, add(".", GLOBAL_NODE, at=0))),
    Mutant("period of two months", "cfdi.40132", when(
        lambda root: not at(EMISOR, "RegimenFiscal", "621")(root), put(GLOBAL, "Periodicidad", "05")), ("cfdi.40135",)),
    Mutant("two months in a month", "cfdi.40134", when(
        lambda root: not at(GLOBAL, "Periodicidad", "05")(root), put(GLOBAL, "Meses", "13"))),
    Mutant("a month in two months", "cfdi.40135", when(at(GLOBAL, "Periodicidad", "05"), put(GLOBAL, "Meses", "12"))),
    Mutant("year of long ago", "cfdi.40136", put(GLOBAL, "Año", "2019")),
    Mutant("another month", "cfdi.match_header", put(GLOBAL, "Meses", swapped({f"{at:02}": f"{at % 12 + 1:02}" for at in range(1, 13)}))),
    Mutant("relation missing", "cfdi.match_header", remove(RELATION)),
    Mutant("relation that nobody asked for", "cfdi.match_header", when(
        lambda root: root.find(RELATION, NAMES) is None and root.find(GLOBAL, NAMES) is None, add(".", RELATION_NODE, at=0))),
    Mutant("withdrawn relation", "cfdi.40137", put(RELATION, "TipoRelacion", "08")),
    Mutant("another relation", "cfdi.match_header", put(RELATION, "TipoRelacion", swapped({"01": "03", "03": "01", "04": "07", "07": "04"}))),
    Mutant("another related invoice", "cfdi.match_header", put(UUID, "UUID", turned)),
    Mutant("one more related invoice", "cfdi.match_header", add(RELATION, RELATED)),
    Mutant("related invoice twice", "cfdi.match_header", twice(UUID)),
    Mutant("regime and use of others", "cfdi.40158", both(
        put(RECEPTOR, "RegimenFiscalReceptor", swapped({"601": "605"})), put(RECEPTOR, "UsoCFDI", "D01")), ("cfdi.40161", "cfdi.use_of_type")),
)  # fmt: skip
