"""Rules on the seal, its certificate and SAT's stamp, asked of invoices that must be sealed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Tree
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault, shown
from veredicto_verifier.verifiers.cfdi.seal import (
    decoded,
    holder,
    is_issued_by,
    is_personal,
    is_valid_at,
    number,
    read_certificate,
    seal_verifies,
)

STAMP = "TimbreFiscalDigital"
MOST_WAIT = timedelta(hours=72)


def _seal(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    sello, certificate = decoded(cfdi.get("Sello")), read_certificate(cfdi.get("Certificado"))
    if sello is None:
        yield fault(cfdi, "Sello falta o no es base64")
    elif certificate is None or not seal_verifies(certificate, sello, cfdi.cadena):
        yield fault(cfdi, "Sello no corresponde al Certificado y a la cadena original")


def _certificate(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    certificate = read_certificate(cfdi.get("Certificado"))
    if certificate is None:
        yield fault(cfdi, "Certificado falta o no es un certificado RSA en base64")
        return
    authorities = [read_certificate(text) for text in facts.authorities]
    if is_personal(certificate):
        yield fault(cfdi, "Certificado es de e.firma, no de sello digital")
    if facts.now is not None and not is_valid_at(certificate, facts.now):
        yield fault(cfdi, "Certificado no está vigente")
    if not any(is_issued_by(certificate, one) for one in authorities if one is not None):
        yield fault(cfdi, "Certificado no fue emitido por una autoridad reconocida")


def _certificate_number(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    certificate = read_certificate(cfdi.get("Certificado"))
    if certificate is not None and cfdi.get("NoCertificado") != number(certificate):
        yield fault(cfdi, f"NoCertificado {shown(cfdi.get('NoCertificado'))} no es el número del Certificado")


def _certificate_holder(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    certificate = read_certificate(cfdi.get("Certificado"))
    if certificate is not None and holder(certificate) != cfdi.emisor.get("Rfc"):
        yield fault(cfdi, "Certificado no es del RFC del emisor")


def _stamps(cfdi: Comprobante) -> list[Tree]:
    return [tree for namespace, tree in cfdi.other_complements if namespace.endswith(f"/{STAMP}")]


def _stamped_seal(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for stamp in _stamps(cfdi):
        if stamp.get("SelloCFD") != cfdi.get("Sello"):
            yield fault(stamp, "SelloCFD no es el Sello del comprobante")


def _stamped_date(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    issued = _moment(cfdi.get("Fecha"))
    for stamp in _stamps(cfdi):
        stamped = _moment(stamp.get("FechaTimbrado"))
        if stamped is None or issued is None:
            continue
        if not issued <= stamped <= issued + MOST_WAIT or (facts.now is not None and stamped > facts.now):
            yield fault(stamp, "FechaTimbrado no está entre Fecha y 72 horas después, o está en el futuro")


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    # The last years of the calendar have no 72 hours after them; the schema refuses them anyway.
    return None if moment.tzinfo is not None or moment.year > 9000 else moment


# fmt: off
SEALED: tuple[Rule, ...] = (
    Rule("cfdi.40102", "business", "S", _seal,
         "the seal is the certificate's signature of the cadena original",
         significado="el sello es la firma de la cadena original con el certificado"),
    Rule("cfdi.40106", "business", "S", _certificate,
         "the certificate is one for seals, valid at `now`, of a recognised authority",
         significado="el certificado es de sello, vigente en `now`, de una autoridad reconocida"),
    Rule("cfdi.certificate_number", "business", "strict", _certificate_number,
         "NoCertificado is the certificate's number", significado="NoCertificado es el número del certificado"),
    Rule("cfdi.certificate_holder", "business", "strict", _certificate_holder,
         "the certificate is the issuer's", significado="el certificado es del emisor"),
    Rule("cfdi.stamp_seal", "business", "strict", _stamped_seal,
         "a stamp repeats the invoice's seal", significado="el timbre repite el sello del comprobante"),
    Rule("cfdi.stamp_date", "business", "strict", _stamped_date,
         "a stamp is of the 72 hours after Fecha", significado="el timbre es de las 72 horas posteriores a Fecha"),
)
# fmt: on
