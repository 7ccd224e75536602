"""Rules on the totals and perceptions of a payroll (SAT's matrix for complement Nómina 1.2: Nomina, Percepciones)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.comprobante import Comprobante
from veredicto_verifier.verifiers.cfdi.nodes import PLAIN, Tree
from veredicto_verifier.verifiers.cfdi.rule import Check, Facts, Fault, Rule, fault, shown
from veredicto_verifier.verifiers.cfdi.rule_kinds import known
from veredicto_verifier.verifiers.cfdi.rules_nomina import paid_out, payrolls

SEVERANCE = ("022", "023", "025")
PENSION = ("039", "044")
KIND_TOTALS = ("TotalSueldos", "TotalSeparacionIndemnizacion", "TotalJubilacionPensionRetiro")
NUMBERS = frozenset(
    "TotalPercepciones TotalDeducciones TotalOtrosPagos TotalSueldos TotalSeparacionIndemnizacion "
    "TotalJubilacionPensionRetiro TotalGravado TotalExento ImporteGravado ImporteExento TotalOtrasDeducciones "
    "TotalImpuestosRetenidos Importe SubsidioCausado SaldoAFavor RemanenteSalFav ImporteMonetario ImportePagado "
    "SalarioBaseCotApor SalarioDiarioIntegrado NumDiasPagados PorcentajeTiempo MontoRecursoPropio".split()
)


def perceptions(cfdi: Comprobante) -> tuple[Tree, ...]:
    """Every Percepcion."""
    return cfdi.nomina.all("Percepciones", "Percepcion") if cfdi.nomina else ()


def _holders(cfdi: Comprobante) -> tuple[Tree, ...]:
    return cfdi.nomina.all("Percepciones") if cfdi.nomina else ()


def deductions(cfdi: Comprobante) -> tuple[Tree, ...]:
    """Every Deduccion."""
    return cfdi.nomina.all("Deducciones", "Deduccion") if cfdi.nomina else ()


def others(cfdi: Comprobante) -> tuple[Tree, ...]:
    """Every OtroPago."""
    return cfdi.nomina.all("OtrosPagos", "OtroPago") if cfdi.nomina else ()


def leaves(cfdi: Comprobante) -> tuple[Tree, ...]:
    """Every Incapacidad."""
    return cfdi.nomina.all("Incapacidades", "Incapacidad") if cfdi.nomina else ()


def added(nodes: Iterable[Tree], *names: str) -> Decimal:
    """The sum of the attributes over the nodes; what is absent or no number counts for nothing."""
    amounts = (node.amount(name) for node in nodes for name in names)
    return sum((amount for amount in amounts if amount is not None), Decimal(0))


def _totals(holder: Tree | None, name: str, exact: Decimal) -> Iterator[Fault]:
    found = holder.amount(name) if holder else None
    if holder and found is not None and found != exact:
        yield fault(holder, f"{name} {found} no es la suma {exact}")


def _paid_line(name: str) -> Check:
    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for line in cfdi.conceptos if cfdi.nomina else ():
            found = line.amount(name)
            if found is not None and found != paid_out(cfdi):
                yield fault(line, f"{name} {found} no es TotalPercepciones + TotalOtrosPagos = {paid_out(cfdi)}")

    return check


def _discount(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for line in cfdi.conceptos if cfdi.nomina else ():
        held = cfdi.nomina.amount("TotalDeducciones") if cfdi.nomina else None
        if (line.amount("Descuento") or Decimal(0)) != (held or Decimal(0)):
            yield fault(line, f"Descuento {shown(line.get('Descuento'))} no es TotalDeducciones")


def _something_paid(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in payrolls(cfdi):
        if one.get("TotalPercepciones") is None and one.get("TotalOtrosPagos") is None:
            yield fault(one, "falta TotalPercepciones o TotalOtrosPagos")


def _without(total: str, child: str) -> Check:
    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for one in payrolls(cfdi):
            if one.first(child) is None and one.get(total) is not None:
                yield fault(one, f"{total} no debe existir sin el nodo {child}")

    return check


def _of_parts(total: str, child: str, *names: str) -> Check:
    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for one in payrolls(cfdi):
            exact = added(one.all(child), *names)
            if one.first(child) is not None and one.amount(total) != exact:
                yield fault(one, f"{total} {shown(one.get(total))} no es la suma {exact}")

    return check


def _other_payments(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in payrolls(cfdi):
        exact = added(others(cfdi), "Importe")
        if one.first("OtrosPagos") is not None and one.amount("TotalOtrosPagos") != exact:
            yield fault(one, f"TotalOtrosPagos {shown(one.get('TotalOtrosPagos'))} no es la suma {exact}")


def _taxed_and_exempt(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in _holders(cfdi):
        kinds, shares = added([one], *KIND_TOTALS), added([one], "TotalGravado", "TotalExento")
        if kinds != shares:
            yield fault(one, f"los totales por tipo, {kinds}, no son TotalGravado + TotalExento = {shares}")


def _kind_total(name: str, fits: Callable[[str], bool]) -> Check:
    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for one in _holders(cfdi):
            own = [part for part in one.all("Percepcion") if fits(part.get("TipoPercepcion") or "")]
            yield from _totals(one, name, added(own, "ImporteGravado", "ImporteExento"))

    return check


def _share_total(name: str, part: str) -> Check:
    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for one in _holders(cfdi):
            yield from _totals(one, name, added(one.all("Percepcion"), part))

    return check


def _perception_positive(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for one in perceptions(cfdi):
        if not added([one], "ImporteGravado", "ImporteExento"):
            yield fault(one, "ImporteGravado + ImporteExento debe ser mayor que 0")


def _is_wage(code: str) -> bool:
    return code not in SEVERANCE + PENSION


def _comes_with(fits: Callable[[str], bool], total: str, child: str = "", *, alone: bool = False) -> Check:
    """A kind of perception and what must be there with it; `alone`: and may be there with nothing else."""

    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for one in _holders(cfdi):
            there = any(fits(part.get("TipoPercepcion") or "") for part in one.all("Percepcion"))
            complete = one.get(total) is not None and (not child or one.first(child) is not None)
            if there and not complete:
                yield fault(one, f"faltan {total}{' y ' + child if child else ''}")
            elif alone and not there and (one.get(total) is not None or one.first(child) is not None):
                yield fault(one, f"{total} y {child} no deben existir sin esa percepción")

    return check


def _pension(cfdi: Comprobante, code: str, needed: tuple[str, ...], refused: tuple[str, ...]) -> Iterator[Fault]:
    for one in _holders(cfdi):
        pension = one.first("JubilacionPensionRetiro")
        there = any(part.get("TipoPercepcion") == code for part in one.all("Percepcion"))
        if not there or pension is None:
            continue
        if any(pension.get(name) is None for name in needed) or any(pension.get(name) is not None for name in refused):
            yield fault(pension, f"con TipoPercepcion {code} van {', '.join(needed)} y no {', '.join(refused)}")


def _pension_at_once(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _pension(cfdi, "039", ("TotalUnaExhibicion",), ("TotalParcialidad", "MontoDiario"))


def _pension_in_parts(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    yield from _pension(cfdi, "044", ("TotalParcialidad", "MontoDiario"), ("TotalUnaExhibicion",))


def _detail(code: str, child: str, *, wanted: bool) -> Check:
    def check(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
        for one in perceptions(cfdi):
            there = one.first(child) is not None
            if wanted and one.get("TipoPercepcion") == code and not there:
                yield fault(one, f"con TipoPercepcion {code} falta {child}")
            if not wanted and one.get("TipoPercepcion") != code and there:
                yield fault(one, f"{child} solo existe con TipoPercepcion {code}")

    return check


def _plain_numbers(cfdi: Comprobante, facts: Facts) -> Iterator[Fault]:
    for node in cfdi.nomina.walk() if cfdi.nomina else ():
        for name, text in node.attributes.items():
            if name in NUMBERS and not PLAIN.fullmatch(text):
                yield fault(node, f"{name} {shown(text)} no es un número llano")


# fmt: off
PAYROLL_AMOUNTS: tuple[Rule, ...] = (
    Rule("cfdi.nom20", "arithmetic", "O", _paid_line("ValorUnitario"),
         "ValorUnitario is what is paid", "summary", significado="ValorUnitario es lo pagado"),
    Rule("cfdi.nom21", "arithmetic", "O", _paid_line("Importe"),
         "Importe is what is paid", "summary", significado="Importe es lo pagado"),
    Rule("cfdi.nom22", "arithmetic", "O", _discount,
         "Descuento is TotalDeducciones", "summary", significado="Descuento es TotalDeducciones"),
    Rule("cfdi.nom31", "business", "O", _something_paid,
         "there is a total of perceptions or of other payments",
         significado="hay total de percepciones o de otros pagos"),
    Rule("cfdi.nom36", "business", "O", _without("TotalPercepciones", "Percepciones"),
         "no TotalPercepciones without Percepciones", significado="sin Percepciones no hay TotalPercepciones"),
    Rule("cfdi.nom37", "arithmetic", "O", _of_parts("TotalPercepciones", "Percepciones", *KIND_TOTALS),
         "TotalPercepciones is the sum of its kinds", "summary",
         significado="TotalPercepciones es la suma de sus tipos"),
    Rule("cfdi.nom38", "business", "O", _without("TotalDeducciones", "Deducciones"),
         "no TotalDeducciones without Deducciones", significado="sin Deducciones no hay TotalDeducciones"),
    Rule("cfdi.nom39", "arithmetic", "O",
         _of_parts("TotalDeducciones", "Deducciones", "TotalOtrasDeducciones", "TotalImpuestosRetenidos"),
         "TotalDeducciones is the sum of its kinds", "summary", significado="TotalDeducciones es la suma de sus tipos"),
    Rule("cfdi.nom40", "arithmetic", "O", _other_payments,
         "TotalOtrosPagos is the sum of OtroPago", "summary", significado="TotalOtrosPagos es la suma de OtroPago"),
    Rule("cfdi.nom69", "arithmetic", "O", _taxed_and_exempt,
         "the kinds add up to TotalGravado + TotalExento", "summary",
         significado="los tipos suman TotalGravado + TotalExento"),
    Rule("cfdi.nom70", "arithmetic", "O", _kind_total("TotalSueldos", _is_wage),
         "TotalSueldos is the sum of the wages", "summary", significado="TotalSueldos es la suma de los sueldos"),
    Rule("cfdi.nom71", "arithmetic", "O", _kind_total("TotalSeparacionIndemnizacion", SEVERANCE.__contains__),
         "TotalSeparacionIndemnizacion is the sum of 022, 023 and 025", "summary",
         significado="TotalSeparacionIndemnizacion es la suma de 022, 023 y 025"),
    Rule("cfdi.nom72", "arithmetic", "O", _kind_total("TotalJubilacionPensionRetiro", PENSION.__contains__),
         "TotalJubilacionPensionRetiro is the sum of 039 and 044", "summary",
         significado="TotalJubilacionPensionRetiro es la suma de 039 y 044"),
    Rule("cfdi.nom73", "arithmetic", "O", _share_total("TotalGravado", "ImporteGravado"),
         "TotalGravado is the sum of ImporteGravado", "summary",
         significado="TotalGravado es la suma de ImporteGravado"),
    Rule("cfdi.nom74", "arithmetic", "O", _share_total("TotalExento", "ImporteExento"),
         "TotalExento is the sum of ImporteExento", "summary", significado="TotalExento es la suma de ImporteExento"),
    Rule("cfdi.nom75", "arithmetic", "O", _perception_positive,
         "a perception is above 0", "summary", significado="una percepción es mayor que 0"),
    Rule("cfdi.nom76", "catalogues", "C",
         known(perceptions, "TipoPercepcion", "c_TipoPercepcion", lambda facts: facts.catalogues.perceptions),
         "TipoPercepcion is in the catalogue", significado="TipoPercepcion está en el catálogo"),
    Rule("cfdi.nom77", "business", "O", _comes_with(_is_wage, "TotalSueldos"),
         "wages have TotalSueldos", significado="los sueldos llevan TotalSueldos"),
    Rule("cfdi.nom78", "business", "O",
         _comes_with(SEVERANCE.__contains__, "TotalSeparacionIndemnizacion", "SeparacionIndemnizacion"),
         "022, 023 and 025 come with their total and element",
         significado="022, 023 y 025 llevan su total y su elemento"),
    Rule("cfdi.nom79", "business", "O",
         _comes_with(PENSION.__contains__, "TotalJubilacionPensionRetiro", "JubilacionPensionRetiro", alone=True),
         "039 and 044 come with their total and element", significado="039 y 044 llevan su total y su elemento"),
    Rule("cfdi.nom80", "business", "O", _pension_at_once,
         "039 has TotalUnaExhibicion alone (also NOM89)", significado="039 lleva solo TotalUnaExhibicion"),
    Rule("cfdi.nom81", "business", "O", _pension_in_parts,
         "044 has TotalParcialidad and MontoDiario alone (also NOM90)",
         significado="044 lleva solo TotalParcialidad y MontoDiario"),
    Rule("cfdi.nom82", "business", "O", _detail("045", "AccionesOTitulos", wanted=True),
         "045 has AccionesOTitulos", significado="045 lleva AccionesOTitulos"),
    Rule("cfdi.nom83", "business", "O", _detail("045", "AccionesOTitulos", wanted=False),
         "AccionesOTitulos only with 045", significado="AccionesOTitulos solo con 045"),
    Rule("cfdi.nom84", "business", "O", _detail("019", "HorasExtra", wanted=True),
         "019 has HorasExtra", significado="019 lleva HorasExtra"),
    Rule("cfdi.nom85", "business", "O", _detail("019", "HorasExtra", wanted=False),
         "HorasExtra only with 019", significado="HorasExtra solo con 019"),
    Rule("cfdi.strict_payroll_number", "arithmetic", "strict", _plain_numbers,
         "amounts of a payroll are plain decimal numbers", "summary",
         significado="los importes de una nómina son números llanos", severity="critical"),
)
# fmt: on
