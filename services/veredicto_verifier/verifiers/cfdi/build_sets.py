"""The values of SAT's large enumerations, as plain text, and which attributes of which complements use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lxml import etree

XS = "http://www.w3.org/2001/XMLSchema"
ATTRIBUTES = "sets/attributes.tsv"


class LargeType(NamedTuple):
    """An enumeration that became a pattern: its schema's namespace and its name."""

    namespace: str
    name: str


class Use(NamedTuple):
    """An attribute of a large type: namespace of the complement, path of element names, attribute, name of the set."""

    namespace: str
    path: str
    attribute: str
    values: str


def set_name(large: LargeType) -> str:
    """The file of its values, without extension; the invoice's own catalogue has no prefix."""
    part = large.namespace.rpartition("/catalogos")[2].strip("/")
    return f"{part}.{large.name}" if part else large.name


def write_sets(large: Mapping[LargeType, list[str]], schemas: Mapping[str, etree._Element]) -> dict[str, bytes]:
    """`sets/NAME.txt`, sorted, one a line, and the table of the attributes of complements that use them."""
    files = {f"sets/{set_name(one)}.txt": _lines(sorted(set(values))) for one, values in large.items()}
    uses = sorted(use for schema in schemas.values() for use in _uses(schema, large))
    files[ATTRIBUTES] = _lines(["\t".join(use) for use in uses])
    return files


def _uses(schema: etree._Element, large: Mapping[LargeType, list[str]]) -> Iterator[Use]:
    namespace = schema.get("targetNamespace", "")
    for attribute in schema.iter(f"{{{XS}}}attribute"):
        if attribute.find(f".//{{{XS}}}union") is not None:
            continue
        bases = [attribute.get("type"), *(one.get("base") for one in attribute.iter(f"{{{XS}}}restriction"))]
        for base in bases:
            prefix, _, name = (base or "").rpartition(":")
            one = LargeType(attribute.nsmap.get(prefix or None, ""), name)
            if one in large:
                yield Use(namespace, _path(attribute), attribute.get("name", ""), set_name(one))


def _path(attribute: etree._Element) -> str:
    names = [one.get("name", "") for one in attribute.iterancestors(f"{{{XS}}}element")]
    return "/".join(reversed(names))


def _lines(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()
