"""Turn a model's text into an XML tree without giving it any power: no DTD, no entity, no file, no network, no repair.

The rule: the text is exactly one UTF-8 document. Everything forbidden is refused before or while parsing, with a code.
Comments and (where allowed) processing instructions are dropped, so that only elements and attributes are judged.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from lxml import etree

DECLARATION = re.compile(r"<\?xml[ \t\r\n][^<>?]{0,120}\?>")
ENCODING = re.compile(r"""encoding[ \t\r\n]{0,8}=[ \t\r\n]{0,8}["']([^"']{0,40})["']""")
VERSION = re.compile(r"""<\?xml[ \t\r\n]+version[ \t\r\n]{0,8}=[ \t\r\n]{0,8}["']1\.0["']""")
"""libxml2 also reads XML 1.1 and later as if they were 1.0; other parsers refuse them."""
NEXT_DOCUMENT = re.compile(r"[ \t\r\n]*<[A-Za-z_]")


@dataclass(frozen=True, slots=True)
class DocumentRules:
    """How large a document may be and what it may hold.

    `max_bytes` counts UTF-8 bytes, `max_elements` elements after parsing; libxml2 itself stops at depth 256.
    """

    max_bytes: int = 262_144
    max_elements: int = 5_000
    instructions: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a text is not an acceptable document.

    `cause` is one of `CAUSES`; `line` is 1-based, 0 when no line can be named; `error` is libxml2's number of what is
    not well-formed, 0 for any other cause.
    """

    cause: str
    line: int = 0
    detail: str = ""
    error: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document: its root element and how many bytes of the text were comments."""

    root: etree._Element
    num_bytes: int
    comment_bytes: int


CAUSES: dict[str, str] = {
    "empty": "the answer holds no text",
    "too_large": "the text has more bytes than allowed",
    "encoding": "a byte order mark, or a declared encoding other than UTF-8",
    "doctype": "a DOCTYPE or ENTITY declaration",
    "instruction": "a processing instruction beside the XML declaration",
    "not_well_formed": "the text is not well-formed XML",
    "multiple_documents": "more than one document, one after the other",
    "too_many_elements": "the document has more elements than allowed",
}


def parse_document(text: str, rules: DocumentRules) -> Document | Refusal:
    """Parse `text` as one document, or say why not; never raises for anything a string can hold."""
    body = text.strip(" \t\r\n")
    content = body.encode("utf-8", "surrogatepass")
    refusal = _refuse_before_parsing(body, len(content), rules)
    if refusal is not None:
        return refusal
    try:
        root = etree.fromstring(content, _parser())
    except etree.XMLSyntaxError as error:
        return _explain(error, body)
    # Every element has a `<` of its own, so few of those need no counting.
    if body.count("<") > rules.max_elements and _exceeds(root, rules.max_elements):
        return Refusal("too_many_elements", detail=f"{rules.max_elements}")
    return Document(root, len(content), _comment_bytes(body))


def _exceeds(root: etree._Element, most: int) -> bool:
    return sum(1 for _ in islice(root.iter(), most + 1)) > most


@functools.cache
def _parser() -> etree.XMLParser:
    """A parser with every power off, for all documents of this process (several threads would wait on its lock)."""
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        recover=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        encoding="utf-8",
    )


def _refuse_before_parsing(body: str, num_bytes: int, rules: DocumentRules) -> Refusal | None:
    if not body:
        return Refusal("empty")
    if num_bytes > rules.max_bytes:
        return Refusal("too_large", detail=f"{num_bytes} > {rules.max_bytes}")
    declaration = DECLARATION.match(body)
    if body[0] == "\ufeff" or (declaration and not _is_utf8(declaration.group())):
        return Refusal("encoding", line=1)
    if declaration and not VERSION.match(body):
        detail, error = "the declared version of XML is not 1.0", etree.ErrorTypes.ERR_UNKNOWN_VERSION
        return Refusal("not_well_formed", line=1, detail=detail, error=error)
    return _refuse_markup(body, declaration.end() if declaration else 0, rules)


def _refuse_markup(body: str, start: int, rules: DocumentRules) -> Refusal | None:
    """DTDs and instructions are refused wherever their opening stands, inside comments and CDATA too."""
    upper = body.upper() if "<!" in body else ""
    for opening in ("<!DOCTYPE", "<!ENTITY", "<!ATTLIST", "<!ELEMENT"):
        if upper and (at := upper.find(opening)) >= 0:
            return Refusal("doctype", line=_line(upper, at))
    at = body.find("<?", start)
    # A second declaration is a second document, which the parser names better.
    if at >= 0 and not rules.instructions and not DECLARATION.match(body, at):
        return Refusal("instruction", line=_line(body, at))
    return None


def _is_utf8(declaration: str) -> bool:
    found = ENCODING.search(declaration)
    return found is None or found.group(1).lower() in {"utf-8", "utf8"}


def _explain(error: etree.XMLSyntaxError, body: str) -> Refusal:
    line, column = error.position
    code: int = cast(Any, error).code  # the stubs lack it
    second = code == etree.ErrorTypes.ERR_RESERVED_XML_NAME
    after = code == etree.ErrorTypes.ERR_DOCUMENT_END and _starts_a_document(body, line, column)
    if second or after:
        return Refusal("multiple_documents", line=line)
    return Refusal("not_well_formed", line=line, detail=(error.msg or "")[:60], error=code)


def _starts_a_document(body: str, line: int, column: int) -> bool:
    """Whether a start tag stands at `line` and `column` (both 1-based, column in characters)."""
    rest = "\n".join(body.split("\n")[line - 1 :])
    return NEXT_DOCUMENT.match(rest, max(0, column - 1)) is not None


def _line(body: str, at: int) -> int:
    return body.count("\n", 0, at) + 1


def _comment_bytes(body: str) -> int:
    """Bytes of the text inside comments (an upper bound: the opening inside CDATA counts too)."""
    total = start = 0
    while (start := body.find("<!--", start)) >= 0:
        end = body.find("-->", start)
        if end < 0:
            break
        total += len(body[start : end + 3].encode("utf-8", "surrogatepass"))
        start = end + 3
    return total
