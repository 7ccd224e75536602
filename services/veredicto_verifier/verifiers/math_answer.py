"""`math`: the final answer is the right number, compared exactly.

Numbers only: a gold that is an expression, a set or a letter is refused as `task.gold_failed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.numerals import DecimalMark, Numeral, parse, same_currency
from veredicto_verifier.verifier import Answer, Check, Context, Grade, Spec, Verifier

Unit = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40)]


class MathSpec(Spec):
    """What `math` judges by."""

    answer: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    """The right number, in any notation that the verifier reads."""
    profile: Literal["lenient", "strict"] = "lenient"
    """`strict` takes exactly one `#### …` as the last line; `lenient` also `\\boxed{}`, "answer is" and `<answer>`."""
    percent: Literal["same", "ignore", "ratio"] = "same"
    """`25%` differs from 25 (`same`), equals 25 (`ignore`) or equals 0.25 (`ratio`)."""
    decimal_mark: DecimalMark = "."
    """What separates decimals in the answer; the other mark, or a space, may group thousands."""
    units: Annotated[tuple[Unit, ...], Field(max_length=32)] = ()
    """Words that may follow the number (`dollars`, `km`); any other word makes it no number."""
    abs_tol: Annotated[Decimal, Field(ge=0, max_digits=40, decimal_places=30)] = Decimal(0)
    """How far the answer may be from the right one."""


@dataclass(frozen=True, slots=True)
class MathTask:
    """The right number, with what it takes to read another."""

    gold: Numeral
    spec: MathSpec
    tolerance: Fraction


def prepare(spec: MathSpec, _context: Context) -> MathTask:
    """Read the right answer.

    Raises:
        TaskFault: `task.gold_failed` if it is not one number.
    """
    gold = parse(spec.answer, mark=spec.decimal_mark, units=spec.units)
    if gold is None:
        raise TaskFault(
            "task.gold_failed",
            "$.answer: not one number; this version compares numbers only (expressions, sets and letters are not "
            "read), and words after the number must be listed in `units`",
        )
    return MathTask(gold, spec, Fraction(spec.abs_tol))


def grade(task: MathTask, answer: Answer) -> Grade:
    """Read the answer as one number and compare."""
    found = parse(answer.text, mark=task.spec.decimal_mark, units=task.spec.units)
    if found is None:
        return _refused("math.not_a_number", "the final answer is not one number in a notation that is read")
    if not same_currency(found.currency, task.gold.currency):
        return _refused("math.wrong_unit", "the currency is not the one asked for")
    if task.spec.percent == "same" and found.percent != task.gold.percent:
        return _refused(
            "math.wrong_unit", "a percent sign too many" if found.percent else "the percent sign is missing"
        )
    if abs(_value(found, task.spec) - _value(task.gold, task.spec)) > task.tolerance:
        return _refused("math.wrong_value", "the final answer is another number")
    return Grade(passed=True, checks=(Check("math.value", passed=True, score=1.0),))


def _value(numeral: Numeral, spec: MathSpec) -> Fraction:
    return numeral.value / 100 if spec.percent == "ratio" and numeral.percent else numeral.value


def _refused(code: str, reason: str) -> Grade:
    return Grade(passed=False, checks=(Check("math.value", passed=False, score=0.0, code=code, reason=reason),))


VERIFIER: Final = Verifier(
    name="math",
    version="1.0.0",
    lane="light",
    spec=MathSpec,
    auto=lambda spec: "hash" if spec.profile == "strict" else "math",
    prepare=prepare,
    grade=grade,
    codes={
        "math.wrong_value": "the final answer is a number, but not the right one",
        "math.wrong_unit": "the number stands beside another currency, or a percent sign too many or too few",
        "math.not_a_number": "the final answer is not one number in a notation that is read",
        "math.timeout": "judging ran out of time, twice",
        "math.memory": "judging ran out of memory, twice",
        "math.crash": "judging killed the worker, twice",
    },
    example={"answer": "42"},
    good="6 times 7 is 42.\n#### 42",
    bad="6 times 7 is 43.\n#### 43",
)
"""Registered as `math`."""
