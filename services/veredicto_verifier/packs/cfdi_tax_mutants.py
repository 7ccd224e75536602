"""Faults of the taxes of an invoice and of their summary: one number, code or node wrong, the rest as it was."""

from __future__ import annotations

from decimal import Decimal

from veredicto_verifier.packs.cfdi_edits import (
    LINE_HELD,
    LINE_TAX,
    NAMES,
    SUMMARY,
    SUMMARY_HELD,
    SUMMARY_TAX,
    Edit,
    Mutant,
    add,
    both,
    drop,
    of_type,
    padded,
    plus,
    put,
    remove,
    swapped,
    twice,
    when,
)

RECEIPT = of_type("P")
TAX = ("cfdi.40180", "cfdi.40221", "cfdi.strict_tax", "cfdi.strict_base", "cfdi.40215", "cfdi.40216", "cfdi.40214")
HELD = ("cfdi.40186", "cfdi.40211", "cfdi.strict_tax", "cfdi.strict_base")
GROUPS = ("cfdi.strict_groups", "cfdi.40215", "cfdi.40221", "cfdi.40216", "cfdi.40213", "cfdi.strict_base")


def _first(path: str, edit: Edit) -> Edit:
    """An edit where `path` leads somewhere."""
    return when(lambda root: root.find(path, NAMES) is not None, edit)


def _twice(old: str) -> str | None:
    """A number that lies clearly beyond SAT's limits."""
    return f"{Decimal(old) * 2 + 1:.2f}" if Decimal(old) else None


TAX_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "no such rate",
        "cfdi.40179",
        put(LINE_TAX, "TasaOCuota", swapped({"0.160000": "0.150000", "0.080000": "0.100000", "0.000000": "0.010000"})),
        (*TAX, *GROUPS),
    ),
    Mutant("rate in per cent", "cfdi.40179", put(LINE_TAX, "TasaOCuota", swapped({"0.160000": "16"})), (*TAX, *GROUPS)),
    Mutant(
        "frontier rate",
        "cfdi.strict_tax",
        put(LINE_TAX, "TasaOCuota", swapped({"0.160000": "0.080000"})),
        (*TAX, *GROUPS),
    ),
    Mutant("tax far off", "cfdi.40180", put(LINE_TAX, "Importe", _twice), TAX),
    Mutant("tax two cents more", "cfdi.strict_tax", put(LINE_TAX, "Importe", plus("0.02")), TAX),
    Mutant("base of one peso", "cfdi.strict_base", put(LINE_TAX, "Base", "1"), TAX),
    Mutant("base a peso more", "cfdi.strict_base", put(LINE_TAX, "Base", plus("1.00")), TAX),
    Mutant("base of nothing", "cfdi.40174", put(LINE_TAX, "Base", "0"), TAX),
    Mutant("tax without amount", "cfdi.40178", drop(LINE_TAX, "Importe"), TAX),
    Mutant("tax without rate", "cfdi.40178", drop(LINE_TAX, "TasaOCuota"), (*TAX, *GROUPS)),
    Mutant(
        "exempt with an amount",
        "cfdi.40177",
        _first(f"{LINE_TAX}[@TipoFactor='Exento']", put(f"{LINE_TAX}[@TipoFactor='Exento']", "Importe", "0.00")),
    ),
    Mutant(
        "rated called exempt",
        "cfdi.40177",
        put(LINE_TAX, "TipoFactor", swapped({"Tasa": "Exento"})),
        (*TAX, *GROUPS, "cfdi.40212", "cfdi.40179"),
    ),
    Mutant("no such tax", "cfdi.40175", put(LINE_TAX, "Impuesto", "004"), (*TAX, *GROUPS, "cfdi.40179")),
    Mutant(
        "IVA called IEPS",
        "cfdi.strict_groups",
        put(LINE_TAX, "Impuesto", swapped({"002": "003"})),
        (*TAX, *GROUPS, "cfdi.40179"),
    ),
    Mutant("transferred twice", "cfdi.match_conceptos", twice(LINE_TAX), (*TAX, *GROUPS)),
    Mutant(
        "transferred tax missing",
        "cfdi.match_conceptos",
        remove(LINE_TAX),
        (*TAX, *GROUPS, "cfdi.40171", "cfdi.40173", "cfdi.xsd", "cfdi.40212"),
    ),
    Mutant("withheld too high a rate", "cfdi.40185", put(LINE_HELD, "TasaOCuota", "0.360000"), HELD),
    Mutant("withheld far off", "cfdi.40186", put(LINE_HELD, "Importe", _twice), HELD),
    Mutant("withheld two cents more", "cfdi.strict_tax", put(LINE_HELD, "Importe", plus("0.02")), HELD),
    Mutant("withheld base a peso more", "cfdi.strict_base", put(LINE_HELD, "Base", plus("1.00")), HELD),
    Mutant("withheld exempt", "cfdi.40184", put(LINE_HELD, "TipoFactor", "Exento"), (*HELD, "cfdi.40185")),
    Mutant("withheld missing", "cfdi.match_conceptos", remove(LINE_HELD), ("cfdi.40211", "cfdi.strict_groups")),
    Mutant(
        "withheld from another tax",
        "cfdi.match_conceptos",
        put(LINE_HELD, "Impuesto", swapped({"001": "002", "002": "001"})),
        (*HELD, "cfdi.strict_groups"),
    ),
)

SUMMARY_MUTANTS: tuple[Mutant, ...] = (
    Mutant("summary missing", "cfdi.strict_groups", remove(SUMMARY), ("cfdi.40119",)),
    Mutant(
        "summary in the receipt",
        "cfdi.40201",
        when(RECEIPT, add(".", "<cfdi:Impuestos/>", at=3)),
        ("cfdi.crp20123", "cfdi.xsd"),
    ),
    Mutant(
        "transferred total a cent more",
        "cfdi.40205",
        put(SUMMARY, "TotalImpuestosTrasladados", plus("0.01")),
        ("cfdi.40119",),
    ),
    Mutant("transferred total missing", "cfdi.40212", drop(SUMMARY, "TotalImpuestosTrasladados"), ("cfdi.40119",)),
    Mutant("transferred total too fine", "cfdi.40204", put(SUMMARY, "TotalImpuestosTrasladados", padded)),
    Mutant(
        "withheld total a cent more",
        "cfdi.40203",
        put(SUMMARY, "TotalImpuestosRetenidos", plus("0.01")),
        ("cfdi.40119",),
    ),
    Mutant("withheld total missing", "cfdi.40206", drop(SUMMARY, "TotalImpuestosRetenidos"), ("cfdi.40119",)),
    Mutant("withheld total too fine", "cfdi.40202", put(SUMMARY, "TotalImpuestosRetenidos", padded)),
    Mutant("summary tax a cent more", "cfdi.40221", put(SUMMARY_TAX, "Importe", plus("0.01")), ("cfdi.40205",)),
    Mutant("summary base a cent more", "cfdi.40215", put(f"{SUMMARY_TAX}[@TasaOCuota]", "Base", plus("0.01"))),
    Mutant(
        "exempt summary with an amount",
        "cfdi.40213",
        when(
            lambda root: {tax.get("TipoFactor") for tax in root.findall(LINE_TAX, NAMES)} == {"Exento"},
            put(SUMMARY_TAX, "Importe", "0.00"),
        ),
    ),
    Mutant(
        "exempt base a cent more",
        "cfdi.40216",
        when(
            lambda root: {tax.get("TipoFactor") for tax in root.findall(LINE_TAX, NAMES)} == {"Exento"},
            put(SUMMARY_TAX, "Base", plus("0.01")),
        ),
    ),
    Mutant("summary tax too fine", "cfdi.40220", put(SUMMARY_TAX, "Importe", padded)),
    Mutant("summary base too fine", "cfdi.40214", put(SUMMARY_TAX, "Base", padded)),
    Mutant("summary group twice", "cfdi.40218", twice(SUMMARY_TAX), ("cfdi.40205",)),
    Mutant("summary group missing", "cfdi.strict_groups", remove(SUMMARY_TAX), ("cfdi.40205", "cfdi.xsd")),
    Mutant(
        "no such summary rate", "cfdi.40219", put(SUMMARY_TAX, "TasaOCuota", swapped({"0.160000": "0.110000"})), GROUPS
    ),
    Mutant("withheld group a cent more", "cfdi.40211", put(SUMMARY_HELD, "Importe", plus("0.01")), ("cfdi.40203",)),
    Mutant("withheld group too fine", "cfdi.40210", put(SUMMARY_HELD, "Importe", padded)),
    Mutant("withheld group twice", "cfdi.40208", twice(SUMMARY_HELD), ("cfdi.40203",)),
    Mutant("withheld group missing", "cfdi.strict_groups", remove(SUMMARY_HELD), ("cfdi.40203", "cfdi.xsd")),
    Mutant(
        "tax and totals raised together",
        "cfdi.strict_tax",
        both(
            when(lambda root: len(root.findall(SUMMARY_TAX, NAMES)) == 1, put(SUMMARY_TAX, "Importe", plus("0.05"))),
            put(LINE_TAX, "Importe", plus("0.05")),
            put(SUMMARY, "TotalImpuestosTrasladados", plus("0.05")),
            put(".", "Total", plus("0.05")),
        ),
        ("cfdi.40180",),
    ),
)
