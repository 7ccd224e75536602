"""A number against a number, exactly; nothing of the symbolic side is loaded for it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from veredicto_verifier.numerals import Numeral, parse, same_currency
from veredicto_verifier.verifier import Check
from veredicto_verifier.verifiers.math_answer.spec import MathSpec


@dataclass(frozen=True, slots=True)
class NumberGold:
    """The right number, with what it takes to read another."""

    gold: Numeral
    spec: MathSpec
    tolerance: Fraction

    def check(self, text: str) -> Check:
        """Read the answer as one number and compare."""
        spec = self.spec
        found = parse(text, mark=spec.decimal_mark, units=spec.units)
        if found is None:
            return failed("math.not_a_number", "the final answer is not one number in a notation that is read")
        if not same_currency(found.currency, self.gold.currency):
            return failed("math.wrong_unit", "the currency is not the one asked for")
        if spec.percent == "same" and found.percent != self.gold.percent:
            reason = "a percent sign too many" if found.percent else "the percent sign is missing"
            return failed("math.wrong_unit", reason)
        if abs(self._value(found) - self._value(self.gold)) > self.tolerance:
            return failed("math.wrong_value", "the final answer is another number")
        return Check("math.value", passed=True, score=1.0)

    def _value(self, numeral: Numeral) -> Fraction:
        return numeral.value / 100 if self.spec.percent == "ratio" and numeral.percent else numeral.value


def number_gold(spec: MathSpec) -> NumberGold | None:
    """The gold as a number; None if it is none."""
    gold = parse(spec.answer, mark=spec.decimal_mark, units=spec.units)
    return None if gold is None else NumberGold(gold, spec, Fraction(spec.abs_tol))


def failed(code: str, reason: str, name: str = "math.value") -> Check:
    """A failed check."""
    return Check(name, passed=False, score=0.0, code=code, reason=reason)
