"""Ways to write the same invoice: none of them is a fault, so none may cost anything."""

from __future__ import annotations

import re
from collections.abc import Callable

from lxml import etree

CFD4 = "http://www.sat.gob.mx/cfd/4"
LOCATION = "http://www.sat.gob.mx/cfd/4 http://www.sat.gob.mx/sitio_internet/cfd/4/cfdv40.xsd"


def on_tree(edit: Callable[[etree._Element], None]) -> Callable[[str], str]:
    def change(text: str) -> str:
        root = etree.fromstring(text.encode())
        edit(root)
        return etree.tostring(root, encoding="unicode")

    return change


def attributes_reversed(root: etree._Element) -> None:
    for node in root.iter():
        items = list(node.attrib.items())
        node.attrib.clear()
        node.attrib.update(reversed(items))


def lines_reversed(root: etree._Element) -> None:
    holder = root.find(f"{{{CFD4}}}Conceptos")
    assert holder is not None
    holder[:] = list(reversed(holder))


def taxes_reversed(root: etree._Element) -> None:
    for name in ("Traslados", "Retenciones"):
        for holder in root.iter(f"{{{CFD4}}}{name}"):
            holder[:] = list(reversed(holder))


def relations_in_small_letters(root: etree._Element) -> None:
    for node in root.iter(f"{{{CFD4}}}CfdiRelacionado"):
        node.set("UUID", node.get("UUID", "").lower())
    for holder in root.iter(f"{{{CFD4}}}CfdiRelacionados"):
        holder[:] = list(reversed(holder))


def documents_reversed(root: etree._Element) -> None:
    for payment in root.iter("{http://www.sat.gob.mx/Pagos20}Pago"):
        documents = payment.findall("{http://www.sat.gob.mx/Pagos20}DoctoRelacionado")
        payment[: len(documents)] = list(reversed(documents))


def seals_empty(root: etree._Element) -> None:
    for name in ("Sello", "NoCertificado", "Certificado"):
        root.set(name, "")


def located(root: etree._Element) -> None:
    root.set("{http://www.w3.org/2001/XMLSchema-instance}schemaLocation", LOCATION)


HARMLESS: dict[str, Callable[[str], str]] = {
    "indented": on_tree(etree.indent),
    "attributes in another order": on_tree(attributes_reversed),
    "lines in another order": on_tree(lines_reversed),
    "taxes in another order": on_tree(taxes_reversed),
    "relations in another order": on_tree(relations_in_small_letters),
    "documents in another order": on_tree(documents_reversed),
    "empty seals": on_tree(seals_empty),
    "schema location": on_tree(located),
    "rates with two decimals": lambda text: text.replace('="0.160000"', '="0.16"').replace('="0.080000"', '="0.08"'),
    "quantities with more zeros": lambda text: re.sub(r'Cantidad="([0-9]{2,})"', r'Cantidad="\1.000"', text),
    "no declaration": lambda text: text.partition("?>\n")[2],
    "blanks around": lambda text: text.replace("?>\n", "?>\n\n") + "\n \n",
    "numeric character references": lambda text: text.replace("&amp;", "&#38;").replace("Ñ", "&#209;"),
    "quotes of the other kind": lambda text: re.sub(r'="([^"\']*)"', r"='\1'", text),
    "a comment": lambda text: text.replace("<cfdi:Emisor", "<!-- emisor --><cfdi:Emisor"),
}
