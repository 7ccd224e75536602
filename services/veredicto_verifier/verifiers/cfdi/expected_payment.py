"""The complement Pagos 2.0 that a request describes, computed in Decimal from the request alone.

A tax without a stated base is charged on what is paid less its taxes: paid / (1 + rates charged - rates withheld).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from veredicto_verifier.verifiers.cfdi.expected import TaxKey
from veredicto_verifier.verifiers.cfdi.request import DocumentoPagado, Impuesto, Pago
from veredicto_verifier.verifiers.cfdi.wanted import AnyCase, Quantity, Value, Wanted

IVA, EXENTO = "002", "Exento"
WITHHELD_TOTALS = {"TotalRetencionesIVA": IVA, "TotalRetencionesISR": "001", "TotalRetencionesIEPS": "003"}
IVA_TOTALS = {"IVA16": Decimal("0.16"), "IVA8": Decimal("0.08"), "IVA0": Decimal(0)}


@dataclass(frozen=True, slots=True)
class PaidTax:
    """One tax of a document, in the document's currency and, divided by `rate`, in the payment's."""

    key: TaxKey
    base: Quantity
    amount: Quantity | None
    rate: Decimal


@dataclass(frozen=True, slots=True)
class Sums:
    """A payment's taxes summed, in its currency."""

    bases: Mapping[TaxKey, Quantity]
    amounts: Mapping[TaxKey, Quantity]
    withheld: Mapping[str, Quantity]
    pesos: Decimal
    """Pesos for one unit."""


def expect_payments(pagos: Iterable[Pago], currencies: Mapping[str, int]) -> Wanted:
    """The complement; `currencies` are decimals by currency. Call it in a context of enough precision."""
    made = [_pago(pago, currencies) for pago in pagos]
    return Wanted("Pagos", {"Version": "2.0"}, (_totals(made), *(wanted for wanted, _sums, _amount in made)))


def _pago(pago: Pago, currencies: Mapping[str, int]) -> tuple[Wanted, Sums, Decimal]:
    decimals = currencies.get(pago.moneda, 2)
    taxes = [_taxes(documento, currencies) for documento in pago.documentos]
    documents = [_documento(one, own, currencies) for one, own in zip(pago.documentos, taxes, strict=True)]
    charged = [tax for own in taxes for tax in own[0]]
    held = [tax for own in taxes for tax in own[1]]
    pesos = Decimal(pago.tipo_cambio) if pago.tipo_cambio is not None else Decimal(1)
    sums = Sums(*_transferred(charged, decimals), _held(held, decimals), pesos)
    attributes: dict[str, Value] = {
        "FechaPago": pago.fecha_pago.isoformat(),
        "FormaDePagoP": pago.forma_de_pago,
        "MonedaP": pago.moneda,
        "TipoCambioP": _plain(pago.tipo_cambio or "1", 6),
        "Monto": _money(Decimal(pago.monto), decimals),
        "NumOperacion": pago.num_operacion,
    }
    summary = _summary(sums)
    children = (*documents, summary) if summary.children else tuple(documents)
    return Wanted("Pago", attributes, children), sums, Decimal(pago.monto)


def _documento(
    one: DocumentoPagado, taxes: tuple[list[PaidTax], list[PaidTax]], currencies: Mapping[str, int]
) -> Wanted:
    decimals = currencies.get(one.moneda, 2)
    before, paid = Decimal(one.saldo_anterior), Decimal(one.importe_pagado)
    attributes: dict[str, Value] = {
        "IdDocumento": AnyCase(one.id_documento),
        "Serie": one.serie,
        "Folio": one.folio,
        "MonedaDR": one.moneda,
        "EquivalenciaDR": _plain(one.equivalencia or "1", 10),
        "NumParcialidad": one.num_parcialidad,
        "ImpSaldoAnt": _money(before, decimals),
        "ImpPagado": _money(paid, decimals),
        "ImpSaldoInsoluto": _money(before - paid, decimals),
        "ObjetoImpDR": one.objeto_imp,
    }
    sides = (("Retencion", taxes[1]), ("Traslado", taxes[0]))
    holders = tuple(
        Wanted(f"{name}{'es' if name == 'Retencion' else 's'}DR", {}, tuple(_paid_tax(name, tax) for tax in own))
        for name, own in sides
        if own
    )
    return Wanted("DoctoRelacionado", attributes, (Wanted("ImpuestosDR", {}, holders),) if holders else ())


def _paid_tax(name: str, tax: PaidTax) -> Wanted:
    values: dict[str, Value] = {"BaseDR": tax.base, **_kind(tax.key, "DR")}
    if tax.amount is not None:
        values["ImporteDR"] = tax.amount
    return Wanted(f"{name}DR", values)


def _kind(key: TaxKey, side: str) -> dict[str, Value]:
    impuesto, factor, rate = key
    kind: dict[str, Value] = {f"Impuesto{side}": impuesto, f"TipoFactor{side}": factor}
    return (
        kind if rate is None else {**kind, f"TasaOCuota{side}": Quantity(rate, rate.quantize(Decimal("0.000001")), 6)}
    )


def _taxes(one: DocumentoPagado, currencies: Mapping[str, int]) -> tuple[list[PaidTax], list[PaidTax]]:
    decimals, paid = currencies.get(one.moneda, 2), Decimal(one.importe_pagado)
    factor = 1 + sum((_rate(tax) for tax in one.traslados), Decimal(0))
    factor -= sum((_rate(tax) for tax in one.retenciones), Decimal(0))
    net = paid / factor
    rate = Decimal(one.equivalencia) if one.equivalencia is not None else Decimal(1)
    made = [[_tax(tax, net, decimals, rate) for tax in side] for side in (one.traslados, one.retenciones)]
    return made[0], made[1]


def _rate(tax: Impuesto) -> Decimal:
    return Decimal(tax.tasa_o_cuota) if tax.tasa_o_cuota is not None else Decimal(0)


def _tax(tax: Impuesto, net: Decimal, decimals: int, rate: Decimal) -> PaidTax:
    base = Decimal(tax.base) if tax.base is not None else net
    key = (tax.impuesto, tax.tipo_factor, Decimal(tax.tasa_o_cuota) if tax.tasa_o_cuota is not None else None)
    if key[2] is None:
        return PaidTax(key, _money(base, decimals), None, rate)
    amount, half = base * key[2], Decimal(1).scaleb(-decimals) / 2
    off = Decimal(0) if base == _round(base, decimals) else half * key[2]
    return PaidTax(key, _money(base, decimals), _money(amount, decimals, off + half if off else Decimal(0)), rate)


def _transferred(taxes: list[PaidTax], decimals: int) -> tuple[dict[TaxKey, Quantity], dict[TaxKey, Quantity]]:
    bases: dict[TaxKey, Quantity] = {}
    amounts: dict[TaxKey, Quantity] = {}
    for key in dict.fromkeys(tax.key for tax in taxes):
        own = [tax for tax in taxes if tax.key == key]
        bases[key] = _sum([_scaled(tax.base, by=tax.rate) for tax in own], decimals)
        if key[2] is not None:
            amounts[key] = _sum([_scaled(tax.amount, by=tax.rate) for tax in own if tax.amount is not None], decimals)
    return bases, amounts


def _held(taxes: list[PaidTax], decimals: int) -> dict[str, Quantity]:
    impuestos = dict.fromkeys(tax.key[0] for tax in taxes)
    amounts = [(tax.key[0], _scaled(tax.amount, by=tax.rate)) for tax in taxes if tax.amount is not None]
    return {impuesto: _sum([one for own, one in amounts if own == impuesto], decimals) for impuesto in impuestos}


def _sum(parts: list[Quantity], decimals: int) -> Quantity:
    """The sum, rounded once; each part may be off by its rounding, the sum by its own."""
    exact = sum((part.exact for part in parts), Decimal(0))
    written = _round(sum((part.written for part in parts), Decimal(0)), decimals)
    slack = sum((part.slack for part in parts), Decimal(0))
    half = Decimal(1).scaleb(-decimals) / 2
    return Quantity(exact, written, decimals, slack + half if slack else Decimal(0))


def _scaled(part: Quantity, *, times: Decimal = Decimal(1), by: Decimal = Decimal(1)) -> Quantity:
    """The quantity in another currency, before any rounding."""
    off = part.slack if part.exact == part.written else max(part.slack, Decimal(1).scaleb(-part.decimals) / 2)
    return Quantity(part.exact * times / by, part.written * times / by, part.decimals, off * times / by)


def _summary(sums: Sums) -> Wanted:
    held = tuple(
        Wanted("RetencionP", {"ImpuestoP": impuesto, "ImporteP": amount}) for impuesto, amount in sums.withheld.items()
    )
    charged = []
    for key, base in sums.bases.items():
        values: dict[str, Value] = {"BaseP": base, **_kind(key, "P")}
        if key in sums.amounts:
            values["ImporteP"] = sums.amounts[key]
        charged.append(Wanted("TrasladoP", values))
    holders = (Wanted("RetencionesP", {}, held), Wanted("TrasladosP", {}, tuple(charged)))
    return Wanted("ImpuestosP", {}, tuple(one for one in holders if one.children))


def _totals(made: list[tuple[Wanted, Sums, Decimal]]) -> Wanted:
    values: dict[str, Value] = {}
    for name, impuesto in WITHHELD_TOTALS.items():
        values[name] = _in_pesos([(sums.withheld.get(impuesto), sums.pesos) for _one, sums, _amount in made])
    for suffix, rate in IVA_TOTALS.items():
        key = (IVA, "Tasa", rate)
        for name, side in (("TotalTrasladosBase", "bases"), ("TotalTrasladosImpuesto", "amounts")):
            parts = [(getattr(sums, side).get(key), sums.pesos) for _one, sums, _amount in made]
            values[f"{name}{suffix}"] = _in_pesos(parts)
    exempt = [(sums.bases.get((IVA, EXENTO, None)), sums.pesos) for _one, sums, _amount in made]
    values["TotalTrasladosBaseIVAExento"] = _in_pesos(exempt)
    total = sum((amount * sums.pesos for _one, sums, amount in made), Decimal(0))
    values["MontoTotalPagos"] = _money(total, 2)
    return Wanted("Totales", {name: value for name, value in values.items() if value is not None})


def _in_pesos(parts: list[tuple[Quantity | None, Decimal]]) -> Quantity | None:
    there = [_scaled(part, times=pesos) for part, pesos in parts if part is not None]
    return _sum(there, 2) if there else None


def _money(value: Decimal, decimals: int, slack: Decimal = Decimal(0)) -> Quantity:
    return Quantity(value, _round(value, decimals), decimals, slack)


def _plain(text: str, decimals: int) -> Quantity:
    """A rate: equal as a number, however many zeros are written; the reference writes it as the request does."""
    return Quantity(Decimal(text), Decimal(text), decimals)


def _round(value: Decimal, decimals: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP)
