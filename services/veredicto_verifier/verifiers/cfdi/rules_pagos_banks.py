"""Rules on how a payment was made: banks, accounts and proof (SAT's matrix for complement Pagos 2.0, revision B)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault
from veredicto_verifier.verifiers.cfdi.rules_pagos import payments

WITH_PAYER = ("02", "03", "04", "05", "06", "28", "29")
WITH_PAYEE = ("02", "03", "04", "05", "28", "29")
PROOF = ("CertPago", "CadPago", "SelloPago")
FOREIGN = "XEXX010101000"


def _bank_named(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        if pago.get("RfcEmisorCtaOrd") == FOREIGN and pago.get("NomBancoOrdExt") is None:
            yield fault(pago, f"falta NomBancoOrdExt: RfcEmisorCtaOrd es {FOREIGN}")


def _only_with(cfdi: Comprobante, name: str, forms: tuple[str, ...]) -> Iterator[Fault]:
    for pago in payments(cfdi):
        if pago.get(name) is not None and pago.get("FormaDePagoP") not in forms:
            yield fault(pago, f"{name} solo existe con FormaDePagoP {', '.join(forms)}")


def _payer_bank(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _only_with(cfdi, "RfcEmisorCtaOrd", WITH_PAYER)


def _payer_account(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _only_with(cfdi, "CtaOrdenante", WITH_PAYER)


def _payee_bank(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _only_with(cfdi, "RfcEmisorCtaBen", WITH_PAYEE)


def _payee_account(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _only_with(cfdi, "CtaBeneficiario", WITH_PAYEE)


def _proof_kind(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _only_with(cfdi, "TipoCadPago", ("03",))


def _account_pattern(cfdi: Comprobante, facts: Facts, name: str, side: int) -> Iterator[Fault]:
    for pago in payments(cfdi):
        patterns = facts.catalogues.accounts.get(pago.get("FormaDePagoP") or "")
        account = pago.get(name)
        if patterns and patterns[side] and account is not None and not re.fullmatch(patterns[side], account):
            yield fault(pago, f"{name} no cumple el patrón de su FormaDePagoP")


def _payer_pattern(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _account_pattern(cfdi, facts, "CtaOrdenante", 0)


def _payee_pattern(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _account_pattern(cfdi, facts, "CtaBeneficiario", 1)


def _proof_complete(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        missing = [name for name in PROOF if pago.get(name) is None]
        if pago.get("TipoCadPago") is not None and missing:
            yield fault(pago, f"con TipoCadPago faltan {', '.join(missing)}")


def _proof_absent(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for pago in payments(cfdi):
        there = [name for name in PROOF if pago.get(name) is not None]
        if pago.get("TipoCadPago") is None and there:
            yield fault(pago, f"sin TipoCadPago no deben existir {', '.join(there)}")


# fmt: off
PAYMENT_BANKS: tuple[Rule, ...] = (
    Rule("cfdi.crp20221", "business", "O", _payer_bank,
         "RfcEmisorCtaOrd only with forms that have one", significado="RfcEmisorCtaOrd solo con formas que lo admiten"),
    Rule("cfdi.crp20223", "business", "O", _bank_named,
         "a foreign bank is named", significado="el banco extranjero lleva nombre"),
    Rule("cfdi.crp20224", "business", "O", _payer_account,
         "CtaOrdenante only with forms that have one", significado="CtaOrdenante solo con formas que la admiten"),
    Rule("cfdi.crp20225", "business", "C", _payer_pattern,
         "CtaOrdenante has its form's pattern", significado="CtaOrdenante cumple el patrón de su forma"),
    Rule("cfdi.crp20226", "business", "C", _payee_pattern,
         "CtaBeneficiario has its form's pattern", significado="CtaBeneficiario cumple el patrón de su forma"),
    Rule("cfdi.crp20227", "business", "O", _payee_bank,
         "RfcEmisorCtaBen only with forms that have one", significado="RfcEmisorCtaBen solo con formas que lo admiten"),
    Rule("cfdi.crp20228", "business", "O", _payee_account,
         "CtaBeneficiario only with forms that have one", significado="CtaBeneficiario solo con formas que la admiten"),
    Rule("cfdi.crp20229", "business", "O", _proof_kind,
         "TipoCadPago only with form 03", significado="TipoCadPago solo con la forma 03"),
    Rule("cfdi.crp20230", "business", "O", _proof_complete,
         "TipoCadPago has its certificate, chain and seal (also 20232, 20234)",
         significado="TipoCadPago lleva certificado, cadena y sello"),
    Rule("cfdi.crp20231", "business", "O", _proof_absent,
         "no certificate, chain or seal without TipoCadPago (also 20233, 20235)",
         significado="sin TipoCadPago no hay certificado, cadena ni sello"),
)
# fmt: on
