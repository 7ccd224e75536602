"""The words that requests are made of: amounts and codes as text, and frozen parts that refuse unknown fields."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

Amount = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,6})?$")]
"""A decimal as text, at most 12 integer digits and 6 decimals."""
NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that no XML document can hold."""


def _writable(text: str) -> str:
    if NO_XML.search(text):
        raise ValueError("holds a control character, which no XML document can hold")
    return text


Writable = AfterValidator(_writable)
Text = Annotated[
    str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^|\s]([^|\n\t\r]*[^|\s])?$"), Writable
]
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
