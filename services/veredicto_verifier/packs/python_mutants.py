"""Small, deliberate mistakes in a right program: tests that do not notice them are weak.

Each kind is one change to one place of the program's syntax tree. Some changes make no difference (an equivalent
mutant), so a survivor is a hint to look, not a fault.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[ast.AST], ast.AST | None]
"""The changed node, or None where this kind of mistake cannot be made."""

_OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.Add(),
    ast.Div: ast.Mult(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.FloorDiv(),
    ast.Pow: ast.Mult(),
}
_BOUNDARIES: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
}
_OPPOSITES: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.GtE(),
    ast.GtE: ast.Lt(),
    ast.Gt: ast.LtE(),
    ast.LtE: ast.Gt(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
}
_TWINS = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sum": "len", "sorted": "list", "floor": "ceil",
    "ceil": "floor", "upper": "lower", "lower": "upper", "append": "clear", "set": "list", "abs": "int",
    "strip": "lower", "startswith": "endswith", "endswith": "startswith", "round": "int", "reversed": "list",
}  # fmt: skip


def _operator(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OPERATORS:
        node.op = _OPERATORS[type(node.op)]
        return node
    return None


def _comparison(table: dict[type[ast.cmpop], ast.cmpop]) -> Change:
    def change(node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.Compare) and type(node.ops[0]) in table:
            node.ops[0] = table[type(node.ops[0])]
            return node
        return None

    return change


def _number(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and type(node.value) is not bool:
        return ast.Constant(node.value + 1)
    return None


def _text(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return ast.Constant(node.value + "x")
    return None


def _truth(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        return ast.Constant(not node.value)
    return None


def _connective(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node
    return None


def _condition(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        node.test = ast.UnaryOp(ast.Not(), node.test)
        return node
    return None


def _negation(node: ast.AST) -> ast.AST | None:
    return node.operand if isinstance(node, ast.UnaryOp) else None


def _returned(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Return) and node.value is not None:
        return ast.Return(ast.Constant(None))
    return None


def _dropped(node: ast.AST) -> ast.AST | None:
    return ast.Pass() if isinstance(node, ast.AugAssign | ast.Expr) else None


def _slice(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Slice) and node.upper is not None:
        return ast.Slice(node.lower, ast.BinOp(node.upper, ast.Sub(), ast.Constant(1)), node.step)
    return None


def _range(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        last = min(len(node.args), 2) - 1
        node.args[last] = ast.BinOp(node.args[last], ast.Sub(), ast.Constant(1))
        return node
    return None


def _twin(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _TWINS:
            node.func.id = _TWINS[node.func.id]
            return node
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TWINS:
            node.func.attr = _TWINS[node.func.attr]
            return node
    return None


def _leaving(node: ast.AST) -> ast.AST | None:
    return ast.Continue() if isinstance(node, ast.Break) else ast.Break() if isinstance(node, ast.Continue) else None


KINDS: dict[str, Change] = {
    "operator": _operator,
    "boundary": _comparison(_BOUNDARIES),
    "opposite": _comparison(_OPPOSITES),
    "number": _number,
    "text": _text,
    "truth": _truth,
    "connective": _connective,
    "condition": _condition,
    "negation": _negation,
    "returned": _returned,
    "dropped": _dropped,
    "slice": _slice,
    "range": _range,
    "twin": _twin,
    "leaving": _leaving,
}
"""By name, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One wrong program."""

    kind: str
    line: int
    program: str


def mutants(program: str) -> Iterator[Mutant]:
    """Every mutant of a program; those whose text is that of the original or of another one are left out."""
    tree = ast.parse(program)
    seen = {ast.unparse(tree)}
    for kind, change in KINDS.items():
        for number in range(len(list(ast.walk(tree)))):
            line, text = _mutate(tree, number, change)
            if text is not None and text not in seen:
                seen.add(text)
                yield Mutant(kind, line, text)


def stub(program: str) -> str:
    """The program with every function answering None, and nothing at all where there are no functions."""
    tree = ast.parse(program)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in functions:
        function.body = [ast.Return(ast.Constant(None))]
    return ast.unparse(tree) if functions else "pass\n"


def _mutate(tree: ast.Module, number: int, change: Change) -> tuple[int, str | None]:
    """Change the node of that number in a copy; the line and the new text, None where nothing could be changed."""
    changed = copy.deepcopy(tree)
    target = list(ast.walk(changed))[number]
    line = getattr(target, "lineno", 0)
    made = change(target)
    if made is None:
        return line, None
    mutated = _Replace(target, made).visit(changed)
    return line, ast.unparse(ast.fix_missing_locations(mutated))


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old = old
        self._new = new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else super().generic_visit(node)
