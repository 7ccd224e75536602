"""The queries that demo-sql asks for: their slots, their SQL, and what they return, computed without a database.

The generator uses the results to keep only questions whose answer no other query of the same form shares, so that a
wrong query is never paid by luck. A test holds the computed results against DuckDB's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

from veredicto_verifier.packs.generators.bank import TABLES, Cell, Row, Rows

Form = Literal["count", "aggregate", "list", "group", "join"]
FORMS: tuple[Form, ...] = ("count", "aggregate", "list", "group", "join")
AGGREGATES = ("avg", "sum", "min", "max")
COMPARISONS = (">", "<", ">=", "<=")

Answer = frozenset[tuple[object, int]]
"""The rows of a result as a multiset."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query of the family: a form and its slots; slots that the form lacks are empty."""

    form: Form
    table: str
    aggregate: str
    target: str
    group: str
    column: str
    comparison: str
    literal: int

    @property
    def parent(self) -> str:
        """The table joined in (form `join` only)."""
        parent = TABLES[self.table].parent
        assert parent is not None
        return parent

    def sql(self) -> str:
        """The query as DuckDB SQL."""
        where = f"WHERE {self.column} {self.comparison} {self.literal}"
        value = f"{self.aggregate}({self.target})"
        match self.form:
            case "count":
                return f"SELECT count(*) FROM {self.table} {where}"
            case "aggregate":
                return f"SELECT {value} FROM {self.table} {where}"
            case "list":
                return f"SELECT {self.target} FROM {self.table} {where}"
            case "group":
                return f"SELECT {self.group}, {value} FROM {self.table} {where} GROUP BY {self.group}"
            case "join":
                joined = f"{self.table} JOIN {self.parent} USING ({TABLES[self.parent].key})"
                return f"SELECT {value} FROM {joined} {where}"


def family(form: Form) -> Iterator[Query]:
    """Every query of a form, those that no question asks for included (a policy may write them)."""
    for table in TABLES.values():
        if form == "join" and table.parent is None:
            continue
        filtered = TABLES[table.parent] if form == "join" and table.parent else table
        targets = {"count": [""], "list": [*table.texts, *table.numbers]}.get(form, [*table.numbers])
        aggregates = AGGREGATES if form in ("aggregate", "group", "join") else ("",)
        groups = tuple(table.texts) if form == "group" else ("",)
        for column, literals in filtered.numbers.items():
            slots = product(aggregates, targets, groups, COMPARISONS, literals)
            for aggregate, target, group, comparison, literal in slots:
                yield Query(form, table.name, aggregate, target, group, column, comparison, literal)


def answers(queries: Iterable[Query], fixtures: Sequence[Rows]) -> dict[Query, tuple[Answer, ...]]:
    """What each query returns on each fixture."""
    tables = [{**rows, **_joined(rows)} for rows in fixtures]
    kept: dict[tuple[int, str, str, str, int], list[Row]] = {}
    found = {}
    for query in queries:
        results = []
        for index, rows in enumerate(tables):
            source = f"{query.table}+{query.parent}" if query.form == "join" else query.table
            key = (index, source, query.column, query.comparison, query.literal)
            if key not in kept:
                kept[key] = [row for row in rows[source] if _holds(row[query.column], query)]
            results.append(_result(query, kept[key]))
        found[query] = tuple(results)
    return found


def _joined(rows: Rows) -> Rows:
    """Each table joined with its parent, under `table+parent`."""
    joined: Rows = {}
    for table in TABLES.values():
        if table.parent:
            key = TABLES[table.parent].key
            parents = {row[key]: row for row in rows[table.parent]}
            inner = [{**parents[row[key]], **row} for row in rows[table.name] if row[key] in parents]
            joined[f"{table.name}+{table.parent}"] = inner
    return joined


def _holds(cell: Cell, query: Query) -> bool:
    if not isinstance(cell, int):
        return False
    bound = 100 * query.literal
    match query.comparison:
        case ">":
            return cell > bound
        case "<":
            return cell < bound
        case ">=":
            return cell >= bound
        case _:
            return cell <= bound


def _result(query: Query, rows: list[Row]) -> Answer:
    match query.form:
        case "count":
            return frozenset({(100 * len(rows), 1)})
        case "list":
            return frozenset(Counter(row[query.target] for row in rows).items())
        case "group":
            groups: dict[Cell, list[Cell]] = {}
            for row in rows:
                groups.setdefault(row[query.group], []).append(row[query.target])
            return frozenset(((group, _aggregate(query, cells)), 1) for group, cells in groups.items())
        case _:
            return frozenset({(_aggregate(query, [row[query.target] for row in rows]), 1)})


def _aggregate(query: Query, cells: list[Cell]) -> int | Fraction | None:
    values = [cell for cell in cells if isinstance(cell, int)]
    if not values:
        return None
    match query.aggregate:
        case "avg":
            return Fraction(sum(values), len(values))
        case "sum":
            return sum(values)
        case "min":
            return min(values)
        case _:
            return max(values)
