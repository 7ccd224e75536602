"""Whether two expressions are equal: their values at points drawn from the gold, to 60 digits and again to 120.

Two analytic expressions that agree at points which nobody can foresee agree everywhere; no simplification can hang or
give up. Where one is analytic only piece by piece (`|x|`, roots, logarithms of symbols), points from a thousandth to
ten thousand join, so that a sign which turns far out is met. A difference that shrinks with the precision is rounding,
one that stays is real. What is over the caps is refused before it is computed. Limit: a constant that agrees to over 60
digits without being equal passes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, Literal

import mpmath

from veredicto_verifier.verifiers.math_answer.syntax import Node, symbols_of
from veredicto_verifier.verifiers.math_answer.tokens import TooComplex

Domain = Literal["real", "positive", "nonnegative", "integer", "natural"]
Point = Mapping[str, Any]

DIGITS: Final = (60, 120)
POINTS: Final = 8
DRAWS: Final = 40
"""Points drawn at most, until `POINTS` are found at which the gold is real."""
SPREAD: Final = (0.002, 0.05, 0.3, 1, 3, 30, 300, 3_000) * 3
"""How large the further points are at which expressions of several pieces are compared too."""
MAX_POWER_OF_TEN: Final = 1_000
MAX_FACTORIAL: Final = 170


class Undefined(ArithmeticError):
    """The expression has no value at a point."""


def same(gold: Node, answer: Node, domains: Mapping[str, Domain], seed: str) -> bool:
    """Whether two expressions have the same values.

    Raises:
        TooComplex: one of them is over a cap.
    """
    names = sorted(symbols_of(gold) | symbols_of(answer))
    if not _agree(gold, answer, list(_points(names, domains, seed)) if names else [{}]):
        return False
    return not (_pieced(gold) or _pieced(answer)) or _agree_afar(gold, answer, _spread(names, domains, seed))


def _pieced(node: Node) -> bool:
    """Whether a tree holds something of a symbol that is analytic only piece by piece."""
    pieced = (
        node.op == "root"
        or (node.op == "fn" and node.value not in _SMOOTH)
        or (node.op == "pow" and not _is_integer(node.args[1]))
    )
    return (pieced and bool(symbols_of(node.args[0]))) or any(map(_pieced, node.args))


def _is_integer(node: Node) -> bool:
    if node.op == "neg":
        return _is_integer(node.args[0])
    return node.op == "num" and isinstance(node.value, Fraction) and node.value.denominator == 1


def _agree_afar(gold: Node, answer: Node, points: Iterator[Point]) -> bool:
    """Whether two expressions also agree at points of every size, as far as both stay under the caps there."""
    for point in points:
        try:
            with mpmath.workdps(DIGITS[0]):
                if mpmath.im(value(gold, point)):
                    continue
        except (Undefined, TooComplex):
            continue
        try:
            if not _same_at(gold, answer, point):
                return False
        except TooComplex:
            continue
        except Undefined:
            return False
    return True


def proportional(gold: Node, answer: Node, domains: Mapping[str, Domain], seed: str) -> int:
    """The sign of the constant factor between two expressions; 0 if there is none.

    Raises:
        TooComplex: one of them is over a cap.
    """
    if symbols_of(gold) != symbols_of(answer):
        return 0
    for point in _points(sorted(symbols_of(gold)), domains, seed):
        with mpmath.workdps(DIGITS[0]):
            try:
                if _same_at(answer, _ZERO, point):
                    return 0  # `x = x` holds everywhere
                factor = value(answer, point) / value(gold, point)
            except (Undefined, ZeroDivisionError):
                continue
        if mpmath.im(factor) or not factor:
            return 0
        scaled = _scaled(gold, answer, point)
        return (
            int(mpmath.sign(factor)) if _agree(*scaled, list(_points(sorted(symbols_of(gold)), domains, seed))) else 0
        )
    return 0


def _scaled(gold: Node, answer: Node, point: Point) -> tuple[Node, Node]:
    """`gold(x) answer(p)` and `answer(x) gold(p)`: equal for all x exactly if one is a multiple of the other."""
    return Node("mul", (gold, _at(answer, point))), Node("mul", (answer, _at(gold, point)))


def _at(node: Node, point: Point) -> Node:
    if node.op == "sym":
        return Node("num", (), point[str(node.value)])
    return Node(node.op, tuple(_at(arg, point) for arg in node.args), node.value)


def compare(one: Node, other: Node) -> int:
    """The order of two real constants: -1, 0 or 1; infinities have their place.

    Raises:
        Undefined: one is no real constant.
        TooComplex: one is over a cap.
    """
    if _same_at(one, other, {}):
        return 0
    with mpmath.workdps(DIGITS[0]):
        left, right = value(one, {}), value(other, {})
    if mpmath.im(left) or mpmath.im(right):
        raise Undefined("no real number")
    return -1 if left < right else 1


def _points(names: Sequence[str], domains: Mapping[str, Domain], seed: str) -> Iterator[Point]:
    for draw in range(DRAWS):
        yield {name: _drawn(f"{seed}\0{draw}\0{name}", domains.get(name, "real")) for name in names}


def _spread(names: Sequence[str], domains: Mapping[str, Domain], seed: str) -> Iterator[Point]:
    """Points of every size, of all symbols alike; whole numbers from one up."""
    for draw, scale in enumerate(SPREAD):
        point = {}
        for name in names:
            domain = domains.get(name, "real")
            drawn = _drawn(f"{seed}\0afar\0{draw}\0{name}", domain)
            with mpmath.workdps(DIGITS[1]):
                size = abs(drawn) * scale
                size = mpmath.ceil(size) if domain in ("integer", "natural") else size
                point[name] = -size if drawn < 0 else size
        yield point


def _drawn(text: str, domain: Domain) -> Any:
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    if domain in ("integer", "natural"):
        return mpmath.mpf(number % 40 + 1 if domain == "natural" else number % 81 - 40)
    sign = -1 if domain == "real" and number & 1 else 1
    with mpmath.workdps(DIGITS[1]):
        return sign * mpmath.mpf((number >> 1) % 6_999_983 + 17) / 1_000_003


def _agree(gold: Node, answer: Node, points: list[Point]) -> bool:
    """Over the reals, as far as the gold is real; where it never is, over the complex numbers."""
    real: list[Point] = []
    elsewhere: list[Point] = []
    for point in points:
        try:
            with mpmath.workdps(DIGITS[0]):
                (elsewhere if mpmath.im(value(gold, point)) else real).append(point)
        except Undefined:
            continue
        if len(real) == POINTS:
            break
    try:
        chosen = real or elsewhere[:POINTS]
        return bool(chosen) and all(_same_at(gold, answer, point) for point in chosen)
    except Undefined:
        return False


def _same_at(gold: Node, answer: Node, point: Point) -> bool:
    differences = []
    for digits in DIGITS:
        with mpmath.workdps(digits):
            one, other = value(gold, point), value(answer, point)
            if mpmath.isinf(one) or mpmath.isinf(other):
                return bool(one == other)
            differences.append(abs(one - other))
    rounding = max(differences[0] * mpmath.mpf(10) ** -40, max(abs(one), abs(other)) * mpmath.mpf(10) ** -100)
    return bool(differences[1] <= rounding)


def value(node: Node, point: Point) -> Any:
    """The value at a point, at mpmath's current precision.

    Raises:
        Undefined: there is none (division by zero, a logarithm of zero).
        TooComplex: a power, factorial or magnitude over its cap.
    """
    try:
        found = _value(node, point)
    except (ZeroDivisionError, ValueError) as error:
        if isinstance(error, TooComplex):
            raise
        raise Undefined("no value here") from error
    if mpmath.isnan(found):
        raise Undefined("no value here")
    return found


def _value(node: Node, point: Point) -> Any:
    if node.op == "num":
        held: Any = node.value
        return mpmath.mpf(held.numerator) / held.denominator if hasattr(held, "numerator") else +held
    if node.op == "sym":
        return +point[str(node.value)]
    if node.op == "const":
        return {"pi": +mpmath.pi, "e": +mpmath.e, "i": mpmath.mpc(0, 1), "oo": mpmath.inf}[str(node.value)]
    args = [_value(arg, point) for arg in node.args]
    return _capped(_applied(node, args))


def _applied(node: Node, args: list[Any]) -> Any:
    if node.op == "add":
        return mpmath.fsum(args)
    if node.op == "neg":
        return -args[0]
    if node.op == "mul":
        return args[0] * args[1]
    if node.op == "div":
        return args[0] / args[1]
    if node.op == "pow":
        return _power(args[0], args[1])
    if node.op == "root":
        return _root(args)
    if node.op == "fact":
        return _factorial(args[0])
    return _function(str(node.value), args)


def _capped(found: Any) -> Any:
    if mpmath.isfinite(found) and found and abs(mpmath.mag(found)) > MAX_POWER_OF_TEN * 3.33:
        raise TooComplex(f"a value beyond 10^{MAX_POWER_OF_TEN}")
    return found


def _power(base: Any, exponent: Any) -> Any:
    if not base and mpmath.re(exponent) <= 0:
        raise ZeroDivisionError
    if base and mpmath.isfinite(base) and abs(exponent) * (abs(mpmath.mag(base)) + 1) > MAX_POWER_OF_TEN * 3.33:
        raise TooComplex(f"a power beyond 10^{MAX_POWER_OF_TEN}")
    return mpmath.power(base, exponent)


def _root(args: list[Any]) -> Any:
    if len(args) == 1:
        return mpmath.sqrt(args[0])
    degree = args[1]
    if not mpmath.isint(degree) or not 1 <= degree <= 100:
        raise TooComplex("a root of a degree that is not read")
    if degree % 2 and not mpmath.im(args[0]) and mpmath.re(args[0]) < 0:
        return -mpmath.root(-args[0], int(degree))
    return mpmath.root(args[0], int(degree))


def _factorial(number: Any) -> Any:
    if mpmath.im(number) or not mpmath.isint(number) or number < 0:
        raise Undefined("a factorial of no natural number")
    if number > MAX_FACTORIAL:
        raise TooComplex(f"a factorial beyond {MAX_FACTORIAL}")
    return mpmath.factorial(number)


def _function(name: str, args: list[Any]) -> Any:
    if name in ("exp", "sinh", "cosh", "tanh") and abs(args[0]) > MAX_POWER_OF_TEN * 2.3:
        raise TooComplex(f"a power beyond 10^{MAX_POWER_OF_TEN}")
    if name == "cbrt":
        return _root([args[0], mpmath.mpf(3)])
    if name in ("log", "ln", "lg"):
        base = args[1] if len(args) > 1 else mpmath.mpf(10) if name == "lg" else None
        if not args[0] or (base is not None and (not base or base == 1)):
            raise ZeroDivisionError
        return mpmath.log(args[0]) if base is None else mpmath.log(args[0]) / mpmath.log(base)
    if len(args) > 1:
        raise Undefined("an index that the function does not have")
    return getattr(mpmath, _NAMES.get(name, name))(args[0])


_SMOOTH: Final = frozenset({"exp", "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh"})
_ZERO: Final = Node("num", (), Fraction(0))
_NAMES: Final = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "abs": "fabs"}
