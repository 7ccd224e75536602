"""What `math` judges by."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from veredicto_verifier.numerals import DecimalMark
from veredicto_verifier.verifier import Limits, Spec

Unit = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40)]
Symbol = Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{1,20}$")]
Domain = Literal["real", "positive", "nonnegative", "integer", "natural"]
Form = Literal["fraction", "radical", "rational_denominator", "evaluated", "expanded", "factored", "size"]
NUMBER_ONLY = ("percent", "abs_tol", "decimal_mark")


class MathSpec(Spec):
    """What `math` judges by."""

    limits: Limits = Limits(cpu_s=2.0)
    """Time and memory for one completion; answers are judged in milliseconds, only hostile ones in seconds."""
    answer: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    """The right answer, in any notation that the verifier reads."""
    kind: Literal["auto", "number", "expression", "relation", "set", "tuple", "interval", "choice", "latex"] = "auto"
    """What the answer is; `auto` goes by the look of it: `(1, 2)` is a tuple and `B` a choice unless said otherwise."""
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
    symbols: Annotated[dict[Symbol, Domain], Field(max_length=16)] = Field(default_factory=dict)
    """What the symbols stand for; a symbol that is not named is a real number."""
    simplified: tuple[Form, ...] = ()
    """The form that the answer must be written in, beside being equal."""
    steps: bool = False
    """Whether every arithmetic equality that the completion writes down must be right."""
    min_steps: Annotated[int, Field(ge=0, le=100)] = 0
    """With `steps`: at least so many equalities must be written."""

    @model_validator(mode="after")
    def _of_one_piece(self) -> MathSpec:
        if self.min_steps and not self.steps:
            raise ValueError("`min_steps` needs `steps`")
        return self
