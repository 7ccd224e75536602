"""Faults of an invoice's header: one attribute or node wrong, the rest as it was."""

from __future__ import annotations

from veredicto_verifier.packs.cfdi_edits import (
    LINE,
    Edit,
    Mutant,
    add,
    at,
    drop,
    of_type,
    padded,
    plus,
    put,
    swapped,
    turned,
    when,
)

SALE, RECEIPT = of_type("I", "E"), of_type("P")
EMISOR = "cfdi:Emisor"
TOTALS = ("cfdi.40108", "cfdi.40119", "cfdi.crp20103", "cfdi.crp20110")
OTHER_FORM = {"01": "03", "02": "01", "03": "01", "04": "03", "28": "04"}
STAMP = (
    '<cfdi:Complemento><tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" Version="1.1" '
    'UUID="5FB2822E-396D-4725-8521-CDC4BDD20CCF" FechaTimbrado="2026-11-30T10:00:00" RfcProvCertif="SAT970701NN3" '
    'SelloCFD="QUJD" NoCertificadoSAT="00001000000504465028" SelloSAT="QUJD"/></cfdi:Complemento>'
)
NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"


def _pesos(edit: Edit) -> Edit:
    return when(at(".", "Moneda", "MXN"), edit)


HEADER_MUTANTS: tuple[Mutant, ...] = (
    Mutant("total a cent more", "cfdi.40119", when(SALE, put(".", "Total", plus("0.01")))),
    Mutant("total a hundred more", "cfdi.40119", when(SALE, put(".", "Total", plus("100.00")))),
    Mutant("total in the receipt", "cfdi.40119", when(RECEIPT, put(".", "Total", "1")), TOTALS),
    Mutant(
        "total with a comma",
        "cfdi.xsd.datatype",
        put(".", "Total", lambda old: old.replace(".", ",") + ",0"),
        ("cfdi.strict_number", *TOTALS),
    ),
    Mutant("total missing", "cfdi.xsd.missing_attribute", drop(".", "Total"), ("cfdi.crp20110",)),
    Mutant("subtotal a cent more", "cfdi.40108", when(SALE, put(".", "SubTotal", plus("0.01"))), TOTALS),
    Mutant("subtotal in the receipt", "cfdi.40109", when(RECEIPT, put(".", "SubTotal", "1")), TOTALS),
    Mutant("subtotal with a third decimal", "cfdi.40107", when(SALE, put(".", "SubTotal", padded))),
    Mutant(
        "subtotal as an exponent", "cfdi.xsd.datatype", put(".", "SubTotal", "1E3"), ("cfdi.strict_number", *TOTALS)
    ),
    Mutant("subtotal of 19 digits", "cfdi.strict_number", put(".", "SubTotal", "1" * 19), TOTALS),
    Mutant("subtotal with a leading zero", "cfdi.strict_number", put(".", "SubTotal", lambda old: "0" + old), TOTALS),
    Mutant("discount a cent more", "cfdi.40111", put(".", "Descuento", plus("0.01")), TOTALS),
    Mutant(
        "discount above the subtotal", "cfdi.40110", put(".", "Descuento", plus("99999999")), ("cfdi.40111", *TOTALS)
    ),
    Mutant("discount missing", "cfdi.40111", drop(".", "Descuento"), TOTALS),
    Mutant("discount with a third decimal", "cfdi.40112", put(".", "Descuento", padded)),
    Mutant(
        "discount that no line has",
        "cfdi.40111",
        when(lambda root: SALE(root) and root.get("Descuento") is None, put(".", "Descuento", "0.00")),
    ),
    Mutant("date a second later", "cfdi.match_header", put(".", "Fecha", lambda old: old[:-1] + str(9 - int(old[-1])))),
    Mutant("date with a zone", "cfdi.40101", put(".", "Fecha", lambda old: old + "Z")),
    Mutant("date without time", "cfdi.40101", put(".", "Fecha", lambda old: old[:10])),
    Mutant("date missing", "cfdi.xsd.missing_attribute", drop(".", "Fecha")),
    Mutant("place that does not exist", "cfdi.40126", put(".", "LugarExpedicion", "00001"), ("cfdi.40149",)),
    Mutant("another place", "cfdi.match_header", put(".", "LugarExpedicion", "81200"), ("cfdi.40149",)),
    Mutant(
        "no such currency",
        "cfdi.40113",
        put(".", "Moneda", "MXX"),
        ("cfdi.xsd", "cfdi.40115", "cfdi.currency_of_type", "cfdi.crp20104"),
    ),
    Mutant("currency without rate", "cfdi.40115", _pesos(put(".", "Moneda", "USD"))),
    Mutant("receipt in pesos", "cfdi.currency_of_type", when(RECEIPT, put(".", "Moneda", "MXN")), ("cfdi.crp20104",)),
    Mutant("rate in pesos", "cfdi.40114", _pesos(put(".", "TipoCambio", "18.5000"))),
    Mutant("rate missing", "cfdi.40115", drop(".", "TipoCambio")),
    Mutant("another rate", "cfdi.match_header", put(".", "TipoCambio", plus("0.0001"))),
    Mutant("rate that ends in a point", "cfdi.40117", put(".", "TipoCambio", lambda old: old[:2] + ".")),
    Mutant(
        "withdrawn form of payment", "cfdi.40104", when(SALE, put(".", "FormaPago", "07")), ("cfdi.xsd", "cfdi.40105")
    ),
    Mutant("another form of payment", "cfdi.match_header", put(".", "FormaPago", swapped(OTHER_FORM))),
    Mutant("deferred and paid", "cfdi.40105", put(".", "FormaPago", swapped({"99": "03"}))),
    Mutant(
        "form of payment in the receipt", "cfdi.40103", when(RECEIPT, put(".", "FormaPago", "03")), ("cfdi.crp20105",)
    ),
    Mutant("form of payment missing", "cfdi.payment_missing", drop(".", "FormaPago"), ("cfdi.40105",)),
    Mutant("method missing", "cfdi.payment_missing", drop(".", "MetodoPago")),
    Mutant("method in the receipt", "cfdi.40125", when(RECEIPT, put(".", "MetodoPago", "PUE")), ("cfdi.crp20106",)),
    Mutant(
        "another method",
        "cfdi.match_header",
        put(".", "MetodoPago", swapped({"PUE": "PPD", "PPD": "PUE"})),
        ("cfdi.40105",),
    ),
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
    Mutant("invented stamp", "cfdi.invented_seal", add(".", STAMP), ("cfdi.xsd", "cfdi.complement_unexpected")),
    Mutant("addenda", "cfdi.addenda", add(".", "<cfdi:Addenda><nota/></cfdi:Addenda>")),
    Mutant(
        "invoice in the addenda",
        "cfdi.nested",
        add(".", "<cfdi:Addenda><cfdi:Emisor/></cfdi:Addenda>"),
        ("cfdi.addenda",),
    ),
    Mutant("empty complement", "cfdi.match_extra", when(SALE, add(".", "<cfdi:Complemento/>"))),
    Mutant(
        "empty complement of a line",
        "cfdi.match_extra",
        add(LINE, "<cfdi:ComplementoConcepto/>"),
        ("cfdi.xsd", "cfdi.crp20112"),
    ),
    Mutant("unknown attribute", "cfdi.xsd.unexpected_attribute", put(".", "Extra", "1")),
    Mutant("nil", "cfdi.xsd.nil", put(EMISOR, NIL, "true")),
    Mutant("unknown element", "cfdi.xsd.unexpected_element", add(".", "<cfdi:Otro/>")),
)
