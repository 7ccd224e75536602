"""Rules of ours where SAT's own leave a hole: sums that are close enough, hidden text, borrowed seals.

SAT's limits widen with the decimals that are not written: 1 × 100.00 = 149.00 is within them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Concepto, Node
from veredicto_verifier.verifiers.cfdi.rule import ZERO, Facts, Fault, Rule, fault, shown

CENT = Decimal("0.01")
TEXTS = ("Nombre", "Rfc", "Descripcion", "Serie", "Folio", "NoIdentificacion", "Unidad", "CondicionesDePago")
SEALS = ("Sello", "Certificado", "NoCertificado")
TIMBRE = "TimbreFiscalDigital"


def _plain_numbers(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for node in cfdi.nodes():
        for name in node.odd:
            if name != "TipoCambio":
                yield fault(node, f"{name} {shown(node.get(name))} no es un número de hasta 18 enteros y 6 decimales")


def _product(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for concepto in cfdi.conceptos:
        quantity, price = concepto.amount("Cantidad"), concepto.amount("ValorUnitario")
        found = concepto.amount("Importe")
        if quantity is None or price is None or found is None:
            continue
        if abs(found - quantity * price) > CENT:
            yield fault(concepto, f"Importe {found} no es Cantidad × ValorUnitario = {quantity * price:f}")


def _net(concepto: Concepto) -> Decimal | None:
    """Importe less Descuento."""
    amount = concepto.amount("Importe")
    if amount is None or concepto.get("Descuento") is None:
        return amount
    discount = concepto.amount("Descuento")
    return None if discount is None else amount - discount


def _ieps(concepto: Concepto) -> Decimal:
    added = ZERO
    for tax in concepto.traslados:
        if tax.get("Impuesto") == "003":
            added += tax.amount("Importe") or ZERO
    return added


def _bases(tax: Node, net: Decimal, quantity: Decimal, of_iva: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    """What Base may be: the quantity for a quota, the net amount for a rate; IVA is charged on IEPS too."""
    if tax.get("TipoFactor") == "Cuota":
        return (quantity,)
    return of_iva if tax.get("Impuesto") == "002" else (net,)


def _basis(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if not facts.strict_base:
        return
    for concepto in cfdi.conceptos:
        net, quantity = _net(concepto), concepto.amount("Cantidad")
        if net is None or quantity is None:
            continue
        gross = net + _ieps(concepto)
        for taxes, of_iva in ((concepto.traslados, (gross,)), (concepto.retenciones, (net, gross))):
            for tax in taxes:
                found = tax.amount("Base")
                # Most bases are the net amount, and need no more than this look.
                if found is None or (found == net == gross and tax.get("TipoFactor") != "Cuota"):
                    continue
                allowed = _bases(tax, net, quantity, of_iva)
                if all(abs(found - one) > CENT for one in allowed):
                    yield fault(tax, f"Base {found} no corresponde al concepto (se esperaba {allowed[0]:f})")


def _tax(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tax in cfdi.taxes:
        basis, rate, found = tax.amount("Base"), tax.amount("TasaOCuota"), tax.amount("Importe")
        if basis is not None and rate is not None and found is not None and abs(found - basis * rate) > CENT:
            yield fault(tax, f"Importe {found} no es Base × TasaOCuota = {basis * rate:f}")


def _seal(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if facts.sealed:
        return
    for name in SEALS:
        if cfdi.get(name):
            yield fault(cfdi, f"{name} debe quedar vacío: un comprobante sin sellar no lo tiene")
    if any(TIMBRE in name for name in cfdi.complementos):
        yield fault(cfdi, "el TimbreFiscalDigital lo pone el PAC, no quien emite")


def _prefix(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.prefix != "cfdi":
        yield fault(cfdi, "el prefijo del espacio de nombres debe ser cfdi")


def _nested(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.nested:
        yield fault(cfdi, "hay elementos de un comprobante dentro de Complemento o Addenda")


def _addenda(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.addenda:
        yield fault(cfdi, "nadie pidió una Addenda")


def _visible_text(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for node in (cfdi, cfdi.emisor, cfdi.receptor, *cfdi.conceptos):
        for name in TEXTS:
            if not _is_plain(node.get(name) or ""):
                yield fault(node, f"{name} tiene caracteres invisibles o sin normalizar (NFC)")


def _is_plain(text: str) -> bool:
    """NFC, and no control, format, private or unassigned character, and no blank but the space."""
    if text.isascii():
        return text.isprintable()
    return unicodedata.is_normalized("NFC", text) and text.isprintable()


# fmt: off
STRICT: tuple[Rule, ...] = (
    Rule("cfdi.strict_number", "arithmetic", "strict", _plain_numbers,
         "amounts are plain decimal numbers", "header",
         significado="los montos son números decimales sin adornos", severity="critical"),
    Rule("cfdi.strict_importe", "arithmetic", "strict", _product,
         "Importe = Cantidad × ValorUnitario", "conceptos",
         significado="Importe es Cantidad × ValorUnitario", severity="critical"),
    Rule("cfdi.strict_base", "arithmetic", "strict", _basis,
         "Base is what the line's amounts say", "conceptos",
         significado="Base es la que dicen los montos del concepto", severity="critical"),
    Rule("cfdi.strict_tax", "arithmetic", "strict", _tax,
         "tax Importe = Base × TasaOCuota, to a cent", "conceptos",
         significado="Importe del impuesto es Base × TasaOCuota, al centavo", severity="critical"),
    Rule("cfdi.invented_seal", "business", "strict", _seal,
         "no seal, certificate or PAC stamp, unless sealed",
         significado="sin sello, certificado ni timbre, salvo en un comprobante sellado"),
    Rule("cfdi.prefix", "business", "strict", _prefix,
         "the namespace prefix is `cfdi`", significado="el prefijo del espacio de nombres es cfdi"),
    Rule("cfdi.nested", "business", "strict", _nested,
         "no invoice inside Complemento or Addenda", significado="sin comprobantes dentro de Complemento o Addenda"),
    Rule("cfdi.addenda", "business", "strict", _addenda,
         "no Addenda", significado="sin Addenda"),
    Rule("cfdi.unsafe_text", "business", "strict", _visible_text,
         "texts are NFC without invisible characters",
         significado="los textos están en NFC y sin caracteres invisibles"),
)
# fmt: on
