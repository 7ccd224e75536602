"""Checks that many rows of SAT's matrices share: an attribute that is pinned, absent, there, or a number above zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Node
from veredicto_verifier.verifiers.cfdi.rule import Check, Facts, Fault, fault, shown

Place = Callable[[Comprobante], Iterable[Node]]


def pinned(place: Place, name: str, *values: str) -> Check:
    """The attribute is written exactly as one of `values`."""

    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for node in place(cfdi):
            if node.get(name) not in values:
                yield fault(node, f"{name} debe ser {' o '.join(values)}, no {shown(node.get(name))}")

    return check


def absent(place: Place, name: str) -> Check:
    """The attribute is not there."""

    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for node in place(cfdi):
            if node.get(name) is not None:
                yield fault(node, f"{name} no debe existir")

    return check


def excluded(place: Place, name: str, value: str) -> Check:
    """The attribute is not that value."""

    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for node in place(cfdi):
            if node.get(name) == value:
                yield fault(node, f"{name} debe ser distinto de {value}")

    return check


def positive(place: Place, name: str) -> Check:
    """The attribute is above zero, where it is a number."""

    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for node in place(cfdi):
            amount = node.amount(name)
            if amount is not None and amount <= 0:
                yield fault(node, f"{name} debe ser mayor que 0")

    return check


def in_currency(place: Place, name: str, currency: str) -> Check:
    """The attribute has no more decimals than the currency that the node itself names in `currency`."""

    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for node in place(cfdi):
            allowed = facts.catalogues.currencies.get(node.get(currency) or "")
            if allowed is not None and node.decimals(name) > allowed:
                yield fault(node, f"{name} tiene {node.decimals(name)} decimales; la moneda admite {allowed}")

    return check


def known(place: Place, name: str, catalogue: str, codes: Callable[[Facts], Iterable[str]]) -> Check:
    """The attribute, where it is there, is in a catalogue."""

    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for node in place(cfdi):
            value = node.get(name)
            if value is not None and value not in codes(facts):
                yield fault(node, f"{name} {shown(value)} no está en {catalogue}")

    return check


def header(cfdi: Comprobante) -> tuple[Node, ...]:
    """The invoice itself."""
    return (cfdi,)


def lines(cfdi: Comprobante) -> tuple[Node, ...]:
    """Its lines."""
    return cfdi.conceptos
