"""Written numbers are read exactly or not at all."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veredicto_verifier.numerals import MAX_CHARS, Numeral, parse, same_currency

INTEGERS = st.integers(min_value=-(10**40), max_value=10**40)
WRAPPED = ("{}", "${}$", "\\boxed{{{}}}", "**{}**", "`{}`", "\\({}\\)", "$\\boxed{{{}}}$.", " {} ", "**${}$**")


def value(text: str, **options: object) -> Fraction | None:
    numeral = parse(text, **options)  # type: ignore[arg-type]
    return None if numeral is None else numeral.value


@given(number=INTEGERS, wrapping=st.sampled_from(WRAPPED))
def test_an_integer_is_read_in_every_notation(number: int, wrapping: str) -> None:
    for written in (str(number), f"{number:,}", f"{number:,}".replace(",", " "), f"{number}.0", f"{number}/1"):
        assert value(wrapping.format(written)) == number


@given(number=INTEGERS)
def test_a_decimal_comma_is_read_where_it_is_declared(number: int) -> None:
    written = f"{number:,}.5".replace(",", "_").replace(".", ",").replace("_", ".")
    assert value(written, mark=",") == Fraction(f"{number}.5")


@given(number=st.decimals(allow_nan=False, allow_infinity=False, places=8, min_value=-(10**12), max_value=10**12))
def test_a_decimal_is_read_exactly(number: Decimal) -> None:
    assert value(f"{number:f}") == Fraction(number)


@given(mantissa=st.integers(-9999, 9999), power=st.integers(-400, 400))
def test_a_power_of_ten_is_read_exactly(mantissa: int, power: int) -> None:
    for written in (f"{mantissa}e{power}", f"{mantissa} × 10^{power}", f"{mantissa} \\times 10^{{{power}}}"):
        assert value(written) == mantissa * Fraction(10) ** power


@given(number=st.fractions())
def test_a_fraction_is_read_exactly(number: Fraction) -> None:
    top, bottom = number.numerator, number.denominator
    assert value(f"{top}/{bottom}") == number
    assert value(f"\\frac{{{top}}}{{{bottom}}}") == number


@given(one=st.text(max_size=40), other=st.sampled_from([".", ","]))
def test_any_text_is_a_number_or_none(one: str, other: str) -> None:
    for units in ((), None, (one,)):
        numeral = parse(one, mark=other, units=units)  # type: ignore[arg-type]
        assert numeral is None or isinstance(numeral.value, Fraction)


@given(
    left=st.integers(0, 10**6), right=st.integers(0, 10**6), join=st.sampled_from([" or ", ", ", "; ", " y ", " - "])
)
def test_two_numbers_are_not_one(left: int, right: int, join: str) -> None:
    assert value(f"{left}{join}{right}") is None
    assert value(f"{left}{join}{right}", units=None) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$5", Numeral(Fraction(5), currency="$")),
        ("\\$5", Numeral(Fraction(5), currency="$")),
        ("$\\$5$", Numeral(Fraction(5), currency="$")),
        ("-$5", Numeral(Fraction(-5), currency="$")),
        ("$-5", Numeral(Fraction(-5), currency="$")),
        ("$1,250.50 MXN", Numeral(Fraction("1250.5"), currency="MXN")),
        ("5 €", Numeral(Fraction(5), currency="EUR")),
        ("25%", Numeral(Fraction(25), percent=True)),
        ("$25\\%$", Numeral(Fraction(25), percent=True)),
        ("25 por ciento", Numeral(Fraction(25), percent=True)),
        ("1½", Numeral(Fraction(3, 2))),
        ("3/4", Numeral(Fraction(3, 4))),
        ("−5", Numeral(Fraction(-5))),
        ("3×10⁻²", Numeral(Fraction(3, 100))),
        ("5 EUR USD", None),
        ("$--5", None),
        ("5%%", None),
        ("5²", None),
        ("x₁", None),
        ("⒈", None),
        ("٣", None),
        ("12,34", None),
        ("0,123", None),
        ("1,234 567", None),
        ("1 5/2", None),
        ("2/0", None),
        ("1e401", None),
        ("0x10", None),
        ("1_000", None),
        ("(5)", None),
        ("18...", None),
        ("5 cm", None),
        ("", None),
        ("$", None),
        ("%", None),
        ("-", None),
        ("9" * (MAX_CHARS + 1), None),
    ],
)
def test_a_notation_is_read_or_refused(text: str, expected: Numeral | None) -> None:
    assert parse(text) == expected


def test_a_unit_must_be_declared() -> None:
    assert value("5 km per hour") is None
    assert value("5 km per hour", units=("km", "km per hour")) == 5
    assert value("5 km per hour", units=None) == 5
    assert value("5 km or 6", units=None) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [(None, "EUR", True), ("$", "USD", True), ("$", "MXN", True), ("USD", "MXN", False), ("$", "EUR", False)],
)
def test_currencies_agree_or_contradict(one: str | None, other: str, same: bool) -> None:
    assert same_currency(one, other) is same
    assert same_currency(other, one) is same
