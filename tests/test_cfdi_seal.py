"""Sealed invoices: the issuer's own seal passes, and every other seal, certificate or stamp is named by its code."""

from __future__ import annotations

import base64
import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.cfdi_complements import PAYER
from tests.cfdi_complements import base_text as complement_text
from tests.cfdi_seals import BEGIN, NUMBER, SEAL_CODES, authority, invoice, issuer, sealed, spec, stamp
from tests.test_xml_document import num_events, watched
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.cfdi.seal import cadena_original, read_certificate


def graded(text: str, **values: Any) -> Grade:
    task = CFDI.prepare(CFDI.spec.model_validate(spec(**values)), Context())
    return CFDI.grade(task, Answer(text, Completion(text)))


def codes(grade: Grade) -> set[str]:
    return {check.code for check in grade.checks if check.code is not None}


def test_the_issuers_own_seal_passes_stamped_or_not() -> None:
    text = sealed(invoice(), issuer())
    assert codes(graded(text)) == set()
    assert codes(graded(stamp(text))) == set()


def test_the_cadena_is_sats_and_leaves_the_addenda_out() -> None:
    root = etree.fromstring(sealed(invoice(), issuer()).encode())
    cadena = cadena_original(root).decode()
    assert cadena == CADENA
    root.append(etree.fromstring('<cfdi:Addenda xmlns:cfdi="http://www.sat.gob.mx/cfd/4"><a b="c"/></cfdi:Addenda>'))
    assert cadena_original(root).decode() == cadena


CADENA = (
    f"||4.0|2026-11-30T10:00:00|03|{NUMBER}|1000.00|MXN|1160.00|I|01|PUE|06600"
    "|CACX7605101P8|XOCHILT CASAS CHAVEZ|612|EKU9003173C9|ESCUELA KEMPER URGATE|36257|601|G03"
    "|80101500|1|E48|Consultoría de procesos|1000.00|1000.00|02|1000.00|002|Tasa|0.160000|160.00"
    "|1000.00|002|Tasa|0.160000|160.00|160.00||"
)
DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
"""Before the digest in a signature by PKCS #1 v1.5: that it is SHA-256's."""


def test_the_seal_that_passes_is_rsa_of_sha256_by_hand() -> None:
    """A seal from plain arithmetic over a cadena written out here: nothing of the verifier has a part in it."""
    numbers = issuer().key.private_numbers()
    digest = DIGEST_INFO + hashlib.sha256(CADENA.encode()).digest()
    padded = b"\x00\x01" + b"\xff" * (256 - 3 - len(digest)) + b"\x00" + digest
    seal = pow(int.from_bytes(padded, "big"), numbers.d, numbers.public_numbers.n).to_bytes(256, "big")
    text = sealed(invoice(), issuer())
    own = etree.fromstring(text.encode()).get("Sello", "")
    assert codes(graded(text.replace(own, base64.b64encode(seal).decode()))) == set()
    other = pow(int.from_bytes(padded[:-1] + b"\x00", "big"), numbers.d, numbers.public_numbers.n).to_bytes(256, "big")
    assert codes(graded(text.replace(own, base64.b64encode(other).decode()))) == {"cfdi.40102"}


def test_an_invoice_altered_after_sealing_keeps_its_stamp_and_certificate_and_fails_by_its_seal() -> None:
    """As a published sample that lacks what version 4.0 added: all is genuine but the text under the seal."""
    text = stamp(sealed(invoice(), issuer()))
    text = text.replace(' Exportacion="01"', "").replace(' ObjetoImp="02"', "")
    assert codes(graded(text)) >= {"cfdi.40102", "cfdi.xsd.missing_attribute"}
    assert not codes(graded(text)) & (SEAL_CODES - {"cfdi.40102"})


@pytest.mark.parametrize(("bits", "read"), [(1024, False), (2048, True), (4096, True), (4097, False)])
def test_a_certificate_is_read_by_the_size_of_its_key(bits: int, read: bool) -> None:
    """SAT's own authorities have keys of 2048 and 4096 bits."""
    key = rsa.RSAPublicNumbers(65537, (1 << bits) - 1).public_key()
    signer = authority()
    certificate = (
        x509.CertificateBuilder()
        .subject_name(signer.certificate.subject)
        .issuer_name(signer.certificate.subject)
        .public_key(key)
        .serial_number(1)
        .not_valid_before(BEGIN)
        .not_valid_after(BEGIN + timedelta(days=1))
        .sign(signer.key, SHA256())
    )
    text = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()
    assert (read_certificate(text) is not None) == read


def test_the_cadena_holds_the_payment() -> None:
    cadena = cadena_original(etree.fromstring(complement_text("pago").encode())).decode()
    assert (
        f"|{PAYER['uso_cfdi']}|84111506|1|ACT|Pago|0|0|01|2.0|1000.00|160.00|1160.00|2026-11-29T12:00:00|03|MXN|1|1160.00|"
        in cadena
    )


def faults() -> list[tuple[str, str, str]]:
    good = sealed(invoice(), issuer())
    root = etree.fromstring(good.encode())
    broken = base64.b64encode(bytes(256)).decode()
    return [
        ("unsealed", invoice(), "cfdi.40102"),
        ("another-seal", good.replace(root.get("Sello", ""), broken), "cfdi.40102"),
        ("not-base64", good.replace(root.get("Sello", ""), "¡!"), "cfdi.40102"),
        ("altered-after-sealing", good.replace("Consultoría", "Asesoría"), "cfdi.40102"),
        ("no-certificate", good.replace(root.get("Certificado", ""), "QUJD"), "cfdi.40106"),
        ("expired", sealed(invoice(), issuer(days=100)), "cfdi.40106"),
        ("made-on-the-spot", sealed(invoice(), issuer(by="Otra autoridad")), "cfdi.40106"),
        ("personal", sealed(invoice(), issuer(personal=True)), "cfdi.40106"),
        ("another-number", sealed(invoice(), issuer(), "00001000000500003416"), "cfdi.certificate_number"),
        ("of-someone-else", sealed(invoice(), issuer(rfc="EKU9003173C9")), "cfdi.certificate_holder"),
        ("stamp-of-another-seal", stamp(good, seal="QUJD"), "cfdi.stamp_seal"),
        ("stamped-before", stamp(good, date="2026-11-30T09:59:59"), "cfdi.stamp_date"),
        ("stamped-in-the-future", stamp(good, date="2026-11-30T12:00:01"), "cfdi.stamp_date"),
    ]


def test_a_fault_of_the_seal_is_named_by_its_code() -> None:
    table = faults()
    for name, text, code in table:
        grade = graded(text)
        assert not grade.passed, name
        assert code in codes(grade), (name, codes(grade))
    assert {code for _name, _text, code in table} == SEAL_CODES


def test_only_the_seal_is_at_fault_when_only_the_seal_is() -> None:
    assert codes(graded(sealed(invoice(), issuer(by="Otra autoridad")))) == {"cfdi.40106"}
    assert codes(graded(sealed(invoice(), issuer(rfc="EKU9003173C9")))) == {"cfdi.certificate_holder"}


def test_the_same_seal_is_invented_where_none_is_asked_for() -> None:
    grade = graded(sealed(invoice(), issuer()), profile="unsealed", authorities=[])
    assert codes(grade) == {"cfdi.invented_seal"}


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"authorities": []}, "needs `now` and `authorities`"),
        ({"now": None}, "needs `now` and `authorities`"),
        ({"authorities": ["QUJD"]}, "not the base64 of a DER certificate"),
        ({"profile": "unsealed"}, "goes with profile sealed"),
    ],
)
def test_a_sealed_task_needs_a_clock_and_an_authority(values: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        CFDI.spec.model_validate(spec(**values))


@given(content=st.binary(max_size=200), at=st.integers(0, 700))
@settings(max_examples=100, deadline=None)
def test_nothing_that_a_certificate_holds_raises(content: bytes, at: int) -> None:
    der = base64.b64decode(authority().text)
    damaged = base64.b64encode(der[:at] + content + der[at + len(content) :]).decode()
    read_certificate(damaged)
    good = sealed(invoice(), issuer())
    text = good.replace(issuer().text, damaged)
    assert not graded(text).passed


def test_the_stylesheet_opens_nothing(tmp_path: Path) -> None:
    secret = tmp_path / "secret.xml"
    secret.write_text("<a/>")
    root = etree.fromstring(invoice().encode())
    root.set("Serie", f"document('{secret}')")
    with watched(secret) as descriptor:
        cadena_original(root)
        assert num_events(descriptor) == 0
