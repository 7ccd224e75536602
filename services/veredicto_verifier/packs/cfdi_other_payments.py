"""Other payments than the ones asked: their receipts are valid, and only the match can tell that they are wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from veredicto_verifier.packs.cfdi_request_mutants import RequestMutant

Json = dict[str, Any]
MATCH = "cfdi.match_complement"


def _payment(edit: Callable[[Json], bool]) -> Callable[[Json], bool]:
    return lambda request: any(edit(payment) for payment in request.get("pagos", []))


def _document(edit: Callable[[Json], bool]) -> Callable[[Json], bool]:
    return _payment(lambda payment: any(edit(document) for document in payment["documentos"]))


def _less_paid(document: Json) -> bool:
    paid = Decimal(document["importe_pagado"]) - Decimal("100.00")
    document["importe_pagado"] = f"{paid:f}"
    return paid > 0


def _dearer(payment: Json) -> bool:
    payment["monto"] = f"{Decimal(payment['monto']) + 100:f}"
    return True


def _other_document_rate(document: Json) -> bool:
    for tax in document["traslados"]:
        if tax.get("tasa_o_cuota") == "0.160000":
            tax["tasa_o_cuota"] = "0.080000"
            return True
    return False


def _untaxed_document(document: Json) -> bool:
    taxed = bool(document["traslados"])
    document.update(objeto_imp="01", traslados=[], retenciones=[])
    return taxed


def _nothing_withheld(document: Json) -> bool:
    held = bool(document["retenciones"])
    document["retenciones"] = []
    return held


def _two_payments(request: Json) -> bool:
    """A payment of several documents made two."""
    for payment in request.get("pagos", []):
        if len(payment["documentos"]) > 1 and payment["moneda"] == "MXN":
            rest = copy.deepcopy(payment)
            rest["documentos"] = [payment["documentos"].pop()]
            for one in (payment, rest):
                one["monto"] = f"{sum(Decimal(paid['importe_pagado']) for paid in one['documentos']):f}"
            request["pagos"].append(rest)
            return True
    return False


def _exchange(payment: Json) -> bool:
    if "tipo_cambio" not in payment:
        return False
    payment["tipo_cambio"] = f"{Decimal(payment['tipo_cambio']) + 1:f}"
    return True


OTHER_PAYMENTS: tuple[RequestMutant, ...] = (
    RequestMutant("a hundred less paid", MATCH, _document(_less_paid)),
    RequestMutant("a hundred more received", MATCH, _payment(_dearer)),
    RequestMutant("8 % of a document for 16 %", MATCH, _document(_other_document_rate)),
    RequestMutant("a document untaxed", MATCH, _document(_untaxed_document)),
    RequestMutant("nothing withheld of a document", MATCH, _document(_nothing_withheld)),
    RequestMutant("one payment made two", MATCH, _two_payments),
    RequestMutant("another rate of a payment", MATCH, _payment(_exchange)),
    RequestMutant(
        "another document paid",
        MATCH,
        _document(lambda one: not one.update(id_documento="5FB2822E-396D-4725-8521-CDC4BDD20CCF")),
    ),
    RequestMutant(
        "the next instalment",
        MATCH,
        _document(lambda one: not one.update(num_parcialidad=str(int(one["num_parcialidad"]) + 1))),
    ),
    RequestMutant(
        "a larger balance",
        MATCH,
        _document(lambda one: not one.update(saldo_anterior=f"{Decimal(one['saldo_anterior']) + 1:f}")),
    ),
)
