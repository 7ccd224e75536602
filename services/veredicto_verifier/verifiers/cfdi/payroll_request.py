"""The payroll that a request describes: complement Nómina 1.2 in the client's words, amounts as decimal strings.

It cannot describe overtime by hours, stock, severance, pensions, sick leave or balances in favour: their rules are
checked, but no task can ask for them.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from veredicto_verifier.verifiers.cfdi.request_parts import Code, RequestPart, Rfc, Text, Writable

Money = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,2})?$")]
Days = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,4})(\.[0-9]{3})?$")]
Curp = Annotated[str, StringConstraints(pattern=r"^[A-Z]{4}[0-9]{6}[HMX][A-Z]{5}[0-9A-Z][0-9]$")]
Key = Annotated[str, StringConstraints(pattern=r"^[^|]{3,15}$"), Writable]
Name = Annotated[str, StringConstraints(pattern=r"^[^|]{1,100}$"), Writable]


class Patron(RequestPart):
    """The employer; what is null must not be there."""

    curp: Curp | None = None
    registro_patronal: Text | None = None
    rfc_patron_origen: Rfc | None = None


class Empleado(RequestPart):
    """The employee; what is null must not be there."""

    curp: Curp
    num_seguridad_social: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,15}$")] | None = None
    fecha_inicio: date | None = None
    antiguedad: Annotated[str, StringConstraints(pattern=r"^P[0-9YMDW]{2,10}$")] | None = None
    tipo_contrato: Code
    sindicalizado: Literal["Sí", "No"] | None = None
    tipo_jornada: Code | None = None
    tipo_regimen: Code
    num_empleado: Text
    departamento: Name | None = None
    puesto: Name | None = None
    riesgo_puesto: Code | None = None
    periodicidad: Code
    banco: Code | None = None
    cuenta: Annotated[str, StringConstraints(pattern=r"^[0-9]{10,18}$")] | None = None
    salario_base: Money | None = None
    salario_diario: Money | None = None
    estado: Code


class Percepcion(RequestPart):
    """One perception (no severance, pension, stock or overtime)."""

    tipo: Code
    clave: Key
    concepto: Name
    gravado: Money
    exento: Money = "0.00"


class Deduccion(RequestPart):
    """One deduction."""

    tipo: Code
    clave: Key
    concepto: Name
    importe: Money


class OtroPago(RequestPart):
    """One other payment; `subsidio_causado` for type 002."""

    tipo: Code
    clave: Key
    concepto: Name
    importe: Money
    subsidio_causado: Money | None = None


class Nomina(RequestPart):
    """One payroll; its totals are the service's work."""

    tipo: Literal["O", "E"]
    fecha_pago: date
    fecha_inicial: date
    fecha_final: date
    dias_pagados: Days
    patron: Patron = Patron()
    empleado: Empleado
    percepciones: Annotated[tuple[Percepcion, ...], Field(max_length=100)] = ()
    deducciones: Annotated[tuple[Deduccion, ...], Field(max_length=100)] = ()
    otros_pagos: Annotated[tuple[OtroPago, ...], Field(max_length=100)] = ()

    @property
    def perceived(self) -> Decimal:
        """What the perceptions add up to."""
        return sum((Decimal(one.gravado) + Decimal(one.exento) for one in self.percepciones), Decimal(0))

    @property
    def paid(self) -> Decimal:
        """What perceptions and other payments add up to: the price of the invoice's one line."""
        return self.perceived + sum((Decimal(one.importe) for one in self.otros_pagos), Decimal(0))

    @property
    def held(self) -> Decimal:
        """What the deductions add up to: the discount of the invoice's one line."""
        return sum((Decimal(one.importe) for one in self.deducciones), Decimal(0))
