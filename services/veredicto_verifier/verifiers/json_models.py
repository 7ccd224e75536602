"""The pydantic models that a `json` task can name: strict, closed, and with the check digits that a schema cannot see.

Models come from here only, never from a request. Adding one is a class and a line in `MODELS`.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

_CLABE_WEIGHTS: Final = (3, 7, 1)
_CURP_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNÑOPQRSTUVWXYZ"
_CURP: Final = re.compile(
    r"[A-Z][AEIOUX][A-Z]{2}[0-9]{6}[HMX]"
    r"(?:AS|BC|BS|CC|CS|CH|CL|CM|DF|DG|GT|GR|HG|JC|MC|MN|MS|NT|NL|OC|PL|QT|QR|SP|SL|SR|TC|TS|TL|VZ|YN|ZS|NE)"
    r"[B-DF-HJ-NP-TV-ZÑX]{3}[0-9A-Z][0-9]\Z"
)


def clabe_digit(first: str) -> int:
    """The check digit of a CLABE's first 17 digits: weights 3, 7, 1, each product modulo 10."""
    total = sum(int(digit) * _CLABE_WEIGHTS[at % 3] % 10 for at, digit in enumerate(first))
    return (10 - total % 10) % 10


def curp_digit(first: str) -> int:
    """The check digit of a CURP's first 17 characters: weights 18 down to 2 over 0-9, A-Z with Ñ after N."""
    total = sum(_CURP_ALPHABET.index(char) * (18 - at) for at, char in enumerate(first))
    return (10 - total % 10) % 10


def _clabe(text: str) -> str:
    if clabe_digit(text[:17]) != int(text[17]):
        raise ValueError("the CLABE's check digit is wrong")
    return text


def _curp(text: str) -> str:
    if not _CURP.match(text):
        raise ValueError("not the form of a CURP")
    if curp_digit(text[:17]) != int(text[17]):
        raise ValueError("the CURP's check digit is wrong")
    return text


Text = Annotated[str, StringConstraints(min_length=1, max_length=120)]
Clabe = Annotated[str, StringConstraints(pattern=r"^[0-9]{18}$"), AfterValidator(_clabe)]
Curp = Annotated[str, StringConstraints(min_length=18, max_length=18), AfterValidator(_curp)]
PersonRfc = Annotated[str, StringConstraints(pattern=r"^[A-ZÑ&]{4}[0-9]{6}[A-Z0-9]{3}$")]
Amount = Annotated[Decimal, Field(gt=0, max_digits=18, decimal_places=2)]


class Closed(BaseModel):
    """Strict types, no field beyond those named."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", use_attribute_docstrings=True)


class SpeiTransfer(Closed):
    """A transfer order for SPEI, Mexico's interbank payment system."""

    clabe_ordenante: Clabe
    clabe_beneficiario: Clabe
    nombre_beneficiario: Annotated[str, StringConstraints(min_length=1, max_length=40)]
    monto: Amount
    """Pesos, at most two decimals."""
    concepto: Annotated[str, StringConstraints(min_length=1, max_length=40)]
    referencia: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,7}$")]
    fecha: date

    @model_validator(mode="after")
    def _between_two(self) -> SpeiTransfer:
        if self.clabe_ordenante == self.clabe_beneficiario:
            raise ValueError("both CLABEs are the same account")
        return self


class Address(Closed):
    """Where a customer lives."""

    calle: Text
    colonia: Text
    codigo_postal: Annotated[str, StringConstraints(pattern=r"^[0-9]{5}$")]
    estado: Text


class KycPerson(Closed):
    """What a bank must know of a customer who is a natural person."""

    nombre: Text
    apellido_paterno: Text
    apellido_materno: Text | None = None
    fecha_nacimiento: date
    curp: Curp
    rfc: PersonRfc
    domicilio: Address
    ocupacion: Text
    ingreso_mensual: Amount
    expuesta_politicamente: bool
    riesgo: Literal["bajo", "medio", "alto"]

    @model_validator(mode="after")
    def _of_one_birth(self) -> KycPerson:
        born = self.fecha_nacimiento.strftime("%y%m%d")
        if self.curp[4:10] != born or self.rfc[4:10] != born:
            raise ValueError("CURP, RFC and date of birth do not agree")
        return self


MODELS: Final[dict[str, type[BaseModel]]] = {
    "kyc_person": KycPerson,
    "spei_transfer": SpeiTransfer,
}
"""By the name that a spec uses."""
