"""`static`: a program that is read and never run: its syntax, its names, what it must and must not hold, its lint.

This is no sandbox and no proof: a forbidden thing can hide behind `getattr`. Running programs is what `python` is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifier import Answer, Check, Context, Grade, Verifier
from veredicto_verifier.verifiers.static_code import python_source, sql_source
from veredicto_verifier.verifiers.static_code.lint import Report, batch, check_selectors, key, report
from veredicto_verifier.verifiers.static_code.outcome import Fault, summary
from veredicto_verifier.verifiers.static_code.spec import Rule, StaticSpec


@dataclass(frozen=True, slots=True)
class StaticTask:
    """The spec with its rules read."""

    spec: StaticSpec
    require: tuple[Rule, ...]
    forbid: tuple[Rule, ...]
    reports: dict[bytes, Report] = field(default_factory=dict)
    """What ruff said of the programs that are judged next."""


def prepare(spec: StaticSpec, _context: Context) -> StaticTask:
    """Read the rules.

    Raises:
        TaskFault: `task.spec_invalid` for a node or a lint rule that there is not.
    """
    require, forbid = (tuple(map(Rule.read, texts)) for texts in (spec.require, spec.forbid))
    if spec.language == "sql":
        for name, rules in (("require", require), ("forbid", forbid)):
            for at, rule in enumerate(rules):
                sql_source.check_rule(rule, f"$.{name}[{at}]")
        if not require and not forbid:
            raise TaskFault("task.spec_invalid", "$.require: without `require` or `forbid` any statement would pass")
    if spec.lint:
        check_selectors(spec.lint)
    return StaticTask(spec, require, forbid)


def look_ahead(task: StaticTask, answers: Sequence[Answer]) -> None:
    """Lint together the programs that wait together."""
    task.reports.clear()
    readable = [answer.text for answer in answers if len(answer.text) <= python_source.MAX_CHARS]
    task.reports.update(batch(readable, task.spec.lint))


def grade(task: StaticTask, answer: Answer) -> Grade:
    """Read the program, then judge it."""
    return _python(task, answer.text) if task.spec.language == "python" else _sql(task, answer.text)


def _python(task: StaticTask, source: str) -> Grade:
    tree = python_source.parse(source)
    if isinstance(tree, Fault):
        return _unread(tree)
    program = python_source.Program(tree)
    missing = [rule for rule in task.require if not python_source.holds(program, rule)]
    stubs = [rule for rule in task.require if rule not in missing and python_source.stub(program, rule)]
    present = [rule for rule in task.forbid if python_source.may_hold(program, rule)]
    checks = [*_held(task, missing, stubs, present)]
    if task.spec.pyflakes != "off":
        code = "static.undefined_name" if task.spec.pyflakes == "errors" else "static.pyflakes"
        checks.append(_listed("static.names", code, python_source.complaints(tree, task.spec.pyflakes)))
    cpu_s = 0.0
    if task.spec.lint:
        found = task.reports.get(key(source)) or report(source, task.spec.lint, task.spec.limits.wall_seconds)
        cpu_s = found.cpu_s
        if found.broken is None:
            checks.append(_failed("static.lint", "static.lint_crashed", "ruff died of the program, twice"))
        else:
            checks.append(_told("static.lint", "static.lint", found.broken))
    return _graded(task, checks, len(missing) + len(stubs), cpu_s)


def _sql(task: StaticTask, source: str) -> Grade:
    tree = sql_source.parse(source, task.spec.dialect)
    if isinstance(tree, Fault):
        return _unread(tree)
    missing = [rule for rule in task.require if not sql_source.holds(tree, rule)]
    present = [rule for rule in task.forbid if sql_source.holds(tree, rule)]
    return _graded(task, [*_held(task, missing, [], present)], len(missing), 0.0)


def _held(task: StaticTask, missing: list[Rule], stubs: list[Rule], present: list[Rule]) -> list[Check]:
    checks = [Check("static.syntax", passed=True, score=1.0)]
    if task.require:
        code = "static.missing" if missing else "static.stub"
        checks.append(_listed("static.require", code, [_text(rule) for rule in missing or stubs]))
    if task.forbid:
        checks.append(_listed("static.forbid", "static.forbidden", [_text(rule) for rule in present]))
    return checks


def _graded(task: StaticTask, checks: list[Check], lacking: int, cpu_s: float) -> Grade:
    """The shaped score is the share of `require` times that of the checks; nothing forbidden is ever paid."""
    passed = all(check.passed for check in checks)
    share = 1 - lacking / len(task.require) if task.require else 0.0
    if any(check.code == "static.forbidden" for check in checks):
        share = 0.0
    score = share * sum(check.passed for check in checks) / len(checks)
    return Grade(passed=passed, checks=tuple(checks), score=0.0 if passed else score, cpu_s=cpu_s)


def _text(rule: Rule) -> str:
    return f"{rule.kind}:{rule.name}" + ("" if rule.arity is None else f"/{rule.arity}")


def _unread(fault: Fault) -> Grade:
    return Grade(passed=False, checks=(_failed("static.syntax", fault.code, fault.reason),))


def _listed(name: str, code: str, found: list[str]) -> Check:
    return _told(name, code, summary(found))


def _told(name: str, code: str, reason: str) -> Check:
    return _failed(name, code, reason) if reason else Check(name, passed=True, score=1.0)


def _failed(name: str, code: str, reason: str) -> Check:
    return Check(name, passed=False, score=0.0, code=code, reason=reason[:300])


VERIFIER: Final = Verifier(
    name="static",
    version="1.3.1",
    lane="light",
    spec=StaticSpec,
    auto=lambda spec: f"fence:{spec.language}",
    prepare=prepare,
    grade=grade,
    look_ahead=look_ahead,
    looks_ahead=lambda spec: bool(spec.lint),
    codes={
        "static.syntax": "the program does not compile, or the statement cannot be read",
        "static.too_large": "the program is too long",
        "static.too_complex": "the program nests too deep",
        "static.empty": "the program does and defines nothing",
        "static.not_one_statement": "more than one SQL statement",
        "static.missing": "something required is not there",
        "static.stub": "something required is there, but empty",
        "static.forbidden": "something forbidden is there",
        "static.undefined_name": "a name is used that is not defined, or a star import hides which are",
        "static.pyflakes": "pyflakes finds something",
        "static.lint": "a lint rule is broken",
        "static.lint_crashed": "the linter died of the program, twice",
        "static.timeout": "judging ran out of time, twice",
        "static.memory": "judging ran out of memory, twice",
        "static.crash": "judging killed the worker, twice",
    },
    example={"language": "python", "require": ["def:add/2"], "forbid": ["import:os"]},
    good="```python\ndef add(a, b):\n    return a + b\n```",
    bad="```python\ndef add(a, b):\n    pass\n```",
    distributions=("pyflakes", "ruff", "sqlglot"),
)
"""Registered as `static`."""
