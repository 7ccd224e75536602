"""Bad input is a code and a low score, whatever it is: no exception, no file, no socket, no process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cfdi_mutants import base_spec, base_text
from veredicto_verifier.judging import judge
from veredicto_verifier.verifier import Completion, Context
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI

ROOTS = [str(Path(__file__).parent.parent / root) for root in ("proto", "services")]
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
END = "</cfdi:Comprobante>"
GOOD = base_text("simple")
BODY = GOOD.removeprefix(HEAD)
ONE_FAULT = 0.96
"""The most for an invoice that is right but for one fault; the reward is half of it at most, and 0 by default."""
ENTITY = BODY.replace(END, f"<cfdi:Addenda>&x;</cfdi:Addenda>{END}")
IN_ADDENDA = GOOD.replace(END, f"<cfdi:Addenda>{BODY}</cfdi:Addenda>{END}")
LAUGHING = BODY.replace("XOCHILT", "&l9;")
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))

BAD: dict[str, tuple[str, str, float]] = {
    "truncated": (GOOD[: len(GOOD) // 2], "cfdi.not_well_formed", 0.02),
    "cut in a tag": (GOOD[:-9], "cfdi.not_well_formed", 0.02),
    "version 3.3": (
        GOOD.replace("sat.gob.mx/cfd/4", "sat.gob.mx/cfd/3").replace('"4.0"', '"3.3"'),
        "cfdi.wrong_version",
        0.05,
    ),
    "version 3.3 in the new namespace": (GOOD.replace('Version="4.0"', 'Version="3.3"'), "cfdi.wrong_version", 0.05),
    "two documents": (GOOD + BODY, "cfdi.multiple_documents", 0.0),
    "two documents with declarations": (GOOD + "\n" + GOOD, "cfdi.multiple_documents", 0.0),
    "a fence and prose": (f"Aquí está:\n```xml\n{GOOD}\n```\nListo.", "cfdi.not_well_formed", 0.02),
    "two fences": (f"```xml\n{GOOD}\n```\n```xml\n{GOOD}\n```", "cfdi.not_well_formed", 0.02),
    "byte order mark": ("\ufeff" + GOOD, "cfdi.encoding", 0.0),
    "latin-1 declared": (GOOD.replace("UTF-8", "ISO-8859-1"), "cfdi.encoding", 0.0),
    "external entity in text": (
        f'<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]>{ENTITY}',
        "cfdi.doctype",
        0.0,
    ),
    "external entity in an attribute": (
        f'<!DOCTYPE c [<!ENTITY x SYSTEM "http://127.0.0.1/x">]>{BODY.replace("XOCHILT", "&x;")}',
        "cfdi.doctype",
        0.0,
    ),
    "external entity, undeclared": (BODY.replace("XOCHILT", "&x;"), "cfdi.not_well_formed", 0.02),
    "parameter entity": (f'<!DOCTYPE c [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]>{BODY}', "cfdi.doctype", 0.0),
    "billion laughs": (
        f'<!DOCTYPE c [<!ENTITY l0 "ja">{LAUGHS}]>{BODY.replace("XOCHILT", "&l9;")}',
        "cfdi.doctype",
        0.0,
    ),
    "attributes from a DTD": (
        f'<!DOCTYPE c [<!ATTLIST cfdi:Comprobante Confirmacion CDATA "ABCDE">]>{BODY}',
        "cfdi.doctype",
        0.0,
    ),
    "attributes from a DTD in lower case": (f'<!doctype c [<!attlist c x CDATA "1">]>{BODY}', "cfdi.doctype", 0.0),
    "nested invoice": (
        GOOD.replace(END, f"<cfdi:Complemento>{BODY}</cfdi:Complemento>{END}"),
        "cfdi.nested",
        ONE_FAULT,
    ),
    "nested invoice in an addenda": (
        IN_ADDENDA,
        "cfdi.nested",
        ONE_FAULT,
    ),
    "zero-width characters": (GOOD.replace("KEMPER", "KEM\u200bPER"), "cfdi.unsafe_text", ONE_FAULT),
    "zero-width around the document": ("\u200b" + GOOD, "cfdi.not_well_formed", 0.02),
    "schema location elsewhere": (
        GOOD.replace(
            "<cfdi:Comprobante",
            '<cfdi:Comprobante xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
            'xsi:schemaLocation="urn:x http://127.0.0.1/x.xsd" Confirmacion="A"',
        ),
        "cfdi.40127",
        ONE_FAULT,
    ),
    "ten megabytes of text": (GOOD.replace("Consultoría", "x" * 10_000_000), "cfdi.too_large", 0.0),
    "ten megabytes of elements": ("<a>" + "<b/>" * 2_500_000 + "</a>", "cfdi.too_large", 0.0),
    "five thousand elements": ("<a>" + "<b/>" * 5_000 + "</a>", "cfdi.too_many_elements", 0.0),
    "depth": ("<a>" * 1000 + "</a>" * 1000, "cfdi.not_well_formed", 0.02),
    "NUL": (GOOD.replace("XOCHILT", "X\x00"), "cfdi.not_well_formed", 0.02),
    "a lone surrogate": (GOOD.replace("XOCHILT", "X\ud800"), "cfdi.not_well_formed", 0.02),
    "nothing but blanks": (" \n\t ", "extract.missing", 0.0),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_code_and_a_low_score(name: str) -> None:
    text, code, most = BAD[name]
    spec = CFDI.spec.model_validate(base_spec("simple"))
    grade, _answer = judge(CFDI, CFDI.prepare(spec, Context()), spec, Completion(text))
    assert not grade.passed
    assert code in {check.code for check in grade.checks}, grade.checks
    assert grade.score <= most


WATCHED = """
import json, sys
from veredicto_verifier.judging import judge
from veredicto_verifier.verifier import Completion, Context
from veredicto_verifier.verifiers.cfdi import VERIFIER as CFDI
task = json.loads(sys.stdin.readline())
spec = CFDI.spec.model_validate(task["spec"])
ready = CFDI.prepare(spec, Context())
seen, watching = [], False

def watch(event, arguments):
    if watching and event.partition(".")[0] in ("open", "socket", "subprocess", "os", "shutil", "tempfile", "ctypes"):
        seen.append([event, str(arguments)[:200]])

sys.addaudithook(watch)
watching = True
for text in task["texts"]:
    judge(CFDI, ready, spec, Completion(text))
judged = list(seen)
open("/dev/null").close()
watching = False
print(json.dumps({"judged": judged, "control": seen[len(judged):]}))
"""


def test_no_bad_input_opens_a_file_or_a_socket_or_starts_a_process() -> None:
    body = {"spec": base_spec("simple"), "texts": [GOOD, *(text for text, _code, _most in BAD.values())]}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {ROOTS!r}\n{WATCHED}"],
        input=json.dumps(body) + "\n",
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["judged"] == []
    assert found["control"], "the watch sees nothing at all"
