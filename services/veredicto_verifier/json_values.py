"""What JSON values are to a verifier: plain (no NaN, no half characters), equal by value, valid under a closed schema.

Closed means that nothing is fetched: a `$ref` that leaves the schema is a fault of the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any, Final, NoReturn

import jsonschema_rs

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.strict_json import MAX_DEPTH

MAX_SHOWN: Final = 100
"""Most characters of the model's text in a reason."""


def plain_json(value: Any) -> Any:
    """The value, if it is JSON; for pydantic's `AfterValidator`.

    Raises:
        ValueError: it holds NaN, an infinity or half a surrogate pair, or nests too deep.
    """
    for item, depth in _walk(value, 1):
        if depth > MAX_DEPTH:
            raise ValueError(f"nests deeper than {MAX_DEPTH}")
        if isinstance(item, float) and not isfinite(item):
            raise ValueError("NaN and Infinity are not JSON")
        if isinstance(item, str) and _has_surrogate(item):
            raise ValueError("holds half of a surrogate pair, which is no character")
    return value


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: numbers by exact value, `true` is not 1, arrays in order, objects not."""
    one, other = exact(one), exact(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | Decimal) and isinstance(other, int | Decimal):
        return one == other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return type(one) is type(other) and bool(one == other)


def exact(value: Any) -> Any:
    """A float of the spec as the decimal that was written; anything else as it is."""
    if isinstance(value, float):
        return Decimal(repr(value))
    return list(value) if isinstance(value, tuple) else value


def closed_schema(schema: Mapping[str, Any] | bool, where: str, *, formats: bool = False) -> jsonschema_rs.Validator:
    """A schema, compiled.

    Args:
        schema: draft 2020-12 unless `$schema` names another.
        where: its JSON path in the spec, for the message.
        formats: whether `format` is asserted.

    Raises:
        TaskFault: `task.spec_invalid` if it is no schema or refers to something outside itself.
    """
    try:
        return jsonschema_rs.validator_for(
            schema if isinstance(schema, bool) else dict(schema), validate_formats=formats, retriever=_deny
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise TaskFault("task.spec_invalid", f"{where}: {_first_line(error)}") from error


def breach(error: jsonschema_rs.ValidationError) -> str:
    """Which rule is broken where; the rule's own values stay out, since they could give gold away."""
    wanted = f" ({error.kind.as_dict()['property'][:MAX_SHOWN]})" if error.kind.name == "required" else ""
    return f"{place(error.instance_path)} breaks `{error.kind.name}`{wanted}"


def place(path: list[str | int]) -> str:
    """A JSON pointer, cut to the length that a reason may echo."""
    if not path:
        return "the document"
    pointer = "".join(f"/{part}" for part in path)
    return pointer if len(pointer) <= MAX_SHOWN else pointer[: MAX_SHOWN - 1] + "…"


def _walk(value: Any, depth: int) -> Iterator[tuple[Any, int]]:
    """Every value inside a JSON value, keys too, with its depth; without recursion, since depth is hostile."""
    queue = [(value, depth)]
    while queue:
        item, level = queue.pop()
        yield item, level
        if isinstance(item, dict):
            queue.extend((inner, level + 1) for pair in item.items() for inner in pair)
        elif isinstance(item, list | tuple):
            queue.extend((inner, level + 1) for inner in item)


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _deny(_uri: str) -> NoReturn:
    raise ValueError("nothing is fetched; put the definition under `$defs` and refer to it by `#/$defs/…`")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]
