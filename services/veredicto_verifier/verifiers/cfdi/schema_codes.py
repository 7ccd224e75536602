"""The stable code of a schema fault: SAT's own where its matrix has one, else `cfdi.xsd.<kind>`."""

from __future__ import annotations

import re
from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "CVC_ENUMERATION_VALID": "enumeration",
    "CVC_PATTERN_VALID": "pattern",
    "CVC_LENGTH_VALID": "length",
    "CVC_MINLENGTH_VALID": "length",
    "CVC_MAXLENGTH_VALID": "length",
    "CVC_MININCLUSIVE_VALID": "range",
    "CVC_MAXINCLUSIVE_VALID": "range",
    "CVC_MINEXCLUSIVE_VALID": "range",
    "CVC_MAXEXCLUSIVE_VALID": "range",
    "CVC_TOTALDIGITS_VALID": "digits",
    "CVC_FRACTIONDIGITS_VALID": "digits",
    "CVC_DATATYPE_VALID_1_2_1": "datatype",
    "CVC_DATATYPE_VALID_1_2_2": "datatype",
    "CVC_DATATYPE_VALID_1_2_3": "datatype",
    "CVC_AU": "fixed",
    "CVC_COMPLEX_TYPE_4": "missing_attribute",
    "CVC_COMPLEX_TYPE_3_2_1": "unexpected_attribute",
    "CVC_COMPLEX_TYPE_3_2_2": "unexpected_attribute",
    "CVC_COMPLEX_TYPE_2_1": "unexpected_element",
    "CVC_COMPLEX_TYPE_2_3": "unexpected_text",
    "CVC_WILDCARD": "unexpected_element",
    "CVC_ELT_1": "unexpected_element",
    "CVC_ELT_3_1": "nil",
    "CVC_ELT_4_1": "nil",
    "CVC_ELT_4_2": "nil",
    "CVC_ELT_4_3": "nil",
    "ELEMENT_CONTENT": "unexpected_element",
}
"""libxml2's error type -> our kind."""
MISSING = "Missing child"
MEANINGS: Mapping[str, tuple[str, str]] = {
    "enumeration": ("the value is none of those listed", "el valor no es ninguno de los admitidos"),
    "pattern": ("the value does not have the form asked for", "el valor no tiene la forma que se pide"),
    "length": ("the value is too short or too long", "el valor es muy corto o muy largo"),
    "range": ("the number is too small or too large", "el número es muy pequeño o muy grande"),
    "digits": ("the number has too many digits or decimals", "el número tiene demasiados dígitos o decimales"),
    "datatype": ("the value is not of its type (number, date)", "el valor no es de su tipo (número, fecha)"),
    "fixed": ("the value is not the only one admitted", "el valor no es el único admitido"),
    "missing_attribute": ("an attribute is missing", "falta un atributo obligatorio"),
    "unexpected_attribute": ("an attribute that the element has not", "el elemento no tiene ese atributo"),
    "missing_element": ("an element is missing", "falta un elemento obligatorio"),
    "unexpected_element": ("an element that is not admitted there", "el elemento no se admite en ese lugar"),
    "unexpected_text": ("text where only elements may stand", "hay texto donde solo van elementos"),
    "nil": ("xsi:nil or xsi:type, which no invoice has", "xsi:nil y xsi:type no van en un comprobante"),
}
"""Every kind, in English and Spanish."""
VALUES = ("enumeration", "pattern", "length", "range", "digits", "datatype")
"""Kinds that speak of a value; SAT's codes do too."""
BY_ATTRIBUTE: Mapping[tuple[str, str], str] = {
    ("Comprobante", "Fecha"): "40101",
    ("Comprobante", "TipoDeComprobante"): "40121",
    ("Comprobante", "Exportacion"): "40123",
    ("Comprobante", "MetodoPago"): "40124",
    ("InformacionGlobal", "Periodicidad"): "40131",
    ("InformacionGlobal", "Meses"): "40133",
    ("Receptor", "ResidenciaFiscal"): "40150",
    ("Concepto", "ObjetoImp"): "40170",
    ("Concepto/Traslado", "Base"): "40174",
    ("Concepto/Traslado", "Impuesto"): "40175",
    ("Concepto/Traslado", "TipoFactor"): "40176",
    ("Concepto/Retencion", "Base"): "40181",
    ("Concepto/Retencion", "Impuesto"): "40182",
    ("Concepto/Retencion", "TipoFactor"): "40183",
    ("Retencion", "Impuesto"): "40207",
    ("Traslado", "Impuesto"): "40217",
}
"""(element, attribute) -> SAT's code for a wrong value there; taxes of a line are under `Concepto/`."""
DEPTH_OF_LINE_TAXES = 6
CFD4 = "{http://www.sat.gob.mx/cfd/4}"
ELEMENT = re.compile(r"Element '([^']{1,200})'")
CODES: Mapping[str, str] = {
    "cfdi.xsd": "SAT's schema refuses the document for another reason",
    **{f"cfdi.xsd.{kind}": f"schema: {english}" for kind, (english, _spanish) in MEANINGS.items()},
    **{f"cfdi.{code}": f"schema: {element}@{name} is wrong" for (element, name), code in BY_ATTRIBUTE.items()},
}
"""Every code with its meaning."""


def kind_of(error_type: str, message: str) -> str:
    """Our kind of libxml2's error type; empty for one that we do not name."""
    kind = KINDS.get(error_type, "")
    return "missing_element" if error_type == "ELEMENT_CONTENT" and MISSING in message else kind


def code_of(kind: str, element: str, attribute: str, depth: int) -> str:
    """The code of a fault at the attribute of an element (qualified name) at that depth (the root is 1)."""
    if kind in VALUES and element.startswith(CFD4):
        name = element.removeprefix(CFD4)
        name = f"Concepto/{name}" if depth == DEPTH_OF_LINE_TAXES and name in ("Traslado", "Retencion") else name
        if (name, attribute) in BY_ATTRIBUTE:
            return f"cfdi.{BY_ATTRIBUTE[name, attribute]}"
    return f"cfdi.xsd.{kind}" if kind else "cfdi.xsd"
