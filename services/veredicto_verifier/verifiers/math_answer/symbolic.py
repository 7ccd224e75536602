"""An expression, relation, set, tuple, interval or choice against one of its kind."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.numerals import parse, unwrapped
from veredicto_verifier.verifier import Check
from veredicto_verifier.verifiers.math_answer.agreement import Judge, nodes_of, sound
from veredicto_verifier.verifiers.math_answer.numeric import failed
from veredicto_verifier.verifiers.math_answer.shapes import Kind, Shape, read
from veredicto_verifier.verifiers.math_answer.simplified import breaks
from veredicto_verifier.verifiers.math_answer.spec import MathSpec
from veredicto_verifier.verifiers.math_answer.syntax import symbols_of
from veredicto_verifier.verifiers.math_answer.tokens import TooComplex, Unread


@dataclass(frozen=True, slots=True)
class SymbolicGold:
    """The right answer as a shape, and the judge of equality."""

    gold: Shape
    spec: MathSpec
    judge: Judge = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "judge", Judge(self.spec.symbols, self.spec.answer))

    def check(self, text: str) -> Check:
        """Read the answer as what the gold is, and compare."""
        try:
            answer = read(_bare(text, self.spec), self._meant(), self.spec.symbols)
            known = set(self.spec.symbols)
            if known and any(symbols_of(node) - known for node in nodes_of(answer)):
                return failed("math.not_read", "the final answer holds a symbol that the task does not have")
            if self.judge.agree(self.gold, answer):
                return Check("math.value", passed=True, score=1.0)
        except Unread:
            return failed("math.not_read", f"the final answer is no {self.gold.kind} in a notation that is read")
        except TooComplex:
            return failed("math.too_complex", "the final answer is over a cap on length, depth or magnitude")
        if answer.kind != self.gold.kind and answer.kind != "relation":
            return failed("math.wrong_kind", f"the final answer is a {answer.kind}; a {self.gold.kind} is asked for")
        return failed("math.wrong_value", f"the final answer is another {self.gold.kind}")

    def _meant(self) -> Kind | None:
        """What an answer is read as; `[1, 2]` answers `(1, 2)` only where the task itself calls that a tuple."""
        return None if self.gold.kind == "tuple" and self.spec.kind == "auto" else self.gold.kind

    def form(self, text: str) -> Check:
        """Whether an answer that is equal is also written as the task wants it."""
        answer = nodes_of(read(_bare(text, self.spec), self._meant(), self.spec.symbols))
        gold = nodes_of(self.gold)
        for form in self.spec.simplified:
            if any(breaks(form, node, gold[min(at, len(gold) - 1)]) for at, node in enumerate(answer)):
                return failed("math.not_simplified", f"the final answer is equal, but not `{form}`", "math.form")
        return Check("math.form", passed=True, score=1.0)


def symbolic_gold(spec: MathSpec) -> SymbolicGold:
    """Read the gold and judge it by itself.

    Raises:
        TaskFault: `task.gold_failed` if it is not read, has no value, or is not in the form that the task asks for.
    """
    kind: Kind | None = None if spec.kind in ("auto", "latex") else spec.kind  # type: ignore[assignment]
    if kind == "number":
        raise TaskFault("task.gold_failed", "$.answer: not one number; words after it must be listed in `units`")
    counted = re.fullmatch(r"[-+0-9., ]+([A-Za-z]{2,}).*", unwrapped(spec.answer), re.DOTALL)
    if kind is None and counted and counted[1] not in spec.symbols and parse(spec.answer, units=None) is not None:
        raise TaskFault(
            "task.gold_failed", "$.answer: a number with words; list them in `units`, or say `kind`: expression"
        )
    try:
        shape = _gold_shape(spec, kind)
        gold = SymbolicGold(shape, spec)
        holds = sound(shape) and gold.check(spec.answer).passed
    except Unread as error:
        raise TaskFault("task.gold_failed", f"$.answer: not in a notation that is read ({error})") from error
    except TooComplex as error:
        raise TaskFault("task.gold_failed", f"$.answer: over a cap: {error}") from error
    if kind is not None and shape.kind != kind:
        raise TaskFault("task.gold_failed", f"$.answer: reads as a {shape.kind}, but `kind` is {kind}")
    if not holds:
        raise TaskFault("task.gold_failed", "$.answer: does not equal itself; it has no value, or an unknown symbol")
    if spec.simplified and not gold.form(spec.answer).passed:
        raise TaskFault("task.gold_failed", "$.answer: is not in the form that `simplified` asks for")
    return gold


def _gold_shape(spec: MathSpec, kind: Kind | None) -> Shape:
    text = _bare(spec.answer, spec)
    inner = unwrapped(text)
    if kind is None and len(inner.strip("().")) == 1 and inner.strip("().") in "ABCDEFGH":
        return read(text, "choice")
    return read(text, kind, spec.symbols)


def _bare(text: str, spec: MathSpec) -> str:
    """The text without a declared unit at its end."""
    plain = unwrapped(text)
    for unit in sorted(spec.units, key=len, reverse=True):
        for written in (f"\\text{{{unit}}}", f"\\mathrm{{{unit}}}", f"\\text{{ {unit}}}", unit):
            if plain.endswith(written) and len(plain) > len(written):
                before = plain[: -len(written)]
                if not before[-1].isalpha():
                    return before.rstrip().removesuffix("\\").rstrip()
    return plain
