"""The cadena original of a sealed invoice by SAT's own stylesheet, and what its certificate says.

No stylesheet may read or write anything while it runs; a certificate is only parsed, never fetched or looked up.
"""

from __future__ import annotations

import base64
import binascii
import functools
from datetime import datetime
from typing import Any, cast

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID
from lxml import etree

from veredicto_verifier.verifiers.cfdi.schemas import data_folder

KEY_BITS = range(2048, 4097)
"""Sizes of key that are verified; SAT's are of 2048, and larger ones would only cost time."""
MAX_BYTES = 8_192
"""Longest certificate that is parsed."""


def cadena_original(root: etree._Element) -> bytes:
    """The text that the seal signs, as UTF-8."""
    return str(_stylesheet("cadena")(root)).encode("utf-8")


@functools.cache
def _stylesheet(name: str) -> etree.XSLT:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    nothing = cast(Any, etree.XSLTAccessControl).DENY_ALL  # the stubs lack it
    return etree.XSLT(etree.parse(data_folder() / "xslt" / f"{name}.xslt", parser), access_control=nothing)


def decoded(text: str | None) -> bytes | None:
    """The bytes of a base64 text; None where it is absent, too long or none."""
    if not text or len(text) > 2 * MAX_BYTES:
        return None
    try:
        return base64.b64decode("".join(text.split(" ")), validate=True)
    except (binascii.Error, ValueError):
        return None


def read_certificate(text: str | None) -> x509.Certificate | None:
    """The certificate of a base64 DER text with an RSA key of a usual size; None where it is none."""
    content = decoded(text)
    if content is None or len(content) > MAX_BYTES:
        return None
    try:
        certificate = x509.load_der_x509_certificate(content)
        key = certificate.public_key()
    except (ValueError, TypeError, x509.InvalidVersion, UnsupportedAlgorithm):
        return None
    return certificate if isinstance(key, RSAPublicKey) and key.key_size in KEY_BITS else None


def seal_verifies(certificate: x509.Certificate, sello: bytes, cadena: bytes) -> bool:
    """Whether the seal is the certificate's RSA-SHA256 (PKCS #1 v1.5) signature of the text."""
    key = certificate.public_key()
    assert isinstance(key, RSAPublicKey)
    try:
        key.verify(sello, cadena, PKCS1v15(), SHA256())
    except InvalidSignature:
        return False
    return True


def is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether the authority's key signed the certificate, under the authority's name."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def is_valid_at(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether `now`, taken for UTC, lies within the certificate's validity."""
    begins, ends = (
        one.replace(tzinfo=None) for one in (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    )
    return begins <= now <= ends


def is_personal(certificate: x509.Certificate) -> bool:
    """Whether it is a person's e.firma: SAT's certificates for seals say nothing of extended uses."""
    try:
        certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage)
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return False
    return True


def holder(certificate: x509.Certificate) -> str | None:
    """The RFC of whom it was issued to (`RFC / RFC of who acts for it`); None where it names none."""
    try:
        names = certificate.subject.get_attributes_for_oid(NameOID.X500_UNIQUE_IDENTIFIER)
    except ValueError:
        return None
    return str(names[0].value).partition("/")[0].strip() if names else None


def number(certificate: x509.Certificate) -> str:
    """NoCertificado: SAT writes its 20 digits as the ASCII bytes of the serial number."""
    content = certificate.serial_number.to_bytes((certificate.serial_number.bit_length() + 7) // 8, "big")
    return content.decode("ascii", "replace")
