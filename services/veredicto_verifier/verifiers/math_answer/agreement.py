"""Whether two answers of one kind say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from veredicto_verifier.verifiers.math_answer import evaluation
from veredicto_verifier.verifiers.math_answer.evaluation import Domain, Undefined
from veredicto_verifier.verifiers.math_answer.shapes import Interval, Kind, Shape
from veredicto_verifier.verifiers.math_answer.syntax import Node, symbols_of

_FLIPPED: Final = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "=": "=", "\\ne": "\\ne"}
_INFINITY: Final = Node("const", (), "oo")
_MINUS_INFINITY: Final = Node("neg", (_INFINITY,))


@dataclass(frozen=True, slots=True)
class Judge:
    """What equality means for one task."""

    domains: Mapping[str, Domain]
    seed: str

    def agree(self, gold: Shape, answer: Shape) -> bool:
        """Whether an answer says what the gold says.

        Raises:
            TooComplex: a value is over a cap.
        """
        gold, answer = _met(gold, answer)
        if gold.kind != answer.kind:
            return False
        if gold.kind == "choice":
            return gold.letter == answer.letter
        if gold.kind == "set":
            return self._same_set(gold.parts, answer.parts)
        if gold.kind == "interval":
            return self._same_pieces(gold.parts, answer.parts)
        if gold.kind == "relation":
            return self._same_relation(gold, answer)
        return len(gold.parts) == len(answer.parts) and all(map(self._same, gold.parts, answer.parts))

    def _same(self, one: object, other: object) -> bool:
        if isinstance(one, Node) and isinstance(other, Node):
            return evaluation.same(one, other, self.domains, self.seed)
        return isinstance(one, Shape) and isinstance(other, Shape) and self.agree(one, other)

    def _same_set(self, gold: Sequence[object], answer: Sequence[object]) -> bool:
        """Each element of one in the other; how often it is written does not count."""
        return all(any(self._same(one, other) for other in answer) for one in gold) and all(
            any(self._same(one, other) for one in gold) for other in answer
        )

    def _same_pieces(self, gold: Sequence[object], answer: Sequence[object]) -> bool:
        """The pieces of two unions, in any order; overlapping pieces are not joined."""
        left = list(answer)
        for piece in gold:
            at = next((index for index, other in enumerate(left) if self._same_piece(piece, other)), None)
            if at is None:
                return False
            del left[at]
        return not left

    def _same_piece(self, one: object, other: object) -> bool:
        if isinstance(one, Interval) and isinstance(other, Interval):
            ends = ((one.low, other.low), (one.high, other.high))
            return one.closed == other.closed and all(self._same(*pair) for pair in ends)
        return self._same(one, other)

    def _same_relation(self, gold: Shape, answer: Shape) -> bool:
        one, other = solved(gold), solved(answer)
        if one is not None and other is not None and one[0] == other[0]:
            return self.agree(one[1], other[1])
        both = gold.relations + answer.relations
        if len(gold.relations) != 1 or len(answer.relations) != 1 or "\\in" in both or "\\lor" in both:
            return False
        factor = evaluation.proportional(_difference(gold), _difference(answer), self.domains, self.seed)
        if not factor:
            return False
        relation = answer.relations[0] if factor > 0 else _FLIPPED[answer.relations[0]]
        return relation == gold.relations[0]


def _met(gold: Shape, answer: Shape) -> tuple[Shape, Shape]:
    """Both in the form in which they can be compared: `x = 5` answers 5, `x >= 2` and `[2, oo)` answer each other.

    Never the other way round: a bare 5 does not answer `x = 5`, since it does not say of what.
    """
    if gold.kind in ("expression", "set", "tuple") and answer.kind == "relation":
        named = solved(answer)
        sides = answer.parts
        if (
            gold.kind == "expression"
            and answer.relations == ("=",)
            and isinstance(sides[0], Node)
            and sides[0].op == "sym"
        ):
            own = symbols_of(gold.parts[0]) if isinstance(gold.parts[0], Node) else set()
            if str(sides[0].value) not in own and isinstance(sides[1], Node):
                return gold, Shape("expression", (sides[1],))
        if gold.kind == "expression" and answer.relations == ("=",) and _is_function(sides[0], gold):
            return gold, Shape("expression", (sides[1],))
        if gold.kind == "set" and named is not None and named[1].kind == "set":
            return gold, named[1]
    if gold.kind == "interval" and answer.kind == "relation":
        found = solved(answer)
        return gold, answer if found is None else found[1]
    if gold.kind == "relation" and answer.kind == "interval":
        found = solved(gold)
        return (gold if found is None else found[1]), answer
    return gold, answer


def solved(relation: Shape) -> tuple[str, Shape] | None:
    """A relation as one symbol and where it lies, if it is one that is solved for a symbol."""
    sides = relation.parts
    if relation.relations == ("\\in",):
        symbol, lies = sides
        return (str(symbol.value), lies) if _is_symbol(symbol) and isinstance(lies, Shape) else None
    if relation.relations == ("\\lor",):
        return _united([solved(side) if isinstance(side, Shape) else None for side in sides])
    nodes = [side for side in sides if isinstance(side, Node)]
    if len(nodes) != len(sides):
        return None
    if len(nodes) == 3:
        return _between(nodes, relation.relations)
    one, other = nodes
    sign = relation.relations[0]
    if not _is_symbol(one):
        one, other, sign = other, one, _FLIPPED[sign]
    if not _is_symbol(one) or symbols_of(other):
        return None
    where = {
        "=": Shape("set", (Shape("expression", (other,)),)),
        "<": _half(high=other, closed=False),
        "\\le": _half(high=other, closed=True),
        ">": _half(low=other, closed=False),
        "\\ge": _half(low=other, closed=True),
    }.get(sign)
    return None if where is None else (str(one.value), where)


def _united(each: Sequence[tuple[str, Shape] | None]) -> tuple[str, Shape] | None:
    """Where a symbol lies that lies in one of several places."""
    found = [one for one in each if one is not None]
    if len(found) < len(each) or len({name for name, _ in found}) > 1:
        return None
    kinds = {lies.kind for _, lies in found}
    kind: Kind = "set" if kinds == {"set"} else "interval"
    return found[0][0], Shape(kind, tuple(part for _, lies in found for part in lies.parts))


def _is_function(side: object, gold: Shape) -> bool:
    """`f(x)`, with `f` a usual name that the gold does not hold and `x` one that it does."""
    if not isinstance(side, Node) or side.op != "mul" or not isinstance(gold.parts[0], Node):
        return False
    name, of = side.args
    own = symbols_of(gold.parts[0])
    return _is_symbol(name) and str(name.value) in set("fghpqFGHPQ") - own and _is_symbol(of) and str(of.value) in own


def _between(nodes: list[Node], relations: tuple[str, ...]) -> tuple[str, Shape] | None:
    """`1 < x <= 3`, or `3 >= x > 1`."""
    low, middle, high = nodes
    if set(relations) <= {">", "\\ge"}:
        low, high = high, low
        relations = (_FLIPPED[relations[1]], _FLIPPED[relations[0]])
    if not set(relations) <= {"<", "\\le"} or not _is_symbol(middle) or symbols_of(low) or symbols_of(high):
        return None
    closed = (relations[0] == "\\le", relations[1] == "\\le")
    return str(middle.value), Shape("interval", (Interval(low, high, closed),))


def _half(*, low: Node = _MINUS_INFINITY, high: Node = _INFINITY, closed: bool) -> Shape:
    ends = (closed and low is not _MINUS_INFINITY, closed and high is not _INFINITY)
    return Shape("interval", (Interval(low, high, ends),))


def _difference(relation: Shape) -> Node:
    one, other = relation.parts
    assert isinstance(one, Node)
    assert isinstance(other, Node)
    return Node("add", (one, Node("neg", (other,))))


def _is_symbol(part: object) -> TypeGuard[Node]:
    return isinstance(part, Node) and part.op == "sym"


def nodes_of(shape: Shape) -> list[Node]:
    """Every expression in a shape."""
    found: list[Node] = []
    for part in shape.parts:
        if isinstance(part, Node):
            found.append(part)
        elif isinstance(part, Interval):
            found.extend((part.low, part.high))
        else:
            found.extend(nodes_of(part))
    return found


def sound(shape: Shape) -> bool:
    """Whether intervals run upwards and everything constant has a value.

    Raises:
        TooComplex: a value is over a cap.
    """
    try:
        for part in shape.parts:
            if isinstance(part, Interval) and evaluation.compare(part.low, part.high) > 0:
                return False
    except Undefined:
        return False
    return True
