"""Read DuckDB's own syntax tree of a query (`json_serialize_sql`): the text that runs is the text that was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from veredicto_verifier.verifiers.sql.functions import (
    BY_NAME,
    CLOCK_WORDS,
    GIANT,
    GIANT_MAKERS,
    METADATA,
    SESSION_WORDS,
    VOLATILE,
)

QUERY_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""The query nodes that only read; `INSERT_QUERY_NODE` and the like stand inside CTEs since DuckDB 2.0."""

Node = Mapping[str, Any]


@dataclass(slots=True)
class Reading:
    """What a query uses.

    `writes` counts the nodes that change something; `tables` are lower-case paths of base tables and views (CTE names
    excluded); `references` counts them with every CTE expanded where it is used; `constant` says that the outermost
    result depends on no column.
    """

    functions: set[str] = field(default_factory=set)
    tables: set[tuple[str, ...]] = field(default_factory=set)
    volatile: set[str] = field(default_factory=set)
    metadata: set[str] = field(default_factory=set)
    giants: set[str] = field(default_factory=set)
    writes: int = 0
    parameters: bool = False
    constant: bool = False
    references: int = 0


def read(root: Node) -> Reading:
    """Read the query node of a serialised SELECT.

    Raises:
        RecursionError: the query nests too deeply.
    """
    reading = Reading()
    reading.references = _visit(root, {}, reading)
    reading.constant = _is_constant(root) or not (reading.tables or reading.metadata or reading.writes)
    return reading


def _visit(start: Any, outer: Mapping[str, int], reading: Reading) -> int:
    """Walk without recursion except into CTEs; returns the number of table references, CTEs expanded."""
    references = 0
    pending: list[tuple[Any, Mapping[str, int]]] = [(start, outer)]
    while pending:
        node, scope = pending.pop()
        if isinstance(node, list):
            pending.extend((item, scope) for item in node)
        elif isinstance(node, dict):
            inner = _with_ctes(node, scope, reading)
            references += _note(node, inner, reading)
            pending.extend((child, inner) for key, child in node.items() if key != "cte_map")
    return references


def _with_ctes(node: Node, scope: Mapping[str, int], reading: Reading) -> Mapping[str, int]:
    entries = node.get("cte_map", {}).get("map", ()) if isinstance(node.get("cte_map"), dict) else ()
    if not entries:
        return scope
    inner = dict(scope)
    for entry in entries:
        name, body = entry["key"].lower(), entry["value"]
        recursive = body.get("query_node", {}).get("type") == "RECURSIVE_CTE_NODE"
        inner[name] = _visit(body, {**inner, name: 1} if recursive else dict(inner), reading)
    return inner


def _note(node: Node, scope: Mapping[str, int], reading: Reading) -> int:
    kind = node.get("type")
    if not isinstance(kind, str):
        kind = ""
    if kind.endswith("_NODE") and kind not in QUERY_NODES:
        reading.writes += 1
    if node.get("sample"):
        reading.volatile.add("sample")
    if "function_name" in node:
        _note_function(node, reading)
    if kind == "COLUMN_REF":
        names = node.get("column_names", ())
        word = names[0].lower() if len(names) == 1 else ""
        if word in CLOCK_WORDS:
            reading.volatile.add(word)
        elif word in SESSION_WORDS:
            reading.metadata.add(word)
    elif kind == "VALUE_PARAMETER":
        reading.parameters = True
    elif kind == "SHOW_REF":
        reading.metadata.add("describe or show")
    elif kind == "BASE_TABLE":
        return _note_table(node, scope, reading)
    return 0


def _note_table(node: Node, scope: Mapping[str, int], reading: Reading) -> int:
    parts = (node.get("catalog_name"), node.get("schema_name"), node.get("table_name"))
    path = tuple(part.lower() for part in parts if part)
    if len(path) == 1 and path[0] in scope:
        return scope[path[0]]
    reading.tables.add(path)
    return 1


def _note_function(node: Node, reading: Reading) -> None:
    name = node["function_name"].lower()
    arguments = [argument.get("expression") for argument in node.get("arguments", ())]
    reading.functions.add(name)
    if name in BY_NAME and len(arguments) > 1:
        reading.functions.add(_constant_text(arguments[1]) or "named by a computed text")
    if METADATA.match(name):
        reading.metadata.add(name)
    if name in VOLATILE or (name == "age" and len(arguments) == 1):
        reading.volatile.add(name)
    if name in {"format", "printf"}:
        if not arguments or not _is_tame_template(arguments[0]):
            reading.giants.add(name)
    elif name in GIANT_MAKERS and any(_magnitude(argument) > GIANT for argument in arguments):
        reading.giants.add(name)


def _constant_text(node: Any) -> str | None:
    if not isinstance(node, dict) or node.get("class") != "CONSTANT":
        return None
    return str(node.get("literal", {}).get("text", "")).lower()


def _is_tame_template(node: Any) -> bool:
    """A constant template without a number of four digits: widths are the only numbers that cost memory."""
    text = _constant_text(node)
    if text is None:
        return False
    runs = "".join(character if character.isdigit() else " " for character in text).split()
    return all(len(run) < 4 for run in runs)


def _magnitude(node: Any) -> float:
    """An upper bound of what constants alone make of an expression (what columns add is unknown and left out)."""
    if not isinstance(node, dict):
        return 0.0
    if node.get("class") == "CONSTANT":
        return _number(node.get("literal", {}).get("text"))
    children = [argument.get("expression") for argument in node.get("arguments", ())]
    children += [node.get("child"), *node.get("children", ())]
    sizes = [_magnitude(child) for child in children if child is not None]
    name = str(node.get("function_name", "")).lower()
    if name in {"*", "multiply"}:
        product = 1.0
        for size in sizes:
            product *= max(size, 1.0)
        return product
    if name in {"^", "**", "pow", "power", "<<", "factorial", "!"}:
        return float("inf")
    return sum(sizes)


def _number(text: Any) -> float:
    try:
        return abs(float(text))
    except (TypeError, ValueError):
        return 0.0


def _is_constant(root: Node) -> bool:
    """Does every item of the outermost select list hold neither a column nor a count nor a subquery?"""
    if root.get("type") == "SET_OPERATION_NODE":
        return all(_is_constant(child) for child in root.get("children", ()))
    items = root.get("select_list", ())
    return bool(items) and not any(_depends(item) for item in items)


def _depends(item: Any) -> bool:
    pending = [item]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        elif isinstance(node, dict):
            if node.get("class") in {"COLUMN_REF", "STAR", "SUBQUERY", "WINDOW", "POSITIONAL_REFERENCE"}:
                return True
            if node.get("function_name") in {"count_star", "count"}:
                return True
            pending.extend(node.values())
    return False
