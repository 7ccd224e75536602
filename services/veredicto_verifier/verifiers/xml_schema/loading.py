"""Compile a task's schema without giving it any power: what it includes or imports is in the task, or is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Context
from veredicto_verifier.verifiers.xml_document import CAUSES, Document, DocumentRules, Refusal, parse_document
from veredicto_verifier.verifiers.xml_schema.spec import SchemaSource

XS = "{http://www.w3.org/2001/XMLSchema}"
LINKS = (f"{XS}import", f"{XS}include", f"{XS}redefine", f"{XS}override")
RULES = DocumentRules(max_bytes=4_194_304, max_elements=200_000, instructions=True)
HOME = "veredicto:///"
"""Addresses of the parts of a schema: no file and no network has this scheme."""


class OnlyTheTask(etree.Resolver):
    """Gives the parts of the task's own schema by their address, and an empty document for anything else."""

    def __init__(self, parts: Mapping[str, bytes]) -> None:
        self._parts = parts

    def resolve(self, system_url: str | None, public_id: str | None, context: Any) -> Any:  # type: ignore[override]
        """The part of that address."""
        content = self._parts.get(system_url or "", b"<refused/>")
        return self.resolve_string(content, context, base_url=system_url)


def load_schema(source: SchemaSource, context: Context) -> tuple[etree.XMLSchema, list[str]]:
    """The compiled schema and the names of the elements that it declares at the top, `{namespace}name`.

    Raises:
        TaskFault: `task.spec_invalid` for what is no schema or leaves the task, `task.unknown_fixture` for a fixture
            that is not there.
    """
    main, *others = _texts(source, context)
    addresses = {location: f"{HOME}{at}.xsd" for at, location in enumerate(source.imports)}
    roots = [_read(text, place, addresses) for place, text in (main, *others)]
    parts = {address: etree.tostring(root) for address, root in zip(addresses.values(), roots[1:], strict=True)}
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    parser.resolvers.add(OnlyTheTask(parts))
    try:
        schema = etree.XMLSchema(etree.fromstring(etree.tostring(roots[0]), parser, base_url=f"{HOME}main.xsd"))
    except etree.XMLSchemaParseError as error:
        raise TaskFault("task.spec_invalid", f"$.schema: no valid XML Schema: {str(error)[:150]}") from error
    return schema, [*_declared(roots[0]), *_included(roots[0], addresses, roots[1:])]


def _texts(source: SchemaSource, context: Context) -> Iterator[tuple[str, str]]:
    """Place in the spec and text of every part, the main one first."""
    if source.xsd is not None:
        yield "$.schema.xsd", source.xsd
        yield from (("$.schema.imports", text) for text in source.imports.values())
        return
    for name in (source.fixture or "", *source.imports.values()):
        fixture = context.fixtures.get(name)
        if fixture is None:
            raise TaskFault("task.unknown_fixture", f"$.schema: no fixture is named {name[:80]!r}; see the pack")
        yield f"$.schema ({name[:80]})", _text(fixture.path, fixture.digest, name)


def _text(path: Path, digest: str, name: str) -> str:
    content = path.read_bytes()
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != digest:
        raise TaskFault("task.unknown_fixture", f"$.schema: {name[:80]!r} changed on disk; load the pack again")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TaskFault("task.unknown_fixture", f"$.schema: {name[:80]!r} is not UTF-8 text") from error


def _read(text: str, place: str, addresses: Mapping[str, str]) -> etree._Element:
    """One part, its links turned into addresses of the other parts."""
    document = parse_document(text.removeprefix("\ufeff"), RULES)
    if isinstance(document, Refusal):
        raise TaskFault("task.spec_invalid", f"{place}: {CAUSES[document.cause]} (line {document.line})")
    assert isinstance(document, Document)
    for link in document.root.iter(*LINKS):
        location = link.get("schemaLocation")
        if location is None:
            continue
        if location not in addresses:
            message = f"{place}: it refers to {location[:80]!r}; give that schema under `imports`, nothing is fetched"
            raise TaskFault("task.spec_invalid", message)
        link.set("schemaLocation", addresses[location])
    return document.root


def _declared(root: etree._Element) -> list[str]:
    namespace = root.get("targetNamespace")
    names = [element.get("name", "") for element in root.findall(f"{XS}element")]
    return [f"{{{namespace}}}{name}" if namespace else name for name in names]


def _included(root: etree._Element, addresses: Mapping[str, str], parts: list[etree._Element]) -> list[str]:
    """Top elements of the parts that the main schema includes: imports declare elements of other namespaces."""
    included = {link.get("schemaLocation") for link in root.iter(f"{XS}include", f"{XS}redefine")}
    found = [part for address, part in zip(addresses.values(), parts, strict=True) if address in included]
    return [name for part in found for name in _declared(part)]
