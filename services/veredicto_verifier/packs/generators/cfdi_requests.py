"""Draw invoice requests by category: who sells what to whom under which taxes; the same for ever for one key."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from veredicto_verifier.packs.generators import cfdi_goods as goods
from veredicto_verifier.packs.generators.cfdi_lines import (
    ISR_FEES,
    ISR_RESICO,
    IVA_FREIGHT,
    IVA_TWO_THIRDS,
    Draw,
    cents,
    exempt,
    header,
    iva,
    moment,
    rate,
    uuid,
)
from veredicto_verifier.packs.generators.cfdi_parties import FRONTIER, company, foreigner, person, public, receiver
from veredicto_verifier.packs.generators.cfdi_payments import PAYMENTS

Json = dict[str, Any]
IEPS = "003"
FEE_TAXES = [rate("001", ISR_FEES), rate("002", IVA_TWO_THIRDS)]


def draw_request(category: str, split: str, number: int) -> Json:
    """The request of one category, split (`train`, `test` or `shown`) and number; its level is 1 + number modulo 3."""
    source = random.Random(f"cfdi/1/{category}/{split}/{number}")
    draw = Draw(source, split, 1 + number % 3)
    draw.request.update(header(draw))
    CATEGORIES[category](draw)
    return draw.request


def _iva_16(draw: Draw) -> None:
    draw.request["conceptos"] = draw.lines((*goods.GENERAL, *goods.SERVICES), iva())


def _frontera(draw: Draw) -> None:
    draw.request["lugar_expedicion"] = draw.source.choice(FRONTIER)
    draw.request["conceptos"] = draw.lines(goods.GENERAL, iva("0.080000"))


def _tasa_0(draw: Draw) -> None:
    draw.request["conceptos"] = draw.lines(goods.ZERO_RATED, iva("0.000000"))


def _exento(draw: Draw) -> None:
    source = draw.source
    kind, use = source.choice(((goods.MEDICAL, "D01"), (goods.SCHOOL, "D10"), (goods.HOUSING, "S01")))
    issuer = person(source, draw.split, "606") if kind is goods.HOUSING else company(source, draw.split, "601")
    draw.request["emisor"] = issuer
    draw.request["receptor"] = receiver(source, person(source, draw.split, "605"), use)
    draw.request["conceptos"] = draw.lines(kind, exempt())


def _fees(draw: Draw, regime: str, taxes: list[Json], kind: tuple[goods.Good, ...]) -> None:
    """A natural person invoices a company, which withholds."""
    draw.request["emisor"] = person(draw.source, draw.split, regime)
    draw.request["receptor"] = receiver(draw.source, company(draw.source, draw.split), "G03")
    draw.request["conceptos"] = draw.lines(kind, iva(), taxes)


def _honorarios(draw: Draw) -> None:
    _fees(draw, "612", FEE_TAXES, goods.FEES)


def _arrendamiento(draw: Draw) -> None:
    _fees(draw, "606", FEE_TAXES, goods.PREMISES)


def _resico(draw: Draw) -> None:
    _fees(draw, "626", [rate("001", ISR_RESICO)], (*goods.FEES, *goods.SERVICES))


def _fletes(draw: Draw) -> None:
    draw.request["emisor"] = company(draw.source, draw.split, draw.source.choice(("601", "624")))
    draw.request["receptor"] = receiver(draw.source, company(draw.source, draw.split), "G03")
    draw.request["conceptos"] = draw.lines(goods.FREIGHT, iva(), [rate("002", IVA_FREIGHT)])


def _ieps(draw: Draw) -> None:
    """Rates on snacks and spirits, a quota a litre on soft drinks; IVA is charged on both."""
    quota = [rate(IEPS, draw.source.choice(("1.645100", "3.081800")), "Cuota"), *iva()]
    lines = draw.lines(goods.SNACKS, [rate(IEPS, "0.080000"), *iva()])
    if draw.level > 1:
        lines += draw.lines(goods.DRINKS, quota)
    if draw.level == 3:
        lines += draw.lines(goods.SPIRITS, [rate(IEPS, draw.source.choice(("0.265000", "0.530000"))), *iva()])
    draw.request["conceptos"] = lines


def _descuento(draw: Draw) -> None:
    draw.request["conceptos"] = draw.lines((*goods.GENERAL, *goods.SERVICES), iva())
    for at, line in enumerate(draw.request["conceptos"]):
        if at == 0 or draw.source.random() < 0.7:
            share = Decimal(draw.source.choice((5, 8, 10, 12, 15, 20))) / 100
            line["descuento"] = cents(Decimal(line["cantidad"]) * Decimal(line["valor_unitario"]) * share)


def _dolares(draw: Draw) -> None:
    source = draw.source
    draw.request["conceptos"] = draw.lines((*goods.GENERAL, *goods.SERVICES), iva())
    draw.request["moneda"] = source.choice(("USD", "USD", "EUR"))
    draw.request["tipo_cambio"] = f"{source.randint(17, 21)}.{source.randint(0, 9999):04}"


def _extranjero(draw: Draw) -> None:
    """Services sold abroad at 0 % in dollars to a receiver without Mexican RFC."""
    _dolares(draw)
    draw.request["receptor"] = foreigner(draw.source, draw.split, draw.request["lugar_expedicion"])
    draw.request["conceptos"] = draw.lines(goods.SERVICES, iva("0.000000"))


def _credito(draw: Draw) -> None:
    _iva_16(draw)
    draw.request.update({"metodo_pago": "PPD", "forma_pago": "99"})
    draw.request["condiciones_de_pago"] = f"{draw.source.choice((15, 30, 45, 60, 90))} días"
    draw.request.update({"serie": draw.source.choice("ABCF"), "folio": str(draw.source.randint(100, 99999))})


def _mixto(draw: Draw) -> None:
    """Lines at 16 %, at 0 %, exempt and no object of tax, in any order."""
    lines = [draw.line(draw.source.choice(goods.GENERAL), iva())]
    lines.append(draw.line(draw.source.choice(goods.ZERO_RATED), iva("0.000000")))
    if draw.level > 1:
        lines.append(draw.line(draw.source.choice(goods.SCHOOL), exempt()))
    if draw.level == 3:
        lines.append(draw.line(draw.source.choice(goods.DISBURSED), []))
        lines.append(draw.line(draw.source.choice(goods.SERVICES), iva()))
    draw.source.shuffle(lines)
    draw.request["conceptos"] = lines


def _sin_objeto(draw: Draw) -> None:
    """Lines that are no object of tax, or are one and need no breakdown."""
    lines = draw.lines(goods.DISBURSED, [])
    for line in lines if draw.level > 1 else ():
        line["objeto_imp"] = draw.source.choice(("01", "03"))
    draw.request["conceptos"] = lines


def _global(draw: Draw) -> None:
    """The tickets of a day, a week, a fortnight, a month or two months, to the public."""
    source = draw.source
    draw.request["receptor"] = public(draw.request["lugar_expedicion"])
    draw.request["forma_pago"] = source.choice(("01", "04", "28"))
    month = int(draw.request["fecha"][5:7])
    period = {1: "01", 2: source.choice(("02", "03")), 3: source.choice(("04", "05"))}[draw.level]
    months = f"{month:02}" if period != "05" else str(12 + (month + 1) // 2)
    if period == "05":
        draw.request["emisor"] = person(source, draw.split, "621")
    draw.request["informacion_global"] = {"periodicidad": period, "meses": months, "anio": "2026"}
    count = {1: 2, 2: 4, 3: 7}[draw.level]
    lines = [draw.line(goods.TICKET, iva(source.choice(("0.160000", "0.160000", "0.000000")))) for _ in range(count)]
    first = source.randint(1000, 9000)
    for number, line in enumerate(lines):
        line |= {"cantidad": "1", "no_identificacion": f"T-{first + number}"}
    draw.request["conceptos"] = lines


def _nota_credito(draw: Draw) -> None:
    """A bonus on earlier invoices (01), or goods given back (03)."""
    back = draw.source.random() < 0.5
    draw.request["conceptos"] = (
        draw.lines(goods.GENERAL, iva()) if back else [draw.line(goods.CREDIT, iva(), None) | {"cantidad": "1"}]
    )
    draw.request["tipo"] = "E"
    draw.request["receptor"] = draw.request["receptor"] | {"uso_cfdi": "G02"}
    _relate(draw, "03" if back else "01", draw.level)


def _relacionados(draw: Draw) -> None:
    """An invoice that takes another's place (04), or that an advance was paid for (07)."""
    _iva_16(draw)
    _relate(draw, draw.source.choice(("04", "07")), max(1, draw.level - 1))


def _relate(draw: Draw, relation: str, count: int) -> None:
    uuids = [uuid(draw.source) for _ in range(count)]
    draw.request["relacionados"] = [{"tipo_relacion": relation, "uuids": uuids}]


def _anticipo(draw: Draw) -> None:
    draw.request["conceptos"] = [draw.line(goods.ADVANCE, iva()) | {"cantidad": "1"}]
    draw.request["fecha"] = moment(draw.source)


CATEGORIES: dict[str, Callable[[Draw], None]] = {
    "iva_16": _iva_16,
    "frontera_8": _frontera,
    "tasa_0": _tasa_0,
    "exento": _exento,
    "honorarios": _honorarios,
    "arrendamiento": _arrendamiento,
    "resico": _resico,
    "fletes": _fletes,
    "ieps": _ieps,
    "descuento": _descuento,
    "dolares": _dolares,
    "extranjero": _extranjero,
    "credito": _credito,
    "mixto": _mixto,
    "sin_objeto": _sin_objeto,
    "factura_global": _global,
    "nota_credito": _nota_credito,
    "relacionados": _relacionados,
    "anticipo": _anticipo,
    **PAYMENTS,
}
