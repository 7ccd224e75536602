"""A complement as a request wants it: what each element must say, how it is written, how a document's is compared.

An attribute that the request leaves open is not judged; one that nobody asked for makes its element differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from lxml import etree

from veredicto_verifier.verifiers.cfdi.expected import agrees
from veredicto_verifier.verifiers.cfdi.nodes import Tree


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number: the exact one, how the reference writes it, the currency's decimals, and how far rounding may lead."""

    exact: Decimal
    written: Decimal
    decimals: int = 2
    slack: Decimal = Decimal(0)

    def admits(self, node: Tree, name: str) -> bool:
        """Whether the node's attribute is the number, or a rounding of it."""
        found = node.amount(name)
        if found is None:
            return False
        close = abs(found - self.exact) <= self.slack or found == self.written
        return close or agrees(found, node.decimals(name), self.exact, self.decimals)


@dataclass(frozen=True, slots=True)
class AnyCase:
    """A text whose letters may be written in either case (a UUID)."""

    text: str

    def __str__(self) -> str:
        return self.text


Value = str | AnyCase | Quantity | None
"""A text, a number, or None for what the request leaves open."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One element: its name, attributes and children."""

    name: str
    attributes: Mapping[str, Value]
    children: tuple[Wanted, ...] = ()

    @property
    def size(self) -> int:
        """Number of elements, this one included."""
        return 1 + sum(child.size for child in self.children)


def write_wanted(parent: etree._Element, wanted: Wanted, prefix: str, namespace: str) -> etree._Element:
    """Append the element with all that stands in it; open attributes are left out."""
    node = etree.SubElement(parent, f"{{{namespace}}}{wanted.name}", nsmap={prefix: namespace})
    for name, value in wanted.attributes.items():
        if isinstance(value, Quantity):
            node.set(name, f"{value.written:f}")
        elif value is not None:
            node.set(name, str(value))
    for child in wanted.children:
        write_wanted(node, child, prefix, namespace)
    return node


def num_same(found: Tree | None, wanted: Wanted) -> int:
    """How many of the wanted elements the document has, each with its attributes and under its parent."""
    if found is None or not _says(found, wanted):
        return 0
    return 1 + sum(num_same(tree, one) for tree, one in _pairs(found, wanted))


def num_elements(found: Tree | None) -> int:
    """Number of elements of a document's complement."""
    return 0 if found is None else len(found.walk())


def _pairs(found: Tree, wanted: Wanted) -> list[tuple[Tree, Wanted]]:
    """Each wanted child with the document's child that agrees with it most, each of the document's used once."""
    waiting: dict[tuple[str, str | None], dict[str | None, list[Tree]]] = {}
    used: set[int] = set()
    pairs = []
    for one in wanted.children:
        name, value = _distinction(one)
        if (one.name, name) not in waiting:
            waiting[one.name, name] = _by_value(found, one.name, name)
        alike = [child for child in waiting[one.name, name].get(value, []) if id(child) not in used]
        alike = [child for child in alike if _says(child, one)][:MOST_COMPARED]
        if alike:
            best = max(alike, key=lambda child: num_same(child, one)) if len(alike) > 1 else alike[0]
            used.add(id(best))
            pairs.append((best, one))
    return pairs


def _distinction(wanted: Wanted) -> tuple[str | None, str | None]:
    """The first attribute that is a text, with its value: what tells the children of one name apart fastest."""
    for name, value in wanted.attributes.items():
        if isinstance(value, str | AnyCase):
            return name, str(value).upper()
    return None, None


def _by_value(found: Tree, name: str, attribute: str | None) -> dict[str | None, list[Tree]]:
    groups: dict[str | None, list[Tree]] = defaultdict(list)
    for child in found.children:
        if child.name == name:
            text = child.get(attribute) if attribute else None
            groups[None if text is None else text.upper()].append(child)
    return groups


MOST_COMPARED = 8
"""So many equal-looking children are compared in full; a request has no more of them."""


def _says(found: Tree, wanted: Wanted) -> bool:
    if found.name != wanted.name or not found.attributes.keys() <= wanted.attributes.keys():
        return False
    return all(_agrees(found, name, value) for name, value in wanted.attributes.items())


def _agrees(found: Tree, name: str, value: Value) -> bool:
    if isinstance(value, Quantity):
        return value.admits(found, name)
    if isinstance(value, AnyCase):
        return (found.get(name) or "").upper() == value.text.upper()
    return value is None or found.get(name) == value
