"""The complements that SAT publishes: their names, and how a document's are told apart."""

from __future__ import annotations

from typing import Final

SAT: Final = "http://www.sat.gob.mx/"

NAMES: Final = frozenset(
    "CartaPorte20 CartaPorte30 CartaPorte31 ComercioExterior11 ComercioExterior20 EstadoDeCuentaCombustible12 "
    "GastosHidrocarburos10 IngresosHidrocarburos10 Pagos20 TimbreFiscalDigital TuristaPasajeroExtranjero "
    "acreditamiento aerolineas arteantiguedades certificadodestruccion registrofiscal ConsumoDeCombustibles11 "
    "detallista divisas donat hidrocarburospetroliferos iedu implocal ine leyendasFiscales nomina12 "
    "notariospublicos pagoenespecie pfic renovacionysustitucionvehiculos servicioparcialconstruccion spei terceros "
    "valesdedespensa vehiculousado ventavehiculos".split()
)
"""Complements by the last segment of their namespace."""


def complement_name(tag: str) -> str:
    """`Pagos20` for an element of SAT's namespace of that name; the tag itself for a foreign one."""
    namespace = tag.removeprefix("{").partition("}")[0]
    name = namespace.removeprefix(SAT)
    return name if name in NAMES and namespace.startswith(SAT) else tag
