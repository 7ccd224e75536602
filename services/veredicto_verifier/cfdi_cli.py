"""`veredicto cfdi explain`: what is wrong with an invoice, for the person who has to mend it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from veredicto_verifier.answer_files import cfdi_spec
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Context
from veredicto_verifier.verifiers.cfdi import VERIFIER
from veredicto_verifier.verifiers.cfdi.rule import Severity

if TYPE_CHECKING:
    from veredicto_verifier.cfdi_explanation import Finding

FAULT, USAGE = 1, 2
"""Exit codes: the invoice has faults; the command cannot be carried out."""
WORDS = {
    "es": {"path": "en", "expected": "se espera", "found": "hay", "none": "sin faltas", "line": "línea"},
    "en": {"path": "at", "expected": "expected", "found": "found", "none": "no faults", "line": "line"},
}
SEVERITIES: Mapping[str, Mapping[Severity, str]] = {
    "es": {"fatal": "fatal", "critical": "crítica", "hard": "falta", "soft": "aviso"},
    "en": {"fatal": "fatal", "critical": "critical", "hard": "fault", "soft": "warning"},
}


class Language(StrEnum):
    """Languages of an explanation."""

    es = "es"
    en = "en"


cfdi_app = typer.Typer(help="Mexican invoices (CFDI 4.0).", no_args_is_help=True)


@cfdi_app.callback()
def _group() -> None:
    """Mexican invoices (CFDI 4.0)."""


@cfdi_app.command("explain")
def explain_file(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The invoice, as XML.")],
    request: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="What was asked for: a request, a spec of `cfdi`, or a task."),
    ] = None,
    lang: Annotated[Language, typer.Option(help="Language of the explanation.")] = Language.es,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Say code, place, what was expected and what was found for every fault of an invoice."""
    try:
        from veredicto_verifier.cfdi_explanation import explain, passes
    except ImportError as error:  # the service itself runs without xmlschema
        typer.echo(f"{error.name} is missing: run `pip install xmlschema`", err=True)
        raise typer.Exit(USAGE) from error
    try:
        task = VERIFIER.prepare(VERIFIER.spec.model_validate(_spec(request)), Context())
    except (ValueError, TaskFault) as fault:
        typer.echo(f"{request}: {_told(fault)}", err=True)
        raise typer.Exit(USAGE) from fault
    findings = explain(task, file.read_text(encoding="utf-8", errors="surrogateescape"), lang.value)
    if as_json:
        faults = [asdict(one) for one in findings]
        typer.echo(json.dumps({"passed": passes(findings), "faults": faults}, ensure_ascii=True))
    else:
        _print(findings, lang.value, file)
    if not passes(findings):
        raise typer.Exit(FAULT)


def _spec(file: Path | None) -> dict[str, Any]:
    """The spec in a file that holds a task, a spec or a bare request."""
    body = cfdi_spec(None if file is None else json.loads(file.read_text(encoding="utf-8")))
    if not isinstance(body, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 (a wrong file, not a wrong call)
    return body


def _told(fault: Exception) -> str:
    if isinstance(fault, ValidationError):
        first = fault.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return str(fault)


def _print(findings: list[Finding], language: str, file: Path) -> None:
    words, severities = WORDS[language], SEVERITIES[language]
    if not findings:
        typer.echo(f"{file}: {words['none']}")
    for one in findings:
        place = one.path + (f"@{one.attribute}" if one.attribute else "")
        line = f" ({words['line']} {one.line})" if one.line else ""
        for said in (
            f"{one.code} ({severities[one.severity]}): {one.reason}",
            f"  {words['path']} {place}{line}",
            f"  {words['expected']}: {one.expected}",
            f"  {words['found']}: {one.found}",
        ):
            typer.echo(_printable(said))


def _printable(text: str) -> str:
    """The text without what would steer a terminal; a document may hold any character."""
    return "".join([one if one.isprintable() else "\ufffd" for one in text])
