"""An invoice as the rules read it: SAT's own attribute names, whitespace collapsed as the schema does, nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from lxml import etree

CFD4 = "http://www.sat.gob.mx/cfd/4"
CFD_FAMILY = "{http://www.sat.gob.mx/cfd/"
AMOUNT = re.compile(r"(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,6})?")
"""A number as Anexo 20 means it; the schema's own pattern leaves its point unescaped and lets 19 digits through."""
BLANKS = re.compile(r"[ \t\r\n]+")
PLAIN = re.compile(r"(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,10})?")
"""A number of a complement: rates between currencies have up to ten decimals."""
UNCOLLAPSED = re.compile(r"[\t\r\n]|  |\A | \Z")
CCE = "ComercioExterior"
PART = "/Parte"
IMPLOCAL = "{http://www.sat.gob.mx/implocal}ImpuestosLocales"
PAGOS = "{http://www.sat.gob.mx/Pagos20}Pagos"
NOMINA = "{http://www.sat.gob.mx/nomina12}Nomina"


NUMBERS = frozenset(
    "SubTotal Descuento Total TipoCambio Cantidad ValorUnitario Importe Base TasaOCuota TotalImpuestosRetenidos "
    "TotalImpuestosTrasladados TotaldeRetenciones TotaldeTraslados".split()
)
"""Attributes that hold a number."""


@dataclass(frozen=True, slots=True)
class Node:
    """One element: its path for a person (`Conceptos/Concepto[2]`), its attributes and those that are numbers."""

    path: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, Decimal] = field(init=False)

    def __post_init__(self) -> None:
        numbers = {
            name: Decimal(text) for name, text in self.attributes.items() if name in NUMBERS and AMOUNT.fullmatch(text)
        }
        object.__setattr__(self, "numbers", numbers)

    def get(self, name: str) -> str | None:
        """The attribute's text, or None where it is absent."""
        return self.attributes.get(name)

    def amount(self, name: str) -> Decimal | None:
        """The attribute as a number; None where it is absent or not written as one (`strict_number` names it)."""
        return self.numbers.get(name)

    def decimals(self, name: str) -> int:
        """Number of decimals as written."""
        return len(self.attributes.get(name, "").partition(".")[2])


@dataclass(frozen=True, slots=True)
class Tree(Node):
    """One element of a complement with its children; every attribute may be asked for as a number."""

    name: str = ""
    children: tuple[Tree, ...] = ()

    def amount(self, name: str) -> Decimal | None:
        """The attribute as a number; None where it is absent or not written as one."""
        text = self.attributes.get(name)
        return Decimal(text) if text is not None and PLAIN.fullmatch(text) else None

    def all(self, *names: str) -> tuple[Tree, ...]:
        """The descendants that these names lead to, one name a level."""
        found: tuple[Tree, ...] = (self,)
        for name in names:
            found = tuple(child for one in found for child in one.children if child.name == name)
        return found

    def first(self, *names: str) -> Tree | None:
        """The first of `all`."""
        return next(iter(self.all(*names)), None)

    def walk(self) -> tuple[Tree, ...]:
        """This node and all below it, in document order."""
        return (self, *(inner for child in self.children for inner in child.walk()))


@dataclass(frozen=True, slots=True)
class Impuestos(Node):
    """A taxes element: of a concept, or the invoice's summary."""

    traslados: tuple[Node, ...] = ()
    retenciones: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Concepto(Node):
    """One line of the invoice; `extras` are the names of its other children."""

    impuestos: Impuestos | None = None
    terceros: Node | None = None
    partes: tuple[Node, ...] = ()
    pedimentos: tuple[Node, ...] = ()
    extras: tuple[str, ...] = ()

    @property
    def traslados(self) -> tuple[Node, ...]:
        """Taxes charged on this line."""
        return self.impuestos.traslados if self.impuestos else ()

    @property
    def retenciones(self) -> tuple[Node, ...]:
        """Taxes withheld on this line."""
        return self.impuestos.retenciones if self.impuestos else ()


@dataclass(frozen=True, slots=True)
class Relacion(Node):
    """One CfdiRelacionados with its UUIDs, upper case, in document order."""

    uuids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comprobante(Node):
    """The whole invoice.

    `complementos` are the qualified names of what stands in Complemento, `line_complementos` those of every
    ComplementoConcepto; `pagos` and `nomina` are the first complement of that kind, `other_complements` the trees of
    the others with their namespaces; `cadena` is the text that the seal signs (empty where none is asked for);
    `nested` says whether an element of SAT's invoice namespaces stands in a place where the schema allows anything.
    """

    emisor: Node = Node("Emisor")
    receptor: Node = Node("Receptor")
    informacion_global: Node | None = None
    relaciones: tuple[Relacion, ...] = ()
    conceptos: tuple[Concepto, ...] = ()
    impuestos: Impuestos | None = None
    locales: Node | None = None
    complementos: tuple[str, ...] = ()
    line_complementos: tuple[str, ...] = ()
    pagos: Tree | None = None
    nomina: Tree | None = None
    other_complements: tuple[tuple[str, Tree], ...] = ()
    cadena: bytes = b""
    prefix: str | None = "cfdi"
    addenda: bool = False
    nested: bool = False

    @property
    def tipo(self) -> str | None:
        """TipoDeComprobante."""
        return self.get("TipoDeComprobante")

    @property
    def comercio_exterior(self) -> bool:
        """Whether the foreign-trade complement is there."""
        return any(CCE in name for name in self.complementos)

    def taxed(self) -> Iterator[Node]:
        """Every tax of every concept."""
        for concepto in self.conceptos:
            yield from concepto.traslados
            yield from concepto.retenciones

    def nodes(self) -> Iterator[Node]:
        """Every element that carries an amount."""
        yield self
        for concepto in self.conceptos:
            yield concepto
            yield from concepto.partes
        yield from self.taxed()
        if self.impuestos:
            yield self.impuestos
            yield from self.impuestos.traslados
            yield from self.impuestos.retenciones


def read_comprobante(root: etree._Element) -> Comprobante:
    """The model of a parsed document; missing parts stay empty, unknown ones are left out."""
    found = {name: root.findall(f"{{{CFD4}}}{name}") for name in ("Emisor", "Receptor", "Impuestos", "Conceptos")}
    globales = root.find(f"{{{CFD4}}}InformacionGlobal")
    wild = [*root.findall(f"{{{CFD4}}}Complemento"), *root.findall(f"{{{CFD4}}}Addenda")]
    of_lines = list(root.iter(f"{{{CFD4}}}ComplementoConcepto"))
    wild += of_lines
    complementos = [child for one in root.findall(f"{{{CFD4}}}Complemento") for child in one]
    return Comprobante(
        path="Comprobante",
        attributes=_attributes(root),
        emisor=Node("Emisor", _attributes(found["Emisor"][0]) if found["Emisor"] else {}),
        receptor=Node("Receptor", _attributes(found["Receptor"][0]) if found["Receptor"] else {}),
        informacion_global=None if globales is None else Node("InformacionGlobal", _attributes(globales)),
        relaciones=tuple(_relacion(one, at) for at, one in enumerate(root.findall(f"{{{CFD4}}}CfdiRelacionados"), 1)),
        conceptos=tuple(_concepto(one, at) for at, one in enumerate(_concepts(found["Conceptos"]), 1)),
        impuestos=_impuestos(found["Impuestos"][0], "Impuestos") if found["Impuestos"] else None,
        locales=next((Node("ImpuestosLocales", _attributes(one)) for one in complementos if one.tag == IMPLOCAL), None),
        complementos=tuple(str(child.tag) for child in complementos),
        line_complementos=tuple(str(child.tag) for one in of_lines for child in one),
        pagos=next((_tree(one, "Pagos") for one in complementos if one.tag == PAGOS), None),
        nomina=next((_tree(one, "Nomina") for one in complementos if one.tag == NOMINA), None),
        other_complements=tuple(
            (etree.QName(one).namespace or "", _tree(one, etree.QName(one).localname))
            for one in complementos
            if one.tag not in (PAGOS, NOMINA)
        ),
        prefix=root.prefix,
        addenda=root.find(f"{{{CFD4}}}Addenda") is not None,
        nested=any(str(inner.tag).startswith(CFD_FAMILY) for one in wild for inner in one.iterdescendants()),
    )


def _tree(element: etree._Element, path: str) -> Tree:
    """The tree of an element; children of one name are numbered in their paths when there are several."""
    children = [child for child in element if isinstance(child.tag, str)]
    names = [etree.QName(child).localname for child in children]
    counts, seen = Counter(names), Counter[str]()
    trees = []
    for child, name in zip(children, names, strict=True):
        seen[name] += 1
        place = f"{path}/{name}[{seen[name]}]" if counts[name] > 1 else f"{path}/{name}"
        trees.append(_tree(child, place))
    attributes = {str(name): _collapse(str(value)) for name, value in element.items()}
    return Tree(path, attributes, name=etree.QName(element).localname, children=tuple(trees))


def _attributes(element: etree._Element) -> dict[str, str]:
    return {str(name): _collapse(str(value)) for name, value in element.items()}


def _collapse(text: str) -> str:
    """XML Schema's `collapse`: only space, tab, CR and LF count, never other Unicode blanks."""
    return BLANKS.sub(" ", text).strip(" ") if UNCOLLAPSED.search(text) else text


def _concepts(holders: list[etree._Element]) -> Iterator[etree._Element]:
    for holder in holders:
        yield from holder.findall(f"{{{CFD4}}}Concepto")


def _concepto(element: etree._Element, number: int) -> Concepto:
    path = f"Concepto[{number}]"
    impuestos = element.find(f"{{{CFD4}}}Impuestos")
    terceros = element.find(f"{{{CFD4}}}ACuentaTerceros")
    partes = element.findall(f"{{{CFD4}}}Parte")
    names = {etree.QName(child).localname for child in element} - {"Impuestos"}
    return Concepto(
        path=path,
        attributes=_attributes(element),
        impuestos=None if impuestos is None else _impuestos(impuestos, path),
        terceros=None if terceros is None else Node(f"{path}/ACuentaTerceros", _attributes(terceros)),
        partes=tuple(Node(f"{path}/Parte[{at}]", _attributes(one)) for at, one in enumerate(partes, 1)),
        pedimentos=tuple(
            Node(f"{path}{PART if _stands_in_part(one) else ''}/InformacionAduanera", _attributes(one))
            for one in element.iter(f"{{{CFD4}}}InformacionAduanera")
        ),
        extras=tuple(sorted(names)),
    )


def _stands_in_part(element: etree._Element) -> bool:
    parent = element.getparent()
    return parent is not None and parent.tag == f"{{{CFD4}}}Parte"


def _impuestos(element: etree._Element, path: str) -> Impuestos:
    traslados = element.findall(f"{{{CFD4}}}Traslados/{{{CFD4}}}Traslado")
    retenciones = element.findall(f"{{{CFD4}}}Retenciones/{{{CFD4}}}Retencion")
    return Impuestos(
        path=path,
        attributes=_attributes(element),
        traslados=tuple(Node(f"{path}/Traslado[{at}]", _attributes(one)) for at, one in enumerate(traslados, 1)),
        retenciones=tuple(Node(f"{path}/Retencion[{at}]", _attributes(one)) for at, one in enumerate(retenciones, 1)),
    )


def _relacion(element: etree._Element, number: int) -> Relacion:
    uuids = [one.get("UUID", "").strip().upper() for one in element.findall(f"{{{CFD4}}}CfdiRelacionado")]
    return Relacion(f"CfdiRelacionados[{number}]", _attributes(element), tuple(uuids))
