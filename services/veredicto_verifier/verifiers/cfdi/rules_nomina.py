"""Rules on payroll (SAT's matrix for complement Nómina 1.2, revision D): its invoice and the employer.

They are asked of invoices of type N and of those that hold the complement. The employee is in `rules_employee.py`, what
is paid in `rules_nomina_amounts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Node, Tree
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault
from veredicto_verifier.verifiers.cfdi.rule_kinds import absent, header, lines, pinned

CONTRACTS_OF_WORK = tuple(f"{code:02}" for code in range(1, 9))
OTHER_CONTRACTS = ("09", "10", "99")
OF_EMPLOYMENT = ("NumSeguridadSocial", "FechaInicioRelLaboral", "Antigüedad", "RiesgoPuesto", "SalarioDiarioIntegrado")
DAY = re.compile("(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}")


def payrolls(cfdi: Comprobante) -> tuple[Tree, ...]:
    """The Nomina element, if there is one."""
    return (cfdi.nomina,) if cfdi.nomina else ()


def employers(cfdi: Comprobante) -> tuple[Tree, ...]:
    """Its Emisor."""
    return cfdi.nomina.all("Emisor") if cfdi.nomina else ()


def employees(cfdi: Comprobante) -> tuple[Tree, ...]:
    """Its Receptor."""
    return cfdi.nomina.all("Receptor") if cfdi.nomina else ()


def _issuer(cfdi: Comprobante) -> tuple[Node, ...]:
    return (cfdi.emisor,)


def _receiver(cfdi: Comprobante) -> tuple[Node, ...]:
    return (cfdi.receptor,)


def _sources(cfdi: Comprobante) -> tuple[Tree, ...]:
    return cfdi.nomina.all("Emisor", "EntidadSNCF") if cfdi.nomina else ()


def day(node: Node, name: str) -> date | None:
    """The attribute as a day; None where it is absent or none."""
    text = node.get(name) or ""
    try:
        return date.fromisoformat(text) if DAY.fullmatch(text) else None
    except ValueError:
        return None


def _complement_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.tipo == "N" and cfdi.nomina is None:
        yield fault(cfdi, "con TipoDeComprobante N falta el complemento de nómina 1.2")


def _not_global(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if cfdi.informacion_global is not None:
        yield fault(cfdi.informacion_global, "InformacionGlobal no debe existir en una nómina")


def _employer_curp(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employers(cfdi):
        if len(cfdi.emisor.get("Rfc") or "") == 12 and one.get("Curp") is not None:
            yield fault(one, "Curp no debe existir: el emisor es persona moral")


def _person_curp(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    given = any(one.get("Curp") is not None for one in employers(cfdi))
    if cfdi.nomina and len(cfdi.emisor.get("Rfc") or "") == 13 and not given:
        yield fault(cfdi.nomina, "falta Emisor/Curp: el emisor es persona física")


def _natural_person(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if len(cfdi.receptor.get("Rfc") or "") != 13:
        yield fault(cfdi.receptor, "Rfc del receptor debe ser de persona física")


def _one_bare_line(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    bare = all(one.impuestos is None and not one.extras for one in cfdi.conceptos)
    if len(cfdi.conceptos) != 1 or not bare:
        yield fault(cfdi, "debe haber un solo concepto, sin nodos hijo")


def _in_complement(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if any(tag.endswith("}Nomina") for tag in cfdi.line_complementos):
        yield fault(cfdi, "Nomina va en Complemento, no en ComplementoConcepto")


def _ordinary(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employees(cfdi):
        kind = cfdi.nomina.get("TipoNomina") if cfdi.nomina else None
        if kind == "O" and one.get("PeriodicidadPago") == "99":
            yield fault(one, "en una nómina ordinaria, PeriodicidadPago no puede ser 99")


def _extraordinary(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in employees(cfdi):
        kind = cfdi.nomina.get("TipoNomina") if cfdi.nomina else None
        if kind == "E" and one.get("PeriodicidadPago") != "99":
            yield fault(one, "en una nómina extraordinaria, PeriodicidadPago debe ser 99")


def _days_in_order(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in payrolls(cfdi):
        first, last = day(one, "FechaInicialPago"), day(one, "FechaFinalPago")
        if first and last and first > last:
            yield fault(one, "FechaInicialPago es posterior a FechaFinalPago")


def _registered(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    given = any(one.get("RegistroPatronal") is not None for one in employers(cfdi))
    for one in employees(cfdi):
        if one.get("TipoContrato") in CONTRACTS_OF_WORK and not given:
            yield fault(one, "con ese TipoContrato falta Emisor/RegistroPatronal")


def _not_registered(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    given = any(one.get("RegistroPatronal") is not None for one in employers(cfdi))
    for one in employees(cfdi):
        if one.get("TipoContrato") in OTHER_CONTRACTS and given:
            yield fault(one, "con ese TipoContrato no debe existir Emisor/RegistroPatronal")


def _employment(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    if not any(one.get("RegistroPatronal") is not None for one in employers(cfdi)):
        return
    for one in employees(cfdi):
        missing = [name for name in OF_EMPLOYMENT if one.get(name) is None]
        if missing:
            yield fault(one, f"con RegistroPatronal faltan {', '.join(missing)}")


def _own_funds(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in _sources(cfdi):
        if one.get("OrigenRecurso") == "IM" and one.get("MontoRecursoPropio") is None:
            yield fault(one, "con OrigenRecurso IM falta MontoRecursoPropio")


def _no_own_funds(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in _sources(cfdi):
        if one.get("OrigenRecurso") != "IM" and one.get("MontoRecursoPropio") is not None:
            yield fault(one, "MontoRecursoPropio solo existe con OrigenRecurso IM")


def _own_funds_within(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in _sources(cfdi):
        own, paid = one.amount("MontoRecursoPropio"), paid_out(cfdi)
        if own is not None and own >= paid:
            yield fault(one, f"MontoRecursoPropio {own} no es menor que lo pagado, {paid}")


def paid_out(cfdi: Comprobante) -> Decimal:
    """TotalPercepciones plus TotalOtrosPagos."""
    names = ("TotalPercepciones", "TotalOtrosPagos")
    amounts = [cfdi.nomina.amount(name) if cfdi.nomina else None for name in names]
    return sum((one for one in amounts if one is not None), Decimal(0))


# fmt: off
PAYROLL: tuple[Rule, ...] = (
    Rule("cfdi.nomina_missing", "business", "strict", _complement_there,
         "type N has the payroll complement", significado="el tipo N lleva el complemento de nómina"),
    Rule("cfdi.nom2", "business", "O", pinned(header, "TipoDeComprobante", "N"),
         "payroll goes in type N", significado="la nómina va en un comprobante de tipo N"),
    Rule("cfdi.nom3", "business", "O", pinned(header, "Exportacion", "01"),
         "Exportacion is 01", significado="Exportacion es 01"),
    Rule("cfdi.nom4", "business", "O", _not_global,
         "no InformacionGlobal", significado="sin InformacionGlobal"),
    Rule("cfdi.nom5", "business", "O", _employer_curp,
         "a company has no Curp", significado="una persona moral no lleva Curp"),
    Rule("cfdi.nom6", "business", "O", _person_curp,
         "an employer who is a person has Curp", significado="un patrón persona física lleva Curp"),
    Rule("cfdi.nom7", "business", "O", absent(_issuer, "FacAtrAdquirente"),
         "no FacAtrAdquirente", significado="sin FacAtrAdquirente"),
    Rule("cfdi.nom8", "business", "O", _natural_person,
         "the receiver is a natural person", significado="el receptor es persona física"),
    Rule("cfdi.nom11", "business", "O", pinned(_receiver, "RegimenFiscalReceptor", "605"),
         "RegimenFiscalReceptor is 605", significado="RegimenFiscalReceptor es 605"),
    Rule("cfdi.nom13", "business", "O", _one_bare_line,
         "one line without children (also NOM24 to NOM29)", significado="un solo concepto sin nodos hijo"),
    Rule("cfdi.nom14", "business", "O", pinned(lines, "ClaveProdServ", "84111505"),
         "ClaveProdServ is 84111505", significado="ClaveProdServ es 84111505"),
    Rule("cfdi.nom15", "business", "O", absent(lines, "NoIdentificacion"),
         "no NoIdentificacion", significado="sin NoIdentificacion"),
    Rule("cfdi.nom16", "business", "O", pinned(lines, "Cantidad", "1"),
         "Cantidad is 1", significado="Cantidad es 1"),
    Rule("cfdi.nom17", "business", "O", pinned(lines, "ClaveUnidad", "ACT"),
         "ClaveUnidad is ACT", significado="ClaveUnidad es ACT"),
    Rule("cfdi.nom18", "business", "O", absent(lines, "Unidad"),
         "no Unidad", significado="sin Unidad"),
    Rule("cfdi.nom19", "business", "O", pinned(lines, "Descripcion", "Pago de nómina"),
         "Descripcion is Pago de nómina", significado="Descripcion es Pago de nómina"),
    Rule("cfdi.nom23", "business", "O", pinned(lines, "ObjetoImp", "01"),
         "ObjetoImp is 01", significado="ObjetoImp es 01"),
    Rule("cfdi.nom30", "business", "O", _in_complement,
         "Nomina stands in Complemento", significado="Nomina está en Complemento"),
    Rule("cfdi.nom33", "business", "O", _ordinary,
         "an ordinary payroll has a periodicity other than 99",
         significado="una nómina ordinaria tiene periodicidad distinta de 99"),
    Rule("cfdi.nom34", "business", "O", _extraordinary,
         "an extraordinary payroll has periodicity 99", significado="una nómina extraordinaria tiene periodicidad 99"),
    Rule("cfdi.nom35", "business", "O", _days_in_order,
         "the first day paid is not after the last", significado="el primer día pagado no es posterior al último"),
    Rule("cfdi.nom42", "business", "O", _registered,
         "contracts 01 to 08 have RegistroPatronal", significado="los contratos 01 a 08 llevan RegistroPatronal"),
    Rule("cfdi.nom43", "business", "O", _not_registered,
         "contracts 09, 10 and 99 have no RegistroPatronal",
         significado="los contratos 09, 10 y 99 no llevan RegistroPatronal"),
    Rule("cfdi.nom44", "business", "O", _employment,
         "RegistroPatronal comes with the data of employment",
         significado="RegistroPatronal va con los datos de la relación laboral"),
    Rule("cfdi.nom48", "business", "O", _own_funds,
         "mixed funds have MontoRecursoPropio", significado="los ingresos mixtos llevan MontoRecursoPropio"),
    Rule("cfdi.nom49", "business", "O", _no_own_funds,
         "other funds have no MontoRecursoPropio", significado="los demás ingresos no llevan MontoRecursoPropio"),
    Rule("cfdi.nom50", "arithmetic", "O", _own_funds_within,
         "MontoRecursoPropio is below what is paid", "summary",
         significado="MontoRecursoPropio es menor que lo pagado"),
)
# fmt: on
