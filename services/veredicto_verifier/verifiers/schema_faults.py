"""One error of an XML Schema as libxml2 reports it: its type, line, path and attribute, none of the document's text."""

from __future__ import annotations

import re
from typing import NamedTuple

from lxml import etree

ATTRIBUTE = re.compile(r"attribute '([^']{1,60})'")
NAMESPACE = re.compile(r"\{[^}]*\}")


class SchemaFault(NamedTuple):
    """One error of the schema: its type in libxml2's words, line, path of the element, attribute (or empty)."""

    kind: str
    line: int
    path: str
    attribute: str

    @property
    def place(self) -> str:
        """The end of the path and the attribute, short enough for a reason."""
        path = self.path if len(self.path) <= 60 else "…" + self.path[-59:]
        return f"{path}@{self.attribute[:30]}" if self.attribute else path


def read_fault(error: etree._LogEntry) -> SchemaFault:
    """The error without its message, which would repeat the document's text and every value of an enumeration."""
    found = ATTRIBUTE.search(error.message)
    path = NAMESPACE.sub("", error.path or "")
    return SchemaFault(error.type_name.removeprefix("SCHEMAV_"), error.line, path, found.group(1) if found else "")
