"""Paths into a document that are no XPath: names from the root down, a number in brackets, an attribute at the end.

/factura/linea[2]/importe        the text of the element
/factura/linea/@cantidad         the attribute of every line, as a list
/f:factura/f:total               with prefixes that the task declares
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lxml import etree

STEP = re.compile(r"(?:([A-Za-z_][\w.-]{0,100}):)?([^\W\d][\w.-]{0,200})(?:\[([1-9][0-9]{0,4})\])?")
MOST_STEPS = 50
BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Step:
    """One name of a path: its prefix as written, its qualified name, and which of several (1-based; None: all)."""

    prefix: str
    tag: str
    number: int | None


@dataclass(frozen=True, slots=True)
class XmlPath:
    """Where to look: elements from the root down, then an attribute or the element's text."""

    steps: tuple[Step, ...]
    attribute: str | None


def parse_path(text: str, namespaces: Mapping[str, str]) -> XmlPath:
    """Read a path; prefixes that `namespaces` lacks stay without a namespace.

    Raises:
        ValueError: the text is no path.
    """
    if not text.startswith("/"):
        raise ValueError(f"the path {text[:60]!r} starts with the root: /root/child[2]/@attribute")
    parts = text[1:].split("/")
    attribute = None
    if parts[-1].startswith("@"):
        attribute = _step(parts.pop()[1:], {prefix: name for prefix, name in namespaces.items() if prefix}, text).tag
    if not parts or len(parts) > MOST_STEPS:
        raise ValueError(f"the path {text[:60]!r} has no element, or more than {MOST_STEPS}")
    return XmlPath(tuple(_step(part, namespaces, text) for part in parts), attribute)


def _step(part: str, namespaces: Mapping[str, str], text: str) -> Step:
    found = STEP.fullmatch(part)
    if found is None:
        raise ValueError(f"the path {text[:60]!r} holds {part[:40]!r}, which is no name, name[number] or @name")
    prefix, name, number = found.group(1) or "", found.group(2), found.group(3)
    namespace = namespaces.get(prefix, "")
    return Step(prefix, f"{{{namespace}}}{name}" if namespace else name, int(number) if number else None)


def values_at(root: etree._Element, path: XmlPath) -> list[str]:
    """The texts that the path leads to, in document order; an element without the attribute has none.

    The text of an element is what stands directly in it, without the blanks around.
    """
    first = path.steps[0]
    nodes = [root] if root.tag == first.tag and first.number in (None, 1) else []
    for step in path.steps[1:]:
        nodes = [child for node in nodes for child in _children(node, step)]
    if path.attribute is not None:
        return [str(node.get(path.attribute)) for node in nodes if node.get(path.attribute) is not None]
    return ["".join([node.text or "", *(child.tail or "" for child in node)]).strip(BLANK) for node in nodes]


def _children(node: etree._Element, step: Step) -> list[etree._Element]:
    found = node.findall(step.tag)
    return found if step.number is None else found[step.number - 1 : step.number]
