"""Draw requests of type P: payments of earlier invoices, whole or in instalments, of several, in other currencies."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from veredicto_verifier.packs.generators.cfdi_lines import (
    FORMS,
    ISR_FEES,
    IVA_FREIGHT,
    IVA_TWO_THIRDS,
    Draw,
    cents,
    exempt,
    iva,
    moment,
    rate,
    uuid,
)
from veredicto_verifier.packs.generators.cfdi_parties import company, person, receiver

Json = dict[str, Any]
MONTH = 11
"""Receipts are of November, their payments of earlier months."""
TEN_DECIMALS = Decimal("0.0000000001")


def _start(draw: Draw) -> None:
    """A receipt for payments: no currency, no method, no lines; the receiver's use is CP01."""
    request = draw.request
    for name in ("metodo_pago", "forma_pago", "conceptos"):
        del request[name]
    request.update({"tipo": "P", "moneda": "XXX", "fecha": moment(draw.source, MONTH)})
    request["receptor"] = request["receptor"] | {"uso_cfdi": "CP01"}


def _payment(draw: Draw, documents: list[Json], moneda: str = "MXN", tipo_cambio: str | None = None) -> Json:
    """One payment; its amount is what its documents get, which must be in its currency."""
    payment: Json = {
        "fecha_pago": moment(draw.source, draw.source.randint(1, MONTH - 1)),
        "forma_de_pago": draw.source.choice(FORMS),
        "moneda": moneda,
        "monto": cents(sum((Decimal(one["importe_pagado"]) for one in documents), Decimal(0))),
        "documentos": documents,
    }
    if tipo_cambio is not None:
        payment["tipo_cambio"] = tipo_cambio
    if draw.level > 1:
        payment["num_operacion"] = str(draw.source.randint(10**6, 10**8))
    return payment


def _document(draw: Draw, traslados: list[Json], retenciones: list[Json], *, part: bool, moneda: str = "MXN") -> Json:
    """An earlier invoice of one tax basis, and what is paid of it: all, or a part with an odd number of centavos."""
    source = draw.source
    base = Decimal(source.randint(2000, 90000)) / 4 * 10
    owed = Decimal(cents(base * _factor(traslados, retenciones)))
    instalment = source.randint(1, 6) if part else 1
    paid = owed
    if part:
        owed = Decimal(cents(owed * Decimal(source.randint(40, 100)) / 100)) if instalment > 1 else owed
        paid = Decimal(cents(owed * Decimal(source.randint(10, 80)) / 100))
    document: Json = {
        "id_documento": uuid(source),
        "moneda": moneda,
        "num_parcialidad": str(instalment),
        "saldo_anterior": cents(owed),
        "importe_pagado": cents(paid),
        "objeto_imp": "02" if traslados or retenciones else "01",
        "traslados": [dict(tax) for tax in traslados],
        "retenciones": [dict(tax) for tax in retenciones],
    }
    if draw.level > 1 and source.random() < 0.6:
        document |= {"serie": source.choice("ABF"), "folio": str(source.randint(1, 9999))}
    return document


def _factor(traslados: list[Json], retenciones: list[Json]) -> Decimal:
    signed = [(tax, 1) for tax in traslados] + [(tax, -1) for tax in retenciones]
    return 1 + sum((sign * Decimal(tax.get("tasa_o_cuota", "0")) for tax, sign in signed), Decimal(0))


def _whole(draw: Draw) -> None:
    """Invoices paid wholly, each by a payment of its own."""
    _start(draw)
    rates = ("0.160000", "0.160000", "0.080000", "0.000000")
    count = draw.level if draw.level < 3 else draw.source.randint(2, 3)
    draw.request["pagos"] = [
        _payment(draw, [_document(draw, iva(draw.source.choice(rates)), [], part=False)]) for _ in range(count)
    ]


def _instalments(draw: Draw) -> None:
    """A part of each invoice is paid; the balance goes down."""
    _start(draw)
    documents = [_document(draw, iva(), [], part=True) for _ in range(draw.level)]
    draw.request["pagos"] = [_payment(draw, documents)]


def _several(draw: Draw) -> None:
    """One payment of invoices under different taxes; the last may be paid in part."""
    _start(draw)
    taxes = [iva(), iva("0.080000"), iva("0.000000"), exempt(), []]
    chosen = draw.source.sample(taxes, min(len(taxes), draw.level + 1))
    documents = [_document(draw, tax, [], part=False) for tax in chosen]
    documents.append(_document(draw, iva(), [], part=True))
    draw.request["pagos"] = [_payment(draw, documents)]


def _withheld(draw: Draw) -> None:
    """Payments of fees or freight, net of what was withheld."""
    _start(draw)
    fees = draw.source.random() < 0.6
    held = [rate("001", ISR_FEES), rate("002", IVA_TWO_THIRDS)] if fees else [rate("002", IVA_FREIGHT)]
    if fees:
        draw.request["emisor"] = person(draw.source, draw.split, "612")
    draw.request["receptor"] = receiver(draw.source, company(draw.source, draw.split), "CP01")
    documents = [_document(draw, iva(), held, part=draw.level == 3) for _ in range(min(2, draw.level))]
    draw.request["pagos"] = [_payment(draw, documents)]


def _currency(draw: Draw) -> None:
    """Dollars for invoices in dollars; from the second level on, pesos for dollars and dollars for pesos."""
    _start(draw)
    source = draw.source
    rate_text = f"{source.randint(17, 20)}.{source.randint(1, 9999):04}"
    kind = "same" if draw.level == 1 else source.choice(("pesos", "dollars"))
    foreign = "MXN" if kind == "dollars" else "USD"
    documents = [_document(draw, iva(), [], part=draw.level > 1, moneda=foreign)]
    if kind == "same":
        draw.request["pagos"] = [_payment(draw, documents, "USD", rate_text)]
        return
    exchange = Decimal(rate_text)
    equivalence = (1 / exchange).quantize(TEN_DECIMALS, rounding=ROUND_HALF_UP) if kind == "pesos" else exchange
    documents[0]["equivalencia"] = str(equivalence)
    payment = _payment(draw, documents, *(("MXN", None) if kind == "pesos" else ("USD", rate_text)))
    payment["monto"] = cents(Decimal(documents[0]["importe_pagado"]) / equivalence)
    draw.request["pagos"] = [payment]


PAYMENTS: dict[str, Callable[[Draw], None]] = {
    "pago_total": _whole,
    "pago_parcialidades": _instalments,
    "pago_varios": _several,
    "pago_retenciones": _withheld,
    "pago_divisas": _currency,
}
"""Categories of type P."""
