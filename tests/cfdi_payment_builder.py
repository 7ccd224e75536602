"""A reference builder of payment receipts: turns a request of type P into one correct document, on its own arithmetic.

Bases are divided out of what is paid as integers of millionths, not by the verifier's formulas.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from xml.sax.saxutils import quoteattr

Json = dict[str, Any]
ISSUED = "Base{0} Impuesto{0} TipoFactor{0} TasaOCuota{0} Importe{0}"


def half_up(value: Fraction, places: int = 2) -> Decimal:
    scaled = value * 10**places
    return Decimal((2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)).scaleb(-places)


def tag(name: str, values: Json, children: Iterable[str] = (), prefix: str = "pago20") -> str:
    text = "".join(f" {key}={quoteattr(str(value))}" for key, value in values.items() if value is not None)
    inner = "".join(children)
    return f"<{prefix}:{name}{text}>{inner}</{prefix}:{name}>" if inner else f"<{prefix}:{name}{text}/>"


def rate_of(tax: Json) -> Fraction:
    return Fraction(tax.get("tasa_o_cuota") or "0")


def document_taxes(document: Json, side: str, places: int) -> list[Json]:
    signs = [(tax, 1) for tax in document["traslados"]] + [(tax, -1) for tax in document["retenciones"]]
    share = 1 + sum(sign * rate_of(tax) for tax, sign in signs)
    taxes = []
    for tax in document[side]:
        base = half_up(Fraction(tax.get("base") or Fraction(document["importe_pagado"]) / share), places)
        row: Json = {"base": base, "impuesto": tax["impuesto"], "factor": tax["tipo_factor"], "rate": None, "sum": None}
        if tax["tipo_factor"] != "Exento":
            row |= {"rate": tax["tasa_o_cuota"], "sum": half_up(Fraction(base) * rate_of(tax), places)}
        taxes.append(row)
    return taxes


def tax_attributes(tax: Json, side: str) -> Json:
    return dict(
        zip(
            ISSUED.format(side).split(),
            (tax["base"], tax["impuesto"], tax["factor"], tax["rate"], tax["sum"]),
            strict=True,
        )
    )


def document_xml(document: Json, charged: list[Json], held: list[Json]) -> str:
    values = {
        "IdDocumento": document["id_documento"],
        "Serie": document.get("serie"),
        "Folio": document.get("folio"),
        "MonedaDR": document["moneda"],
        "EquivalenciaDR": document.get("equivalencia", "1"),
        "NumParcialidad": document["num_parcialidad"],
        "ImpSaldoAnt": document["saldo_anterior"],
        "ImpPagado": document["importe_pagado"],
        "ImpSaldoInsoluto": Decimal(document["saldo_anterior"]) - Decimal(document["importe_pagado"]),
        "ObjetoImpDR": document["objeto_imp"],
    }
    groups = []
    if held:
        groups.append(tag("RetencionesDR", {}, (tag("RetencionDR", tax_attributes(tax, "DR")) for tax in held)))
    if charged:
        groups.append(tag("TrasladosDR", {}, (tag("TrasladoDR", tax_attributes(tax, "DR")) for tax in charged)))
    return tag("DoctoRelacionado", values, [tag("ImpuestosDR", {}, groups)] if groups else [])


def add_up(rows: list[tuple[Json, Fraction]], key: tuple[str, ...], places: int) -> list[Json]:
    groups: dict[tuple[Any, ...], Json] = {}
    for tax, equivalence in rows:
        group = groups.setdefault(tuple(tax[name] for name in key), {**tax, "base": Fraction(0), "sum": None})
        group["base"] += Fraction(tax["base"]) / equivalence
        if tax["sum"] is not None:
            group["sum"] = (group["sum"] or Fraction(0)) + Fraction(tax["sum"]) / equivalence
    for group in groups.values():
        group["base"] = half_up(group["base"], places)
        group["sum"] = None if group["sum"] is None else half_up(group["sum"], places)
    return list(groups.values())


def payment_xml(payment: Json, places: int) -> tuple[str, list[Json], list[Json]]:
    documents, charged, held = "", [], []
    for document in payment["documentos"]:
        traslados = document_taxes(document, "traslados", places)
        retenciones = document_taxes(document, "retenciones", places)
        documents += document_xml(document, traslados, retenciones)
        equivalence = Fraction(document.get("equivalencia", "1"))
        charged += [(tax, equivalence) for tax in traslados]
        held += [(tax, equivalence) for tax in retenciones]
    crossed = any("equivalencia" in document for document in payment["documentos"])
    sums = add_up(charged, ("impuesto", "factor", "rate"), 6 if crossed else places)
    kept = add_up(held, ("impuesto",), 6 if crossed else places)
    groups = []
    if kept:
        nodes = (tag("RetencionP", {"ImpuestoP": tax["impuesto"], "ImporteP": tax["sum"]}) for tax in kept)
        groups.append(tag("RetencionesP", {}, nodes))
    if sums:
        groups.append(tag("TrasladosP", {}, (tag("TrasladoP", tax_attributes(tax, "P")) for tax in sums)))
    values = {
        "FechaPago": payment["fecha_pago"],
        "FormaDePagoP": payment["forma_de_pago"],
        "MonedaP": payment["moneda"],
        "TipoCambioP": payment.get("tipo_cambio", "1"),
        "Monto": payment["monto"],
        "NumOperacion": payment.get("num_operacion"),
    }
    return tag("Pago", values, [documents, tag("ImpuestosP", {}, groups) if groups else ""]), sums, kept


def totals_xml(payments: list[tuple[Json, list[Json], list[Json]]]) -> str:
    found: dict[str, Fraction] = {}

    def count(name: str, value: Decimal | str, payment: Json) -> None:
        found[name] = found.get(name, Fraction(0)) + Fraction(value) * Fraction(payment.get("tipo_cambio", "1"))

    for payment, sums, kept in payments:
        for tax in kept:
            count(
                "TotalRetenciones" + {"001": "ISR", "002": "IVA", "003": "IEPS"}[tax["impuesto"]], tax["sum"], payment
            )
        for tax in (one for one in sums if one["impuesto"] == "002"):
            kind = "Exento" if tax["rate"] is None else str(int(Decimal(tax["rate"]) * 100))
            count(f"TotalTrasladosBaseIVA{kind}", tax["base"], payment)
            if tax["sum"] is not None:
                count(f"TotalTrasladosImpuestoIVA{kind}", tax["sum"], payment)
        count("MontoTotalPagos", payment["monto"], payment)
    return tag("Totales", {name: half_up(value) for name, value in found.items()})


def payments_xml(pagos: list[Json], places: int) -> str:
    """The element Complemento of a request's payments."""
    written = [(payment, *payment_xml(payment, places)) for payment in pagos]
    totals = totals_xml([(payment, sums, kept) for payment, _text, sums, kept in written])
    root = tag(
        "Pagos",
        {"xmlns:pago20": "http://www.sat.gob.mx/Pagos20", "Version": "2.0"},
        [totals, *(one[1] for one in written)],
    )
    return tag("Complemento", {}, [root], prefix="cfdi")
