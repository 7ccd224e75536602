"""Rules on the sick leave, deductions and other payments of a payroll (SAT's matrix for complement Nómina 1.2)."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import Tree
from veredicto_verifier.verifiers.cfdi.rule import Facts, Fault, Rule, fault, shown
from veredicto_verifier.verifiers.cfdi.rule_kinds import known, positive
from veredicto_verifier.verifiers.cfdi.rules_nomina import day, employees
from veredicto_verifier.verifiers.cfdi.rules_nomina_amounts import added, deductions, leaves, others, perceptions

ISR, SICK_LEAVE_HELD, SICK_LEAVE_PAID = "002", "006", "014"
SUBSIDY, BALANCE = "002", "004"
SUBSIDY_KINDS = ("002", "007", "008")
MOST_SUBSIDY, DAYS_OF_A_MONTH, SUBSIDY_A_DAY = Decimal("475.00"), Decimal(31), Decimal("15.63")


def _leave_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in perceptions(cfdi):
        if one.get("TipoPercepcion") == SICK_LEAVE_PAID and not leaves(cfdi):
            yield fault(one, "con TipoPercepcion 014 falta Incapacidades")


def _leave_paid(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    own = [one for one in perceptions(cfdi) if one.get("TipoPercepcion") == SICK_LEAVE_PAID]
    paid, leave = added(own, "ImporteGravado", "ImporteExento"), added(leaves(cfdi), "ImporteMonetario")
    if own and leaves(cfdi) and paid != leave:
        yield fault(own[0], f"la percepción 014, {paid}, no es la suma de ImporteMonetario, {leave}")


def _leave_held_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in deductions(cfdi):
        if one.get("TipoDeduccion") == SICK_LEAVE_HELD and not leaves(cfdi):
            yield fault(one, "con TipoDeduccion 006 falta Incapacidades")


def _leave_held(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    own = [one for one in deductions(cfdi) if one.get("TipoDeduccion") == SICK_LEAVE_HELD]
    held, leave = added(own, "Importe"), added(leaves(cfdi), "ImporteMonetario")
    if own and leaves(cfdi) and held != leave:
        yield fault(own[0], f"la deducción 006, {held}, no es la suma de ImporteMonetario, {leave}")


def _held_holders(cfdi: Comprobante) -> tuple[Tree, ...]:
    return cfdi.nomina.all("Deducciones") if cfdi.nomina else ()


def _tax_held(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in _held_holders(cfdi):
        own = [part for part in one.all("Deduccion") if part.get("TipoDeduccion") == ISR]
        exact = added(own, "Importe")
        if own and one.amount("TotalImpuestosRetenidos") != exact:
            yield fault(one, f"TotalImpuestosRetenidos no es la suma de las deducciones 002, {exact}")


def _no_tax_held(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in _held_holders(cfdi):
        own = any(part.get("TipoDeduccion") == ISR for part in one.all("Deduccion"))
        if not own and one.get("TotalImpuestosRetenidos") is not None:
            yield fault(one, "TotalImpuestosRetenidos no debe existir sin deducciones 002")


def _other_held(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    """Ours: SAT never says what TotalOtrasDeducciones adds up."""
    for one in _held_holders(cfdi):
        own = [part for part in one.all("Deduccion") if part.get("TipoDeduccion") != ISR]
        exact, found = added(own, "Importe"), one.amount("TotalOtrasDeducciones")
        if (found or Decimal(0)) != exact:
            yield fault(one, f"TotalOtrasDeducciones {shown(one.get('TotalOtrasDeducciones'))} no es la suma {exact}")


def _balance_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in others(cfdi):
        if one.get("TipoOtroPago") == BALANCE and one.first("CompensacionSaldosAFavor") is None:
            yield fault(one, "con TipoOtroPago 004 falta CompensacionSaldosAFavor")


def _subsidy_there(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in others(cfdi):
        if one.get("TipoOtroPago") == SUBSIDY and one.first("SubsidioAlEmpleo") is None:
            yield fault(one, "con TipoOtroPago 002 falta SubsidioAlEmpleo")


def _not_subsidy(cfdi: Comprobante) -> tuple[Tree, ...]:
    return tuple(one for one in others(cfdi) if one.get("TipoOtroPago") != SUBSIDY)


def _subsidies(cfdi: Comprobante) -> Iterator[tuple[Tree, Decimal, Decimal]]:
    """Each subsidy with its amount and the days paid."""
    days = cfdi.nomina.amount("NumDiasPagados") if cfdi.nomina else None
    for one in others(cfdi):
        for part in one.all("SubsidioAlEmpleo"):
            caused = part.amount("SubsidioCausado")
            if caused is not None and days is not None:
                yield part, caused, days


def _subsidy_of_a_month(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for part, caused, days in _subsidies(cfdi):
        if days <= DAYS_OF_A_MONTH and caused > MOST_SUBSIDY:
            yield fault(part, f"SubsidioCausado {caused} pasa de {MOST_SUBSIDY}")


def _subsidy_of_more(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for part, caused, days in _subsidies(cfdi):
        if days > DAYS_OF_A_MONTH and caused > SUBSIDY_A_DAY * days:
            yield fault(part, f"SubsidioCausado {caused} pasa de {SUBSIDY_A_DAY} por día pagado")


def _subsidy_paid(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in others(cfdi):
        paid, caused = one.amount("Importe"), added(one.all("SubsidioAlEmpleo"), "SubsidioCausado")
        if one.get("TipoOtroPago") == SUBSIDY and paid is not None and paid > caused:
            yield fault(one, f"Importe {paid} es mayor que SubsidioCausado {caused}")


def _balances(cfdi: Comprobante) -> tuple[Tree, ...]:
    return tuple(part for one in others(cfdi) for part in one.all("CompensacionSaldosAFavor"))


def _balance_left(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in _balances(cfdi):
        balance, left = one.amount("SaldoAFavor"), one.amount("RemanenteSalFav")
        if balance is not None and left is not None and left > balance:
            yield fault(one, f"RemanenteSalFav {left} es mayor que SaldoAFavor {balance}")


def _balance_year(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    paid = day(cfdi.nomina, "FechaPago") if cfdi.nomina else None
    for one in _balances(cfdi) if paid else ():
        years = {str(paid.year - 1)} | ({str(paid.year)} if paid.month == 12 else set()) if paid else set()
        if one.get("Año") not in years:
            yield fault(one, f"Año {shown(one.get('Año'))} no es el anterior al de FechaPago")


def _subsidy_of_wages(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    kinds = {one.get("TipoOtroPago") for one in others(cfdi)}
    for one in employees(cfdi):
        if one.get("TipoRegimen") != "02":
            continue
        if not kinds & set(SUBSIDY_KINDS) or (SUBSIDY in kinds and kinds & {"007", "008"}):
            yield fault(one, "con TipoRegimen 02 va un OtroPago 002, salvo que haya 007 u 008")


def _subsidy_only_of_wages(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    wages = any(one.get("TipoRegimen") == "02" for one in employees(cfdi))
    for one in others(cfdi):
        if not wages and one.get("TipoOtroPago") in SUBSIDY_KINDS:
            yield fault(one, "TipoOtroPago 002, 007 y 008 solo van con TipoRegimen 02")


# fmt: off
PAYROLL_EXTRAS: tuple[Rule, ...] = (
    Rule("cfdi.nom86", "business", "O", _leave_there,
         "014 has Incapacidades", significado="014 lleva Incapacidades"),
    Rule("cfdi.nom87", "arithmetic", "O", _leave_paid,
         "014 is the sum of ImporteMonetario", "summary", significado="014 es la suma de ImporteMonetario"),
    Rule("cfdi.nom91", "arithmetic", "O", _tax_held,
         "TotalImpuestosRetenidos is the sum of deductions 002", "summary",
         significado="TotalImpuestosRetenidos es la suma de las deducciones 002"),
    Rule("cfdi.nom92", "business", "O", _no_tax_held,
         "no TotalImpuestosRetenidos without deductions 002",
         significado="sin deducciones 002 no hay TotalImpuestosRetenidos"),
    Rule("cfdi.nom93", "catalogues", "C",
         known(deductions, "TipoDeduccion", "c_TipoDeduccion", lambda facts: facts.catalogues.deductions),
         "TipoDeduccion is in the catalogue", significado="TipoDeduccion está en el catálogo"),
    Rule("cfdi.nom94", "business", "O", _leave_held_there,
         "006 has Incapacidades", significado="006 lleva Incapacidades"),
    Rule("cfdi.nom95", "arithmetic", "O", _leave_held,
         "006 is the sum of ImporteMonetario", "summary", significado="006 es la suma de ImporteMonetario"),
    Rule("cfdi.nom96", "arithmetic", "O", positive(deductions, "Importe"),
         "a deduction is above 0", "summary", significado="una deducción es mayor que 0"),
    Rule("cfdi.nom98", "business", "O", _balance_there,
         "004 has CompensacionSaldosAFavor", significado="004 lleva CompensacionSaldosAFavor"),
    Rule("cfdi.nom99", "business", "O", _subsidy_there,
         "002 has SubsidioAlEmpleo", significado="002 lleva SubsidioAlEmpleo"),
    Rule("cfdi.nom100", "arithmetic", "O", positive(_not_subsidy, "Importe"),
         "another payment than 002 is above 0", "summary", significado="otro pago distinto de 002 es mayor que 0"),
    Rule("cfdi.nom101", "arithmetic", "O", _subsidy_of_a_month,
         "SubsidioCausado is at most 475.00 for up to 31 days", "summary",
         significado="SubsidioCausado no pasa de 475.00 hasta 31 días"),
    Rule("cfdi.nom102", "arithmetic", "O", _balance_left,
         "RemanenteSalFav is at most SaldoAFavor", "summary", significado="RemanenteSalFav no pasa de SaldoAFavor"),
    Rule("cfdi.nom103", "business", "O", _balance_year,
         "Año is the one before FechaPago's, or its own in December",
         significado="Año es el anterior al de FechaPago, o el mismo en diciembre"),
    Rule("cfdi.nom105", "business", "O", _subsidy_of_wages,
         "TipoRegimen 02 has OtroPago 002, unless 007 or 008",
         significado="TipoRegimen 02 lleva OtroPago 002, salvo 007 u 008"),
    Rule("cfdi.nom106", "business", "O", _subsidy_only_of_wages,
         "OtroPago 002, 007 and 008 only with TipoRegimen 02",
         significado="OtroPago 002, 007 y 008 solo con TipoRegimen 02"),
    Rule("cfdi.nom107", "arithmetic", "O", _subsidy_paid,
         "Importe of 002 is at most SubsidioCausado", "summary",
         significado="Importe de 002 no pasa de SubsidioCausado"),
    Rule("cfdi.nom108", "arithmetic", "O", _subsidy_of_more,
         "SubsidioCausado is at most 15.63 a day beyond 31 days", "summary",
         significado="SubsidioCausado no pasa de 15.63 por día con más de 31 días"),
    Rule("cfdi.strict_deductions", "arithmetic", "strict", _other_held,
         "TotalOtrasDeducciones is the sum of the others", "summary",
         significado="TotalOtrasDeducciones es la suma de las demás", severity="critical"),
)
# fmt: on
