"""Other requests than the one asked: their invoices are valid, and only the match can tell that they are wrong.

Among them are the ones with the same total: a discount hidden in the price, two lines made one, one made two.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from veredicto_verifier.packs.cfdi_edits import turned

Json = dict[str, Any]
Change = Callable[[Json], bool]
"""Changes a request in place; False where there is nothing to change."""


class RequestMutant(NamedTuple):
    """One way to write a valid invoice that nobody asked for, and the code of the aspect that must differ."""

    name: str
    code: str
    change: Change


def _set(*path: str, value: Any) -> Change:
    """Give a field another value; only where the request has the field."""

    def change(request: Json) -> bool:
        holder: Any = request
        for name in path[:-1]:
            holder = holder.get(name) if isinstance(holder, dict) else None
        if not isinstance(holder, dict) or path[-1] not in holder:
            return False
        new = value(holder[path[-1]]) if callable(value) else value
        changed = new is not None and new != holder[path[-1]]
        if changed:
            holder[path[-1]] = new
        return changed

    return change


def _plain(value: Decimal) -> str:
    """Without the zeros that a product leaves at its end."""
    return f"{value.normalize():f}"


def _line(edit: Callable[[Json], bool]) -> Change:
    """Change the first line that can be changed; the ones before stay as they are."""

    def change(request: Json) -> bool:
        lines = request.get("conceptos", [])
        for at, line in enumerate(lines):
            changed = copy.deepcopy(line)
            if edit(changed):
                lines[at] = changed
                return True
        return False

    return change


def _lines(edit: Callable[[list[Json]], bool]) -> Change:
    return lambda request: bool(request.get("conceptos")) and edit(request["conceptos"])


def _times(name: str, factor: str) -> Callable[[Json], bool]:
    def edit(line: Json) -> bool:
        value = Decimal(line[name]) * Decimal(factor)
        line[name] = _plain(value)
        return value == round(value, 6)

    return edit


def _rate(old: str, new: Json) -> Callable[[Json], bool]:
    """Another IVA on a line that has it at `old`."""

    def edit(line: Json) -> bool:
        for at, tax in enumerate(line["traslados"]):
            if tax["impuesto"] == "002" and tax.get("tasa_o_cuota") == old:
                line["traslados"][at] = {"impuesto": "002", **new}
                return True
        return False

    return edit


def _untaxed(line: Json) -> bool:
    taxed = bool(line["traslados"])
    line.update({"objeto_imp": "01", "traslados": [], "retenciones": []})
    return taxed


def _taxed(line: Json) -> bool:
    if line["traslados"]:
        return False
    line.update({"objeto_imp": "02", "traslados": [{"impuesto": "002", "tipo_factor": "Exento"}]})
    return True


def _not_withheld(line: Json) -> bool:
    held = bool(line["retenciones"])
    line["retenciones"] = []
    return held


def _withheld(line: Json) -> bool:
    if line["retenciones"] or not line["traslados"]:
        return False
    line["retenciones"] = [{"impuesto": "001", "tipo_factor": "Tasa", "tasa_o_cuota": "0.100000"}]
    return True


def _other_withholding(line: Json) -> bool:
    for tax in line["retenciones"]:
        tax["tasa_o_cuota"] = {"0.106667": "0.106666", "0.100000": "0.012500"}.get(tax["tasa_o_cuota"], "0.100000")
        return True
    return False


def _without_ieps(line: Json) -> bool:
    kept = [tax for tax in line["traslados"] if tax["impuesto"] != "003"]
    changed = len(kept) < len(line["traslados"])
    line["traslados"] = kept
    return changed


def _no_discount(line: Json) -> bool:
    return line.pop("descuento", None) is not None


def _discount(line: Json) -> bool:
    if "descuento" in line:
        return False
    line["descuento"] = "0.01"
    return True


def _discount_in_price(line: Json) -> bool:
    """The net price instead of price and discount: the same total."""
    if "descuento" not in line:
        return False
    net = Decimal(line["cantidad"]) * Decimal(line["valor_unitario"]) - Decimal(line.pop("descuento"))
    price = net / Decimal(line["cantidad"])
    if price != round(price, 6):
        line["cantidad"], price = "1", net
    line["valor_unitario"] = _plain(price)
    return price == round(price, 6)


def _one_piece(line: Json) -> bool:
    """One piece at the price of all: the same amount."""
    quantity, amount = Decimal(line["cantidad"]), Decimal(line["cantidad"]) * Decimal(line["valor_unitario"])
    line.update({"cantidad": "1", "valor_unitario": _plain(amount)})
    return quantity != 1 and amount == round(amount, 6)


def _split(lines: list[Json]) -> bool:
    """One line made two with the same sum."""
    for line in lines:
        whole = Decimal(line["cantidad"])
        if whole > 1 and whole == int(whole) and "descuento" not in line:
            line["cantidad"] = "1"
            lines.append({**copy.deepcopy(line), "cantidad": _plain(whole - 1)})
            return True
    return False


def _joined(lines: list[Json]) -> bool:
    """Everything in one line of the same sum, where all lines have the same taxes and no discount."""
    alike = all(line["traslados"] == lines[0]["traslados"] and "descuento" not in line for line in lines)
    total = sum((Decimal(line["cantidad"]) * Decimal(line["valor_unitario"]) for line in lines), Decimal(0))
    if len(lines) < 2 or not alike or total != round(total, 6):
        return False
    lines[:] = [{**lines[0], "cantidad": "1", "valor_unitario": _plain(total)}]
    return True


def _exchanged(lines: list[Json]) -> bool:
    """The first and the last line exchange their prices."""
    first, last = lines[0], lines[-1]
    prices = first["valor_unitario"], last["valor_unitario"]
    first["valor_unitario"], last["valor_unitario"] = prices[1], prices[0]
    return prices[0] != prices[1] and "descuento" not in first and "descuento" not in last


def _dropped(lines: list[Json]) -> bool:
    return bool(lines.pop() and lines)


def _repeated(lines: list[Json]) -> bool:
    lines.append(copy.deepcopy(lines[0]))
    return True


def _in_pesos(request: Json) -> bool:
    return request.pop("tipo_cambio", None) is not None and not request.update({"moneda": "MXN"})


def _in_dollars(request: Json) -> bool:
    pesos = bool(request["moneda"] == "MXN")
    request.update({"moneda": "USD", "tipo_cambio": "18.5000"})
    return pesos


def _deferred(request: Json) -> bool:
    paid = request.get("metodo_pago") == "PUE"
    request.update({"metodo_pago": "PPD", "forma_pago": "99"})
    return paid


def _unrelated(request: Json) -> bool:
    return bool(request.pop("relacionados", ()))


def _one_relation_less(request: Json) -> bool:
    relations = request.get("relacionados") or [{"uuids": ()}]
    relations[0]["uuids"] = relations[0]["uuids"][1:]
    return len(relations[0]["uuids"]) > 0


TASA = {"tipo_factor": "Tasa"}
LINES, HEADER = "cfdi.match_conceptos", "cfdi.match_header"

REQUEST_MUTANTS: tuple[RequestMutant, ...] = (
    RequestMutant("double price", LINES, _line(_times("valor_unitario", "2"))),
    RequestMutant("price without centavos' last digit", LINES, _line(_times("valor_unitario", "0.999"))),
    RequestMutant("double quantity", LINES, _line(_times("cantidad", "2"))),
    RequestMutant("double price, total", "cfdi.match_totals", _line(_times("valor_unitario", "2"))),
    RequestMutant("a line less", LINES, _lines(_dropped)),
    RequestMutant("a line repeated", LINES, _lines(_repeated)),
    RequestMutant("a line made two", LINES, _lines(_split)),
    RequestMutant("all lines made one", LINES, _lines(_joined)),
    RequestMutant("prices exchanged", LINES, _lines(_exchanged)),
    RequestMutant("one piece at the price of all", LINES, _line(_one_piece)),
    RequestMutant("8 % for 16 %", "cfdi.match_taxes", _line(_rate("0.160000", {**TASA, "tasa_o_cuota": "0.080000"}))),
    RequestMutant("16 % for 8 %", "cfdi.match_taxes", _line(_rate("0.080000", {**TASA, "tasa_o_cuota": "0.160000"}))),
    RequestMutant("exempt for 0 %", "cfdi.match_taxes", _line(_rate("0.000000", {"tipo_factor": "Exento"}))),
    RequestMutant("0 % for 16 %", "cfdi.match_taxes", _line(_rate("0.160000", {**TASA, "tasa_o_cuota": "0.000000"}))),
    RequestMutant("untaxed", LINES, _line(_untaxed)),
    RequestMutant("exempt for untaxed", LINES, _line(_taxed)),
    RequestMutant("nothing withheld", LINES, _line(_not_withheld)),
    RequestMutant("withheld unasked", LINES, _line(_withheld)),
    RequestMutant("withheld at another rate", LINES, _line(_other_withholding)),
    RequestMutant("without IEPS", LINES, _line(_without_ieps)),
    RequestMutant("without discount", LINES, _line(_no_discount)),
    RequestMutant("a cent of discount", LINES, _line(_discount)),
    RequestMutant("discount in the price", LINES, _line(_discount_in_price)),
    RequestMutant("another description", LINES, _line(lambda line: not line.update(descripcion="Servicios varios"))),
    RequestMutant("another product", LINES, _line(lambda line: not line.update(clave_prod_serv="10101501"))),
    RequestMutant("another unit", LINES, _line(lambda line: not line.update(clave_unidad="C62"))),
    RequestMutant("in pesos", HEADER, _in_pesos),
    RequestMutant("in dollars", HEADER, lambda request: "conceptos" in request and _in_dollars(request)),
    RequestMutant("another rate of exchange", HEADER, _set("tipo_cambio", value="1.0000")),
    RequestMutant("deferred", HEADER, _deferred),
    RequestMutant(
        "another form", HEADER, _set("forma_pago", value={"01": "03", "03": "01", "04": "28", "28": "04"}.get)
    ),
    RequestMutant("another hour", HEADER, _set("fecha", value=lambda old: old[:11] + "07" + old[13:])),
    RequestMutant(
        "another place",
        HEADER,
        lambda request: request["receptor"]["rfc"][0] != "X" and _set("lugar_expedicion", value="81200")(request),
    ),
    RequestMutant("another series", HEADER, _set("serie", value="ZZ")),
    RequestMutant("other terms", HEADER, _set("condiciones_de_pago", value="Contado")),
    RequestMutant("unrelated", HEADER, _unrelated),
    RequestMutant("a relation less", HEADER, _one_relation_less),
    RequestMutant("another issuer", "cfdi.match_emisor", _set("emisor", "nombre", value=turned)),
    RequestMutant(
        "another issuer's RFC", "cfdi.match_emisor", _set("emisor", "rfc", value=lambda old: old[:-3] + "9Z" + old[-1])
    ),
    RequestMutant(
        "another receiver",
        "cfdi.match_receptor",
        _set("receptor", "nombre", value=lambda old: None if old == "PUBLICO EN GENERAL" else turned(old)),
    ),
    RequestMutant(
        "another address",
        "cfdi.match_receptor",
        lambda request: (
            request["receptor"]["rfc"][0] != "X" and _set("receptor", "domicilio_fiscal", value="81200")(request)
        ),
    ),
    RequestMutant(
        "another use",
        "cfdi.match_receptor",
        _set("receptor", "uso_cfdi", value={"G01": "G03", "G03": "G01", "I04": "G03"}.get),
    ),
    RequestMutant(
        "another global period",
        HEADER,
        _set("informacion_global", "periodicidad", value={"01": "02", "02": "03", "03": "04", "04": "01"}.get),
    ),
)
