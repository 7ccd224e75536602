"""One-edit mutations of a gold query: the wrong answers that a task's fixtures must tell from gold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

Edit = Callable[[exp.Expr], bool]
"""Changes a node of a copy in place; False when the node is none of its kind."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A query that differs from gold by one edit of the named kind."""

    kind: str
    sql: str


def mutants(sql: str, dialect: str = "duckdb") -> list[Mutant]:
    """Every mutant of a query, each text once; none when sqlglot cannot read the query."""
    try:
        tree = sqlglot.parse_one(sql, read=dialect)
    except (SqlglotError, RecursionError):
        return []
    found: dict[str, Mutant] = {}
    gold = tree.sql(dialect)
    for kind, (nodes, edits) in KINDS.items():
        for edit in edits:
            for copy in _edited(tree, nodes, edit):
                text = copy.sql(dialect)
                if text != gold:
                    found.setdefault(text, Mutant(kind, text))
    return list(found.values())


def _edited(tree: exp.Expr, nodes: tuple[type[exp.Expr], ...], edit: Edit) -> Iterator[exp.Expr]:
    """A copy of the tree for each node of the given classes that the edit changes."""
    for index in range(sum(1 for _ in tree.find_all(*nodes))):
        # A root of its own, since an edit may replace the outermost query.
        root = exp.Paren(this=tree.copy())
        node = list(root.this.find_all(*nodes))[index]
        if edit(node):
            yield root.this


def _drop(part: str) -> Edit:
    def edit(node: exp.Expr) -> bool:
        if node.args.get(part) is None:
            return False
        node.set(part, None)
        return True

    return edit


def _drop_one_of(part: str, index: int) -> Edit:
    def edit(node: exp.Expr) -> bool:
        items = node.args.get(part) or []
        if not isinstance(items, list) or len(items) < 2 or index >= len(items):
            return False
        node.set(part, [item for position, item in enumerate(items) if position != index])
        return True

    return edit


def _become(pairs: dict[type[exp.Expr], type[exp.Expr]]) -> Edit:
    def edit(node: exp.Expr) -> bool:
        other = pairs.get(type(node))
        if other is None:
            return False
        node.replace(other(**{key: value for key, value in node.args.items() if key in other.arg_types}))
        return True

    return edit


def _keep_side(side: str) -> Edit:
    def edit(node: exp.Expr) -> bool:
        node.replace(node.args[side].copy())
        return True

    return edit


def _number(step: int) -> Edit:
    def edit(node: exp.Expr) -> bool:
        assert isinstance(node, exp.Literal)
        if node.is_string or isinstance(node.parent, exp.Limit | exp.Offset | exp.DataTypeParam | exp.Ordered):
            return False
        node.set("this", str(Decimal(str(node.this)) + step))
        return True

    return edit


def _next_day(node: exp.Expr) -> bool:
    if not node.args.get("is_string"):
        return False
    text = str(node.this)
    try:
        day = date.fromisoformat(text[:10])
    except ValueError:
        return False
    node.set("this", (day + timedelta(days=1)).isoformat() + text[10:])
    return True


def _one_row_more(node: exp.Expr) -> bool:
    number = node.args.get("expression")
    if not isinstance(number, exp.Literal):
        return False
    node.set("expression", exp.Literal.number(int(str(number.this)) + 1))
    return True


def _toggle_distinct(node: exp.Expr) -> bool:
    node.set("distinct", None if node.args.get("distinct") else exp.Distinct())
    return True


def _toggle_count_distinct(node: exp.Expr) -> bool:
    inner = node.this
    if isinstance(inner, exp.Distinct):
        node.set("this", inner.expressions[0])
        return True
    if inner is None or isinstance(inner, exp.Star):
        return False
    node.set("this", exp.Distinct(expressions=[inner]))
    return True


def _toggle_left(node: exp.Expr) -> bool:
    if node.args.get("kind") == "CROSS" or not (node.args.get("on") or node.args.get("using")):
        return False
    node.set("side", None if node.args.get("side") else "LEFT")
    node.set("kind", None)
    return True


def _toggle_all(node: exp.Expr) -> bool:
    node.set("distinct", not node.args.get("distinct"))
    return True


def _toggle_direction(node: exp.Expr) -> bool:
    node.set("desc", not node.args.get("desc"))
    node.set("nulls_first", False)
    return True


def _select_star(node: exp.Expr) -> bool:
    if node.args.get("group") or node.find_ancestor(exp.Select, exp.SetOperation, exp.Subquery) is not None:
        return False
    node.set("expressions", [exp.Star()])
    return True


def _drop_output(index: int) -> Edit:
    drop = _drop_one_of("expressions", index)

    def edit(node: exp.Expr) -> bool:
        return node.find_ancestor(exp.Select, *_SETS) is None and drop(node)

    return edit


def _negate(node: exp.Expr) -> bool:
    if isinstance(node.parent, exp.Not):
        node.parent.replace(node.copy())
    else:
        node.replace(exp.Not(this=node.copy()))
    return True


def _half_open(node: exp.Expr) -> bool:
    low = exp.GTE(this=node.this.copy(), expression=node.args["low"].copy())
    high = exp.LT(this=node.this.copy(), expression=node.args["high"].copy())
    node.replace(exp.Paren(this=exp.And(this=low, expression=high)))
    return True


def _unwrap(node: exp.Expr) -> bool:
    node.replace(node.this.copy())
    return True


def _other_unit(node: exp.Expr) -> bool:
    part = "this" if isinstance(node, exp.Extract) else "unit"
    unit = node.args.get(part)
    if unit is None:
        return False
    name = str(unit.name).upper()
    other = {"YEAR": "MONTH", "MONTH": "YEAR", "QUARTER": "MONTH", "DAY": "MONTH", "WEEK": "MONTH"}.get(name)
    if other is None:
        return False
    node.set(part, exp.Literal.string(other) if unit.args.get("is_string") else exp.var(other))
    return True


_COMPARISONS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ)
_RANKS = (exp.RowNumber, exp.Anonymous, exp.Rank, exp.DenseRank)
_SETS = (exp.Union, exp.Intersect, exp.Except)
_UNITS = (exp.TimestampTrunc, exp.DateTrunc, exp.Extract)
_CALENDAR: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.Year: exp.Month, exp.Month: exp.Year, exp.Quarter: exp.Month, exp.Day: exp.Month,
}  # fmt: skip
_SWAPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.NEQ, exp.NEQ: exp.EQ,
}  # fmt: skip

KINDS: dict[str, tuple[tuple[type[exp.Expr], ...], tuple[Edit, ...]]] = {
    "drop_where": ((exp.Select, exp.Update, exp.Delete), (_drop("where"),)),
    "drop_condition": ((exp.And, exp.Or), (_keep_side("this"), _keep_side("expression"))),
    "and_or": ((exp.And, exp.Or), (_become({exp.And: exp.Or, exp.Or: exp.And}),)),
    "strictness": (
        _COMPARISONS,
        (_become({exp.GT: exp.GTE, exp.GTE: exp.GT, exp.LT: exp.LTE, exp.LTE: exp.LT}),),
    ),
    "comparison": (_COMPARISONS, (_become(_SWAPPED),)),
    "number": ((exp.Literal,), (_number(1), _number(-1))),
    "next_day": ((exp.Literal,), (_next_day,)),
    "half_open": ((exp.Between,), (_half_open,)),
    "negate": ((exp.In, exp.Exists, exp.Is, exp.Like, exp.Between), (_negate,)),
    "drop_having": ((exp.Select,), (_drop("having"),)),
    "drop_group_key": ((exp.Group,), (_drop_one_of("expressions", 0), _drop_one_of("expressions", 1))),
    "drop_order": ((exp.Select, *_SETS), (_drop("order"),)),
    "direction": ((exp.Ordered,), (_toggle_direction,)),
    "drop_limit": ((exp.Select, *_SETS), (_drop("limit"),)),
    "one_row_more": ((exp.Limit, exp.Offset), (_one_row_more,)),
    "distinct": ((exp.Select,), (_toggle_distinct,)),
    "count_distinct": ((exp.Count, exp.Sum, exp.Avg), (_toggle_count_distinct,)),
    "max_min": ((exp.Max, exp.Min), (_become({exp.Max: exp.Min, exp.Min: exp.Max}),)),
    "sum_avg": ((exp.Sum, exp.Avg), (_become({exp.Sum: exp.Avg, exp.Avg: exp.Sum}),)),
    "join_side": ((exp.Join,), (_toggle_left,)),
    "drop_output": ((exp.Select,), (_drop_output(0), _drop_output(1))),
    "select_star": ((exp.Select,), (_select_star,)),
    "set_all": (_SETS, (_toggle_all,)),
    "set_operation": (
        _SETS,
        (_become({exp.Union: exp.Intersect, exp.Intersect: exp.Except, exp.Except: exp.Intersect}),),
    ),
    "coalesce": ((exp.Coalesce, exp.Abs, exp.Round), (_unwrap,)),
    "arithmetic": ((exp.Add, exp.Sub), (_become({exp.Add: exp.Sub, exp.Sub: exp.Add}),)),
    "partition": ((exp.Window,), (_drop("partition_by"),)),
    "window_order": ((exp.Window,), (_drop("order"),)),
    "rank": (
        _RANKS,
        (_become({exp.RowNumber: exp.Rank, exp.Rank: exp.DenseRank, exp.DenseRank: exp.Rank}),),
    ),
    "lag_lead": ((exp.Lag, exp.Lead), (_become({exp.Lag: exp.Lead, exp.Lead: exp.Lag}),)),
    "time_unit": (_UNITS, (_other_unit,)),
    "calendar": (tuple(_CALENDAR), (_become(_CALENDAR),)),
    "drop_assignment": ((exp.Update,), (_drop_one_of("expressions", 0), _drop_one_of("expressions", 1))),
}
"""Each kind of edit: the nodes it looks at and what it does to one of them."""
