"""From a raw spec to a typed one, and to the digest that names the task."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import count
from typing import Any

import rfc8785
from pydantic import ValidationError

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Spec, Verifier

MAX_DEPTH = 4
"""How deep `all` may nest."""
MAX_CRITERIA = 64
"""Most criteria of one task, over all levels of `all`: each is parsed before the task is scheduled."""
MAX_NESTING = 128
"""How deep a spec's values may nest; deeper ones would end recursive code somewhere on their way."""
MAX_PATH = 200
"""Most characters of a JSON path in a message: its parts are the spec's own, of any length."""

_EXACT = 2**53 - 1


def parse_spec(name: str, raw: object, verifiers: Mapping[str, Verifier[Any, Any]]) -> Spec:
    """The typed spec of a task, its criteria (for `all`) included.

    Raises:
        TaskFault: `task.unknown_verifier`, or `task.spec_invalid` with a message that starts with the JSON path.
    """
    if nests_deeper(raw, MAX_NESTING):
        raise TaskFault("task.spec_invalid", f"$: the spec nests deeper than {MAX_NESTING}; flatten it")
    return _parse(name, raw, verifiers, 0, count())


def _parse(
    name: str, raw: object, verifiers: Mapping[str, Verifier[Any, Any]], depth: int, criteria: Iterator[int]
) -> Spec:
    """One level; `criteria` counts those of all levels."""
    verifier = verifiers.get(name)
    if verifier is None:
        known = ", ".join(sorted(verifiers))
        raise TaskFault("task.unknown_verifier", f"no verifier is named {name[:60]!r}; known: {known}")
    if depth > MAX_DEPTH:
        raise TaskFault("task.spec_invalid", f"$: `all` nests deeper than {MAX_DEPTH}; flatten the criteria")
    try:
        spec: Spec = verifier.spec.model_validate(raw)
    except ValidationError as error:
        raise TaskFault("task.spec_invalid", _first_fault(error, raw)) from error
    children = []
    for index, (child, child_raw) in enumerate(verifier.children(spec)):
        if next(criteria) >= MAX_CRITERIA:
            raise TaskFault(
                "task.spec_invalid", f"$.criteria[{index}]: more than {MAX_CRITERIA} criteria in all levels"
            )
        try:
            children.append(_parse(child, child_raw, verifiers, depth + 1, criteria))
        except TaskFault as fault:
            inner = fault.message.removeprefix("$")
            raise TaskFault(fault.code, f"$.criteria[{index}].spec{inner}") from fault
    return verifier.with_children(spec, children) if children else spec


def nests_deeper(value: object, levels: int) -> bool:
    """Whether JSON-like data nests deeper than `levels`, found without recursion."""
    layer: list[object] = [value]
    for _ in range(levels + 1):
        layer = [
            inner
            for one in layer
            if isinstance(one, dict | list | tuple)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list | tuple)
        ]
        if not layer:
            return False
    return True


def fixture_names(name: str, spec: Spec, verifiers: Mapping[str, Verifier[Any, Any]]) -> list[str]:
    """The pack fixtures that a typed spec refers to, those of its criteria (for `all`) included."""
    verifier = verifiers[name]
    names = list(verifier.fixtures(spec))
    for child, child_raw in verifier.children(spec):
        names.extend(fixture_names(child, parse_spec(child, child_raw, verifiers), verifiers))
    return names


def canonical_task(name: str, spec: Spec, fixtures: Mapping[str, str]) -> bytes:
    """The canonical JSON (RFC 8785) whose SHA-256 is the task digest.

    Fields equal to their default are left out, integers beyond 2^53 and decimals are strings, `fixtures` maps the
    names of pack fixtures to their content digests.

    Raises:
        TaskFault: the spec holds what JSON cannot (lone surrogates, infinities).
    """
    try:
        return _canonical_task(name, spec, fixtures)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise TaskFault("task.spec_invalid", f"$: the spec is not valid JSON text: {str(error)[:200]}") from error


def _canonical_task(name: str, spec: Spec, fixtures: Mapping[str, str]) -> bytes:
    body = {
        "verifier": name,
        "spec": _canonical(spec.model_dump(mode="python", exclude_defaults=True, by_alias=True)),
        "fixtures": dict(fixtures),
    }
    return rfc8785.dumps(body)


def task_digest(canonical: bytes) -> str:
    """`sha256:…` of a canonical task."""
    return "sha256:" + hashlib.sha256(canonical).hexdigest()


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(inner) for inner in value]
    if isinstance(value, bool) or value is None or isinstance(value, str | float):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, Decimal):
        return str(value)
    return str(value)


def _first_fault(error: ValidationError, raw: object) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    missing = first["type"] == "missing"
    path, at = "$", raw
    for index, part in enumerate(first["loc"]):
        if isinstance(at, Mapping) and (part in at or (missing and index == len(first["loc"]) - 1)):
            path += f".{part}"
            at = at.get(part)
        elif isinstance(at, list | tuple) and isinstance(part, int) and part < len(at):
            path += f"[{part}]"
            at = at[part]
        # anything else is pydantic's name for a branch of a union, which is no place in the spec
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{path[:MAX_PATH]}: {first['msg']}{more}"
