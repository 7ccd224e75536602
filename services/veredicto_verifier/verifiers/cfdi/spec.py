"""The typed task: what invoice was asked for, in the client's words, with amounts as decimal strings."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, NaiveDatetime, StringConstraints, field_validator, model_validator

from veredicto_verifier.verifier import Spec
from veredicto_verifier.verifiers.cfdi.complements import NAMES

Amount = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?$")]
"""A decimal as text, at most 12 integer digits and 6 decimals."""
Text = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^|\s]([^|\n\t\r]*[^|\s])?$")]
Rfc = Annotated[str, StringConstraints(pattern=r"^[A-Z&Ñ]{3,4}[0-9]{6}[A-Z0-9]{2}[0-9A]$")]
PostalCode = Annotated[str, StringConstraints(pattern=r"^[0-9]{5}$")]
Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]{1,10}$")]
Equivalence = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,10})?$")]
"""Units of a document's currency for one unit of the payment's: up to 10 decimals."""
Instalment = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,2}$")]
Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$")]


class RequestPart(BaseModel):
    """Fields of a request: frozen, unknown ones refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


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

    tipo: Literal["I", "E", "P"]
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

    @field_validator("fecha")
    @classmethod
    def _whole_seconds(cls, value: datetime) -> datetime:
        if value.microsecond:
            raise ValueError("an invoice's date has whole seconds")
        return value

    @model_validator(mode="after")
    def _fields_of_the_type(self) -> Request:
        sale = ("metodo_pago", "forma_pago", "conceptos")
        payment = self.tipo == "P"
        missing = [name for name in (("pagos",) if payment else sale) if not getattr(self, name)]
        extra = [name for name in (sale if payment else ("pagos",)) if getattr(self, name)]
        if missing or extra:
            raise ValueError(f"with tipo {self.tipo}: missing {missing}, not allowed {extra}")
        return self

    @property
    def described(self) -> frozenset[str]:
        """Complements that the request itself describes."""
        return frozenset({"Pagos20"}) if self.tipo == "P" else frozenset()

    @property
    def lines(self) -> tuple[Concepto, ...]:
        """The lines of the invoice: those asked for, or the one that SAT prescribes for a payment."""
        return (PAYMENT_LINE,) if self.tipo == "P" else self.conceptos


PAYMENT_LINE = Concepto(
    clave_prod_serv="84111506",
    clave_unidad="ACT",
    descripcion="Pago",
    cantidad="1",
    valor_unitario="0",
    objeto_imp="01",
)


class CfdiSpec(Spec):
    """A CFDI 4.0 invoice to be written."""

    request: Request | None = None
    """What the invoice must say; null judges the invoice alone, and the match is `not_checked`."""
    profile: Literal["unsealed"] = "unsealed"
    """`unsealed`: Sello, NoCertificado and Certificado are absent or empty."""
    complements: dict[str, Literal["required", "allowed"]] | None = None
    """Complements by name (`CartaPorte31`) that must or may be there beside what the request describes; null: none
    beside it, or any where there is no request."""
    example: Annotated[str, StringConstraints(min_length=1, max_length=262_144)] | None = None
    """The invoice that the prompt shows as an example; an answer that copies its values matches nothing."""
    now: NaiveDatetime | None = None
    """The moment of stamping: Fecha must not lie after it, nor more than 72 hours before; null: not judged."""
    max_bytes: Annotated[int, Field(ge=1024, le=4_194_304)] = 262_144
    """UTF-8 bytes of the document."""
    max_elements: Annotated[int, Field(ge=10, le=100_000)] = 5_000
    """Elements of the document."""

    @field_validator("complements")
    @classmethod
    def _known_complements(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        unknown = sorted(set(value or {}) - NAMES)
        if unknown:
            raise ValueError(f"no complement is named {unknown[0][:40]!r}; known: {', '.join(sorted(NAMES))}")
        return value

    @property
    def required(self) -> frozenset[str]:
        """Complements that must be there."""
        demanded = {name for name, need in (self.complements or {}).items() if need == "required"}
        return frozenset(demanded) | (self.request.described if self.request else frozenset())

    @property
    def allowed(self) -> frozenset[str] | None:
        """Complements that may be there; None: any."""
        if self.request is None and self.complements is None:
            return None
        stamp = {"TimbreFiscalDigital"} if self.profile == "sealed" else set()
        return self.required | set(self.complements or {}) | stamp
