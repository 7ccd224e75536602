"""The elements of an invoice as the rules see them: attributes as texts and as numbers, and the children that count.

One verdict builds a node for every element, so nodes are plain classes with slots whose look-ups are the bound methods
of their dictionaries: frozen dataclasses cost a verdict a third of its time. Nothing changes a node once it is read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from decimal import Decimal

AMOUNT = re.compile(r"(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,6})?")
"""A number as Anexo 20 means it; the schema's own pattern leaves its point unescaped and lets 19 digits through."""
PLAIN = re.compile(r"(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,10})?")
"""A number of a complement: rates between currencies have up to ten decimals."""
MAX_AMOUNT = 25
"""Characters of the longest such number."""


NUMBERS = frozenset(
    "SubTotal Descuento Total TipoCambio Cantidad ValorUnitario Importe Base TasaOCuota TotalImpuestosRetenidos "
    "TotalImpuestosTrasladados TotaldeRetenciones TotaldeTraslados".split()
)
"""Attributes that hold a number."""
Key = tuple[str | None, str | None, Decimal | None]
"""Impuesto, TipoFactor and TasaOCuota as a number (`0.16` and `0.160000` are one rate)."""


@functools.lru_cache(maxsize=8192)
def number(text: str) -> Decimal | None:
    """The number that a text writes, None where it writes none; the answers of a group repeat theirs."""
    return Decimal(text) if AMOUNT.fullmatch(text) else None


class Node:
    """One element: its path for a person (`Conceptos/Concepto[2]`), its attributes and those that are numbers.

    `get(name)` is the attribute's text, None where it is absent; `amount(name)` the attribute as a number, None
    where it is absent or not written as one (`odd` names those).
    """

    __slots__ = ("amount", "attributes", "get", "numbers", "odd", "path")
    get: Callable[[str], str | None]
    amount: Callable[[str], Decimal | None]
    odd: tuple[str, ...]

    def __init__(self, path: str, attributes: Mapping[str, str]) -> None:
        self.odd = ()
        numbers: dict[str, Decimal] = {}
        for name, text in attributes.items():
            if name in NUMBERS:
                value = number(text) if len(text) <= MAX_AMOUNT else None
                if value is None:
                    self.odd += (name,)
                else:
                    numbers[name] = value
        self.path, self.attributes, self.numbers = path, attributes, numbers
        self.get, self.amount = attributes.get, numbers.get

    def decimals(self, name: str) -> int:
        """Number of decimals as written."""
        return len(self.attributes.get(name, "").partition(".")[2])


class Tree(Node):
    """One element of a complement with its children; every attribute may be asked for as a number."""

    __slots__ = ("children", "name")

    def __init__(self, path: str, attributes: Mapping[str, str], name: str, children: tuple[Tree, ...]) -> None:
        super().__init__(path, attributes)
        self.name, self.children = name, children
        self.amount = self._plain_number

    def _plain_number(self, name: str) -> Decimal | None:
        text = self.attributes.get(name)
        return Decimal(text) if text is not None and PLAIN.fullmatch(text) else None

    def all(self, *names: str) -> tuple[Tree, ...]:
        """The descendants that these names lead to, one name a level."""
        found: tuple[Tree, ...] = (self,)
        for name in names:
            found = tuple(child for one in found for child in one.children if child.name == name)
        return found

    def first(self, *names: str) -> Tree | None:
        """The first of `all`."""
        return next(iter(self.all(*names)), None)

    def walk(self) -> tuple[Tree, ...]:
        """This node and all below it, in document order."""
        return (self, *(inner for child in self.children for inner in child.walk()))


class Impuestos(Node):
    """A taxes element: of a concept, or the invoice's summary."""

    __slots__ = ("retenciones", "traslados")

    def __init__(
        self, path: str, attributes: Mapping[str, str], traslados: tuple[Node, ...], retenciones: tuple[Node, ...]
    ) -> None:
        super().__init__(path, attributes)
        self.traslados, self.retenciones = traslados, retenciones


class Concepto(Node):
    """One line of the invoice; `extras` are the names of its children beside Impuestos."""

    __slots__ = ("extras", "impuestos", "partes", "pedimentos", "retenciones", "terceros", "traslados")
    terceros: Node | None
    partes: tuple[Node, ...]
    pedimentos: tuple[Node, ...]
    extras: tuple[str, ...]

    def __init__(self, path: str, attributes: Mapping[str, str], impuestos: Impuestos | None) -> None:
        super().__init__(path, attributes)
        self.impuestos = impuestos
        self.traslados = impuestos.traslados if impuestos else ()
        self.retenciones = impuestos.retenciones if impuestos else ()
        self.terceros, self.partes, self.pedimentos, self.extras = None, (), (), ()


class Relacion(Node):
    """One CfdiRelacionados with its UUIDs, upper case, in document order."""

    __slots__ = ("uuids",)

    def __init__(self, path: str, attributes: Mapping[str, str], uuids: tuple[str, ...]) -> None:
        super().__init__(path, attributes)
        self.uuids = uuids


def tax_key(tax: Node) -> Key:
    """What groups a traslado."""
    get = tax.get
    return get("Impuesto"), get("TipoFactor"), tax.amount("TasaOCuota")
