"""Whether an answer copies the example that its prompt shows instead of filling in what the request says."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Node

ADMITTED = 1
"""So many values may coincide by chance."""

Mark = frozenset[str | Decimal | None]
"""The values that one field has, numbers as numbers."""


def traps_of(example: Comprobante, wanted: Comprobante) -> Mapping[str, Mark]:
    """The example's identity and amount fields whose values the wanted invoice does not have."""
    right = _marks(wanted)
    found = {name: values - right[name] for name, values in _marks(example).items()}
    return {name: values for name, values in found.items() if values}


def copied_fields(cfdi: Comprobante, traps: Mapping[str, Mark]) -> list[str]:
    """Fields with a value of the example's, when they are more than chance explains; otherwise none."""
    marks = _marks(cfdi) if traps else {}
    fields = [name for name, values in traps.items() if marks[name] & values]
    return fields if len(fields) > ADMITTED else []


def _marks(cfdi: Comprobante) -> dict[str, Mark]:
    texts: dict[str, tuple[tuple[Node, ...], str]] = {
        "Folio": ((cfdi,), "Folio"),
        "Emisor.Rfc": ((cfdi.emisor,), "Rfc"),
        "Emisor.Nombre": ((cfdi.emisor,), "Nombre"),
        "Receptor.Rfc": ((cfdi.receptor,), "Rfc"),
        "Receptor.Nombre": ((cfdi.receptor,), "Nombre"),
        "Receptor.DomicilioFiscalReceptor": ((cfdi.receptor,), "DomicilioFiscalReceptor"),
        "Concepto.Descripcion": (cfdi.conceptos, "Descripcion"),
    }
    amounts: dict[str, tuple[tuple[Node, ...], str]] = {
        "SubTotal": ((cfdi,), "SubTotal"),
        "Total": ((cfdi,), "Total"),
        "Concepto.ValorUnitario": (cfdi.conceptos, "ValorUnitario"),
        "Pago.Monto": (cfdi.pagos.all("Pago") if cfdi.pagos else (), "Monto"),
    }
    marks: dict[str, Mark] = {}
    for name, (nodes, attribute) in texts.items():
        marks[name] = frozenset(node.get(attribute) for node in nodes) - {None}
    for name, (nodes, attribute) in amounts.items():
        marks[name] = frozenset(node.amount(attribute) for node in nodes) - {None}
    marks["UUID"] = frozenset(uuid for one in cfdi.relaciones for uuid in one.uuids)
    return marks
