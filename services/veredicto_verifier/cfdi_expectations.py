"""What would have been right in an invoice, in words for a person: the form, the schema's limits, the request's values.

Only `veredicto cfdi explain` says the request's values: whoever asks has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from lxml import etree
from xmlschema.validators import XMLSchemaValidationError

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.expected import Expected
from veredicto_verifier.verifiers.cfdi.grading import CfdiTask
from veredicto_verifier.verifiers.cfdi.request import Request
from veredicto_verifier.verifiers.cfdi.rule import rounded

Language = Literal["es", "en"]
SHOWN = 120
"""Characters of a value that are shown."""
LISTED = 12
"""Values of an enumeration that are shown."""
ABSENT: Mapping[Language, str] = {"es": "(ausente)", "en": "(absent)"}
FORM: Mapping[Language, str] = {
    "es": "un solo cfdi:Comprobante 4.0, XML bien formado en UTF-8 y sin DTD",
    "en": "one cfdi:Comprobante 4.0, well-formed XML in UTF-8 without a DTD",
}
AT_MOST: Mapping[Language, Mapping[str, str]] = {
    "es": {
        "too_large": "a lo más {} bytes",
        "too_many_elements": "a lo más {} elementos",
        "too_many_concepts": "a lo más {} conceptos",
    },
    "en": {
        "too_large": "at most {} bytes",
        "too_many_elements": "at most {} elements",
        "too_many_concepts": "at most {} lines",
    },
}
FACETS: Mapping[str, tuple[str, str]] = {
    "XsdLengthFacet": ("exactamente {} caracteres", "exactly {} characters"),
    "XsdMinLengthFacet": ("al menos {} caracteres", "at least {} characters"),
    "XsdMaxLengthFacet": ("a lo más {} caracteres", "at most {} characters"),
    "XsdMinInclusiveFacet": ("un valor de al menos {}", "a value of at least {}"),
    "XsdMaxInclusiveFacet": ("un valor de a lo más {}", "a value of at most {}"),
    "XsdMinExclusiveFacet": ("un valor mayor que {}", "a value above {}"),
    "XsdMaxExclusiveFacet": ("un valor menor que {}", "a value below {}"),
    "XsdTotalDigitsFacet": ("a lo más {} dígitos", "at most {} digits"),
    "XsdFractionDigitsFacet": ("a lo más {} decimales", "at most {} decimals"),
}
"""Part of the schema -> its limit in Spanish and English."""
NOTHING = ("unexpected_attribute", "unexpected_text", "nil")
"""Kinds of fault where what stands there should not."""
TOTALS = ("SubTotal", "Descuento", "Total", "TotalImpuestosTrasladados", "TotalImpuestosRetenidos")


def right_form(code: str, task: CfdiTask, language: Language) -> str:
    """What a text that broke contract or form should have been."""
    limits: Mapping[str, int | None] = {
        "too_large": task.spec.max_bytes,
        "too_many_elements": task.spec.max_elements,
        "too_many_concepts": task.max_conceptos,
    }
    cause = code.removeprefix("cfdi.")
    words = AT_MOST[language].get(cause)
    return words.format(limits[cause]) if words else FORM[language]


def right_by_schema(error: XMLSchemaValidationError, kind: str, attribute: str, language: Language) -> str:
    """What the schema admits where it refused; empty where it names nothing."""
    validator: Any = error.validator
    part = type(validator).__name__
    if kind == "enumeration":
        values = [str(value) for value in validator.enumeration]
        return ", ".join(values[:LISTED]) + ("…" if len(values) > LISTED else "")
    if kind == "pattern":
        return " | ".join(validator.regexps)[:SHOWN]
    if part in FACETS:
        return FACETS[part][language == "en"].format(validator.value)
    if kind in NOTHING:
        return ABSENT[language]
    if kind == "missing_attribute":
        return attribute
    if kind in ("missing_element", "unexpected_element"):
        wanted = getattr(error, "expected", None) or ()
        names = [etree.QName(one.name).localname for one in wanted if getattr(one, "name", None)]
        return ", ".join(names) or (ABSENT[language] if kind == "unexpected_element" else "")
    if kind == "fixed":
        return str(validator.fixed)
    return str(getattr(validator, "local_name", "") or "")


def right_by_request(code: str, task: CfdiTask, language: Language) -> str:
    """What the request asks for, of one aspect of the match."""
    request, expected = task.spec.request, task.expected
    if request is None or expected is None:
        return ""
    parts: Mapping[str, Iterator[str]] = {
        "cfdi.match_header": _header(request),
        "cfdi.match_conceptos": _lines(expected),
        "cfdi.match_totals": _totals(expected),
        "cfdi.match_taxes": _taxes(expected),
    }
    if code in parts:
        return _listed(parts[code]) or ABSENT[language]
    if code == "cfdi.match_complement" and task.complement is not None:
        return f"{task.complement.name}: {task.complement.size} {'elementos' if language == 'es' else 'elements'}"
    return ABSENT[language]


def found_instead(code: str, cfdi: Comprobante) -> str:
    """What the document says where the request asks for something else; empty where nothing short says it."""
    if code == "cfdi.match_conceptos":
        names = ("ClaveProdServ", "Descripcion", "Cantidad", "ValorUnitario")
        return _listed(" ".join(one.get(name) or "-" for name in names) for one in cfdi.conceptos)
    summary = cfdi.impuestos
    if code == "cfdi.match_totals":
        nodes = (cfdi, summary) if summary else (cfdi,)
        return _listed(f"{name} {node.get(name)}" for node in nodes for name in TOTALS if node.get(name) is not None)
    if code == "cfdi.match_taxes" and summary is not None:
        return _listed(" ".join(tax.attributes.values()) for tax in (*summary.traslados, *summary.retenciones))
    return ""


def _listed(parts: Iterable[str]) -> str:
    said = "; ".join(parts)
    return said if len(said) <= 2 * SHOWN else said[: 2 * SHOWN - 1] + "…"


def _header(request: Request) -> Iterator[str]:
    for one in request.relacionados:
        yield f"CfdiRelacionados {one.tipo_relacion}: {', '.join(one.uuids)}"
    period = request.informacion_global
    if period is not None:
        yield f"InformacionGlobal {period.periodicidad} {period.meses} {period.anio}"
    if request.tipo_cambio is not None:
        yield f"TipoCambio {request.tipo_cambio}"


def _lines(expected: Expected) -> Iterator[str]:
    for line in expected.lines:
        asked = line.request
        yield f"{asked.clave_prod_serv} {asked.descripcion}: {asked.cantidad} × {asked.valor_unitario}"


def _totals(expected: Expected) -> Iterator[str]:
    values = (expected.subtotal, expected.discount, expected.total, expected.transferred, expected.withheld)
    for name, value in zip(TOTALS, values, strict=True):
        if value is not None:
            yield f"{name} {rounded(value.exact, expected.decimals)}"


def _taxes(expected: Expected) -> Iterator[str]:
    places = expected.decimals
    for (tax, factor, rate), (base, amount) in expected.traslados.items():
        kind = factor if rate is None else f"{factor} {rate}"
        due = "" if amount is None else f", Importe {rounded(amount.exact, places)}"
        yield f"Traslado {tax} {kind}: Base {rounded(base.exact, places)}{due}"
    for tax, withheld in expected.retenciones.items():
        yield f"Retencion {tax}: Importe {rounded(withheld.exact, places)}"
