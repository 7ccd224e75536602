"""The invoice that a task asks for, in the client's words, with amounts as decimal strings."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, NaiveDatetime, StringConstraints, field_validator, model_validator

from veredicto_verifier.verifiers.cfdi.payroll_request import Nomina
from veredicto_verifier.verifiers.cfdi.request_parts import (
    Amount,
    Code,
    Equivalence,
    Instalment,
    PostalCode,
    RequestPart,
    Rfc,
    Text,
    Uuid,
)


class Emisor(RequestPart):
    """Who issues the invoice."""

    rfc: Rfc
    nombre: Text
    regimen_fiscal: Code


class Receptor(RequestPart):
    """Who receives it."""

    rfc: Rfc
    nombre: Text
    domicilio_fiscal: PostalCode
    regimen_fiscal: Code
    uso_cfdi: Code


class Impuesto(RequestPart):
    """One tax of a line; the service computes base and amount."""

    impuesto: Literal["001", "002", "003"]
    tipo_factor: Literal["Tasa", "Cuota", "Exento"]
    tasa_o_cuota: Amount | None = None
    """Null only for `Exento`."""
    base: Amount | None = None
    """Only where the base is not the line's net amount (fuel, margin schemes)."""

    @model_validator(mode="after")
    def _rate_unless_exempt(self) -> Impuesto:
        if (self.tipo_factor == "Exento") != (self.tasa_o_cuota is None):
            raise ValueError("tasa_o_cuota is given exactly when tipo_factor is not Exento")
        return self


class Concepto(RequestPart):
    """One line."""

    clave_prod_serv: Code
    clave_unidad: Code
    descripcion: Text
    cantidad: Amount
    valor_unitario: Amount
    descuento: Amount | None = None
    objeto_imp: Code
    no_identificacion: Text | None = None
    unidad: Text | None = None
    traslados: tuple[Impuesto, ...] = ()
    retenciones: tuple[Impuesto, ...] = ()


class Relacion(RequestPart):
    """Earlier invoices that this one refers to."""

    tipo_relacion: Code
    uuids: Annotated[tuple[Uuid, ...], Field(min_length=1)]


class InformacionGlobal(RequestPart):
    """Period of an invoice to the public."""

    periodicidad: Code
    meses: Code
    anio: Annotated[str, StringConstraints(pattern=r"^20[0-9]{2}$")]


class DocumentoPagado(RequestPart):
    """An invoice that a payment pays, wholly or in part; the new balance and the tax amounts are the service's work."""

    id_documento: Uuid
    serie: Text | None = None
    folio: Text | None = None
    moneda: Code
    equivalencia: Equivalence | None = None
    """Null only where the document has the payment's currency (written 1)."""
    num_parcialidad: Instalment
    saldo_anterior: Amount
    importe_pagado: Amount
    objeto_imp: Code
    traslados: tuple[Impuesto, ...] = ()
    """Taxes within what is paid; a null `base` is what is paid without its taxes."""
    retenciones: tuple[Impuesto, ...] = ()


class Pago(RequestPart):
    """One payment of complement Pagos 2.0."""

    fecha_pago: NaiveDatetime
    forma_de_pago: Code
    moneda: Code
    tipo_cambio: Amount | None = None
    """Pesos for one unit of the currency; null only for MXN (written 1)."""
    monto: Amount
    num_operacion: Text | None = None
    documentos: Annotated[tuple[DocumentoPagado, ...], Field(min_length=1, max_length=500)]

    @model_validator(mode="after")
    def _rates_where_currencies_differ(self) -> Pago:
        if (self.moneda == "MXN") != (self.tipo_cambio is None):
            raise ValueError("tipo_cambio is given exactly when moneda is not MXN")
        for documento in self.documentos:
            if (documento.moneda == self.moneda) != (documento.equivalencia is None):
                raise ValueError("equivalencia is given exactly when a document's moneda is not the payment's")
        return self


class Request(RequestPart):
    """The invoice that the client asked for; what is null is left open and not judged."""

    tipo: Literal["I", "E", "T", "P", "N"]
    fecha: NaiveDatetime
    lugar_expedicion: PostalCode
    moneda: Code
    tipo_cambio: Amount | None = None
    metodo_pago: Code | None = None
    forma_pago: Code | None = None
    exportacion: Code = "01"
    serie: Text | None = None
    folio: Text | None = None
    condiciones_de_pago: Text | None = None
    emisor: Emisor
    receptor: Receptor
    informacion_global: InformacionGlobal | None = None
    relacionados: tuple[Relacion, ...] = ()
    conceptos: Annotated[tuple[Concepto, ...], Field(max_length=2000)] = ()
    pagos: Annotated[tuple[Pago, ...], Field(max_length=100)] = ()
    nomina: Nomina | None = None

    @field_validator("fecha")
    @classmethod
    def _whole_seconds(cls, value: datetime) -> datetime:
        if value.microsecond:
            raise ValueError("an invoice's date has whole seconds")
        return value

    @model_validator(mode="after")
    def _fields_of_the_type(self) -> Request:
        needed, refused = FIELDS[self.tipo]
        missing = [name for name in needed if not getattr(self, name)]
        extra = [name for name in refused if getattr(self, name)]
        if missing or extra:
            raise ValueError(f"with tipo {self.tipo}: missing {missing}, not allowed {extra}")
        return self

    @property
    def described(self) -> frozenset[str]:
        """Complements that the request itself describes."""
        return frozenset({"P": {"Pagos20"}, "N": {"nomina12"}}.get(self.tipo, ()))

    @property
    def lines(self) -> tuple[Concepto, ...]:
        """The lines of the invoice: those asked for, or the one that SAT prescribes for a payment or a payroll."""
        if self.nomina is not None:
            return (_payroll_line(self.nomina),)
        return (PAYMENT_LINE,) if self.tipo == "P" else self.conceptos


FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "I": (("metodo_pago", "forma_pago", "conceptos"), ("pagos", "nomina")),
    "E": (("metodo_pago", "forma_pago", "conceptos"), ("pagos", "nomina")),
    "T": (("conceptos",), ("metodo_pago", "forma_pago", "pagos", "nomina")),
    "P": (("pagos",), ("metodo_pago", "forma_pago", "conceptos", "nomina")),
    "N": (("nomina",), ("forma_pago", "conceptos", "pagos")),
}
"""Fields that each type needs, and those that it refuses."""


def _payroll_line(nomina: Nomina) -> Concepto:
    return Concepto(
        clave_prod_serv="84111505",
        clave_unidad="ACT",
        descripcion="Pago de nómina",
        cantidad="1",
        valor_unitario=f"{nomina.paid:.2f}",
        descuento=f"{nomina.held:.2f}" if nomina.deducciones else None,
        objeto_imp="01",
    )


PAYMENT_LINE = Concepto(
    clave_prod_serv="84111506",
    clave_unidad="ACT",
    descripcion="Pago",
    cantidad="1",
    valor_unitario="0",
    objeto_imp="01",
)
