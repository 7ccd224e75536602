"""Whether `xsi:schemaLocation`, where it is written, names SAT's own schema; nothing is ever read from there."""

from __future__ import annotations

from itertools import pairwise

from lxml import etree

from veredicto_verifier.verifiers.cfdi.comprobante import CFD4

ATTRIBUTE = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
PLACE = "http://www.sat.gob.mx/sitio_internet/cfd/4/cfdv40.xsd"


def names_another_place(root: etree._Element) -> bool:
    """Whether the attribute is there and does not pair the invoice's namespace with SAT's address of its schema."""
    words = str(root.get(ATTRIBUTE, "")).split()
    return bool(words) and (len(words) % 2 == 1 or (CFD4, PLACE) not in list(pairwise(words))[::2])
