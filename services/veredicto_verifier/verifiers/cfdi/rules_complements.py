"""Rules on complements as such: which must and may be there, each once, their codes in SAT's large catalogues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from veredicto_verifier.verifiers.cfdi.catalogues import load_set
from veredicto_verifier.verifiers.cfdi.complements import complement_name
from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Tree
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault, shown


def _names(cfdi: Comprobante) -> list[str]:
    return [complement_name(tag) for tag in (*cfdi.complementos, *cfdi.line_complementos)]


def _missing(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for name in sorted(facts.required - set(_names(cfdi))):
        yield fault(cfdi, f"falta el complemento {name}")


def _unexpected(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if facts.allowed is None:
        return
    for name in sorted(set(_names(cfdi)) - facts.allowed):
        yield fault(cfdi, f"nadie pidió el complemento {shown(name)}")


def _repeated(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for tag, count in Counter(cfdi.complementos).items():
        if count > 1:
            yield fault(cfdi, f"el complemento {shown(complement_name(tag))} está {count} veces")


def _codes_known(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for namespace, tree in cfdi.other_complements:
        yield from _codes_of(namespace, tree, tree.name, facts)


def _codes_of(namespace: str, tree: Tree, place: str, facts: Facts) -> Iterator[Fault]:
    for attribute, values in facts.catalogues.coded.get((namespace, place), ()):
        code = tree.get(attribute)
        if code is not None and code not in load_set(values):
            yield fault(tree, f"{attribute} {shown(code)} no está en {values.rpartition('.')[2]}")
    for child in tree.children:
        yield from _codes_of(namespace, child, f"{place}/{child.name}", facts)


# fmt: off
COMPLEMENTS: tuple[Rule, ...] = (
    Rule("cfdi.complement_missing", "business", "strict", _missing,
         "the complements that the task demands are there", significado="están los complementos que la tarea exige"),
    Rule("cfdi.complement_unexpected", "business", "strict", _unexpected,
         "no other complement than the task admits", significado="no hay más complementos que los admitidos"),
    Rule("cfdi.complement_repeated", "business", "strict", _repeated,
         "each complement is there once", significado="cada complemento está una vez"),
    Rule("cfdi.complement_codes", "catalogues", "C", _codes_known,
         "codes of Carta Porte and foreign trade are in SAT's large catalogues",
         significado="las claves de Carta Porte y comercio exterior están en los catálogos del SAT"),
)
# fmt: on
