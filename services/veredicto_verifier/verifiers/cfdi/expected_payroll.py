"""The complement Nómina 1.2 that a request describes: totals added up in Decimal from the request alone."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from veredicto_verifier.verifiers.cfdi.payroll_request import Deduccion, Empleado, Nomina, Patron, Percepcion
from veredicto_verifier.verifiers.cfdi.wanted import Quantity, Value, Wanted

CENT = Decimal("0.01")
ISR = "002"


def expect_payroll(nomina: Nomina) -> Wanted:
    """The complement."""
    others = sum((Decimal(one.importe) for one in nomina.otros_pagos), Decimal(0))
    values: dict[str, Value] = {
        "Version": "1.2",
        "TipoNomina": nomina.tipo,
        "FechaPago": nomina.fecha_pago.isoformat(),
        "FechaInicialPago": nomina.fecha_inicial.isoformat(),
        "FechaFinalPago": nomina.fecha_final.isoformat(),
        "NumDiasPagados": Quantity(Decimal(nomina.dias_pagados), Decimal(nomina.dias_pagados), 3),
    }
    if nomina.percepciones:
        values["TotalPercepciones"] = _money(nomina.perceived)
    if nomina.deducciones:
        values["TotalDeducciones"] = _money(nomina.held)
    if nomina.otros_pagos:
        values["TotalOtrosPagos"] = _money(others)
    parts = (_patron(nomina.patron), _empleado(nomina.empleado), _percepciones(nomina), _deducciones(nomina))
    children = tuple(one for one in (*parts, _otros(nomina)) if one is not None)
    return Wanted("Nomina", values, children)


def _patron(patron: Patron) -> Wanted | None:
    values = {
        "Curp": patron.curp,
        "RegistroPatronal": patron.registro_patronal,
        "RfcPatronOrigen": patron.rfc_patron_origen,
    }
    return Wanted("Emisor", _given(values)) if _given(values) else None


def _empleado(empleado: Empleado) -> Wanted:
    values: dict[str, Value] = {
        "Curp": empleado.curp,
        "NumSeguridadSocial": empleado.num_seguridad_social,
        "FechaInicioRelLaboral": empleado.fecha_inicio.isoformat() if empleado.fecha_inicio else None,
        "Antigüedad": empleado.antiguedad,
        "TipoContrato": empleado.tipo_contrato,
        "Sindicalizado": empleado.sindicalizado,
        "TipoJornada": empleado.tipo_jornada,
        "TipoRegimen": empleado.tipo_regimen,
        "NumEmpleado": empleado.num_empleado,
        "Departamento": empleado.departamento,
        "Puesto": empleado.puesto,
        "RiesgoPuesto": empleado.riesgo_puesto,
        "PeriodicidadPago": empleado.periodicidad,
        "Banco": empleado.banco,
        "CuentaBancaria": empleado.cuenta,
        "SalarioBaseCotApor": _money(Decimal(empleado.salario_base)) if empleado.salario_base else None,
        "SalarioDiarioIntegrado": _money(Decimal(empleado.salario_diario)) if empleado.salario_diario else None,
        "ClaveEntFed": empleado.estado,
    }
    return Wanted("Receptor", _given(values))


def _percepciones(nomina: Nomina) -> Wanted | None:
    if not nomina.percepciones:
        return None
    taxed = sum((Decimal(one.gravado) for one in nomina.percepciones), Decimal(0))
    exempt = sum((Decimal(one.exento) for one in nomina.percepciones), Decimal(0))
    values: dict[str, Value] = {
        "TotalSueldos": _money(taxed + exempt),
        "TotalGravado": _money(taxed),
        "TotalExento": _money(exempt),
    }
    return Wanted("Percepciones", values, tuple(_percepcion(one) for one in nomina.percepciones))


def _percepcion(one: Percepcion) -> Wanted:
    amounts: dict[str, Value] = {
        "ImporteGravado": _money(Decimal(one.gravado)),
        "ImporteExento": _money(Decimal(one.exento)),
    }
    return Wanted("Percepcion", {"TipoPercepcion": one.tipo, "Clave": one.clave, "Concepto": one.concepto, **amounts})


def _deducciones(nomina: Nomina) -> Wanted | None:
    if not nomina.deducciones:
        return None
    values: dict[str, Value] = {}
    for name, own in (
        ("TotalOtrasDeducciones", [one for one in nomina.deducciones if one.tipo != ISR]),
        ("TotalImpuestosRetenidos", [one for one in nomina.deducciones if one.tipo == ISR]),
    ):
        if own:
            values[name] = _money(_added(own))
    parts = tuple(
        Wanted(
            "Deduccion",
            {
                "TipoDeduccion": one.tipo,
                "Clave": one.clave,
                "Concepto": one.concepto,
                "Importe": _money(Decimal(one.importe)),
            },
        )
        for one in nomina.deducciones
    )
    return Wanted("Deducciones", values, parts)


def _added(deducciones: Iterable[Deduccion]) -> Decimal:
    return sum((Decimal(one.importe) for one in deducciones), Decimal(0))


def _otros(nomina: Nomina) -> Wanted | None:
    parts = []
    for one in nomina.otros_pagos:
        values: dict[str, Value] = {
            "TipoOtroPago": one.tipo,
            "Clave": one.clave,
            "Concepto": one.concepto,
            "Importe": _money(Decimal(one.importe)),
        }
        caused = one.subsidio_causado
        subsidy = (Wanted("SubsidioAlEmpleo", {"SubsidioCausado": _money(Decimal(caused))}),) if caused else ()
        parts.append(Wanted("OtroPago", values, subsidy))
    return Wanted("OtrosPagos", {}, tuple(parts)) if parts else None


def _given(values: dict[str, Value] | dict[str, str | None]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None}


def _money(value: Decimal) -> Quantity:
    return Quantity(value, value.quantize(CENT), 2)
