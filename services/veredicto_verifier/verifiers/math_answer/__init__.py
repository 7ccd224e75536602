"""`math`: the final answer is the right number, expression, relation, set, tuple, interval or choice.

Numbers are compared exactly, everything else by its value at many points; `steps` also works out the equalities that
the solution writes down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.numerals import parse
from veredicto_verifier.verifier import Answer, Check, Context, Grade, Verifier
from veredicto_verifier.verifiers.math_answer import steps
from veredicto_verifier.verifiers.math_answer.numeric import NumberGold, failed, number_gold
from veredicto_verifier.verifiers.math_answer.spec import NUMBER_ONLY, MathSpec

if TYPE_CHECKING:
    from veredicto_verifier.verifiers.math_answer.latex import LatexGold
    from veredicto_verifier.verifiers.math_answer.symbolic import SymbolicGold


@dataclass(frozen=True, slots=True)
class MathTask:
    """The right answer, read once."""

    gold: NumberGold | SymbolicGold | LatexGold
    spec: MathSpec


def prepare(spec: MathSpec, _context: Context) -> MathTask:
    """Read the right answer and judge it by itself.

    Raises:
        TaskFault: `task.gold_failed` if it is not read or does not pass.
    """
    number = number_gold(spec) if spec.kind in ("auto", "number") and not spec.simplified else None
    return MathTask(number or _other_gold(spec), spec)


def _other_gold(spec: MathSpec) -> SymbolicGold | LatexGold:
    # Lazily: tasks with numbers only pay for neither mpmath nor sympy.
    from veredicto_verifier.verifiers.math_answer.symbolic import symbolic_gold

    if spec.kind in ("auto", "number") and spec.decimal_mark == "," and parse(spec.answer, units=spec.units):
        raise TaskFault("task.gold_failed", "$.answer: no number with `decimal_mark` `,`; write 1234,5 for 1234.5")
    for field in NUMBER_ONLY:
        if field in spec.model_fields_set and getattr(spec, field) != MathSpec.model_fields[field].default:
            raise TaskFault("task.spec_invalid", f"$.{field}: is for numbers; the answer is read as something else")
    if spec.kind == "latex":
        from veredicto_verifier.verifiers.math_answer.latex import latex_gold

        if spec.simplified:
            raise TaskFault("task.spec_invalid", "$.simplified: is not for answers of kind `latex`")
        return latex_gold(spec.answer)
    try:
        return symbolic_gold(spec)
    except TaskFault:
        from veredicto_verifier.verifiers.math_answer.latex import is_construct, latex_gold

        if spec.kind != "auto" or spec.simplified or not is_construct(spec.answer):
            raise
        return latex_gold(spec.answer)


def grade(task: MathTask, answer: Answer) -> Grade:
    """Judge the final answer, its form and the steps to it; a wrong answer is never paid for the others."""
    value = task.gold.check(answer.text)
    checks = [value]
    if task.spec.simplified and not isinstance(task.gold, NumberGold):
        checks.append(_form(task, answer.text, value))
    if task.spec.steps:
        checks.append(_stepped(task.spec, answer.completion.text))
    passed = all(check.passed for check in checks)
    held = sum(check.passed for check in checks) / len(checks)
    return Grade(passed=passed, checks=tuple(checks), score=held if value.passed and not passed else 0.0)


def _form(task: MathTask, text: str, value: Check) -> Check:
    if not value.passed:
        return failed("math.not_simplified", "the final answer is not equal, so its form is not judged", "math.form")
    form: Check = task.gold.form(text)  # type: ignore[union-attr]
    return form


def _stepped(spec: MathSpec, text: str) -> Check:
    """Every equality of the completion, reasoning included."""
    found = steps.check(text, spec.decimal_mark)
    if found.wrong is not None:
        return failed("math.wrong_step", f"equality number {found.wrong} of the solution is wrong", "math.step")
    if found.found < spec.min_steps:
        reason = f"{found.found} equalities are written down; {spec.min_steps} are asked for"
        return failed("math.no_steps", reason, "math.step")
    return Check("math.step", passed=True, score=1.0)


VERIFIER: Final = Verifier(
    name="math",
    version="3.2.1",
    lane="light",
    spec=MathSpec,
    auto=lambda spec: "hash" if spec.profile == "strict" else "math",
    prepare=prepare,
    grade=grade,
    codes={
        "math.wrong_value": "the final answer is of the right kind, but not the right one",
        "math.wrong_unit": "the number stands beside another currency, or a percent sign too many or too few",
        "math.not_a_number": "the final answer is not one number in a notation that is read",
        "math.wrong_kind": "the final answer is another kind of thing: a tuple for a set, a number for an equation",
        "math.not_read": "the final answer is not in a notation that is read",
        "math.too_complex": "the final answer is over a cap on length, depth or magnitude",
        "math.not_simplified": "the final answer is equal, but not written in the form asked for",
        "math.wrong_step": "an arithmetic equality of the solution is wrong",
        "math.no_steps": "fewer equalities are written down than the task asks for",
        "math.timeout": "judging ran out of time, twice",
        "math.memory": "judging ran out of memory, twice",
        "math.crash": "judging killed the worker, twice",
    },
    example={"answer": "42"},
    good="6 times 7 is 42.\n#### 42",
    bad="6 times 7 is 43.\n#### 43",
    distributions=("mpmath", "sympy", "math-verify", "latex2sympy2-extended"),
)
"""Registered as `math`."""
