"""Rules on a payment (SAT's matrix for complement Pagos 2.0, revision B): its invoice, each payment, each document.

They are asked of invoices of type P and of those that hold the complement. Banks, taxes and totals
have modules of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_DOWN, Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Tree
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault, rounded, shown
from veredicto_verifier.verifiers.cfdi.rule_kinds import absent, excluded, header, in_currency, lines, pinned, positive

EPSILON = Decimal(1).scaleb(-12)


def payments(cfdi: Comprobante) -> tuple[Tree, ...]:
    """Every Pago."""
    return cfdi.pagos.all("Pago") if cfdi.pagos else ()


def documents(cfdi: Comprobante) -> tuple[Tree, ...]:
    """Every DoctoRelacionado."""
    return cfdi.pagos.all("Pago", "DoctoRelacionado") if cfdi.pagos else ()


def _complement_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.tipo == "P" and cfdi.pagos is None:
        yield fault(cfdi, "con TipoDeComprobante P falta el complemento de pagos 2.0")


def _one_line(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if len(cfdi.conceptos) != 1:
        yield fault(cfdi, f"debe haber un solo concepto, no {len(cfdi.conceptos)}")


def _bare_line(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        if concepto.impuestos is not None or set(concepto.extras) - {"ACuentaTerceros"}:
            yield fault(concepto, "el concepto no debe tener más nodo hijo que ACuentaTerceros")


def _foreign_rate(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        if pago.get("MonedaP") != "MXN" and pago.get("TipoCambioP") is None:
            yield fault(pago, "falta TipoCambioP: MonedaP no es MXN")


def _peso_rate(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        if pago.get("MonedaP") == "MXN" and pago.get("TipoCambioP") != "1":
            yield fault(pago, f"con MonedaP MXN, TipoCambioP debe ser 1, no {shown(pago.get('TipoCambioP'))}")


def _paid_within(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        amount, same = pago.amount("Monto"), _same_currency(pago)
        paid = [one.amount("ImpPagado") for one in same]
        total = sum((one for one in paid if one is not None), Decimal(0))
        if amount is not None and total > amount:
            yield fault(pago, f"la suma de ImpPagado, {total}, es mayor que Monto {amount}")


def _same_currency(pago: Tree) -> list[Tree]:
    return [one for one in pago.all("DoctoRelacionado") if one.get("MonedaDR") == pago.get("MonedaP")]


def _converted_within(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    """Several currencies: Monto covers what is paid, give or take what the written decimals leave open."""
    for pago in payments(cfdi):
        documentos, amount = pago.all("DoctoRelacionado"), pago.amount("Monto")
        decimals = facts.catalogues.currencies.get(pago.get("MonedaP") or "")
        if amount is None or decimals is None or len(_same_currency(pago)) == len(documentos):
            continue
        lows = [_lower_limit(one, decimals) for one in documentos]
        total = sum((one for one in lows if one is not None), Decimal(0))
        if amount < total:
            yield fault(pago, f"Monto {amount} no cubre lo pagado, al menos {total} en {shown(pago.get('MonedaP'))}")


def _lower_limit(documento: Tree, decimals: int) -> Decimal | None:
    """The least that ImpPagado is in the payment's currency, cut to its decimals as SAT does."""
    paid, rate = documento.amount("ImpPagado"), documento.amount("EquivalenciaDR")
    if paid is None or not rate:
        return None
    half_paid = Decimal(1).scaleb(-documento.decimals("ImpPagado")) / 2
    half_rate = Decimal(1).scaleb(-max(documento.decimals("EquivalenciaDR"), 10 if rate == 1 else 0)) / 2
    return ((paid - half_paid) / (rate + half_rate - EPSILON)).quantize(
        Decimal(1).scaleb(-decimals), rounding=ROUND_DOWN
    )


def _rate_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        for one in pago.all("DoctoRelacionado"):
            if one.get("MonedaDR") != pago.get("MonedaP") and one.get("EquivalenciaDR") is None:
                yield fault(one, "falta EquivalenciaDR: MonedaDR no es la del pago")


def _rate_one(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        for one in _same_currency(pago):
            if one.amount("EquivalenciaDR") != 1:
                yield fault(one, "con la moneda del pago, EquivalenciaDR debe ser 1")


def _new_balance(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in documents(cfdi):
        before, paid, after = (one.amount(name) for name in ("ImpSaldoAnt", "ImpPagado", "ImpSaldoInsoluto"))
        if before is None or paid is None or after is None:
            continue
        if paid > before:
            yield fault(one, f"ImpPagado {paid} es mayor que ImpSaldoAnt {before}")
        elif after != before - paid:
            yield fault(one, f"ImpSaldoInsoluto {after} no es ImpSaldoAnt - ImpPagado = {before - paid}")


def _total_paid(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    totals = cfdi.pagos.first("Totales") if cfdi.pagos else None
    found = totals.amount("MontoTotalPagos") if totals else None
    amounts = [(pago.amount("Monto"), rate_of(pago)) for pago in payments(cfdi)]
    if totals is None or found is None:
        return
    exact = sum((amount * rate for amount, rate in amounts if amount is not None and rate is not None), Decimal(0))
    if found != rounded(exact, 2):
        yield fault(totals, f"MontoTotalPagos {found} no es la suma de los montos en pesos, {rounded(exact, 2)}")


def rate_of(pago: Tree) -> Decimal | None:
    """Pesos for one unit of the payment's currency."""
    return Decimal(1) if pago.get("MonedaP") == "MXN" else pago.amount("TipoCambioP")


# fmt: off
PAYMENTS: tuple[Rule, ...] = (
    Rule("cfdi.pagos_missing", "business", "strict", _complement_there,
         "type P has the payments complement", significado="el tipo P lleva el complemento de pagos"),
    Rule("cfdi.crp20101", "business", "O", pinned(header, "TipoDeComprobante", "P"),
         "payments go in type P", significado="los pagos van en un comprobante de tipo P"),
    Rule("cfdi.crp20102", "business", "O", pinned(header, "Exportacion", "01"),
         "Exportacion is 01", significado="Exportacion es 01"),
    Rule("cfdi.crp20103", "arithmetic", "O", pinned(header, "SubTotal", "0"),
         "SubTotal is written 0", "summary", significado="SubTotal se escribe 0"),
    Rule("cfdi.crp20110", "arithmetic", "O", pinned(header, "Total", "0"),
         "Total is written 0", "summary", significado="Total se escribe 0"),
    Rule("cfdi.crp20111", "business", "O", _one_line,
         "there is one line", significado="hay un solo concepto"),
    Rule("cfdi.crp20112", "business", "O", _bare_line,
         "the line holds at most ACuentaTerceros", significado="el concepto solo puede tener ACuentaTerceros"),
    Rule("cfdi.crp20113", "business", "O", pinned(lines, "ClaveProdServ", "84111506"),
         "ClaveProdServ is 84111506", significado="ClaveProdServ es 84111506"),
    Rule("cfdi.crp20114", "business", "O", absent(lines, "NoIdentificacion"),
         "no NoIdentificacion", significado="sin NoIdentificacion"),
    Rule("cfdi.crp20115", "business", "O", pinned(lines, "Cantidad", "1"),
         "Cantidad is 1", significado="Cantidad es 1"),
    Rule("cfdi.crp20116", "business", "O", pinned(lines, "ClaveUnidad", "ACT"),
         "ClaveUnidad is ACT", significado="ClaveUnidad es ACT"),
    Rule("cfdi.crp20117", "business", "O", absent(lines, "Unidad"),
         "no Unidad", significado="sin Unidad"),
    Rule("cfdi.crp20118", "business", "O", pinned(lines, "Descripcion", "Pago"),
         "Descripcion is Pago", significado="Descripcion es Pago"),
    Rule("cfdi.crp20119", "arithmetic", "O", pinned(lines, "ValorUnitario", "0"),
         "ValorUnitario is written 0", "summary", significado="ValorUnitario se escribe 0"),
    Rule("cfdi.crp20120", "arithmetic", "O", pinned(lines, "Importe", "0"),
         "Importe is written 0", "summary", significado="Importe se escribe 0"),
    Rule("cfdi.crp20121", "business", "O", absent(lines, "Descuento"),
         "no Descuento on the line", significado="sin Descuento en el concepto"),
    Rule("cfdi.crp20122", "business", "O", pinned(lines, "ObjetoImp", "01"),
         "ObjetoImp is 01", significado="ObjetoImp es 01"),
    Rule("cfdi.crp20211", "arithmetic", "O", _total_paid,
         "MontoTotalPagos is the rounded sum in pesos", "summary",
         significado="MontoTotalPagos es la suma en pesos, redondeada"),
    Rule("cfdi.crp20212", "business", "O", excluded(payments, "FormaDePagoP", "99"),
         "FormaDePagoP is not 99", significado="FormaDePagoP no es 99"),
    Rule("cfdi.crp20213", "business", "O", excluded(payments, "MonedaP", "XXX"),
         "MonedaP is not XXX", significado="MonedaP no es XXX"),
    Rule("cfdi.crp20214", "business", "O", _foreign_rate,
         "a foreign payment has TipoCambioP", significado="un pago en otra moneda lleva TipoCambioP"),
    Rule("cfdi.crp20215", "business", "O", _peso_rate,
         "TipoCambioP is 1 in pesos", significado="en pesos, TipoCambioP es 1"),
    Rule("cfdi.crp20217", "arithmetic", "O", _paid_within,
         "what is paid in the payment's currency is at most Monto", "summary",
         significado="lo pagado en la moneda del pago no pasa de Monto"),
    Rule("cfdi.crp20218", "arithmetic", "O", positive(payments, "Monto"),
         "Monto is above 0", "summary", significado="Monto es mayor que 0"),
    Rule("cfdi.crp20219", "arithmetic", "C", in_currency(payments, "Monto", "MonedaP"),
         "Monto has the currency's decimals", "summary", significado="Monto tiene los decimales de su moneda"),
    Rule("cfdi.crp20236", "business", "O", excluded(documents, "MonedaDR", "XXX"),
         "MonedaDR is not XXX", significado="MonedaDR no es XXX"),
    Rule("cfdi.crp20237", "business", "O", _rate_there,
         "a document in another currency has EquivalenciaDR",
         significado="un documento en otra moneda lleva EquivalenciaDR"),
    Rule("cfdi.crp20238", "business", "O", _rate_one,
         "EquivalenciaDR is 1 in the payment's currency", significado="en la moneda del pago, EquivalenciaDR es 1"),
    Rule("cfdi.crp20239", "arithmetic", "O", positive(documents, "ImpSaldoAnt"),
         "ImpSaldoAnt is above 0", "summary", significado="ImpSaldoAnt es mayor que 0"),
    Rule("cfdi.crp20240", "arithmetic", "C", in_currency(documents, "ImpSaldoAnt", "MonedaDR"),
         "ImpSaldoAnt has the currency's decimals", "summary",
         significado="ImpSaldoAnt tiene los decimales de su moneda"),
    Rule("cfdi.crp20241", "arithmetic", "O", positive(documents, "ImpPagado"),
         "ImpPagado is above 0", "summary", significado="ImpPagado es mayor que 0"),
    Rule("cfdi.crp20242", "arithmetic", "C", in_currency(documents, "ImpPagado", "MonedaDR"),
         "ImpPagado has the currency's decimals", "summary", significado="ImpPagado tiene los decimales de su moneda"),
    Rule("cfdi.crp20243", "arithmetic", "C", in_currency(documents, "ImpSaldoInsoluto", "MonedaDR"),
         "ImpSaldoInsoluto has the currency's decimals", "summary",
         significado="ImpSaldoInsoluto tiene los decimales de su moneda"),
    Rule("cfdi.crp20244", "arithmetic", "O", _new_balance,
         "ImpSaldoInsoluto = ImpSaldoAnt - ImpPagado, not negative", "summary",
         significado="ImpSaldoInsoluto = ImpSaldoAnt - ImpPagado, no negativo"),
    Rule("cfdi.crp20276", "arithmetic", "O", _converted_within,
         "Monto covers what is paid in several currencies", "summary",
         significado="Monto cubre lo pagado en varias monedas"),
)
# fmt: on
