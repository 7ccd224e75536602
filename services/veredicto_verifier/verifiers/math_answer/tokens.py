"""Cut a mathematical text, plain or LaTeX, into tokens of a closed alphabet; what is not in it is not read."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from veredicto_verifier.numerals import MAX_CHARS, plain_characters

MAX_DIGITS: Final = 40

FUNCTIONS: Final = frozenset(
    "sin cos tan cot sec csc arcsin arccos arctan asin acos atan sinh cosh tanh exp ln log lg sqrt abs cbrt".split()
)
CONSTANTS: Final = {"pi": "pi", "e": "e", "i": "i", "infty": "oo", "inf": "oo", "infinity": "oo"}
GREEK: Final = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta kappa lambda mu nu xi rho sigma tau phi varphi "
    "chi psi omega".split()
)

_CHARACTERS: Final = {
    "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "√": "\\sqrt ", "π": "\\pi ", "∞": "\\infty ", "≤": "\\le ",
    "≥": "\\ge ", "≠": "\\ne ", "∈": "\\in ", "∪": "\\cup ", "∅": "\\emptyset ", "θ": "\\theta ", "α": "\\alpha ",
    "β": "\\beta ", "λ": "\\lambda ", "°": "^\\circ ",
}  # fmt: skip
_SAME: Final = {
    "cdot": "*", "times": "*", "ast": "*", "div": "/", "leq": "\\le", "geq": "\\ge", "neq": "\\ne", "le": "\\le",
    "ge": "\\ge", "ne": "\\ne", "leqslant": "\\le", "geqslant": "\\ge", "lbrace": "\\{", "rbrace": "\\}", "lvert": "|",
    "rvert": "|", "vert": "|", "in": "\\in", "cup": "\\cup", "emptyset": "\\emptyset", "varnothing": "\\emptyset",
    "mid": "|", "lt": "<", "gt": ">", "vee": "\\lor", "wedge": "\\land",
}  # fmt: skip
_DROPPED: Final = frozenset("left right displaystyle textstyle quad qquad limits bigl bigr Bigl Bigr big Big".split())
_OR_AND: Final = re.compile(r"\\text\{\s*(or|and|o|y)\s*\}|(?<=[\s$])(or|and)(?=[\s$])")
_UNION: Final = re.compile(r"(?<=[)\]}])\s*U\s*(?=[(\[{\\])")
_TOKEN: Final = re.compile(
    r"\\[A-Za-z]+|\\[{}|,;:! ]|[0-9]+(?:\.[0-9]+)?|\.[0-9]+|[A-Za-z]+|\*\*|<=|>=|!=|[-+*/^!|()\[\]{}_,;=<>]|\s+|~"
)


class Unread(ValueError):
    """The text is not in the grammar."""


class TooComplex(ValueError):
    """The text is in the grammar, but over a cap."""


def tokens(text: str, symbols: Collection[str] = ()) -> list[str]:
    """The tokens of a text.

    Raises:
        Unread: a character is not in the grammar.
        TooComplex: over the cap on characters or digits.
    """
    if len(text) > MAX_CHARS:
        raise TooComplex(f"longer than {MAX_CHARS} characters")
    plain = plain_characters(text) if not text.isascii() else text
    for char, written in _CHARACTERS.items():
        plain = plain.replace(char, written)
    plain = _UNION.sub(r" \\cup ", _OR_AND.sub(_connective, plain))
    plain = plain.replace("{,}", "").replace("\\$", "").replace("$", "").replace("\\%", "%")
    found: list[str] = []
    at = 0
    while at < len(plain):
        token = _TOKEN.match(plain, at)
        if token is None:
            raise Unread("a character that is not read")
        at = token.end()
        found.extend(_spelt(token.group(), symbols))
    return found


def _connective(found: re.Match[str]) -> str:
    return " \\lor " if (found[1] or found[2]).startswith("o") else " \\land "


def _spelt(token: str, symbols: Collection[str]) -> list[str]:
    if token[0].isspace() or token == "~" or token in ("\\,", "\\;", "\\:", "\\!", "\\ "):
        return []
    if token[0].isdigit() or token[0] == ".":
        if len(token) > MAX_DIGITS:
            raise TooComplex(f"a number of more than {MAX_DIGITS} digits")
        return [token]
    if token[0] == "\\" and token[1:].isalpha():
        name = token[1:]
        return [] if name in _DROPPED else [_SAME.get(name, token)]
    if token.isalpha():
        return _words(token, symbols)
    return [{"**": "^", "<=": "\\le", ">=": "\\ge", "!=": "\\ne", "\\|": "|"}.get(token, token)]


def _words(word: str, symbols: Collection[str]) -> list[str]:
    """A run of letters as a declared symbol, a function, a constant, or single letters that multiply."""
    if word in symbols:
        return [word]
    known = FUNCTIONS | GREEK | {"pi", "infty", "inf", "infinity", "frac"}
    found: list[str] = []
    at = 0
    while at < len(word):
        name = next((word[at:end] for end in range(len(word), at + 1, -1) if word[at:end] in known), None)
        found.append(f"\\{name}" if name else word[at])
        at += len(name) if name else 1
        if len(found) > 2 and all(len(one) == 1 for one in found[-3:]):
            raise Unread("a word that is no declared symbol")
    return found
