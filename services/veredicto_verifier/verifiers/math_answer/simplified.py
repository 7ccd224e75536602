"""Whether an expression is written in the form that a task asks for, by its own tree and never by simplifying it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import gcd
from typing import Final, Literal

from veredicto_verifier.verifiers.math_answer.syntax import Node, size, symbols_of

Form = Literal["fraction", "radical", "rational_denominator", "evaluated", "expanded", "factored", "size"]
SLACK: Final = 2
"""How many more parts than the gold an answer may have under `size`."""


def breaks(form: Form, answer: Node, gold: Node) -> bool:
    """Whether an answer is not in a form."""
    if form == "factored":
        return _factors(answer) < _factors(gold) or _unlike_within(answer) or bool(_unusual(answer) - _unusual(gold))
    if form == "size":
        return size(answer) > size(gold) + SLACK
    return any(_RULES[form](node) for node in _walk(answer)) or (form == "expanded" and _unlike(answer))


def _walk(node: Node) -> list[Node]:
    return [node, *(inner for arg in node.args for inner in _walk(arg))]


def _integer(node: Node) -> int | None:
    """The value of a written integer, its sign included."""
    if node.op == "neg":
        inner = _integer(node.args[0])
        return None if inner is None else -inner
    if node.op == "num" and isinstance(node.value, Fraction) and node.value.denominator == 1:
        return node.value.numerator
    return None


def _reducible(node: Node) -> bool:
    """A quotient of integers that has a common factor, a denominator of 1 or below."""
    if node.op != "div":
        return False
    above, below = _content(node.args[0]), _content(node.args[1])
    negative = node.args[1].op == "neg"
    return negative or below == 1 == _content_of_constant(node.args[1]) or gcd(above, below) > 1


def _content(node: Node) -> int:
    """The greatest integer that divides a written expression term by term; 1 if none is seen."""
    whole = _integer(node)
    if whole is not None:
        return abs(whole)
    if node.op == "neg":
        return _content(node.args[0])
    if node.op == "mul":
        return _content(node.args[0]) * _content(node.args[1])
    if node.op == "add":
        return gcd(*(_content(arg) for arg in node.args))
    return 1


def _content_of_constant(node: Node) -> int | None:
    return _integer(node)


def _radical(node: Node) -> bool:
    """A root of an integer that holds a power, or of a fraction."""
    if node.op != "root":
        return False
    inner = node.args[0]
    degree = _integer(node.args[1]) if len(node.args) > 1 else 2
    whole = _integer(inner)
    if whole is None:
        return inner.op == "div" and all(_integer(arg) is not None for arg in inner.args)
    if degree is None or degree < 2 or whole in (0, 1):
        return True
    whole, prime = abs(whole), 2
    while prime**degree <= whole and prime < 10_000:
        if whole % prime**degree == 0:
            return True
        prime += 1
    return False


def _root_below(node: Node) -> bool:
    if node.op == "pow" and _integer(node.args[1]) is None and any(one.op == "neg" for one in _walk(node.args[1])):
        return True
    return node.op == "div" and any(one.op == "root" or _is_root(one) for one in _walk(node.args[1]))


def _is_root(node: Node) -> bool:
    """A power with a fraction in the exponent."""
    return node.op == "pow" and node.args[1].op in ("div", "num") and _integer(node.args[1]) is None


def _unevaluated(node: Node) -> bool:
    """An operation on written numbers that could have been carried out."""
    numbers = [one for one in node.args if one.op == "num" or (one.op == "neg" and one.args[0].op == "num")]
    if node.op in ("add", "mul"):
        return len(numbers) > 1
    if node.op == "pow":
        return len(numbers) == 2 and _integer(node.args[1]) is not None
    if node.op == "neg":
        return node.args[0].op == "neg"
    if node.op == "div":
        below = _integer(node.args[1])
        return len(numbers) == 2 and below is not None and below != 0 and _whole(node.args[0], below)
    return node.op == "fact" and len(numbers) == 1


def _whole(above: Node, below: int) -> bool:
    number = _integer(above)
    return number is not None and number % below == 0


def _product_of_sums(node: Node) -> bool:
    if node.op == "pow":
        power = _integer(node.args[1])
        return node.args[0].op == "add" and power is not None and power > 1
    return node.op == "mul" and any(_bare(arg).op == "add" for arg in node.args)


def _bare(node: Node) -> Node:
    return _bare(node.args[0]) if node.op == "neg" else node


def _unlike(node: Node) -> bool:
    """Two terms of a sum with the same powers of the same symbols."""
    if node.op != "add":
        return False
    seen = [sorted(_powers(term).items()) for term in node.args]
    return any(one in seen[:at] for at, one in enumerate(seen))


def _powers(node: Node) -> dict[str, int]:
    """The powers of the symbols in a monomial; anything else counts as a symbol of its own."""
    if node.op in ("num", "const"):
        return {}
    if node.op in ("neg", "mul"):
        powers: dict[str, int] = {}
        for arg in node.args:
            for name, power in _powers(arg).items():
                powers[name] = powers.get(name, 0) + power
        return powers
    if node.op == "pow":
        exponent = _integer(node.args[1])
        if exponent is not None and node.args[0].op == "sym":
            return {str(node.args[0].value): exponent}
    return {str(node.value) if node.op == "sym" else repr(node): 1}


def _unlike_within(node: Node) -> bool:
    """Whether a sum somewhere is not collected: `x - x + 1` is no factor."""
    return any(map(_unlike, _walk(node)))


def _unusual(node: Node) -> set[str]:
    """The operations on symbols that are no sum, product or whole power: with them anything has any factors."""
    found = set()
    for one in _walk(node):
        power = _integer(one.args[1]) if one.op == "pow" else None
        if one.op == "pow" and (power is None or power < 0):
            found.add("pow" if power is None else "div")
        elif one.op in ("div", "root", "fn", "fact") and symbols_of(one.args[1 if one.op == "div" else 0]):
            found.add(f"{one.op}{one.value}")
    return found


def _factors(node: Node) -> int:
    """How many factors with symbols a product has, powers counted as often as they multiply."""
    if node.op == "neg":
        return _factors(node.args[0])
    if node.op == "mul":
        return sum(_factors(arg) for arg in node.args)
    if node.op == "pow":
        power = _integer(node.args[1])
        return _factors(node.args[0]) * max(power, 0) if power is not None else 1
    return int(any(one.op == "sym" for one in _walk(node)))


_RULES: Final[dict[str, Callable[[Node], bool]]] = {
    "fraction": _reducible,
    "radical": _radical,
    "rational_denominator": _root_below,
    "evaluated": _unevaluated,
    "expanded": _product_of_sums,
}
