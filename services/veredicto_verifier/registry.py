"""Every verifier of the service, by wire name."""

from __future__ import annotations

from typing import Any

from veredicto_verifier.verifier import Verifier
from veredicto_verifier.verifiers import (
    all_criteria,
    cfdi,
    json_schema,
    math_answer,
    python_code,
    response_format,
    sql,
    static_code,
    tool_calls,
    xml_schema,
)

VERIFIERS: dict[str, Verifier[Any, Any]] = {
    "all": all_criteria.VERIFIER,
    "cfdi": cfdi.VERIFIER,
    "format": response_format.VERIFIER,
    "json": json_schema.VERIFIER,
    "math": math_answer.VERIFIER,
    "python": python_code.VERIFIER,
    "sql": sql.VERIFIER,
    "static": static_code.VERIFIER,
    "tools": tool_calls.VERIFIER,
    "xml": xml_schema.VERIFIER,
}
