"""Give queries a fixed time: under `as_of` each clock of a syntax tree, gold's or an answer's, becomes a constant."""

from __future__ import annotations

import json
from typing import Any

from veredicto_verifier.verifiers.sql.fixtures import OpenFixture
from veredicto_verifier.verifiers.sql.spec import moment

_KINDS = {
    "DATE": ("current_date", "today"),
    "TIMESTAMPTZ": ("current_timestamp", "now", "transaction_timestamp", "get_current_timestamp"),
    "TIMESTAMP": ("localtimestamp", "current_localtimestamp"),
    "TIMETZ": ("current_time", "get_current_time"),
    "TIME": ("localtime", "current_localtime"),
}
"""DuckDB types with the keywords and functions that give the clock as one."""
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}


def freeze(tree: dict[str, Any], as_of: str, fixture: OpenFixture) -> dict[str, Any]:
    """The tree with its clocks replaced by constants."""
    return dict(_frozen(tree, _constants(as_of, fixture)))


def text_of(tree: dict[str, Any], fixture: OpenFixture) -> str:
    """The SQL text of a query node."""
    return fixture.deserialise(json.dumps({"error": False, "statements": [{"node": tree}]}))


def _constants(as_of: str, fixture: OpenFixture) -> dict[str, dict[str, Any]]:
    """The syntax tree of the moment as each type."""
    key = ("as_of", as_of)
    found = fixture.memo.get(key)
    if not isinstance(found, dict):
        stamp = moment(as_of).isoformat(sep=" ")
        literal = {"DATE": stamp[:10], "TIME": stamp[11:], "TIMETZ": f"{stamp[11:]}+00", "TIMESTAMPTZ": f"{stamp}+00"}
        casts = ", ".join(f"CAST('{literal.get(kind, stamp)}' AS {kind})" for kind in _KINDS)
        items = json.loads(fixture.serialise(f"SELECT {casts}"))["statements"][0]["node"]["select_list"]
        found = fixture.memo[key] = dict(zip(_KINDS, items, strict=True))
    return found


def _frozen(node: Any, constants: dict[str, dict[str, Any]]) -> Any:
    if isinstance(node, list):
        return [_frozen(item, constants) for item in node]
    if not isinstance(node, dict):
        return node
    kind = _clock_of(node)
    if kind is not None:
        alias = {"alias": node["alias"]} if "alias" in node else {}
        return {**constants[kind], **alias}
    inner = {key: _frozen(value, constants) for key, value in node.items()}
    if str(node.get("function_name", "")).lower() == "age" and len(node.get("arguments", ())) == 1:
        inner["arguments"] = [{"expression": constants["TIMESTAMP"]}, *inner["arguments"]]
    return inner


def _clock_of(node: dict[str, Any]) -> str | None:
    if node.get("type") == "COLUMN_REF" and len(node.get("column_names", ())) == 1:
        name = node["column_names"][0].lower()
        return _KIND_OF.get(name) if name.startswith(("current_", "local")) else None
    if "function_name" in node and not node.get("arguments"):
        return _KIND_OF.get(node["function_name"].lower())
    return None
