"""Test certificates and seals, made on the spot: an authority, an issuer's certificate, a sealed invoice."""

from __future__ import annotations

import base64
import functools
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from lxml import etree

from tests.cfdi_mutants import base_spec, base_text
from veredicto_verifier.verifiers.cfdi.seal import cadena_original

NUMBER = "30001000000500003416"
RFC = "CACX7605101P8"
NAME = x509.ObjectIdentifier("2.5.4.41")
SIGNING = x509.KeyUsage(
    digital_signature=True,
    content_commitment=True,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=False,
    crl_sign=False,
    encipher_only=False,
    decipher_only=False,
)
"""What SAT's certificates for seals may be used for; they have no extended use, an e.firma has."""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Signer(NamedTuple):
    key: rsa.RSAPrivateKey
    certificate: x509.Certificate

    @property
    def text(self) -> str:
        return base64.b64encode(self.certificate.public_bytes(Encoding.DER)).decode()


@functools.cache
def key_of(name: str) -> rsa.RSAPrivateKey:
    """One key a name: making one costs more than all else here."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@functools.cache
def authority(name: str = "Autoridad de prueba") -> Signer:
    """As SAT's own: accents in its name, its RFC, and an attribute that few libraries have a name for."""
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, name),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Administración de pruebas"),
            x509.NameAttribute(NameOID.X500_UNIQUE_IDENTIFIER, "AAA010101AAA"),
            x509.NameAttribute(NameOID.UNSTRUCTURED_NAME, "Responsable: Administración Central"),
        ]
    )
    return Signer(key_of(name), _certificate(subject, key_of(name), subject, key_of(name), 1))


@functools.cache
def issuer(
    *,
    rfc: str = RFC,
    number: str = NUMBER,
    days: int = 1400,
    by: str = "Autoridad de prueba",
    personal: bool = False,
) -> Signer:
    """As SAT writes them: `RFC / RFC of who acts for it`, and the same two as a serial number without the first."""
    name = "XOCHILT CASAS CHAVEZ"
    names = [
        x509.NameAttribute(NameOID.COMMON_NAME, name),
        x509.NameAttribute(NAME, name),
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, name),
        x509.NameAttribute(NameOID.X500_UNIQUE_IDENTIFIER, f"{rfc} / CACX7605101P8"),
        x509.NameAttribute(NameOID.SERIAL_NUMBER, " / CACX760510MGTSHC04"),
        x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "SELLO RENOVADO"),
    ]
    serial = int.from_bytes(number.encode(), "big")
    ca = authority(by)
    certificate = _certificate(
        x509.Name(names), key_of("issuer"), ca.certificate.subject, ca.key, serial, days=days, personal=personal
    )
    return Signer(key_of("issuer"), certificate)


def _certificate(
    subject: x509.Name,
    key: rsa.RSAPrivateKey,
    by: x509.Name,
    signing: rsa.RSAPrivateKey,
    serial: int,
    *,
    days: int = 1400,
    personal: bool = False,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(BEGIN)
        .not_valid_after(BEGIN + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(SIGNING, critical=False)
    )
    if personal:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
    return builder.sign(signing, SHA256())


def sealed(text: str, signer: Signer, number: str = NUMBER) -> str:
    """The invoice with certificate and seal."""
    root = etree.fromstring(text.encode())
    root.set("NoCertificado", number)
    root.set("Certificado", signer.text)
    sello = signer.key.sign(cadena_original(root), PKCS1v15(), SHA256())
    root.set("Sello", base64.b64encode(sello).decode())
    return etree.tostring(root, encoding="unicode")


def stamp(text: str, *, seal: str | None = None, date: str = "2026-11-30T10:05:00") -> str:
    """The invoice with a TimbreFiscalDigital, as a PAC adds it after sealing."""
    seal = seal or etree.fromstring(text.encode()).get("Sello", "")
    timbre = (
        '<cfdi:Complemento><tfd:TimbreFiscalDigital xmlns:tfd="http://www.sat.gob.mx/TimbreFiscalDigital" '
        f'Version="1.1" UUID="5FB2822E-396D-4725-8521-CDC4BDD20CCF" FechaTimbrado="{date}" '
        'RfcProvCertif="SPR190613I52" '
        f'SelloCFD="{seal}" NoCertificadoSAT="{NUMBER}" SelloSAT="QUJD"/></cfdi:Complemento></cfdi:Comprobante>'
    )
    return text.replace("</cfdi:Comprobante>", timbre)


def invoice() -> str:
    return base_text("simple").removeprefix('<?xml version="1.0" encoding="UTF-8"?>\n')


def spec(**values: object) -> dict[str, object]:
    return base_spec("simple") | {"profile": "sealed", "authorities": [authority().text]} | values


SEAL_CODES = frozenset(
    {
        "cfdi.40102",
        "cfdi.40106",
        "cfdi.certificate_number",
        "cfdi.certificate_holder",
        "cfdi.stamp_seal",
        "cfdi.stamp_date",
    }
)
"""Codes that `test_cfdi_seal.py` breaks, one fault each."""
