"""Edits that the mutants of an invoice are made of: set, drop, add or copy something, where it stands at all."""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from lxml import etree

CFD4 = "http://www.sat.gob.mx/cfd/4"
PAGOS20 = "http://www.sat.gob.mx/Pagos20"
NAMES = {"cfdi": CFD4, "pago20": PAGOS20}

Edit = Callable[[etree._Element], bool]
"""Changes the root of an invoice in place; False where there is nothing to change."""
Value = Callable[[str], str | None]
"""From an attribute's text to another one, or None where this kind of mistake cannot be made."""

LINE = "cfdi:Conceptos/cfdi:Concepto"
LINE_TAX = f"{LINE}/cfdi:Impuestos/cfdi:Traslados/cfdi:Traslado"
LINE_HELD = f"{LINE}/cfdi:Impuestos/cfdi:Retenciones/cfdi:Retencion"
SUMMARY = "cfdi:Impuestos"
SUMMARY_TAX = "cfdi:Impuestos/cfdi:Traslados/cfdi:Traslado"
SUMMARY_HELD = "cfdi:Impuestos/cfdi:Retenciones/cfdi:Retencion"


class Mutant(NamedTuple):
    """One kind of fault: its name, the code that must name it, how to make it, and codes that may stand beside it."""

    name: str
    code: str
    edit: Edit
    beside: tuple[str, ...] = ()


def put(path: str, name: str, value: str | Value) -> Edit:
    """Set an attribute of the first element at `path` that has it (a text value: of the first element)."""

    def edit(root: etree._Element) -> bool:
        for node in root.findall(path, NAMES):
            if isinstance(value, str):
                changed = node.get(name) != value
                node.set(name, value)
                return changed
            old = node.get(name)
            new = value(old) if old is not None else None
            if new is not None and new != old:
                node.set(name, new)
                return True
        return False

    return edit


def drop(path: str, name: str) -> Edit:
    """Remove an attribute from the first element at `path` that has it."""

    def edit(root: etree._Element) -> bool:
        for node in root.findall(path, NAMES):
            if name in node.attrib:
                del node.attrib[name]
                return True
        return False

    return edit


def remove(path: str) -> Edit:
    """Remove the first element at `path`, and its holder when nothing is left in it."""

    def edit(root: etree._Element) -> bool:
        node = root.find(path, NAMES)
        parent = None if node is None else node.getparent()
        if node is None or parent is None:
            return False
        parent.remove(node)
        above = parent.getparent()
        if not len(parent) and above is not None and parent.tag.endswith(("Traslados", "Retenciones")):
            above.remove(parent)
        return True

    return edit


def twice(path: str) -> Edit:
    """Copy the first element at `path` beside itself."""

    def edit(root: etree._Element) -> bool:
        node = root.find(path, NAMES)
        if node is None:
            return False
        node.addnext(copy.deepcopy(node))
        return True

    return edit


def add(path: str, xml: str, *, at: int | None = None) -> Edit:
    """Put a new element into the first one at `path`: last, or at a place."""

    def edit(root: etree._Element) -> bool:
        node = root.find(path, NAMES)
        if node is None:
            return False
        places = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMES.items())
        new = etree.fromstring(f"<holder {places}>{xml}</holder>")[0]
        node.insert(len(node) if at is None else at, new)
        return True

    return edit


def both(*edits: Edit) -> Edit:
    """All of several edits, or none that counts."""

    def edit(root: etree._Element) -> bool:
        made = [one(root) for one in edits]
        return all(made)

    return edit


def when(holds: Callable[[etree._Element], bool], edit: Edit) -> Edit:
    """An edit of those invoices only for which something holds."""
    return lambda root: holds(root) and edit(root)


def of_type(*types: str) -> Callable[[etree._Element], bool]:
    """Whether the invoice is of one of these types."""
    return lambda root: root.get("TipoDeComprobante") in types


def at(path: str, name: str, *values: str) -> Callable[[etree._Element], bool]:
    """Whether the first element at `path` has one of these values."""

    def holds(root: etree._Element) -> bool:
        node = root.find(path, NAMES)
        return node is not None and node.get(name) in values

    return holds


def plus(amount: str) -> Value:
    """A number, that much larger, with the same decimals or two."""
    return lambda old: f"{Decimal(old) + Decimal(amount):f}"


def padded(old: str) -> str:
    """A number with one more decimal, a zero."""
    return old + "0" if "." in old else old + ".0"


def finer(old: str) -> str:
    """A number with seven decimals."""
    return f"{Decimal(old):.7f}"


def swapped(pairs: dict[str, str]) -> Value:
    """Another code for those codes that have a partner."""
    return pairs.get


def turned(old: str) -> str:
    """A text with its last character exchanged."""
    return old[:-1] + ("B" if old[-1] != "B" else "C")
