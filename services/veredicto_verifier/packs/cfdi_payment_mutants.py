"""Faults of a payments complement: one amount, code, rate or node wrong, the rest as it was."""

from __future__ import annotations

from decimal import Decimal

from lxml import etree

from veredicto_verifier.packs.cfdi_edits import (
    LINE,
    NAMES,
    Mutant,
    add,
    at,
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

RECEIPT = of_type("P")
PAGOS = "cfdi:Complemento/pago20:Pagos"
TOTALS, PAGO = f"{PAGOS}/pago20:Totales", f"{PAGOS}/pago20:Pago"
DOCUMENT = f"{PAGO}/pago20:DoctoRelacionado"
CHARGED = f"{DOCUMENT}/pago20:ImpuestosDR/pago20:TrasladosDR/pago20:TrasladoDR"
HELD = f"{DOCUMENT}/pago20:ImpuestosDR/pago20:RetencionesDR/pago20:RetencionDR"
SUM_CHARGED = f"{PAGO}/pago20:ImpuestosP/pago20:TrasladosP/pago20:TrasladoP"
SUM_HELD = f"{PAGO}/pago20:ImpuestosP/pago20:RetencionesP/pago20:RetencionP"
MATCH = "cfdi.match_complement"
IN_PESOS = tuple(f"cfdi.crp{code}" for code in range(20201, 20212))
"""The totals, which follow every change of a payment's sums or rate."""
SUMS = ("cfdi.crp20265", "cfdi.crp20268", "cfdi.crp20269", "cfdi.crp20274", "cfdi.strict_payment_groups", *IN_PESOS)
TAX = ("cfdi.crp20254", "cfdi.crp20261", "cfdi.strict_payment_tax", *SUMS)
LACK = ("cfdi.crp20264", "cfdi.crp20267", "cfdi.crp20273", *IN_PESOS)
CONVERTED = ("cfdi.crp20276", "cfdi.crp20217", *IN_PESOS, *SUMS)
IVA_16 = f"{SUM_CHARGED}[@TasaOCuotaP='0.160000']"


def _same_currency(root: etree._Element) -> bool:
    payment, document = root.find(PAGO, NAMES), root.find(DOCUMENT, NAMES)
    return payment is not None and document is not None and payment.get("MonedaP") == document.get("MonedaDR")


def _crossed(root: etree._Element) -> bool:
    return root.find(PAGO, NAMES) is not None and not _same_currency(root)


def _document_less(root: etree._Element) -> bool:
    payment = root.find(PAGO, NAMES)
    return payment is not None and len(payment.findall("pago20:DoctoRelacionado", NAMES)) > 1 and remove(DOCUMENT)(root)


def _payment_less(root: etree._Element) -> bool:
    return len(root.findall(PAGO, NAMES)) > 1 and remove(PAGO)(root)


PAYMENT_MUTANTS: tuple[Mutant, ...] = (
    Mutant("complement missing", "cfdi.pagos_missing", remove("cfdi:Complemento"), ("cfdi.complement_missing",)),
    Mutant("receipt's product", "cfdi.crp20113", when(RECEIPT, put(LINE, "ClaveProdServ", "80101500"))),
    Mutant("receipt's unit", "cfdi.crp20116", when(RECEIPT, put(LINE, "ClaveUnidad", "E48"))),
    Mutant("receipt's description", "cfdi.crp20118", when(RECEIPT, put(LINE, "Descripcion", "Pago de factura"))),
    Mutant("receipt's quantity", "cfdi.crp20115", when(RECEIPT, put(LINE, "Cantidad", "1.00"))),
    Mutant("receipt's price", "cfdi.crp20119", when(RECEIPT, put(LINE, "ValorUnitario", "0.00"))),
    Mutant("receipt's amount", "cfdi.crp20120", when(RECEIPT, put(LINE, "Importe", "0.00"))),
    Mutant("receipt's object of tax", "cfdi.crp20122", when(RECEIPT, put(LINE, "ObjetoImp", "02")), ("cfdi.40171",)),
    Mutant("receipt with decimals", "cfdi.crp20103", when(RECEIPT, put(".", "SubTotal", "0.00")), ("cfdi.40107",)),
    Mutant("receipt's total with decimals", "cfdi.crp20110", when(RECEIPT, put(".", "Total", "0.00"))),
    Mutant("receipt with a rate", "cfdi.40116", when(RECEIPT, put(".", "TipoCambio", "1")), ("cfdi.crp20109",)),
    Mutant(
        "receipt with terms",
        "cfdi.payment_terms",
        when(RECEIPT, put(".", "CondicionesDePago", "30 días")),
        ("cfdi.crp20107",),
    ),
    Mutant("total of payments a cent more", "cfdi.crp20211", put(TOTALS, "MontoTotalPagos", plus("0.01"))),
    Mutant(
        "total of payments in their currency",
        "cfdi.crp20211",
        when(lambda root: not at(PAGO, "MonedaP", "MXN")(root), put(TOTALS, "MontoTotalPagos", "1.00")),
    ),
    Mutant("total of bases a cent more", "cfdi.crp20204", put(TOTALS, "TotalTrasladosBaseIVA16", plus("0.01"))),
    Mutant("total of IVA a cent more", "cfdi.crp20205", put(TOTALS, "TotalTrasladosImpuestoIVA16", plus("0.01"))),
    Mutant("total of 8 % a cent more", "cfdi.crp20206", put(TOTALS, "TotalTrasladosBaseIVA8", plus("0.01"))),
    Mutant("total of 8 % IVA a cent more", "cfdi.crp20207", put(TOTALS, "TotalTrasladosImpuestoIVA8", plus("0.01"))),
    Mutant("total of 0 % a cent more", "cfdi.crp20208", put(TOTALS, "TotalTrasladosBaseIVA0", plus("0.01"))),
    Mutant("total of exempt a cent more", "cfdi.crp20210", put(TOTALS, "TotalTrasladosBaseIVAExento", plus("0.01"))),
    Mutant("total withheld a cent more", "cfdi.crp20201", put(TOTALS, "TotalRetencionesIVA", plus("0.01"))),
    Mutant("total of ISR a cent more", "cfdi.crp20202", put(TOTALS, "TotalRetencionesISR", plus("0.01"))),
    Mutant("total of bases missing", "cfdi.crp20204", drop(TOTALS, "TotalTrasladosBaseIVA16"), LACK),
    Mutant("total of IVA missing", "cfdi.crp20205", drop(TOTALS, "TotalTrasladosImpuestoIVA16"), LACK),
    Mutant("total withheld missing", "cfdi.crp20201", drop(TOTALS, "TotalRetencionesIVA"), LACK),
    Mutant("total of payments missing", "cfdi.xsd.missing_attribute", drop(TOTALS, "MontoTotalPagos")),
    Mutant("totals missing", "cfdi.xsd.unexpected_element", remove(TOTALS)),
    Mutant("payment to be defined", "cfdi.crp20212", put(PAGO, "FormaDePagoP", "99")),
    Mutant(
        "payment in another form",
        MATCH,
        put(PAGO, "FormaDePagoP", swapped({"01": "03", "02": "01", "03": "01", "04": "03", "28": "04"})),
    ),
    Mutant(
        "payment in no currency",
        "cfdi.crp20213",
        put(PAGO, "MonedaP", "XXX"),
        ("cfdi.crp20237", "cfdi.crp20219", "cfdi.crp20276", *SUMS),
    ),
    Mutant("pesos at another rate", "cfdi.crp20215", put(PAGO, "TipoCambioP", swapped({"1": "18.5"})), IN_PESOS),
    Mutant("pesos with zeros", "cfdi.crp20215", put(PAGO, "TipoCambioP", swapped({"1": "1.000000"}))),
    Mutant("pesos without rate", "cfdi.crp20215", when(at(PAGO, "MonedaP", "MXN"), drop(PAGO, "TipoCambioP"))),
    Mutant(
        "dollars without rate", "cfdi.crp20214", when(at(PAGO, "MonedaP", "USD"), drop(PAGO, "TipoCambioP")), IN_PESOS
    ),
    Mutant("payment a cent less", "cfdi.crp20217", when(_same_currency, put(PAGO, "Monto", plus("-0.01"))), IN_PESOS),
    Mutant("payment a hundred more", MATCH, put(PAGO, "Monto", plus("100.00")), CONVERTED),
    Mutant("payment of nothing", "cfdi.crp20218", put(PAGO, "Monto", "0"), CONVERTED),
    Mutant("payment too fine", "cfdi.crp20219", put(PAGO, "Monto", padded)),
    Mutant("payment on another day", MATCH, put(PAGO, "FechaPago", lambda old: old[:11] + "07" + old[13:])),
    Mutant("another operation", MATCH, put(PAGO, "NumOperacion", turned)),
    Mutant(
        "account of cash",
        "cfdi.crp20224",
        when(at(PAGO, "FormaDePagoP", "01"), put(PAGO, "CtaOrdenante", "1234567890")),
    ),
    Mutant(
        "account that nobody asked for",
        MATCH,
        when(at(PAGO, "FormaDePagoP", "03"), put(PAGO, "CtaOrdenante", "123456789012345678")),
    ),
    Mutant("proof without its kind", "cfdi.crp20231", put(PAGO, "CertPago", "QUJD")),
    Mutant("another document", MATCH, put(DOCUMENT, "IdDocumento", turned)),
    Mutant("document's series missing", MATCH, drop(DOCUMENT, "Serie")),
    Mutant(
        "document in no currency",
        "cfdi.crp20236",
        put(DOCUMENT, "MonedaDR", "XXX"),
        ("cfdi.crp20238", "cfdi.crp20276", "cfdi.crp20240", "cfdi.crp20242", "cfdi.crp20243"),
    ),
    Mutant("another instalment", MATCH, put(DOCUMENT, "NumParcialidad", plus("1"))),
    Mutant("instalment of nothing", "cfdi.xsd.pattern", put(DOCUMENT, "NumParcialidad", "0")),
    Mutant(
        "equivalence in one currency",
        "cfdi.crp20238",
        when(_same_currency, put(DOCUMENT, "EquivalenciaDR", "1.05")),
        CONVERTED,
    ),
    Mutant("equivalence missing", "cfdi.crp20237", when(_crossed, drop(DOCUMENT, "EquivalenciaDR")), CONVERTED),
    Mutant(
        "equivalence upside down",
        MATCH,
        when(_crossed, put(DOCUMENT, "EquivalenciaDR", lambda old: f"{1 / Decimal(old):.10f}")),
        CONVERTED,
    ),
    Mutant("balance before a cent more", "cfdi.crp20244", put(DOCUMENT, "ImpSaldoAnt", plus("0.01"))),
    Mutant("new balance a cent more", "cfdi.crp20244", put(DOCUMENT, "ImpSaldoInsoluto", plus("0.01"))),
    Mutant("new balance too fine", "cfdi.crp20243", put(DOCUMENT, "ImpSaldoInsoluto", padded)),
    Mutant(
        "paid a cent more",
        "cfdi.crp20244",
        put(DOCUMENT, "ImpPagado", plus("0.01")),
        ("cfdi.crp20217", "cfdi.crp20276"),
    ),
    Mutant("paid too fine", "cfdi.crp20242", put(DOCUMENT, "ImpPagado", padded)),
    Mutant("balance before too fine", "cfdi.crp20240", put(DOCUMENT, "ImpSaldoAnt", padded)),
    Mutant("document taxed without taxes", "cfdi.crp20246", remove(f"{DOCUMENT}/pago20:ImpuestosDR"), SUMS),
    Mutant("document untaxed with taxes", "cfdi.crp20247", put(DOCUMENT, "ObjetoImpDR", swapped({"02": "01"}))),
    Mutant("document called taxed", "cfdi.crp20246", put(f"{DOCUMENT}[@ObjetoImpDR='01']", "ObjetoImpDR", "02")),
    Mutant(
        "document's base a peso more",
        "cfdi.strict_payment_tax",
        when(
            lambda root: root.find(f"{CHARGED}[@TasaOCuotaDR='0.160000']", NAMES) is not None,
            put(f"{CHARGED}[@TasaOCuotaDR='0.160000']", "BaseDR", plus("1.00")),
        ),
        TAX,
    ),
    Mutant("document's tax two cents more", "cfdi.strict_payment_tax", put(CHARGED, "ImporteDR", plus("0.02")), TAX),
    Mutant(
        "document's tax far off",
        "cfdi.crp20261",
        put(CHARGED, "ImporteDR", lambda old: f"{Decimal(old) * 2 + 9:.2f}"),
        TAX,
    ),
    Mutant("document's tax without amount", "cfdi.crp20259", drop(CHARGED, "ImporteDR"), SUMS),
    Mutant(
        "document's exempt tax with amount",
        "cfdi.crp20258",
        put(f"{CHARGED}[@TipoFactorDR='Exento']", "ImporteDR", "0.00"),
        SUMS,
    ),
    Mutant(
        "document's unknown rate", "cfdi.crp20260", put(CHARGED, "TasaOCuotaDR", swapped({"0.160000": "0.150000"})), TAX
    ),
    Mutant("document withheld two cents more", "cfdi.strict_payment_tax", put(HELD, "ImporteDR", plus("0.02")), TAX),
    Mutant(
        "document withheld far off",
        "cfdi.crp20254",
        put(HELD, "ImporteDR", lambda old: f"{Decimal(old) * 2 + 9:.2f}"),
        TAX,
    ),
    Mutant("document withheld too high", "cfdi.crp20253", put(HELD, "TasaOCuotaDR", "0.500000"), TAX),
    Mutant("document withheld exempt", "cfdi.crp20252", put(HELD, "TipoFactorDR", "Exento"), ("cfdi.crp20253",)),
    Mutant("payment's base a cent more", "cfdi.crp20268", put(IVA_16, "BaseP", plus("0.01")), IN_PESOS),
    Mutant("payment's tax a cent more", "cfdi.crp20274", put(IVA_16, "ImporteP", plus("0.01")), IN_PESOS),
    Mutant("payment withheld a cent more", "cfdi.crp20265", put(SUM_HELD, "ImporteP", plus("0.01")), IN_PESOS),
    Mutant("payment's group twice", "cfdi.crp20271", twice(SUM_CHARGED), IN_PESOS),
    Mutant("payment's withheld group twice", "cfdi.crp20263", twice(SUM_HELD), IN_PESOS),
    Mutant("payment's groups missing", "cfdi.strict_payment_groups", remove(f"{PAGO}/pago20:ImpuestosP"), LACK),
    Mutant(
        "payment's rate unknown",
        "cfdi.crp20272",
        put(SUM_CHARGED, "TasaOCuotaP", swapped({"0.160000": "0.150000"})),
        (*SUMS, *LACK),
    ),
    Mutant("document twice", MATCH, twice(DOCUMENT), ("cfdi.crp20217", "cfdi.crp20276", *SUMS)),
    Mutant("document missing", MATCH, _document_less, SUMS),
    Mutant("payment twice", MATCH, twice(PAGO), IN_PESOS),
    Mutant("payment missing", MATCH, _payment_less, (*IN_PESOS, *LACK)),
    Mutant(
        "amount with an exponent",
        "cfdi.xsd.datatype",
        put(PAGO, "Monto", lambda old: f"{Decimal(old):.2E}"),
        ("cfdi.strict_payment_number", "cfdi.crp20219", *CONVERTED),
    ),
    Mutant("leading zero", "cfdi.strict_payment_number", put(PAGO, "Monto", lambda old: "0" + old), CONVERTED),
    Mutant(
        "complement beside payments",
        "cfdi.match_extra",
        when(RECEIPT, add("cfdi:Complemento", "<extra/>")),
        ("cfdi.xsd", "cfdi.complement_unexpected"),
    ),
)
