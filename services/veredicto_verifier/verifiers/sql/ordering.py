"""Which rows of gold are tied under its ORDER BY, also by sort keys that it does not show."""

from __future__ import annotations

import json
from typing import Any

import duckdb

from veredicto_verifier.verifiers.sql.fixtures import OpenFixture
from veredicto_verifier.verifiers.sql.values import Forms, Table

_ALL = -1


def order_of(tree: dict[str, Any]) -> list[dict[str, Any]] | None:
    """The ORDER BY items of the outermost query, None if it has no ORDER BY."""
    for modifier in tree.get("modifiers", ()):
        if modifier.get("type") == "ORDER_MODIFIER":
            return list(modifier.get("orders", ()))
    return None


def tie_groups(
    orders: list[dict[str, Any]], tree: dict[str, Any], fixture: OpenFixture, table: Table, forms: Forms
) -> tuple[int, ...]:
    """The tie group of each row: rows that follow each other with equal sort keys share one."""
    keys = _sort_keys(orders, tree, fixture, table, forms)
    ties: list[int] = []
    for index, key in enumerate(keys):
        same = index > 0 and key == keys[index - 1]
        ties.append(ties[-1] if same else index)
    return tuple(ties)


def _sort_keys(
    orders: list[dict[str, Any]], tree: dict[str, Any], fixture: OpenFixture, table: Table, forms: Forms
) -> list[Any]:
    """The sort key of each row; the whole row's position where DuckDB cannot tell (no ties then)."""
    strict: list[Any] = list(range(len(table.rows)))
    columns = [_output_column(order["expression"], tree, table) for order in orders]
    hidden = [_key(order, fixture) for order, column in zip(orders, columns, strict=True) if column is None]
    extra: list[tuple[Any, ...]] = [() for _ in table.rows]
    if hidden:
        found = _with_hidden(hidden, tree, fixture, table, forms)
        if found is None:
            return strict
        extra = found
    visible = [column for column in columns if column is not None]
    if any(column == _ALL for column in visible):
        return list(table.rows)
    return [(*(row[i] for i in visible), *more) for row, more in zip(table.rows, extra, strict=True)]


def _key(order: dict[str, Any], fixture: OpenFixture) -> dict[str, Any]:
    """What equal sort keys share: the expression, or its rank where a collation decides what is equal."""
    if order["expression"].get("class") != "COLLATE":
        return dict(order["expression"])
    ranked = json.loads(fixture.serialise("SELECT dense_rank() OVER (ORDER BY 1)"))
    window = dict(ranked["statements"][0]["node"]["select_list"][0])
    return {**window, "orders": [order]}


def _output_column(expression: dict[str, Any], tree: dict[str, Any], table: Table) -> int | None:
    """The output column that an ORDER BY item names by number, by name or by repeating it; `_ALL` for ORDER BY ALL."""
    if expression.get("class") == "STAR":
        return _ALL
    if expression.get("class") == "CONSTANT":
        text = str(expression.get("literal", {}).get("text", ""))
        return int(text) - 1 if text.isdigit() and 1 <= int(text) <= table.width else None
    if expression.get("class") == "COLUMN_REF":
        names = [name.lower() for name in table.names]
        wanted = expression["column_names"][-1].lower()
        if len(expression["column_names"]) == 1 and names.count(wanted) == 1:
            return names.index(wanted)
    items = tree.get("select_list", ())
    shapes = [_shape(item) for item in items]
    shape = _shape(expression)
    return shapes.index(shape) if len(items) == table.width and shape in shapes else None


def _shape(node: Any) -> Any:
    """An expression without its place in the text and its alias."""
    if isinstance(node, dict):
        kept = {key: _shape(value) for key, value in node.items() if not key.startswith("query_location")}
        kept.pop("alias", None)
        return kept
    return [_shape(item) for item in node] if isinstance(node, list) else node


def _with_hidden(
    hidden: list[dict[str, Any]], tree: dict[str, Any], fixture: OpenFixture, table: Table, forms: Forms
) -> list[tuple[Any, ...]] | None:
    """Gold's rows again with the sort keys that it does not show as further columns, or None if that changes it."""
    if tree.get("type") != "SELECT_NODE":
        return None
    wider = {**tree, "select_list": [*tree["select_list"], *hidden]}
    root = json.dumps({"error": False, "statements": [{"node": wider}]})
    cursor = fixture.cursor()
    try:
        cursor.execute(fixture.deserialise(root))
        types = [str(column[1]) for column in cursor.description]
        names = [str(column[0]) for column in cursor.description]
        rows = forms.table(names, types, cursor.fetchmany(len(table.rows) + 1)).rows
    except duckdb.Error:
        return None
    finally:
        cursor.close()
    if [row[: table.width] for row in rows] != table.rows:
        return None
    return [row[table.width :] for row in rows]
