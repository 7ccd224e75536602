"""Where SAT's slim schemas live, and what they say of a document.

The folder is `data/` beside this module when the image was built with it; otherwise it is built once from the
installed satcfdi files into the temporary folder, under a name that its inputs determine.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from lxml import etree

from veredicto_verifier.verifiers.cfdi.schema_codes import ELEMENT, VALUES, code_of, kind_of
from veredicto_verifier.verifiers.schema_faults import ATTRIBUTE, NAMESPACE

PREBUILT = Path(__file__).parent / "data"
MANIFEST = "manifest.json"
WRAPPER = "xsd/all.xsd"
SEAL = {"Sello": "", "Certificado": "", "NoCertificado": "0" * 20}
"""What the schema demands and an unsealed invoice cannot have."""
ADDENDA = "{http://www.sat.gob.mx/cfd/4}Addenda"


class SchemaFault(NamedTuple):
    """One error of the schema: its code, its kind (empty: unnamed), line, path of the element, attribute (or empty)."""

    code: str
    kind: str
    line: int
    path: str
    attribute: str


@functools.cache
def data_folder() -> Path:
    """The folder with `xsd/`, `sets/` and the manifest, every file checked against its SHA-256.

    Raises:
        FileNotFoundError: there is neither a prebuilt folder nor satcfdi to build one from.
    """
    if is_complete(PREBUILT):
        return PREBUILT
    # Imported here: the image runs without satcfdi, and the build module must stay runnable as a program.
    from veredicto_verifier.verifiers.cfdi import build

    name = hashlib.sha256(f"{build.FORMAT} {build.satcfdi_version()} {os.geteuid()}".encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"veredicto-cfdi-{name}"
    if not (_is_ours(folder) and is_complete(folder)):
        _build_into(folder)
    return folder


def is_complete(folder: Path) -> bool:
    """Whether the folder's manifest is there and every file that it names has its SHA-256."""
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return False
    files: dict[str, str] = json.loads(manifest.read_text(encoding="utf-8"))["files"]
    return all(
        (folder / name).is_file() and hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
        for name, digest in files.items()
    )


def data_digest() -> str:
    """SHA-256 (hex) of the manifest, which holds the SHA-256 of every schema and set."""
    return hashlib.sha256((data_folder() / MANIFEST).read_bytes()).hexdigest()


@functools.cache
def load_schema() -> etree.XMLSchema:
    """The invoice and all complements as one compiled schema.

    Not for use from several threads: libxml2 mixes the errors of concurrent validations.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    return etree.XMLSchema(etree.parse(data_folder() / WRAPPER, parser))


def schema_faults(root: etree._Element) -> list[SchemaFault]:
    """What the schema says against an unsealed invoice, in document order; the tree is given back as it came."""
    schema = load_schema()
    with filled_in(root):
        return [] if schema.validate(root) else _specific([_fault(error) for error in cast(Any, schema.error_log)])


@contextmanager
def filled_in(root: etree._Element) -> Iterator[None]:
    """The invoice as its schema is asked about it.

    Absent or empty seal attributes are filled in, and the Addenda, which SAT ignores, is taken out.
    """
    filled = {name: root.get(name) for name in SEAL if not root.get(name)}
    addendas = [*root.iterchildren(ADDENDA)]
    for name in filled:
        root.set(name, SEAL[name])
    for addenda in addendas:
        root.remove(addenda)
    yield
    for name, before in filled.items():
        if before is None:
            del root.attrib[name]
        else:
            root.set(name, before)
    root.extend(addendas)


def _fault(error: etree._LogEntry) -> SchemaFault:
    found, named = ATTRIBUTE.search(error.message), ELEMENT.search(error.message)
    attribute, element = found.group(1) if found else "", named.group(1) if named else ""
    path = NAMESPACE.sub("", error.path or "")
    kind = kind_of(error.type_name.removeprefix("SCHEMAV_"), error.message)
    return SchemaFault(code_of(kind, element, attribute, path.count("/")), kind, error.line, path, attribute)


def _specific(faults: list[SchemaFault]) -> list[SchemaFault]:
    """Without the second word on a value: libxml2 says after "wrong pattern" that the type does not fit either."""
    named = {(fault.path, fault.attribute) for fault in faults if fault.kind in VALUES and fault.kind != "datatype"}
    return [fault for fault in faults if fault.kind != "datatype" or (fault.path, fault.attribute) not in named]


def _build_into(folder: Path) -> None:
    """Build beside `folder` and rename, so that no process ever sees half of it."""
    from veredicto_verifier.verifiers.cfdi import build

    fresh = Path(tempfile.mkdtemp(prefix="veredicto-cfdi-"))
    build.build_schemas(fresh)
    if folder.exists() and not (_is_ours(folder) and is_complete(folder)):
        _set_aside(folder)
    try:
        fresh.rename(folder)
    except OSError:
        # Another worker was faster; what it built is the same, and is checked.
        shutil.rmtree(fresh)
        if not (_is_ours(folder) and is_complete(folder)):
            raise


def _set_aside(folder: Path) -> None:
    broken = Path(tempfile.mkdtemp(prefix="veredicto-cfdi-broken-"))
    folder.rename(broken / folder.name)
    shutil.rmtree(broken)


def _is_ours(folder: Path) -> bool:
    """Whether nobody but this user could have written the folder (the temporary folder is everybody's)."""
    if not folder.is_dir() or folder.is_symlink():
        return False
    status = folder.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
