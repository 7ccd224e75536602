"""An invoice as the rules read it: SAT's own attribute names, whitespace collapsed as the schema does, nothing else.

The tree is walked once; the rules never touch it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from lxml import etree

from veredicto_verifier.verifiers.cfdi.nodes import Concepto, Impuestos, Key, Node, Relacion, Tree, tax_key

CFD4 = "http://www.sat.gob.mx/cfd/4"
CFD_FAMILY = "{http://www.sat.gob.mx/cfd/"
BLANKS = re.compile(r"[ \t\r\n]+")
CCE = "ComercioExterior"
PART = "/Parte"
IMPLOCAL = "{http://www.sat.gob.mx/implocal}ImpuestosLocales"
PAGOS = "{http://www.sat.gob.mx/Pagos20}Pagos"
NOMINA = "{http://www.sat.gob.mx/nomina12}Nomina"
EMISOR = f"{{{CFD4}}}Emisor"
RECEPTOR = f"{{{CFD4}}}Receptor"
GLOBAL = f"{{{CFD4}}}InformacionGlobal"
RELACIONADOS = f"{{{CFD4}}}CfdiRelacionados"
RELACIONADO = f"{{{CFD4}}}CfdiRelacionado"
CONCEPTOS = f"{{{CFD4}}}Conceptos"
CONCEPTO = f"{{{CFD4}}}Concepto"
IMPUESTOS = f"{{{CFD4}}}Impuestos"
TRASLADOS = f"{{{CFD4}}}Traslados"
TRASLADO = f"{{{CFD4}}}Traslado"
RETENCIONES = f"{{{CFD4}}}Retenciones"
RETENCION = f"{{{CFD4}}}Retencion"
TERCEROS = f"{{{CFD4}}}ACuentaTerceros"
PARTE = f"{{{CFD4}}}Parte"
PEDIMENTO = f"{{{CFD4}}}InformacionAduanera"
COMPLEMENTO = f"{{{CFD4}}}Complemento"
COMPLEMENTO_CONCEPTO = f"{{{CFD4}}}ComplementoConcepto"
ADDENDA = f"{{{CFD4}}}Addenda"
Known = dict[etree._Element, Mapping[str, str]]
"""The attributes of every element of a document."""
Parts = Mapping[str, list[etree._Element]]
"""The children of the root by qualified name."""
Feature = Literal[
    "addenda", "children", "complementos", "condiciones", "confirmacion", "descuentos", "exentos", "foreign", "generic",
    "global", "relaciones", "retenciones", "tipo_cambio", "unplain", "untaxed",
]  # fmt: skip
"""What an ordinary invoice has not: `children` are further elements of a line, `untaxed` a line that is not of the kind
that has taxes (ObjetoImp 02), `foreign` and `generic` speak of the receiver, `unplain` of the texts."""
NATIONAL_RFC = "XAXX010101000"
FOREIGN_RFC = "XEXX010101000"
FOREIGNERS = frozenset(("ResidenciaFiscal", "NumRegIdTrib"))


class Comprobante(Node):
    """The whole invoice.

    `complementos` are the qualified names of what stands in Complemento, `line_complementos` those of every
    ComplementoConcepto; `pagos` and `nomina` are the first complement of that kind, `other_complements` the trees of
    the others with their namespaces; `cadena` is the text that the seal signs (empty where none is asked for);
    `nested` says whether an element of SAT's invoice
    namespaces stands in a place where the schema allows anything, `hollow` whether a place for complements holds
    none; `traslados`, `retenciones` and `taxes` those of all
    lines, `tax_groups` and `withheld_groups` the same by key; `plain` says that every value of the document is NFC and
    printable.
    """

    __slots__ = (
        *("cadena", "line_complementos", "nomina", "other_complements", "pagos"),
        *("addenda", "comercio_exterior", "complementos", "conceptos", "emisor", "features", "hollow", "impuestos"),
        *("informacion_global", "locales", "nested", "plain", "prefix", "receptor", "relaciones", "retenciones"),
        *("tax_groups", "taxes", "tipo", "traslados", "withheld_groups"),
    )

    def __init__(self, root: etree._Element, cadena: bytes) -> None:
        self.cadena = cadena
        known, self.plain = _attributes(root)
        super().__init__("Comprobante", known[root])
        parts: dict[str, list[etree._Element]] = {}
        for child in root:
            parts.setdefault(child.tag, []).append(child)
        self.tipo = self.get("TipoDeComprobante")
        self._read_parties(known, parts)
        lines = [one for holder in parts.get(CONCEPTOS, ()) for one in holder if one.tag == CONCEPTO]
        self.conceptos = tuple([_concepto(known, one, f"Concepto[{at}]") for at, one in enumerate(lines, 1)])
        summary = parts.get(IMPUESTOS)
        self.impuestos = _impuestos(known, summary[0], "Impuestos") if summary else None
        self.traslados = tuple([tax for concepto in self.conceptos for tax in concepto.traslados])
        self.retenciones = tuple([tax for concepto in self.conceptos for tax in concepto.retenciones])
        self.taxes = self.traslados
        if self.retenciones:
            self.taxes = tuple([tax for one in self.conceptos for tax in (*one.traslados, *one.retenciones)])
        self.tax_groups = _tax_groups(self.traslados)
        self.withheld_groups = _withheld_groups(self.retenciones)
        self.prefix = root.prefix
        self._read_wild(root, known, parts)
        self.features = _features(self)

    def _read_parties(self, known: Known, parts: Parts) -> None:
        self.emisor = _first(known, parts, EMISOR, "Emisor") or Node("Emisor", {})
        self.receptor = _first(known, parts, RECEPTOR, "Receptor") or Node("Receptor", {})
        self.informacion_global = _first(known, parts, GLOBAL, "InformacionGlobal")
        self.relaciones = tuple([_relacion(known, one, at) for at, one in enumerate(parts.get(RELACIONADOS, ()), 1)])

    def _read_wild(self, root: etree._Element, known: Known, parts: Parts) -> None:
        complementos = [child for one in parts.get(COMPLEMENTO, ()) for child in one]
        self.complementos = tuple([str(child.tag) for child in complementos])
        self.comercio_exterior = any(CCE in name for name in self.complementos)
        locales = [one for one in complementos if one.tag == IMPLOCAL]
        self.locales = Node("ImpuestosLocales", known[locales[0]]) if locales else None
        self._read_complements(known, complementos)
        self.addenda = ADDENDA in parts
        of_lines = list(root.iter(COMPLEMENTO_CONCEPTO))
        self.line_complementos = tuple([str(child.tag) for one in of_lines for child in one])
        self.hollow = any(not len(one) for one in (*parts.get(COMPLEMENTO, ()), *of_lines))
        wild = [*parts.get(COMPLEMENTO, ()), *parts.get(ADDENDA, ()), *of_lines]
        self.nested = any(str(inner.tag).startswith(CFD_FAMILY) for one in wild for inner in one.iterdescendants())

    def _read_complements(self, known: Known, complementos: list[etree._Element]) -> None:
        self.pagos = next((_tree(known, one, "Pagos") for one in complementos if one.tag == PAGOS), None)
        self.nomina = next((_tree(known, one, "Nomina") for one in complementos if one.tag == NOMINA), None)
        names = [(etree.QName(one), one) for one in complementos if one.tag not in (PAGOS, NOMINA)]
        self.other_complements = tuple(
            [(name.namespace or "", _tree(known, one, name.localname)) for name, one in names]
        )

    def nodes(self) -> list[Node]:
        """Every element that carries an amount."""
        lines: list[Node] = [*self.conceptos]
        if "children" in self.features:
            lines = [node for concepto in self.conceptos for node in (concepto, *concepto.partes)]
        summary = self.impuestos
        last = (summary, *summary.traslados, *summary.retenciones) if summary else ()
        return [self, *lines, *self.taxes, *last]


def read_comprobante(root: etree._Element, cadena: bytes = b"") -> Comprobante:
    """The model of a parsed document; missing parts stay empty, unknown ones are left out."""
    return Comprobante(root, cadena)


def _tree(known: Known, element: etree._Element, path: str) -> Tree:
    """The tree of an element; children of one name are numbered in their paths when there are several."""
    children = list(element)
    names = [etree.QName(child).localname for child in children]
    counts, seen = Counter(names), Counter[str]()
    trees = []
    for child, name in zip(children, names, strict=True):
        seen[name] += 1
        place = f"{path}/{name}[{seen[name]}]" if counts[name] > 1 else f"{path}/{name}"
        trees.append(_tree(known, child, place))
    return Tree(path, known[element], etree.QName(element).localname, tuple(trees))


def _features(cfdi: Comprobante) -> frozenset[Feature]:
    """What the invoice has; rules on something that it has not need not run (`Rule.when`)."""
    get, receiver = cfdi.get, cfdi.receptor.get
    rfc = receiver("Rfc")
    lines = [concepto.get for concepto in cfdi.conceptos]
    has: tuple[tuple[Feature, bool], ...] = (
        ("addenda", cfdi.addenda or cfdi.nested),
        ("children", any(concepto.extras for concepto in cfdi.conceptos)),
        ("complementos", bool(cfdi.complementos)),
        ("condiciones", get("CondicionesDePago") is not None),
        ("confirmacion", get("Confirmacion") is not None),
        ("descuentos", get("Descuento") is not None or any(line("Descuento") is not None for line in lines)),
        ("exentos", any(key[1] == "Exento" for key in cfdi.tax_groups)),
        ("foreign", rfc == FOREIGN_RFC or bool(FOREIGNERS & cfdi.receptor.attributes.keys())),
        ("generic", rfc in (NATIONAL_RFC, FOREIGN_RFC)),
        ("global", cfdi.informacion_global is not None),
        ("relaciones", bool(cfdi.relaciones)),
        ("retenciones", bool(cfdi.retenciones) or bool(cfdi.impuestos and cfdi.impuestos.retenciones)),
        ("tipo_cambio", get("TipoCambio") is not None),
        ("unplain", not cfdi.plain),
        ("untaxed", any(line("ObjetoImp") != "02" for line in lines)),
    )
    return frozenset([name for name, there in has if there])


def _tax_groups(taxes: tuple[Node, ...]) -> dict[Key, list[Node]]:
    """Traslados of the lines by tax, factor and rate."""
    groups: dict[Key, list[Node]] = {}
    for tax in taxes:
        groups.setdefault(tax_key(tax), []).append(tax)
    return groups


def _withheld_groups(taxes: tuple[Node, ...]) -> dict[str | None, list[Node]]:
    """Retenciones of the lines by tax."""
    groups: dict[str | None, list[Node]] = {}
    for tax in taxes:
        groups.setdefault(tax.get("Impuesto"), []).append(tax)
    return groups


def _attributes(root: etree._Element) -> tuple[Known, bool]:
    """The attributes of every element, collapsed as XML Schema does, and whether all of them are NFC and printable.

    Only space, tab, CR and LF collapse, never other Unicode blanks.
    """
    known: Known = {element: dict(element.items()) for element in root.iter()}  # type: ignore[arg-type]  # str for str
    # One look at all values together: hardly any document has something to collapse.
    text = "|".join(["", *[value for values in known.values() for value in values.values()], ""])
    plain = text.isprintable()
    if not plain or "  " in text or "| " in text or " |" in text:
        for element, values in known.items():
            known[element] = {name: BLANKS.sub(" ", value).strip(" ") for name, value in values.items()}
    return known, plain and (text.isascii() or unicodedata.is_normalized("NFC", text))


def _first(known: Known, parts: Parts, name: str, path: str) -> Node | None:
    found = parts.get(name)
    return Node(path, known[found[0]]) if found else None


def _concepto(known: Known, element: etree._Element, path: str) -> Concepto:
    impuestos = None
    others = []
    for child in element:
        if child.tag != IMPUESTOS:
            others.append(child)
        elif impuestos is None:
            impuestos = _impuestos(known, child, path)
    concepto = Concepto(path, known[element], impuestos)
    if others:
        _fill(known, concepto, element, others)
    return concepto


def _fill(known: Known, concepto: Concepto, element: etree._Element, others: list[etree._Element]) -> None:
    path = concepto.path
    terceros = [one for one in others if one.tag == TERCEROS]
    partes = [one for one in others if one.tag == PARTE]
    concepto.terceros = Node(f"{path}/ACuentaTerceros", known[terceros[0]]) if terceros else None
    concepto.partes = tuple(Node(f"{path}/Parte[{at}]", known[one]) for at, one in enumerate(partes, 1))
    concepto.pedimentos = tuple(
        Node(f"{path}{PART if _stands_in_part(one) else ''}/InformacionAduanera", known[one])
        for one in element.iter(PEDIMENTO)
    )
    concepto.extras = tuple(sorted({etree.QName(child).localname for child in others}))


def _stands_in_part(element: etree._Element) -> bool:
    parent = element.getparent()
    return parent is not None and parent.tag == PARTE


def _impuestos(known: Known, element: etree._Element, path: str) -> Impuestos:
    traslados: list[Node] = []
    retenciones: list[Node] = []
    for holder in element:
        if holder.tag == TRASLADOS:
            for tax in holder:
                if tax.tag == TRASLADO:
                    traslados.append(Node(f"{path}/Traslado[{len(traslados) + 1}]", known[tax]))
        elif holder.tag == RETENCIONES:
            for tax in holder:
                if tax.tag == RETENCION:
                    retenciones.append(Node(f"{path}/Retencion[{len(retenciones) + 1}]", known[tax]))
    return Impuestos(path, known[element], tuple(traslados), tuple(retenciones))


def _relacion(known: Known, element: etree._Element, at: int) -> Relacion:
    uuids = [one.get("UUID", "").strip().upper() for one in element if one.tag == RELACIONADO]
    return Relacion(f"CfdiRelacionados[{at}]", known[element], tuple(uuids))
