"""The sums of a request once more, in fractions and from plain JSON: `pack check` holds the verifier against them.

Nothing is shared with the verifier's own computation, which works in Decimal on typed requests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

Json = Mapping[str, Any]


def sums_of(request: Json) -> dict[str, Fraction]:
    """Exact SubTotal, Descuento, transferred, withheld and Total of a sale; MontoTotalPagos in pesos of a receipt."""
    if request["tipo"] == "P":
        cents = 100 * sum(Fraction(one["monto"]) * Fraction(one.get("tipo_cambio") or 1) for one in request["pagos"])
        return {"MontoTotalPagos": Fraction(math.floor(cents + Fraction(1, 2)), 100)}
    found = dict.fromkeys(
        ("SubTotal", "Descuento", "TotalImpuestosTrasladados", "TotalImpuestosRetenidos"), Fraction(0)
    )
    for line in request["conceptos"]:
        amount = Fraction(line["cantidad"]) * Fraction(line["valor_unitario"])
        discount = Fraction(line.get("descuento") or 0)
        found["SubTotal"] += amount
        found["Descuento"] += discount
        found["TotalImpuestosTrasladados"] += _charged(line, amount - discount)
        found["TotalImpuestosRetenidos"] += sum(
            (_tax(tax, line, amount - discount) for tax in line.get("retenciones", ())), Fraction(0)
        )
    found["Total"] = (
        found["SubTotal"] - found["Descuento"] + found["TotalImpuestosTrasladados"] - found["TotalImpuestosRetenidos"]
    )
    return found


def _charged(line: Json, net: Fraction) -> Fraction:
    """IVA is charged on the net price with the line's IEPS."""
    taxes = line.get("traslados", ())
    first = sum((_tax(tax, line, net) for tax in taxes if tax["impuesto"] != "002"), Fraction(0))
    ieps = sum((_tax(tax, line, net) for tax in taxes if tax["impuesto"] == "003"), Fraction(0))
    return first + sum((_tax(tax, line, net + ieps) for tax in taxes if tax["impuesto"] == "002"), Fraction(0))


def _tax(tax: Json, line: Json, net: Fraction) -> Fraction:
    basis = Fraction(line["cantidad"]) if tax["tipo_factor"] == "Cuota" else net
    return Fraction(tax.get("base") or basis) * Fraction(tax.get("tasa_o_cuota") or 0)
