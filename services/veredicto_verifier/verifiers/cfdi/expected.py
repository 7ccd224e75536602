"""The invoice that a request describes, computed in Decimal from the request alone.

This is the second implementation of the sums: it shares no code with the rules, which only add up what a document
says. Lines are exact products; nothing is rounded before the totals, so that every way of writing decimals that SAT
admits can be recognised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from veredicto_verifier.verifiers.cfdi.request import Concepto, Emisor, Impuesto, Receptor, Request

Pair = tuple[str, str]
"""Name of an attribute and its text."""
Identity = tuple[str | None, str | None, str | None, str | None]
"""ClaveProdServ, Descripcion, and Cantidad and ValorUnitario without the zeros that say nothing (`plain`)."""
TaxKey = tuple[str, str, Decimal | None]
BASE_ROUNDINGS = Decimal(3)
"""A base may add up three rounded amounts: the line's, its discount and its IEPS."""


@dataclass(frozen=True, slots=True)
class ExpectedTax:
    """One tax of a line: exact base and amount (None for Exento); `stated` when the request itself gives the base."""

    key: TaxKey
    base: Decimal
    amount: Decimal | None
    stated: bool


@dataclass(frozen=True, slots=True)
class ExpectedLine:
    """One line with its exact amounts; `texts` are the attributes that must read so."""

    texts: tuple[Pair, ...]
    request: Concepto
    quantity: Decimal
    price: Decimal
    amount: Decimal
    discount: Decimal | None
    traslados: tuple[ExpectedTax, ...]
    retenciones: tuple[ExpectedTax, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """An exact total and how far a correct document may lie from it by rounding its lines."""

    exact: Decimal
    slack: Decimal

    def admits(self, found: Decimal) -> bool:
        """Whether `found` is the exact total or a rounding of it."""
        return abs(found - self.exact) <= self.slack


@dataclass(frozen=True, slots=True)
class Expected:
    """What a document must say to match the request; `emisor`, `receptor` and `header` are attributes and texts."""

    decimals: int
    emisor: tuple[Pair, ...]
    receptor: tuple[Pair, ...]
    header: tuple[Pair, ...]
    lines: tuple[ExpectedLine, ...]
    waiting: Mapping[Identity, tuple[ExpectedLine, ...]]
    """The lines by what identifies them."""
    subtotal: Sum
    discount: Sum | None
    traslados: Mapping[TaxKey, tuple[Sum, Sum | None]]
    """Base and amount of each transferred tax."""
    retenciones: Mapping[str, Sum]
    transferred: Sum | None
    withheld: Sum | None
    total: Sum


def expect(request: Request, decimals: int) -> Expected:
    """Compute a request's invoice; `decimals` are those of its currency. Call it in a context of enough precision."""
    lines = tuple(_line(concepto) for concepto in request.lines)
    discounts = [line.discount for line in lines if line.discount is not None]
    traslados = _transfers(lines, decimals)
    retenciones = _withholdings(lines, decimals)
    subtotal = _sum([line.amount for line in lines], decimals)
    discount = _sum(discounts, decimals) if discounts else None
    amounts = [amount for _base, amount in traslados.values() if amount is not None]
    transferred = _add(amounts) if amounts else None
    withheld = _add(list(retenciones.values())) if retenciones else None
    signed = [(subtotal, 1), (discount, -1), (transferred, 1), (withheld, -1)]
    total = Sum(
        sum((one.exact * sign for one, sign in signed if one), Decimal(0)),
        sum((one.slack for one, _sign in signed if one), Decimal(0)),
    )
    return Expected(
        decimals,
        _issuer(request.emisor),
        _receiver(request.receptor),
        tuple(_header(request)),
        lines,
        _waiting(lines),
        subtotal,
        discount,
        traslados,
        retenciones,
        transferred,
        withheld,
        total,
    )


def agrees(found: Decimal, written: int, exact: Decimal, decimals: int) -> bool:
    """Whether `found`, written with `written` decimals, is `exact` rounded there, or to the currency's `decimals`."""
    unit = Decimal(1).scaleb(-max(written, decimals))
    return found == exact.quantize(unit, rounding=ROUND_HALF_UP)


def plain(text: str) -> str:
    """A number's text without trailing zeros: equal for equal numbers, and cheaper to look up than they are."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def _issuer(asked: Emisor) -> tuple[Pair, ...]:
    return ("Rfc", asked.rfc), ("Nombre", asked.nombre), ("RegimenFiscal", asked.regimen_fiscal)


def _receiver(asked: Receptor) -> tuple[Pair, ...]:
    return (
        ("Rfc", asked.rfc),
        ("Nombre", asked.nombre),
        ("DomicilioFiscalReceptor", asked.domicilio_fiscal),
        ("RegimenFiscalReceptor", asked.regimen_fiscal),
        ("UsoCFDI", asked.uso_cfdi),
    )


def _header(request: Request) -> Iterator[Pair]:
    yield "TipoDeComprobante", request.tipo
    yield "Fecha", request.fecha.isoformat()
    yield "LugarExpedicion", request.lugar_expedicion
    yield "Moneda", request.moneda
    yield "Exportacion", request.exportacion
    for name, value in (
        ("MetodoPago", request.metodo_pago),
        ("FormaPago", request.forma_pago),
        ("Serie", request.serie),
        ("Folio", request.folio),
        ("CondicionesDePago", request.condiciones_de_pago),
    ):
        if value is not None:
            yield name, value


def _waiting(lines: tuple[ExpectedLine, ...]) -> dict[Identity, tuple[ExpectedLine, ...]]:
    waiting: dict[Identity, tuple[ExpectedLine, ...]] = {}
    for line in lines:
        asked = line.request
        identity = asked.clave_prod_serv, asked.descripcion, plain(asked.cantidad), plain(asked.valor_unitario)
        waiting[identity] = (*waiting.get(identity, ()), line)
    return waiting


def _line(concepto: Concepto) -> ExpectedLine:
    quantity, price = Decimal(concepto.cantidad), Decimal(concepto.valor_unitario)
    discount = Decimal(concepto.descuento) if concepto.descuento is not None else None
    net = quantity * price - (discount or Decimal(0))
    others = tuple(_tax(tax, net, quantity) for tax in concepto.traslados if tax.impuesto != "002")
    ieps = sum((tax.amount for tax in others if tax.key[0] == "003" and tax.amount is not None), Decimal(0))
    # IVA is charged on the price with IEPS; withheld IVA on the price without it, unless the request says otherwise.
    traslados = tuple(_tax(tax, net + ieps if tax.impuesto == "002" else net, quantity) for tax in concepto.traslados)
    retenciones = tuple(_tax(tax, net, quantity) for tax in concepto.retenciones)
    texts = [("ClaveUnidad", concepto.clave_unidad), ("ObjetoImp", concepto.objeto_imp)]
    texts += [("NoIdentificacion", concepto.no_identificacion)] if concepto.no_identificacion else []
    texts += [("Unidad", concepto.unidad)] if concepto.unidad else []
    return ExpectedLine(tuple(texts), concepto, quantity, price, quantity * price, discount, traslados, retenciones)


def _tax(tax: Impuesto, net: Decimal, quantity: Decimal) -> ExpectedTax:
    implied = quantity if tax.tipo_factor == "Cuota" else net
    base = Decimal(tax.base) if tax.base is not None else implied
    rate = Decimal(tax.tasa_o_cuota) if tax.tasa_o_cuota is not None else None
    amount = None if rate is None else base * rate
    return ExpectedTax((tax.impuesto, tax.tipo_factor, rate), base, amount, stated=tax.base is not None)


def _sum(values: list[Decimal], decimals: int, *, roundings: Decimal = Decimal(1)) -> Sum:
    """The exact sum; each value that does not fit the currency may be off by `roundings` half units, the sum by one."""
    unit = Decimal(1).scaleb(-decimals)
    off = sum(1 for value in values if value != value.quantize(unit, rounding=ROUND_HALF_UP))
    return Sum(sum(values, Decimal(0)), unit / 2 * (off * roundings + (1 if off else 0)))


def _add(sums: list[Sum]) -> Sum:
    return Sum(sum((one.exact for one in sums), Decimal(0)), sum((one.slack for one in sums), Decimal(0)))


def _transfers(lines: tuple[ExpectedLine, ...], decimals: int) -> dict[TaxKey, tuple[Sum, Sum | None]]:
    taxes = [tax for line in lines for tax in line.traslados]
    groups: dict[TaxKey, tuple[Sum, Sum | None]] = {}
    for key in dict.fromkeys(tax.key for tax in taxes):
        own = [tax for tax in taxes if tax.key == key]
        amounts = [tax.amount for tax in own if tax.amount is not None]
        total = None if key[2] is None else _sum(amounts, decimals, roundings=1 + BASE_ROUNDINGS * key[2])
        groups[key] = (_sum([tax.base for tax in own], decimals, roundings=BASE_ROUNDINGS), total)
    return groups


def _withholdings(lines: tuple[ExpectedLine, ...], decimals: int) -> dict[str, Sum]:
    taxes = [tax for line in lines for tax in line.retenciones]
    groups: dict[str, Sum] = {}
    for impuesto in dict.fromkeys(tax.key[0] for tax in taxes):
        amounts = [tax.amount for tax in taxes if tax.key[0] == impuesto and tax.amount is not None]
        groups[impuesto] = _sum(amounts, decimals, roundings=1 + BASE_ROUNDINGS)
    return groups
