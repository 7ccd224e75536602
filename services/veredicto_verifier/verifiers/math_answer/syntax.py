"""Read a mathematical expression, in plain text or LaTeX, into a tree of its own: a closed grammar, nothing evaluated.

What is not in the grammar is not read. Juxtaposition multiplies; `a/bc` is read from left to right. Caps come first:
characters, digits, depth and nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from veredicto_verifier.verifiers.math_answer.tokens import CONSTANTS, FUNCTIONS, GREEK, TooComplex, Unread

MAX_DEPTH: Final = 24
MAX_NODES: Final = 200


@dataclass(frozen=True, slots=True)
class Node:
    """`num` and `sym` hold a value; `fn` its name; `add`, `mul`, `div`, `pow`, `neg`, `fact` hold arguments only."""

    op: str
    args: tuple[Node, ...] = ()
    value: Fraction | str = ""


class Parser:
    """Recursive descent over tokens; the depth is counted, so that no text meets Python's own limit."""

    def __init__(self, found: Sequence[str]) -> None:
        self._tokens = found
        self._at = 0
        self._depth = 0
        self._nodes = 0
        self._bars = 0

    def whole(self) -> Node:
        """The one expression that the tokens are.

        Raises:
            Unread: they are none.
            TooComplex: over the caps.
        """
        node = self._sum()
        if self._at < len(self._tokens):
            raise Unread("more than one expression")
        return node

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str = "") -> str:
        token = self._peek()
        if not token or (wanted and token != wanted):
            raise Unread(f"{wanted or 'more'} is missing")
        self._at += 1
        return token

    def _node(self, op: str, *args: Node, value: Fraction | str = "") -> Node:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise TooComplex(f"more than {MAX_NODES} parts")
        return Node(op, args, value)

    def _sum(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooComplex(f"nested deeper than {MAX_DEPTH}")
        terms = [self._product()]
        while self._peek() in ("+", "-"):
            negative = self._take() == "-"
            term = self._product()
            terms.append(self._node("neg", term) if negative else term)
        self._depth -= 1
        return terms[0] if len(terms) == 1 else self._node("add", *terms)

    def _product(self) -> Node:
        node = self._signed()
        while True:
            token = self._peek()
            if token == "*":
                self._take()
                node = self._node("mul", node, self._signed())
            elif token == "/":
                self._take()
                node = self._node("div", node, self._signed())
            elif self._starts_factor(token):
                node = self._node("mul", node, self._power())
            else:
                return node

    def _starts_factor(self, token: str) -> bool:
        """Whether an expression goes on by juxtaposition; a number after something is not read as a product."""
        if not token or token == "|":
            return token == "|" and not self._bars
        return (
            token in ("(", "{", "[")
            or token.isalpha()
            or (token[0] == "\\" and token[1:].isalpha() and token not in _RELATIONS)
        )

    def _signed(self) -> Node:
        signs = 0
        negative = False
        while self._peek() in ("+", "-"):
            negative ^= self._take() == "-"
            signs += 1
            if signs > MAX_DEPTH:
                raise TooComplex("too many signs")
        node = self._power()
        return self._node("neg", node) if negative else node

    def _power(self) -> Node:
        base = self._postfix()
        if self._peek() != "^":
            return base
        self._take()
        if self._degrees():
            turned = self._node("mul", base, self._node("const", value="pi"))
            return self._node("div", turned, self._node("num", value=Fraction(180)))
        return self._node("pow", base, self._exponent())

    def _degrees(self) -> bool:
        """Whether the exponent is the sign of degrees, `^\\circ` or `^{\\circ}`, which is then taken."""
        for sign in (["\\circ"], ["{", "\\circ", "}"]):
            if list(self._tokens[self._at : self._at + len(sign)]) == sign:
                self._at += len(sign)
                return True
        return False

    def _exponent(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooComplex(f"nested deeper than {MAX_DEPTH}")
        node = self._signed()
        self._depth -= 1
        return node

    def _postfix(self) -> Node:
        node = self._atom()
        while self._peek() == "!":
            self._take()
            node = self._node("fact", node)
        return node

    def _atom(self) -> Node:
        token = self._take()
        if token[0].isdigit() or token[0] == ".":
            return self._node("num", value=Fraction(token))
        if token in _CLOSING:
            inner = self._sum()
            self._take(_CLOSING[token])
            return inner
        if token == "|":
            self._bars += 1
            inner = self._sum()
            self._take("|")
            self._bars -= 1
            return self._node("fn", inner, value="abs")
        if token in ("\\frac", "\\dfrac", "\\tfrac"):
            return self._node("div", self._argument(), self._argument())
        name = token.removeprefix("\\")
        if name in FUNCTIONS and token != name:
            return self._function(name)
        return self._symbol(token, name)

    def _symbol(self, token: str, name: str) -> Node:
        if not name.isalpha() or (token[0] == "\\" and name not in GREEK and name not in CONSTANTS):
            raise Unread("something that is not read")
        if name in CONSTANTS and (token[0] == "\\" or name in ("e", "i")) and self._peek() != "_":
            return self._node("const", value=CONSTANTS[name])
        if self._peek() == "_":
            self._take()
            index = self._argument()
            if index.op not in ("num", "sym"):
                raise Unread("an index that is not read")
            name = f"{name}_{index.value}"
        return self._node("sym", value=name)

    def _function(self, name: str) -> Node:
        if name == "sqrt":
            degree = self._bracketed() if self._peek() == "[" else None
            inner = self._argument()
            return self._node("root", inner, degree) if degree else self._node("root", inner)
        base = power = None
        if self._peek() == "_":
            self._take()
            base = self._argument()
        if self._peek() == "^":
            self._take()
            power = self._argument()
        inner = self._operand()
        node = self._node("fn", inner, *([base] if base else []), value=name)
        return self._node("pow", node, power) if power else node

    def _bracketed(self) -> Node:
        self._take("[")
        inner = self._sum()
        self._take("]")
        return inner

    def _argument(self) -> Node:
        """What one LaTeX argument is: a group, a digit of a bare number, a letter."""
        token = self._peek()
        if token.isdecimal() and len(token) > 1 and self._tokens[self._at - 1] != "\\sqrt":
            self._tokens = [*self._tokens[: self._at], token[0], token[1:], *self._tokens[self._at + 1 :]]
        return self._atom()

    def _operand(self) -> Node:
        """What a function without parentheses takes: `sin 2x`, up to the next sign or function."""
        if self._peek() in ("(", "[", "{", "|"):
            return self._atom()
        node = self._power()
        while True:
            token = self._peek()
            plain = token.isalpha() or token.removeprefix("\\") in (*GREEK, "pi")
            if not token or not plain:
                return node
            node = self._node("mul", node, self._power())


_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_RELATIONS: Final = frozenset({"\\le", "\\ge", "\\ne", "\\in", "\\cup", "\\emptyset", "\\{", "\\}"})


def parse(found: Sequence[str]) -> Node:
    """The expression that some tokens are; see `Parser.whole`."""
    return Parser(found).whole()


def symbols_of(node: Node) -> set[str]:
    """The names of the symbols in a tree."""
    own = {str(node.value)} if node.op == "sym" else set()
    return own.union(*(symbols_of(arg) for arg in node.args))


def size(node: Node) -> int:
    """How many parts a tree has."""
    return 1 + sum(size(arg) for arg in node.args)
