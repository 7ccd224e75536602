"""Read one written number exactly: `1,234.50`, `-3/4`, `2 1/2`, `$18`, `25%`, `1.5 × 10^3`, `\\frac{3}{4}`.

The whole text must be the number; what surrounds it (Markdown, LaTeX delimiters, a currency, declared units) is taken
off by closed rules. Nothing is guessed: `12,34` has no well-formed thousands group and is no number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

MAX_CHARS: Final = 300
"""Longest text that is read at all."""
MAX_EXPONENT: Final = 400
"""Largest power of ten, either way."""

DecimalMark = Literal[".", ","]

_CURRENCIES: Final[dict[str, str]] = {
    "US$": "USD",
    "USD": "USD",
    "MX$": "MXN",
    "MXN": "MXN",
    "EUR": "EUR",
    "GBP": "GBP",
    "JPY": "JPY",
    "$": "$",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
}
_PERCENTS: Final = ("%", "percent", "per cent", "por ciento")
_WRAPPERS: Final[dict[str, str]] = {
    "$$": "$$",
    "$": "$",
    "\\(": "\\)",
    "\\[": "\\]",
    "**": "**",
    "__": "__",
    "*": "*",
    "`": "`",
    "\\boxed{": "}",
    "\\mathbf{": "}",
    "\\textbf{": "}",
}
_DASHES: Final = str.maketrans({"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "\N{FRACTION SLASH}": "/"})
_PLAIN_INTEGER: Final = re.compile(r"-?[0-9]{1,30}\Z")
_SPACING: Final = re.compile(r"\\[,;:! ]|~|\s+")
_TEXT_COMMAND: Final = re.compile(r"\\(?:text|mathrm)\{([^{}\\]*+)\}")
_DEGREES: Final = re.compile(r"\^(?:\\circ(?![A-Za-z])|\{\\circ\})")
_FRACTION: Final = re.compile(r"\\[dt]?frac(?:\{([+-]?[0-9]++)\}\{(-?[0-9]++)\}|([0-9])([0-9]))")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]{1,6})\Z| ?(?:[×x*·⋅]|\\times|\\cdot) ?10\^\{?([+-]?[0-9]{1,6})\}?\Z")
_RATIO: Final = re.compile(r"(?:([0-9]++) )?([0-9]++) ?/ ?(-?[0-9]++)\Z")
_WORDS: Final = re.compile(r" ?[^\W\d_]+(?:[ .'/-]+[^\W\d_]+)*\Z")
_DIGITS: Final[dict[DecimalMark, re.Pattern[str]]] = {
    ".": re.compile(r"([1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+)|[0-9]*)(?:\.([0-9]*))?\Z"),
    ",": re.compile(r"([1-9][0-9]{0,2}(?:(?:\.[0-9]{3})+|(?: [0-9]{3})+)|[0-9]*)(?:,([0-9]*))?\Z"),
}


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number as it was written: its exact value, whether a percent sign stood by it, and which currency."""

    value: Fraction
    percent: bool = False
    currency: str | None = None


def parse(text: str, *, mark: DecimalMark = ".", units: Collection[str] | None = ()) -> Numeral | None:
    """The one number that the text is, or None.

    Args:
        text: at most `MAX_CHARS` characters; a longer one is no number.
        mark: what separates decimals; the other one, or a space, may group thousands.
        units: words that may follow the number; None allows any words.
    """
    if _PLAIN_INTEGER.match(text):
        return Numeral(Fraction(int(text)))
    if len(text) > MAX_CHARS:
        return None
    if text.lstrip("$*\\([ ").startswith("~"):
        return None  # "about 18", which TeX would read as a blank
    number = unwrapped(_without_units(unwrapped(_plain(text)), units))
    number, percent = _without_percent(number)
    sign, number = _signed(unwrapped(number))
    number, currency = _without_currency(number)
    if sign is None and currency is not None:
        sign, number = _signed(number)
    magnitude = _magnitude(number, mark)
    if magnitude is None or currency == "":
        return None
    return Numeral((sign or 1) * magnitude, percent, currency)


def same_currency(one: str | None, other: str | None) -> bool:
    """Whether two currency marks agree: a missing mark agrees with any, `$` with dollars and Mexican pesos."""
    if one is None or other is None or one == other:
        return True
    return {one, other} <= {"$", "USD"} or {one, other} <= {"$", "MXN"}


def _plain(text: str) -> str:
    """The text with its LaTeX spacing gone and in plain characters (NFKC, where that keeps the value)."""
    plain = text if text.isascii() else plain_characters(text)
    if "\\" in plain:
        plain = plain.replace("{,}", ",").replace("\\!", "").replace("\\%", "%").replace("\\$", "$")
        plain = _DEGREES.sub("°", plain)
        plain = _TEXT_COMMAND.sub(r" \1 ", plain)
        plain = _FRACTION.sub(lambda found: f" {found[1] or found[3]}/{found[2] or found[4]} ", plain)
    return _SPACING.sub(" ", plain.replace("{,}", ",")).strip()


def plain_characters(text: str) -> str:
    """NFKC, but `5²` becomes `5^2` and not 52, and `1½` becomes `1 1/2` and not `11/2`."""
    parts: list[str] = []
    previous = ""
    for char in text:
        shape = unicodedata.decomposition(char).partition(">")[0]
        if shape in ("<super", "<sub") and shape != previous:
            parts.append("^" if shape == "<super" else "_")
        elif shape == "<fraction":
            parts.append(" ")
        elif shape == "<circle" or (shape == "<compat" and char.isdigit()):
            parts.append("#")  # an enumeration mark (①, ⒈) is not a digit of a number
        parts.append(unicodedata.normalize("NFKC", char))
        previous = shape
    return "".join(parts).translate(_DASHES)


def unwrapped(text: str) -> str:
    """The text without the markup that encloses all of it, and without the sentence's full stop."""
    while True:
        inner = text
        if inner.endswith(".") and not inner.endswith(".."):
            inner = inner[:-1]
        for opening, closing in _WRAPPERS.items():
            if inner.startswith(opening) and inner.endswith(closing) and len(inner) > len(opening) + len(closing):
                inner = inner[len(opening) : -len(closing)]
                break
        inner = inner.strip()
        if inner == text:
            return text
        text = inner


def _without_units(text: str, units: Collection[str] | None) -> str:
    if units is None:
        words = _WORDS.search(text)
        kept = words is None or words.group().strip() in _CURRENCIES or words.group().strip().casefold() in _PERCENTS
        return text if words is None or kept else text[: words.start()]
    folded = text.casefold()
    for unit in sorted(units, key=len, reverse=True):
        plain = _plain(unit).casefold()
        if plain and folded.endswith(plain) and len(folded) == len(text):
            before = text[: -len(plain)]
            if before and not before[-1].isalpha():
                return before.strip()
    return text


def _without_percent(text: str) -> tuple[str, bool]:
    folded = text.casefold()
    for word in _PERCENTS:
        if folded.endswith(word) and len(folded) == len(text):
            return text[: -len(word)].strip(), True
    return text, False


def _without_currency(text: str) -> tuple[str, str | None]:
    """The number and its currency; an empty currency means two that contradict."""
    before = next((mark for mark in _CURRENCIES if text.startswith(mark)), "")
    text = text.removeprefix(before).strip()
    after = next((mark for mark in _CURRENCIES if text.endswith(mark)), "")
    text = text.removesuffix(after).strip()
    one, other = _CURRENCIES.get(before), _CURRENCIES.get(after)
    if not same_currency(one, other):
        return text, ""
    return text, other if one in (None, "$") and other else one


def _signed(text: str) -> tuple[int | None, str]:
    if text.startswith(("-", "+")):
        return (-1 if text[0] == "-" else 1), text[1:].strip()
    return None, text


def _magnitude(text: str, mark: DecimalMark) -> Fraction | None:
    """The value of an unsigned number, or None."""
    ratio = _RATIO.match(text)
    if ratio:
        return _ratio(int(ratio[1] or 0), int(ratio[2]), int(ratio[3]), mixed=ratio[1] is not None)
    power = 0
    exponent = _EXPONENT.search(text)
    if exponent:
        power, text = int(exponent[1] or exponent[2]), text[: exponent.start()]
    digits = _DIGITS[mark].match(text)
    if digits is None or abs(power) > MAX_EXPONENT:
        return None
    whole, part = re.sub("[^0-9]", "", digits[1]), digits[2] or ""
    if not whole and not part:
        return None
    return Fraction(int(whole + part)) * Fraction(10) ** (power - len(part))


def _ratio(whole: int, numerator: int, denominator: int, *, mixed: bool) -> Fraction | None:
    """`whole numerator/denominator`; a mixed number needs a proper fraction."""
    if denominator == 0 or (mixed and not numerator < denominator):
        return None
    return whole + Fraction(numerator, denominator)
