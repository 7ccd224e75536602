"""SAT's stylesheets of the cadena original, each with everything that it includes, as one file that refers to none."""

from __future__ import annotations

from collections.abc import Callable

from lxml import etree

XSL = "http://www.w3.org/1999/XSL/Transform"
STYLESHEETS = {
    "xslt/cadena.xslt": "4/cadenaoriginal_4_0/cadenaoriginal_4_0.xslt",
    "xslt/timbre.xslt": "TimbreFiscalDigital/cadenaoriginal_TFD_1_1.xslt",
}


def write_stylesheets(read: Callable[[str], bytes], resolve: Callable[[str, str], str]) -> dict[str, bytes]:
    """Each stylesheet with its includes put in their place.

    Args:
        read: gives the bytes of a file by its name.
        resolve: the name of a file that another one (first) refers to (second).
    """
    files = {}
    for target, name in STYLESHEETS.items():
        sheet = _whole(name, read, resolve, set())
        # SAT's says 2.0, which is not what it is, and what libxslt only tolerates.
        sheet.set("version", "1.0")
        files[target] = etree.tostring(sheet, encoding="utf-8", xml_declaration=True)
    return files


def _whole(
    name: str, read: Callable[[str], bytes], resolve: Callable[[str, str], str], done: set[str]
) -> etree._Element:
    done.add(name)
    sheet = etree.fromstring(read(name), etree.XMLParser(resolve_entities=False, no_network=True))
    for include in sheet.findall(f"{{{XSL}}}include"):
        inner = resolve(name, include.get("href", ""))
        parts = list(_whole(inner, read, resolve, done)) if inner not in done else []
        at = sheet.index(include)
        sheet.remove(include)
        sheet[at:at] = parts
    return sheet
