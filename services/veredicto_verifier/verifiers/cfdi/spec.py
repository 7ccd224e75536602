"""The typed task: what invoice was asked for, how it must be sealed, what it may hold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, NaiveDatetime, StringConstraints, field_validator, model_validator

from veredicto_verifier.verifier import Spec
from veredicto_verifier.verifiers.cfdi.complements import NAMES
from veredicto_verifier.verifiers.cfdi.request import Request
from veredicto_verifier.verifiers.cfdi.seal import read_certificate


class CfdiSpec(Spec):
    """A CFDI 4.0 invoice to be written."""

    request: Request | None = None
    """What the invoice must say; null judges the invoice alone, and the match is `not_checked`."""
    profile: Literal["unsealed", "sealed"] = "unsealed"
    """`unsealed`: Sello, NoCertificado and Certificado are absent or empty. `sealed`: they are there and right."""
    authorities: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    """For `sealed`: certificates (base64 of DER) of the authorities that may have issued the invoice's certificate."""
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

    @field_validator("authorities")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            if read_certificate(text) is None:
                raise ValueError("not the base64 of a DER certificate with an RSA key of 2048 to 4096 bits")
        return value

    @model_validator(mode="after")
    def _clock_and_authorities(self) -> CfdiSpec:
        # Without an authority a certificate that the answer itself made would do, without a clock an expired one.
        if self.profile == "sealed" and (self.now is None or not self.authorities):
            raise ValueError("profile sealed needs `now` and `authorities`")
        if self.profile == "unsealed" and self.authorities:
            raise ValueError("`authorities` goes with profile sealed")
        return self

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
