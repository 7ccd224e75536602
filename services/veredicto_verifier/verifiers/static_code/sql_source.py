"""Read a SQL statement without running it, through sqlglot. Caps come first: it parses by recursion."""

from __future__ import annotations

from typing import Any, Final

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifiers.static_code.outcome import Fault
from veredicto_verifier.verifiers.static_code.spec import Rule

MAX_CHARS: Final = 16_384
"""Longest statement: a list of 20,000 items takes sqlglot about a second."""
MAX_NESTING: Final = 64
"""Deepest parentheses."""


def parse(source: str, dialect: str) -> Any | Fault:
    """The tree of exactly one statement (a `sqlglot.Expression`), or why there is none."""
    from sqlglot import exp  # lazily: only SQL tasks pay for the import
    from sqlglot import parse as read
    from sqlglot.errors import SqlglotError

    if len(source) > MAX_CHARS:
        return Fault("static.too_large", f"the statement is longer than {MAX_CHARS} characters")
    if _nesting(source) > MAX_NESTING:
        return Fault("static.too_complex", f"parentheses nest deeper than {MAX_NESTING}")
    try:
        statements = [one for one in read(source, dialect=dialect) if one is not None]
    except SqlglotError:
        return Fault("static.syntax", f"not a statement of {dialect}")
    except RecursionError:
        return Fault("static.too_complex", "the statement nests too deep to be read")
    if not statements:
        return Fault("static.empty", "there is no statement")
    if len(statements) > 1:
        return Fault("static.not_one_statement", f"{len(statements)} statements; exactly one is wanted")
    if isinstance(statements[0], exp.Command):
        return Fault("static.syntax", f"not a statement of {dialect} that is understood")
    return statements[0]


def check_rule(rule: Rule, where: str) -> None:
    """Refuse a node that sqlglot does not have.

    Raises:
        TaskFault: `task.spec_invalid`.
    """
    from sqlglot import exp

    found = getattr(exp, rule.name, None) if rule.kind == "node" else exp.Expression
    if not (isinstance(found, type) and issubclass(found, exp.Expression)):
        raise TaskFault("task.spec_invalid", f"{where}: `node:{rule.name[:60]}` names no expression of sqlglot")


def holds(tree: Any, rule: Rule) -> bool:
    """Whether a statement holds what a rule names; names in any case."""
    from sqlglot import exp

    wanted = rule.name.casefold()
    if rule.kind == "table":
        return any(one.name.casefold() == wanted and not _is_cte(one) for one in tree.find_all(exp.Table))
    if rule.kind == "column":
        return any(one.name.casefold() == wanted for one in tree.find_all(exp.Column))
    if rule.kind == "function":
        return any(_function(one) == wanted for one in tree.find_all(exp.Func))
    return tree.find(getattr(exp, rule.name)) is not None


def _is_cte(table: Any) -> bool:
    """Whether a name stands for a CTE that is in sight there: inside its own definition it is still the table."""
    from sqlglot import exp

    node: Any = None if table.db else table
    while node is not None:
        if isinstance(node, exp.CTE) and isinstance(node.parent, exp.With):
            listed = node.parent.expressions
            before = next(at for at, one in enumerate(listed) if one is node)
            in_sight = listed if node.parent.recursive else listed[:before]
            node = node.parent.parent
        else:
            found = next((one for one in node.args.values() if isinstance(one, exp.With)), None)
            in_sight = [] if found is None else found.expressions
        if any(one.alias.casefold() == table.name.casefold() for one in in_sight):
            return True
        node = node.parent
    return False


def _function(node: Any) -> str:
    name = node.name if type(node).__name__ == "Anonymous" else node.sql_name()
    return str(name).casefold()


def _nesting(source: str) -> int:
    depth = deepest = 0
    for char in source:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth -= 1
    return deepest
