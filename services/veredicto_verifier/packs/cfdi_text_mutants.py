"""Faults of an invoice as a text: what a parser, an encoding or a namespace makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
END = "</cfdi:Comprobante>"


class TextMutant(NamedTuple):
    """One kind of fault: its name, the code that must name it, and the faulty text (None where it cannot be made)."""

    name: str
    code: str
    edit: Callable[[str], str | None]
    beside: tuple[str, ...] = ()


def _other_prefix(text: str) -> str:
    return text.replace("cfdi:", "c:").replace("xmlns:cfdi=", "xmlns:c=")


def _no_prefix(text: str) -> str:
    return text.replace("cfdi:", "").replace("xmlns:cfdi=", "xmlns=")


def _unescaped(text: str) -> str | None:
    return text.replace("&amp;", "&", 1) if "&amp;" in text else None


def _old_version(text: str) -> str:
    return text.replace('Version="4.0"', 'Version="3.3"', 1)


def _old_namespace(text: str) -> str:
    return text.replace("http://www.sat.gob.mx/cfd/4", "http://www.sat.gob.mx/cfd/3")


def _decomposed(text: str) -> str | None:
    return next((text.replace(*pair, 1) for pair in (("í", "i\u0301"), ("ó", "o\u0301")) if pair[0] in text), None)


TEXT_MUTANTS: tuple[TextMutant, ...] = (
    TextMutant("empty", "cfdi.empty", lambda text: ""),
    TextMutant("half", "cfdi.not_well_formed", lambda text: text[: len(text) // 2]),
    TextMutant("no end tag", "cfdi.not_well_formed", lambda text: text.replace(END, "")),
    TextMutant("prose after", "cfdi.not_well_formed", lambda text: text + "\nEste es el comprobante."),
    TextMutant("unescaped ampersand", "cfdi.not_well_formed", _unescaped),
    TextMutant(
        "attribute twice",
        "cfdi.not_well_formed",
        lambda text: text.replace(' Version="4.0"', ' Version="4.0" Version="4.0"', 1),
    ),
    TextMutant("two documents", "cfdi.multiple_documents", lambda text: text + text.removeprefix(DECLARATION)),
    TextMutant("byte order mark", "cfdi.encoding", lambda text: "\ufeff" + text),
    TextMutant(
        "latin-1 declared", "cfdi.encoding", lambda text: '<?xml version="1.0" encoding="ISO-8859-1"?>' + _bare(text)
    ),
    TextMutant("doctype", "cfdi.doctype", lambda text: "<!DOCTYPE Comprobante []>" + _bare(text)),
    TextMutant("instruction", "cfdi.instruction", lambda text: '<?xml-stylesheet href="a.xsl"?>' + _bare(text)),
    TextMutant("other prefix", "cfdi.prefix", _other_prefix),
    TextMutant("no prefix", "cfdi.prefix", _no_prefix),
    TextMutant("version 3.3", "cfdi.wrong_version", _old_version),
    TextMutant("namespace of 3.3", "cfdi.wrong_version", _old_namespace),
    TextMutant("decomposed letter", "cfdi.unsafe_text", _decomposed),
    TextMutant("zero-width space", "cfdi.unsafe_text", lambda text: text.replace(' Nombre="', ' Nombre="\u200b', 1)),
)


def _bare(text: str) -> str:
    return text.removeprefix(DECLARATION)
