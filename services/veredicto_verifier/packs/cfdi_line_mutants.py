"""Faults of an invoice's lines: one number, code or node wrong, the rest as it was."""

from __future__ import annotations

from decimal import Decimal

from lxml import etree

from veredicto_verifier.packs.cfdi_edits import (
    LINE,
    LINE_TAX,
    NAMES,
    Edit,
    Mutant,
    add,
    at,
    drop,
    of_type,
    plus,
    put,
    remove,
    swapped,
    turned,
    twice,
    when,
)

SALE = of_type("I", "E")
SUMS = ("cfdi.40108", "cfdi.40119")
AMOUNT = ("cfdi.40167", "cfdi.strict_importe", "cfdi.strict_base", *SUMS)
TAX = ("cfdi.40180", "cfdi.40221", "cfdi.strict_tax", "cfdi.strict_base", "cfdi.40215", "cfdi.40216", "cfdi.40214")
GROUPS = ("cfdi.strict_groups", "cfdi.40215", "cfdi.40221", "cfdi.40216", "cfdi.40213", "cfdi.strict_base")
PAID = ("cfdi.crp20112", "cfdi.crp20113", "cfdi.crp20116", "cfdi.crp20118", "cfdi.crp20123")
THIRD = (
    '<cfdi:ACuentaTerceros RfcACuentaTerceros="AAA010101AAA" NombreACuentaTerceros="OTRO" '
    'RegimenFiscalACuentaTerceros="601" DomicilioFiscalACuentaTerceros="06600"/>'
)
CUSTOMS = 'NumeroPedimento="15  48  3009  0001234"'
PART = '<cfdi:Parte ClaveProdServ="43211503" Cantidad="1" Descripcion="Pieza"/>'


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
    Mutant(
        "quantity of one more", "cfdi.strict_importe", when(SALE, put(LINE, "Cantidad", plus("1"))), (*AMOUNT, *TAX)
    ),
    Mutant(
        "price of one more",
        "cfdi.strict_importe",
        when(SALE, put(LINE, "ValorUnitario", plus("1.00"))),
        (*AMOUNT, *TAX),
    ),
    Mutant("price of nothing", "cfdi.40166", when(SALE, put(LINE, "ValorUnitario", "0")), (*AMOUNT, *TAX)),
    Mutant("amount far off", "cfdi.40167", when(SALE, put(LINE, "Importe", _twice)), (*AMOUNT, *TAX)),
    Mutant(
        "amount two cents more", "cfdi.strict_importe", when(SALE, put(LINE, "Importe", plus("0.02"))), (*AMOUNT, *TAX)
    ),
    Mutant("quantity missing", "cfdi.xsd.missing_attribute", drop(LINE, "Cantidad"), ("cfdi.crp20115",)),
    Mutant("line discount a cent more", "cfdi.40111", put(LINE, "Descuento", plus("0.01")), (*TAX, *SUMS)),
    Mutant("line discount too fine", "cfdi.40168", put(LINE, "Descuento", lambda old: old + "00"), ()),
    Mutant(
        "line discount above the amount",
        "cfdi.40169",
        put(LINE, "Descuento", plus("99999999")),
        ("cfdi.40111", *TAX, *SUMS),
    ),
    Mutant("line discount missing", "cfdi.40111", drop(LINE, "Descuento"), (*TAX, *SUMS)),
    Mutant("taxed without taxes", "cfdi.40171", when(SALE, put(LINE, "ObjetoImp", swapped({"01": "02", "03": "02"})))),
    Mutant("untaxed with taxes", "cfdi.40172", when(SALE, put(LINE, "ObjetoImp", swapped({"02": "01"})))),
    Mutant("no breakdown with taxes", "cfdi.40172", when(SALE, put(LINE, "ObjetoImp", swapped({"02": "03"})))),
    Mutant("no IVA with IVA", "cfdi.40226", _first(LINE_TAX, put(LINE, "ObjetoImp", swapped({"02": "06"})))),
    Mutant("only IEPS with IVA", "cfdi.40227", _first(LINE_TAX, put(LINE, "ObjetoImp", swapped({"02": "07"})))),
    Mutant(
        "another untaxed kind",
        "cfdi.match_conceptos",
        when(SALE, put(LINE, "ObjetoImp", swapped({"01": "04", "03": "04"}))),
    ),
    Mutant(
        "taxes empty",
        "cfdi.40173",
        when(at(LINE, "ObjetoImp", "01"), add(LINE, "<cfdi:Impuestos/>")),
        ("cfdi.40172", "cfdi.xsd", "cfdi.crp20112", "cfdi.crp20123"),
    ),
    Mutant(
        "line missing",
        "cfdi.match_conceptos",
        _one_line_less,
        (*SUMS, *GROUPS, "cfdi.40111", "cfdi.40211", "cfdi.40119", "cfdi.40213"),
    ),
    Mutant(
        "line twice", "cfdi.match_conceptos", twice(LINE), (*SUMS, *GROUPS, "cfdi.40111", "cfdi.40211", "cfdi.crp20111")
    ),
    Mutant("flood of lines", "cfdi.too_many_concepts", _many),
    Mutant("line on another's account", "cfdi.match_extra", add(LINE, THIRD), ("cfdi.xsd",)),
    Mutant("property number", "cfdi.match_extra", when(SALE, add(LINE, '<cfdi:CuentaPredial Numero="15956011002"/>'))),
    Mutant(
        "customs number",
        "cfdi.match_extra",
        when(SALE, add(LINE, f"<cfdi:InformacionAduanera {CUSTOMS}/>")),
        ("cfdi.xsd", "cfdi.40194"),
    ),
    Mutant("part of a line", "cfdi.match_extra", when(SALE, add(LINE, PART)), ("cfdi.xsd",)),
    Mutant(
        "seventh decimal",
        "cfdi.xsd.pattern",
        when(SALE, put(LINE, "ValorUnitario", lambda old: f"{Decimal(old):.7f}")),
        ("cfdi.strict_number",),
    ),
)
