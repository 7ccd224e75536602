"""A hostile document is refused with a code and reads nothing: no file, no socket, no entity, no default attribute."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cfdi_mutants import base_spec, base_text
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
from veredicto_verifier.verifiers.xml_document import CAUSES, Document, DocumentRules, Refusal, parse_document

RULES = DocumentRules(max_bytes=10_000, max_elements=50)
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))

REFUSED = [
    ("", "empty"),
    (" \n\t", "empty"),
    ("<a>" + "x" * 10_000 + "</a>", "too_large"),
    ("\ufeff<a/>", "encoding"),
    ('<?xml version="1.0" encoding="ISO-8859-1"?><a/>', "encoding"),
    ('<?xml version="1.0" encoding="UTF-16"?><a/>', "encoding"),
    (f'<!DOCTYPE a [<!ENTITY l0 "ja">{LAUGHS}]><a>&l9;</a>', "doctype"),
    ('<!DOCTYPE a [<!ATTLIST a b CDATA "injected">]><a/>', "doctype"),
    ('<!DOCTYPE a SYSTEM "http://127.0.0.1/a.dtd"><a/>', "doctype"),
    ("<!doctype a><a/>", "doctype"),
    ("<a><!-- <!DOCTYPE a> --></a>", "doctype"),
    ("<a><![CDATA[<!ENTITY x>]]></a>", "doctype"),
    ('<?xml-stylesheet href="a.xsl"?><a/>', "instruction"),
    ("<a><?php echo ?></a>", "instruction"),
    ("<a/><a/>", "multiple_documents"),
    ("<a/>\n\n  <b/>", "multiple_documents"),
    ('<?xml version="1.0"?><a/>\n<?xml version="1.0"?><a/>', "multiple_documents"),
    ("<a>&x;</a>", "not_well_formed"),
    ("<a", "not_well_formed"),
    ('<?xml version="1.1"?><a/>', "not_well_formed"),
    ("<?xml version='1.1' encoding='UTF-8'?>\n<a/>", "not_well_formed"),
    ("<a><b></a>", "not_well_formed"),
    ('<a b="1" b="2"/>', "not_well_formed"),
    ("<a>R & R</a>", "not_well_formed"),
    ("The answer: <a/>", "not_well_formed"),
    ("<a/> done", "not_well_formed"),
    ("<a>\x00</a>", "not_well_formed"),
    ("<a>\ud800</a>", "not_well_formed"),
    ("<a>" * 300 + "</a>" * 300, "not_well_formed"),
    ("<a>" + "<b/>" * 50 + "</a>", "too_many_elements"),
    ("```xml\n<a/>\n```", "not_well_formed"),
]


@pytest.mark.parametrize(("text", "cause"), REFUSED)
def test_a_document_is_refused_with_its_cause(text: str, cause: str) -> None:
    refusal = parse_document(text, RULES)
    assert isinstance(refusal, Refusal)
    assert refusal.cause == cause
    assert cause in CAUSES
    assert len(refusal.detail) <= 60


@pytest.mark.parametrize(
    "text",
    [
        "<a/>",
        '<?xml version="1.0" encoding="UTF-8"?>\n<a b="ñ"/>',
        "<?xml version='1.0' encoding='utf-8' standalone='yes'?><a/>",
        "<a><!-- a comment --><b/></a>",
        "<a>" + "<b/>" * 49 + "</a>",
    ],
)
def test_a_plain_document_is_read(text: str) -> None:
    assert isinstance(parse_document(text, RULES), Document)


def test_comments_vanish_and_are_counted() -> None:
    document = parse_document('<a><!-- Total="1" --><b/><!-- ñ --></a>', RULES)
    assert isinstance(document, Document)
    assert [child.tag for child in document.root] == ["b"]
    assert document.comment_bytes == len('<!-- Total="1" --><!-- ñ -->'.encode())


@given(text=st.text(st.sampled_from('<>!?/="&; abDOCTYPE[]-\n\ufeff\x00ñ'), max_size=60))
@settings(max_examples=300, deadline=None)
def test_nothing_that_a_text_holds_raises(text: str) -> None:
    assert isinstance(parse_document(text, RULES), Document | Refusal)


IN_ACCESS, IN_OPEN = 0x1, 0x20


@contextmanager
def watched(path: Path) -> Iterator[int]:
    """A kernel watch that sees every open of `path`, from C code too."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(descriptor, str(path).encode(), IN_ACCESS | IN_OPEN) > 0
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def num_events(descriptor: int) -> int:
    try:
        return len(os.read(descriptor, 4096)) // struct.calcsize("iIII")
    except BlockingIOError:
        return 0


def invoice_with(head: str, inside: str = "") -> str:
    text = base_text("simple").removeprefix('<?xml version="1.0" encoding="UTF-8"?>\n')
    return head + text.replace("</cfdi:Comprobante>", f"{inside}</cfdi:Comprobante>")


def judged(text: str) -> Grade:
    task = CFDI.prepare(CFDI.spec.model_validate(base_spec("simple")), Context())
    return CFDI.grade(task, Answer(text, Completion(text)))


def attacks(target: str) -> list[str]:
    located = (
        f'<cfdi:Comprobante xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="urn:x {target}"'
    )
    return [
        invoice_with(f'<!DOCTYPE c [<!ENTITY x SYSTEM "{target}">]>', "<cfdi:Addenda>&x;</cfdi:Addenda>"),
        invoice_with(f'<!DOCTYPE c SYSTEM "{target}">'),
        invoice_with(f'<!DOCTYPE c [<!ENTITY % x SYSTEM "{target}"> %x;]>'),
        invoice_with(f'<?xml-stylesheet type="text/xsl" href="{target}"?>'),
        invoice_with("").replace("<cfdi:Comprobante", located),
        invoice_with(
            "", f'<cfdi:Addenda><xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{target}"/></cfdi:Addenda>'
        ),
    ]


def test_no_document_opens_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    judged(base_text("simple"))
    with watched(secret) as descriptor:
        for text in [*attacks(str(secret)), *attacks(secret.as_uri())]:
            judged(text)
        assert num_events(descriptor) == 0
        secret.read_text()
        assert num_events(descriptor) > 0


def test_no_document_opens_a_socket() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        for text in attacks(f"http://127.0.0.1:{server.getsockname()[1]}/a"):
            judged(text)
        with pytest.raises(BlockingIOError):
            server.accept()
