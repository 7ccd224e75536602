"""Faults of an invoice's lines, their taxes and the tax summary: one number, code or node wrong, the rest as it was."""

from __future__ import annotations

from decimal import Decimal

from lxml import etree

from veredicto_verifier.packs.cfdi_edits import (
    LINE,
    LINE_HELD,
    LINE_TAX,
    NAMES,
    SUMMARY,
    SUMMARY_HELD,
    SUMMARY_TAX,
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
SUMS = ("cfdi.40108", "cfdi.40119")
AMOUNT = ("cfdi.40167", "cfdi.strict_importe", "cfdi.strict_base", *SUMS)
TAX = ("cfdi.40180", "cfdi.40221", "cfdi.strict_tax", "cfdi.strict_base", "cfdi.40215", "cfdi.40216", "cfdi.40214")
HELD = ("cfdi.40186", "cfdi.40211", "cfdi.strict_tax", "cfdi.strict_base")
GROUPS = ("cfdi.strict_groups", "cfdi.40215", "cfdi.40221", "cfdi.40216", "cfdi.40213", "cfdi.strict_base")
PAID = ("cfdi.crp20112", "cfdi.crp20113", "cfdi.crp20116", "cfdi.crp20118", "cfdi.crp20123")
THIRD = (
    '<cfdi:ACuentaTerceros RfcACuentaTerceros="AAA010101AAA" NombreACuentaTerceros="OTRO" '
    'RegimenFiscalACuentaTerceros="601" DomicilioFiscalACuentaTerceros="06600"/>'
)


def _first(path: str, edit: Edit) -> Edit:
    """An edit where `path` leads somewhere."""
    return when(lambda root: root.find(path, NAMES) is not None, edit)


def _swap_texts(root: etree._Element) -> bool:
    """Two lines exchange their descriptions."""
    lines = root.findall(LINE, NAMES)
    if len(lines) < 2 or lines[0].get("Descripcion") == lines[1].get("Descripcion"):
        return False
    first, second = lines[0].get("Descripcion", ""), lines[1].get("Descripcion", "")
    lines[0].set("Descripcion", second)
    lines[1].set("Descripcion", first)
    return True


def _many(root: etree._Element) -> bool:
    """A flood of empty lines."""
    holder = root.find("cfdi:Conceptos", NAMES)
    if holder is None:
        return False
    for _ in range(2 * len(holder) + 6):
        etree.SubElement(holder, f"{{{NAMES['cfdi']}}}Concepto")
    return True


def _one_line_less(root: etree._Element) -> bool:
    return len(root.findall(LINE, NAMES)) > 1 and remove(LINE)(root)


def _twice(old: str) -> str | None:
    """A number that lies clearly beyond SAT's limits."""
    return f"{Decimal(old) * 2 + 1:.2f}" if Decimal(old) else None


LINE_MUTANTS: tuple[Mutant, ...] = (
    Mutant("no such product", "cfdi.40162", put(LINE, "ClaveProdServ", "99999999"), PAID),
    Mutant("another product", "cfdi.match_conceptos", put(LINE, "ClaveProdServ", "10101501"), PAID),
    Mutant("no such unit", "cfdi.40165", put(LINE, "ClaveUnidad", "ZZZ9"), ("cfdi.xsd", *PAID)),
    Mutant("another unit", "cfdi.match_conceptos", put(LINE, "ClaveUnidad", "C62"), PAID),
    Mutant("another description", "cfdi.match_conceptos", put(LINE, "Descripcion", turned), PAID),
    Mutant("description in capitals", "cfdi.match_conceptos", put(LINE, "Descripcion", str.upper), PAID),
    Mutant("descriptions exchanged", "cfdi.match_conceptos", _swap_texts),
    Mutant("another number of the line", "cfdi.match_conceptos", put(LINE, "NoIdentificacion", turned)),
    Mutant("quantity of one more", "cfdi.strict_importe", when(SALE, put(LINE, "Cantidad", plus("1"))), (*AMOUNT, *TAX)),
    Mutant("price of one more", "cfdi.strict_importe", when(SALE, put(LINE, "ValorUnitario", plus("1.00"))), (*AMOUNT, *TAX)),
    Mutant("price of nothing", "cfdi.40166", when(SALE, put(LINE, "ValorUnitario", "0")), (*AMOUNT, *TAX)),
    Mutant("amount far off", "cfdi.40167", when(SALE, put(LINE, "Importe", _twice)), (*AMOUNT, *TAX)),
    Mutant("amount two cents more", "cfdi.strict_importe", when(SALE, put(LINE, "Importe", plus("0.02"))), (*AMOUNT, *TAX)),
    Mutant("quantity missing", "cfdi.xsd", drop(LINE, "Cantidad")),
    Mutant("line discount a cent more", "cfdi.40111", put(LINE, "Descuento", plus("0.01")), (*TAX, *SUMS)),
    Mutant("line discount too fine", "cfdi.40168", put(LINE, "Descuento", lambda old: old + "00"), ()),
    Mutant("line discount above the amount", "cfdi.40169", put(LINE, "Descuento", plus("99999999")), ("cfdi.40111", *TAX, *SUMS)),
    Mutant("line discount missing", "cfdi.40111", drop(LINE, "Descuento"), (*TAX, *SUMS)),
    Mutant("taxed without taxes", "cfdi.40171", when(SALE, put(LINE, "ObjetoImp", swapped({"01": "02", "03": "02"})))),
    Mutant("untaxed with taxes", "cfdi.40172", when(SALE, put(LINE, "ObjetoImp", swapped({"02": "01"})))),
    Mutant("no breakdown with taxes", "cfdi.40172", when(SALE, put(LINE, "ObjetoImp", swapped({"02": "03"})))),
    Mutant("no IVA with IVA", "cfdi.40226", _first(LINE_TAX, put(LINE, "ObjetoImp", swapped({"02": "06"})))),
    Mutant("only IEPS with IVA", "cfdi.40227", _first(LINE_TAX, put(LINE, "ObjetoImp", swapped({"02": "07"})))),
    Mutant("another untaxed kind", "cfdi.match_conceptos", when(SALE, put(LINE, "ObjetoImp", swapped({"01": "04", "03": "04"})))),
    Mutant("taxes empty", "cfdi.40173", when(at(LINE, "ObjetoImp", "01"), add(LINE, "<cfdi:Impuestos/>")), ("cfdi.40172", "cfdi.xsd", "cfdi.crp20112", "cfdi.crp20123")),
    Mutant("line missing", "cfdi.match_conceptos", _one_line_less, (*SUMS, *GROUPS, "cfdi.40111", "cfdi.40211", "cfdi.40119", "cfdi.40213")),
    Mutant("line twice", "cfdi.match_conceptos", twice(LINE), (*SUMS, *GROUPS, "cfdi.40111", "cfdi.40211", "cfdi.crp20111")),
    Mutant("flood of lines", "cfdi.too_many_concepts", _many),
    Mutant("line on another's account", "cfdi.match_extra", add(LINE, THIRD), ("cfdi.xsd",)),
    Mutant("seventh decimal", "cfdi.xsd", when(SALE, put(LINE, "ValorUnitario", lambda old: f"{Decimal(old):.7f}")), ("cfdi.strict_number",)),
)  # fmt: skip

TAX_MUTANTS: tuple[Mutant, ...] = (
    Mutant("no such rate", "cfdi.40179", put(LINE_TAX, "TasaOCuota", swapped({"0.160000": "0.150000", "0.080000": "0.100000", "0.000000": "0.010000"})), (*TAX, *GROUPS)),
    Mutant("rate in per cent", "cfdi.40179", put(LINE_TAX, "TasaOCuota", swapped({"0.160000": "16"})), (*TAX, *GROUPS)),
    Mutant("frontier rate", "cfdi.strict_tax", put(LINE_TAX, "TasaOCuota", swapped({"0.160000": "0.080000"})), (*TAX, *GROUPS)),
    Mutant("tax far off", "cfdi.40180", put(LINE_TAX, "Importe", _twice), TAX),
    Mutant("tax two cents more", "cfdi.strict_tax", put(LINE_TAX, "Importe", plus("0.02")), TAX),
    Mutant("base of one peso", "cfdi.strict_base", put(LINE_TAX, "Base", "1"), TAX),
    Mutant("base a peso more", "cfdi.strict_base", put(LINE_TAX, "Base", plus("1.00")), TAX),
    Mutant("base of nothing", "cfdi.xsd", put(LINE_TAX, "Base", "0"), TAX),
    Mutant("tax without amount", "cfdi.40178", drop(LINE_TAX, "Importe"), TAX),
    Mutant("tax without rate", "cfdi.40178", drop(LINE_TAX, "TasaOCuota"), (*TAX, *GROUPS)),
    Mutant("exempt with an amount", "cfdi.40177", _first(f"{LINE_TAX}[@TipoFactor='Exento']", put(f"{LINE_TAX}[@TipoFactor='Exento']", "Importe", "0.00"))),
    Mutant("rated called exempt", "cfdi.40177", put(LINE_TAX, "TipoFactor", swapped({"Tasa": "Exento"})), (*TAX, *GROUPS, "cfdi.40212", "cfdi.40179")),
    Mutant("no such tax", "cfdi.xsd", put(LINE_TAX, "Impuesto", "004"), (*TAX, *GROUPS, "cfdi.40179")),
    Mutant("IVA called IEPS", "cfdi.strict_groups", put(LINE_TAX, "Impuesto", swapped({"002": "003"})), (*TAX, *GROUPS, "cfdi.40179")),
    Mutant("transferred twice", "cfdi.match_conceptos", twice(LINE_TAX), (*TAX, *GROUPS)),
    Mutant("transferred tax missing", "cfdi.match_conceptos", remove(LINE_TAX), (*TAX, *GROUPS, "cfdi.40171", "cfdi.40173", "cfdi.xsd", "cfdi.40212")),
    Mutant("withheld too high a rate", "cfdi.40185", put(LINE_HELD, "TasaOCuota", "0.360000"), HELD),
    Mutant("withheld far off", "cfdi.40186", put(LINE_HELD, "Importe", _twice), HELD),
    Mutant("withheld two cents more", "cfdi.strict_tax", put(LINE_HELD, "Importe", plus("0.02")), HELD),
    Mutant("withheld base a peso more", "cfdi.strict_base", put(LINE_HELD, "Base", plus("1.00")), HELD),
    Mutant("withheld exempt", "cfdi.40184", put(LINE_HELD, "TipoFactor", "Exento"), (*HELD, "cfdi.40185")),
    Mutant("withheld missing", "cfdi.match_conceptos", remove(LINE_HELD), ("cfdi.40211", "cfdi.strict_groups")),
    Mutant("withheld from another tax", "cfdi.match_conceptos", put(LINE_HELD, "Impuesto", swapped({"001": "002", "002": "001"})), (*HELD, "cfdi.strict_groups")),
)  # fmt: skip

SUMMARY_MUTANTS: tuple[Mutant, ...] = (
    Mutant("summary missing", "cfdi.strict_groups", remove(SUMMARY), ("cfdi.40119",)),
    Mutant("summary in the receipt", "cfdi.40201", when(RECEIPT, add(".", "<cfdi:Impuestos/>", at=3)), ("cfdi.crp20123", "cfdi.xsd")),
    Mutant("transferred total a cent more", "cfdi.40205", put(SUMMARY, "TotalImpuestosTrasladados", plus("0.01")), ("cfdi.40119",)),
    Mutant("transferred total missing", "cfdi.40212", drop(SUMMARY, "TotalImpuestosTrasladados"), ("cfdi.40119",)),
    Mutant("transferred total too fine", "cfdi.40204", put(SUMMARY, "TotalImpuestosTrasladados", padded)),
    Mutant("withheld total a cent more", "cfdi.40203", put(SUMMARY, "TotalImpuestosRetenidos", plus("0.01")), ("cfdi.40119",)),
    Mutant("withheld total missing", "cfdi.40206", drop(SUMMARY, "TotalImpuestosRetenidos"), ("cfdi.40119",)),
    Mutant("withheld total too fine", "cfdi.40202", put(SUMMARY, "TotalImpuestosRetenidos", padded)),
    Mutant("summary tax a cent more", "cfdi.40221", put(SUMMARY_TAX, "Importe", plus("0.01")), ("cfdi.40205",)),
    Mutant("summary base a cent more", "cfdi.40215", put(f"{SUMMARY_TAX}[@TasaOCuota]", "Base", plus("0.01"))),
    Mutant("exempt summary with an amount", "cfdi.40213", when(
        lambda root: {tax.get("TipoFactor") for tax in root.findall(LINE_TAX, NAMES)} == {"Exento"}, put(SUMMARY_TAX, "Importe", "0.00"))),
    Mutant("exempt base a cent more", "cfdi.40216", when(
        lambda root: {tax.get("TipoFactor") for tax in root.findall(LINE_TAX, NAMES)} == {"Exento"}, put(SUMMARY_TAX, "Base", plus("0.01")))),
    Mutant("summary tax too fine", "cfdi.40220", put(SUMMARY_TAX, "Importe", padded)),
    Mutant("summary base too fine", "cfdi.40214", put(SUMMARY_TAX, "Base", padded)),
    Mutant("summary group twice", "cfdi.40218", twice(SUMMARY_TAX), ("cfdi.40205",)),
    Mutant("summary group missing", "cfdi.strict_groups", remove(SUMMARY_TAX), ("cfdi.40205", "cfdi.xsd")),
    Mutant("no such summary rate", "cfdi.40219", put(SUMMARY_TAX, "TasaOCuota", swapped({"0.160000": "0.110000"})), GROUPS),
    Mutant("withheld group a cent more", "cfdi.40211", put(SUMMARY_HELD, "Importe", plus("0.01")), ("cfdi.40203",)),
    Mutant("withheld group too fine", "cfdi.40210", put(SUMMARY_HELD, "Importe", padded)),
    Mutant("withheld group twice", "cfdi.40208", twice(SUMMARY_HELD), ("cfdi.40203",)),
    Mutant("withheld group missing", "cfdi.strict_groups", remove(SUMMARY_HELD), ("cfdi.40203", "cfdi.xsd")),
    Mutant("tax and totals raised together", "cfdi.strict_tax", both(
        when(lambda root: len(root.findall(SUMMARY_TAX, NAMES)) == 1, put(SUMMARY_TAX, "Importe", plus("0.05"))),
        put(LINE_TAX, "Importe", plus("0.05")),
        put(SUMMARY, "TotalImpuestosTrasladados", plus("0.05")),
        put(".", "Total", plus("0.05")),
    ), ("cfdi.40180",)),
)  # fmt: skip
