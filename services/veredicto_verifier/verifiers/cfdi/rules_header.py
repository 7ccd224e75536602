"""Rules on the invoice's own attributes (SAT's matrix: Comprobante, InformacionGlobal, CfdiRelacionados)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import AMOUNT
from veredicto_verifier.verifiers.cfdi.rule import (
    Facts,
    Fault,
    Rule,
    currency_decimals,
    fault,
    rounded,
    shown,
    total,
)

PRICED = ("I", "E", "N")
UNPRICED = ("T", "P")
MAX_AGE = timedelta(hours=72)


def _payment_form_absent(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.tipo in ("T", "N", "P") and cfdi.get("FormaPago") is not None:
        yield fault(cfdi, f"FormaPago no debe existir cuando TipoDeComprobante es {cfdi.tipo}")


def _payment_form_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    form = cfdi.get("FormaPago")
    if form is not None and form not in facts.catalogues.formas_pago:
        yield fault(cfdi, f"FormaPago {shown(form)} no está en c_FormaPago")


def _deferred_payment_form(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.tipo in ("I", "E") and cfdi.get("MetodoPago") == "PPD" and cfdi.get("FormaPago") != "99":
        yield fault(cfdi, "con MetodoPago PPD, FormaPago debe ser 99")


def _decimals_fit(cfdi: Comprobante, facts: Facts, name: str) -> Iterator[Fault]:
    allowed = currency_decimals(cfdi, facts)
    if allowed is not None and cfdi.decimals(name) > allowed:
        yield fault(cfdi, f"{name} tiene {cfdi.decimals(name)} decimales; la moneda admite {allowed}")


def _subtotal_decimals(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _decimals_fit(cfdi, facts, "SubTotal")


def _discount_decimals(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _decimals_fit(cfdi, facts, "Descuento")


def _subtotal_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    found, added, decimals = cfdi.amount("SubTotal"), total(cfdi.conceptos, "Importe"), currency_decimals(cfdi, facts)
    if cfdi.tipo not in PRICED or found is None or added is None or decimals is None:
        return
    if found != rounded(added, decimals):
        yield fault(cfdi, f"SubTotal {found} no es la suma de los importes, {rounded(added, decimals)}")


def _subtotal_zero(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.tipo in UNPRICED and cfdi.amount("SubTotal"):
        yield fault(cfdi, f"SubTotal debe ser 0 cuando TipoDeComprobante es {cfdi.tipo}")


def _discount_limit(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    discount, subtotal = cfdi.amount("Descuento"), cfdi.amount("SubTotal")
    if discount is not None and subtotal is not None and discount > subtotal:
        yield fault(cfdi, f"Descuento {discount} es mayor que SubTotal {subtotal}")


def _discount_sum(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    header, decimals = cfdi.get("Descuento"), currency_decimals(cfdi, facts)
    discounted = any(concepto.get("Descuento") is not None for concepto in cfdi.conceptos)
    if cfdi.tipo not in PRICED or not discounted:
        if header is not None:
            yield fault(cfdi, "Descuento debe omitirse: ningún concepto lleva descuento")
        return
    added = total(cfdi.conceptos, "Descuento")
    if header is None:
        yield fault(cfdi, "falta Descuento: hay conceptos con descuento")
    elif added is not None and decimals is not None and cfdi.amount("Descuento") != rounded(added, decimals):
        yield fault(cfdi, f"Descuento {shown(header)} no es la suma de sus conceptos, {rounded(added, decimals)}")


def _currency_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.get("Moneda") not in facts.catalogues.currencies:
        yield fault(cfdi, f"Moneda {shown(cfdi.get('Moneda'))} no está en c_Moneda")


def _peso_rate(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    rate = cfdi.get("TipoCambio")
    if cfdi.get("Moneda") == "MXN" and rate is not None and cfdi.amount("TipoCambio") != 1:
        yield fault(cfdi, "con Moneda MXN, TipoCambio debe ser 1")


def _foreign_rate(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.get("Moneda") not in ("MXN", "XXX", None) and cfdi.get("TipoCambio") is None:
        yield fault(cfdi, "falta TipoCambio: la moneda no es MXN ni XXX")


def _no_currency_rate(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.get("Moneda") == "XXX" and cfdi.get("TipoCambio") is not None:
        yield fault(cfdi, "con Moneda XXX no debe existir TipoCambio")


def _rate_pattern(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    rate = cfdi.get("TipoCambio")
    if rate is not None and not AMOUNT.fullmatch(rate):
        yield fault(cfdi, f"TipoCambio {shown(rate)} no cumple el patrón de un número")


def _grand_total(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    found = cfdi.amount("Total")
    if found is None:
        return
    if cfdi.tipo in UNPRICED:
        if found:
            yield fault(cfdi, f"Total debe ser 0 cuando TipoDeComprobante es {cfdi.tipo}")
        return
    expected = _expected_total(cfdi)
    if expected is not None and found != expected:
        yield fault(cfdi, f"Total {found} no es SubTotal - Descuento + trasladados - retenidos = {expected}")


def _expected_total(cfdi: Comprobante) -> Decimal | None:
    signed = [
        (cfdi, "SubTotal", 1),
        (cfdi, "Descuento", -1),
        (cfdi.impuestos, "TotalImpuestosTrasladados", 1),
        (cfdi.impuestos, "TotalImpuestosRetenidos", -1),
        (cfdi.locales, "TotaldeTraslados", 1),
        (cfdi.locales, "TotaldeRetenciones", -1),
    ]
    value = Decimal(0)
    for node, name, sign in signed:
        if node is None or node.get(name) is None:
            continue
        amount = node.amount(name)
        if amount is None:
            return None
        value += sign * amount
    return value


def _export_complement(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.get("Exportacion") == "02" and not cfdi.comercio_exterior:
        yield fault(cfdi, "con Exportacion 02 falta el complemento de comercio exterior")


def _no_export_complement(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.get("Exportacion") in ("01", "03") and cfdi.comercio_exterior:
        yield fault(cfdi, "con Exportacion 01 o 03 no debe existir el complemento de comercio exterior")


def _payment_method_absent(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.tipo in UNPRICED and cfdi.get("MetodoPago") is not None:
        yield fault(cfdi, f"MetodoPago debe omitirse cuando TipoDeComprobante es {cfdi.tipo}")


def _issue_place_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.get("LugarExpedicion") not in facts.catalogues.postal_codes:
        yield fault(cfdi, f"LugarExpedicion {shown(cfdi.get('LugarExpedicion'))} no está en c_CodigoPostal")


def _confirmation_absent(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.get("Confirmacion") is not None:
        yield fault(cfdi, "Confirmacion no debe existir: nada está fuera de rango")


def _relation_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for relacion in cfdi.relaciones:
        if relacion.get("TipoRelacion") not in facts.catalogues.tipos_relacion:
            yield fault(relacion, f"TipoRelacion {shown(relacion.get('TipoRelacion'))} no está en c_TipoRelacion")


def _payment_terms(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.tipo in ("T", "P", "N") and cfdi.get("CondicionesDePago") is not None:
        yield fault(cfdi, f"CondicionesDePago no debe existir cuando TipoDeComprobante es {cfdi.tipo}")


def _payment_missing(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for name in ("FormaPago", "MetodoPago"):
        if cfdi.tipo in ("I", "E") and cfdi.get(name) is None:
            yield fault(cfdi, f"falta {name}: es obligatorio cuando TipoDeComprobante es I o E")


def _currency_of_type(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    needed = {"N": "MXN", "P": "XXX"}.get(cfdi.tipo or "")
    if needed and cfdi.get("Moneda") != needed:
        yield fault(cfdi, f"con TipoDeComprobante {cfdi.tipo}, Moneda debe ser {needed}")


def _date_range(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    try:
        date = datetime.fromisoformat(cfdi.get("Fecha") or "")
    except ValueError:
        return
    if facts.now is None or date.tzinfo is not None:
        return
    if date > facts.now:
        yield fault(cfdi, "Fecha está en el futuro")
    elif date < facts.now - MAX_AGE:
        yield fault(cfdi, "Fecha tiene más de 72 horas")


# fmt: off
HEADER: tuple[Rule, ...] = (
    Rule("cfdi.40103", "business", "O", _payment_form_absent,
         "no FormaPago with type T, N or P", significado="sin FormaPago en los tipos T, N y P"),
    Rule("cfdi.40104", "catalogues", "C", _payment_form_known,
         "FormaPago is in the catalogue", significado="FormaPago está en c_FormaPago"),
    Rule("cfdi.40105", "business", "O", _deferred_payment_form,
         "FormaPago is 99 when MetodoPago is PPD", significado="FormaPago es 99 cuando MetodoPago es PPD"),
    Rule("cfdi.40107", "arithmetic", "C", _subtotal_decimals,
         "SubTotal has the currency's decimals", "header", significado="SubTotal tiene los decimales de la moneda"),
    Rule("cfdi.40108", "arithmetic", "O", _subtotal_sum,
         "SubTotal is the rounded sum of the lines", "header",
         significado="SubTotal es la suma redondeada de los conceptos"),
    Rule("cfdi.40109", "arithmetic", "O", _subtotal_zero,
         "SubTotal is 0 for types T and P", "header", significado="SubTotal es 0 en los tipos T y P"),
    Rule("cfdi.40110", "arithmetic", "O", _discount_limit,
         "Descuento is at most SubTotal", "header", significado="Descuento es a lo más SubTotal"),
    Rule("cfdi.40111", "arithmetic", "O", _discount_sum,
         "Descuento is the rounded sum of the lines'", "header",
         significado="Descuento es la suma redondeada de los descuentos de los conceptos"),
    Rule("cfdi.40112", "arithmetic", "C", _discount_decimals,
         "Descuento has the currency's decimals", "header", significado="Descuento tiene los decimales de la moneda"),
    Rule("cfdi.40113", "catalogues", "C", _currency_known,
         "Moneda is in the catalogue", significado="Moneda está en c_Moneda"),
    Rule("cfdi.40114", "business", "O", _peso_rate,
         "TipoCambio is 1 or absent in pesos", significado="en pesos, TipoCambio es 1 o no existe"),
    Rule("cfdi.40115", "business", "O", _foreign_rate,
         "a foreign currency has TipoCambio", significado="una moneda extranjera lleva TipoCambio"),
    Rule("cfdi.40116", "business", "O", _no_currency_rate,
         "no TipoCambio with XXX", significado="sin TipoCambio con la moneda XXX"),
    Rule("cfdi.40117", "business", "O", _rate_pattern,
         "TipoCambio is a plain number", significado="TipoCambio es un número sin adornos"),
    Rule("cfdi.40119", "arithmetic", "O", _grand_total,
         "Total is the sum of its parts, exactly", "header", significado="Total es exactamente la suma de sus partes"),
    Rule("cfdi.40122", "business", "O", _export_complement,
         "Exportacion 02 has the foreign-trade complement",
         significado="Exportacion 02 lleva el complemento de comercio exterior"),
    Rule("cfdi.40125", "business", "O", _payment_method_absent,
         "no MetodoPago with type T or P", significado="sin MetodoPago en los tipos T y P"),
    Rule("cfdi.40126", "catalogues", "C", _issue_place_known,
         "LugarExpedicion is a postal code", significado="LugarExpedicion es un código postal que existe"),
    Rule("cfdi.40127", "business", "K", _confirmation_absent,
         "no Confirmacion", significado="sin Confirmacion"),
    Rule("cfdi.40137", "catalogues", "C", _relation_known,
         "TipoRelacion is in the catalogue", significado="TipoRelacion está en c_TipoRelacion"),
    Rule("cfdi.40222", "business", "O", _no_export_complement,
         "no foreign-trade complement with 01 or 03",
         significado="sin complemento de comercio exterior con Exportacion 01 o 03"),
    Rule("cfdi.payment_terms", "business", "strict", _payment_terms,
         "no CondicionesDePago with T, P or N", significado="sin CondicionesDePago en los tipos T, P y N"),
    Rule("cfdi.payment_missing", "business", "strict", _payment_missing,
         "I and E have FormaPago and MetodoPago", significado="los tipos I y E llevan FormaPago y MetodoPago"),
    Rule("cfdi.currency_of_type", "business", "strict", _currency_of_type,
         "N is in MXN, P in XXX", significado="el tipo N va en MXN y el P en XXX"),
    Rule("cfdi.date_range", "business", "K", _date_range,
         "Fecha is within 72 hours before the task's `now`",
         significado="Fecha está en las 72 horas anteriores al `now` de la tarea"),
)
# fmt: on
