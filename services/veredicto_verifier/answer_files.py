"""Which task judges an answer that lies in a file of its own: the one given, or what the file itself says it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from veredicto_verifier.errors import TaskFault

NAME = re.compile(r"(?:[^\W\d][\w.-]{0,80}:)?([^\W\d][\w.-]{0,80})[\s/>]")
"""The name of an element after its `<`, without its prefix."""
INVOICE = "Comprobante"
REQUEST = frozenset(("emisor", "receptor"))
"""What a request has and neither a spec nor a task."""


def task_for(text: str, spec: Path | None, verifier: str | None) -> Any:
    """The task of an answer file; None for a file of items.

    An invoice (an XML file whose root is a Comprobante) is `cfdi`'s without being told, and its spec may be the bare
    request.

    Raises:
        TaskFault: `task.malformed`, when `spec` is not JSON, and for XML that nothing says how to judge.
    """
    body = None if spec is None else _json(spec)
    if isinstance(body, dict) and "verifier" in body:
        return body
    root = root_name(text)
    if verifier is None and root == INVOICE:
        verifier = "cfdi"
    if verifier is not None:
        return {"verifier": verifier, "spec": cfdi_spec(body) if verifier == "cfdi" else {} if body is None else body}
    if root is not None:
        raise TaskFault(
            "task.malformed",
            f"XML with root {root[:40]!r}, neither items nor an invoice: say how to judge it with `--verifier xml "
            "--spec SPEC`, or with --spec and a whole task",
        )
    return body


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise TaskFault("task.malformed", f"{file.name[:100]} is not JSON: {str(error)[:200]}") from error


def cfdi_spec(body: Any) -> Any:
    """The spec in what a file may hold for an invoice: nothing, a task, a spec or a bare request."""
    if body is None:
        return {}
    if isinstance(body, dict):
        body = body.get("spec", body)
    return {"request": body} if isinstance(body, dict) and body.keys() >= REQUEST else body


def root_name(text: str) -> str | None:
    """The local name of the first element of a text that starts as XML does, '' where none opens; None: no XML."""
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):
        return None
    at = text.find("<")
    while at >= 0 and text[at + 1 : at + 2] in ("?", "!"):
        # A comment may hold what looks like an element; declarations and instructions end at their first `>`.
        end = text.find("-->" if text.startswith("<!--", at) else ">", at)
        at = text.find("<", end) if end >= 0 else -1
    found = NAME.match(text, at + 1) if at >= 0 else None
    return found.group(1) if found else ""
