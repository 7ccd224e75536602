"""`static` reads any program to a verdict, and what it says of one does not depend on how deep the worker stands."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serving import RunningService
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.judging import judge
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Answer, Completion, Context, Grade
from veredicto_verifier.verifiers.static_code import lint, python_source, sql_source
from veredicto_verifier.verifiers.static_code.outcome import Fault
from veredicto_verifier.verifiers.static_code.spec import Rule

WORDS = st.sampled_from(
    (
        *(
            "def ",
            "f",
            "(",
            ")",
            ":",
            "\n",
            "    ",
            "return ",
            "x",
            " = ",
            "1",
            "lambda ",
            "'",
            '"',
            "#",
            "\\",
            "[",
            "{",
        ),
        *(
            "import ",
            "from ",
            "*",
            "async ",
            "await ",
            "yield ",
            "\ud800",
            "\x00",
            "é",
            "if ",
            "else",
            "class ",
            ",",
            ".",
        ),
    )
)
SOURCES = st.lists(WORDS, max_size=30).map("".join) | st.text(max_size=60)


def graded(spec: dict[str, Any], source: str) -> Grade:
    parsed = parse_spec("static", spec, VERIFIERS)
    verifier = VERIFIERS["static"]
    return verifier.grade(verifier.prepare(parsed, Context()), Answer(source, Completion(source)))  # type: ignore[no-any-return]


@given(source=SOURCES)
def test_any_python_comes_to_a_verdict(source: str) -> None:
    grade = graded({"language": "python", "require": ["def:f"], "forbid": ["import:x"], "pyflakes": "all"}, source)
    assert grade.passed is all(check.passed for check in grade.checks)
    assert 0 <= grade.score < 1


@given(
    source=st.lists(
        st.sampled_from("select from where ( ) , ; * a 'x' \" 1 join with as -- /* */".split(" ")), max_size=20
    )
)
def test_any_sql_comes_to_a_verdict(source: list[str]) -> None:
    grade = graded({"language": "sql", "require": ["table:a"]}, " ".join(source))
    assert grade.passed is all(check.passed for check in grade.checks)


def from_deep(levels: int, source: str) -> Any:
    """Parse and check far down the stack."""
    if levels:
        return from_deep(levels - 1, source)
    tree = python_source.parse(source)
    return tree if isinstance(tree, Fault) else python_source.complaints(tree, "all")


@pytest.mark.parametrize("shape", ["x = {open}1{close}", "def f():\n    return lambda: {open}1{close}"])
@pytest.mark.parametrize(
    ("left", "right"), [("[", "]"), ("-", ""), ("lambda: ", ""), ("f(", ")"), ("not ", ""), ("1+(", ")")]
)
def test_the_deepest_program_that_is_read_is_read_anywhere(shape: str, left: str, right: str) -> None:
    def program(depth: int) -> str:
        return shape.format(open=left * depth, close=right * depth)

    deepest = max(n for n in range(1, 200) if not isinstance(python_source.parse(program(n)), Fault))
    assert deepest >= 25
    assert from_deep(0, program(deepest)) == from_deep(150, program(deepest))
    fault = from_deep(150, program(199))
    assert isinstance(fault, Fault)
    assert fault.code in ("static.too_complex", "static.syntax")


def test_reading_a_program_runs_none_of_it(tmp_path: Any) -> None:
    target = tmp_path / "touched"
    grade = graded({"language": "python"}, f"open({str(target)!r}, 'w').write('x')")
    assert grade.passed
    assert not target.exists()


@pytest.mark.parametrize(
    ("path", "found"), [("f", 1), ("A", 1), ("A.g", 2), ("A.B.h", 1), ("g", 0), ("A.f", 0), ("f.inner", 0)]
)
def test_a_definition_is_found_by_its_path(path: str, found: int) -> None:
    tree = ast.parse(
        "def f():\n  def inner(): pass\n"
        "class A:\n  def g(self): pass\n  def g(self, x): pass\n  class B:\n    def h(self): pass"
    )
    assert len(python_source.Program(tree).definitions(path)) == found


def test_every_node_of_sqlglot_can_be_named() -> None:
    tree = sql_source.parse("SELECT a FROM b JOIN c USING (d) WHERE e > 1", "duckdb")
    for name in ("Select", "Join", "Where", "GT"):
        sql_source.check_rule(Rule("node", name), "$")
        assert sql_source.holds(tree, Rule("node", name))
    assert not sql_source.holds(tree, Rule("node", "Delete"))


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"language": "python", "require": ["def:"]}, "$.require[0]"),
        ({"language": "python", "lint": ["f"]}, "$.lint[0]"),
        ({"language": "python", "require": ["def:1a"]}, "$"),
        ({"language": "python", "require": ["class:class"]}, "$"),
        ({"language": "python", "forbid": ["import:os path"]}, "$"),
        ({"language": "python", "forbid": ["call:os..system"]}, "$"),
        ({"language": "python", "forbid": ["name:a.b"]}, "$"),
        ({"language": "python", "lint": ["QQQ1"]}, "$.lint"),
        ({"language": "sql", "forbid": ["node:Nothing"]}, "$.forbid[0]"),
        ({"language": "cobol"}, "$.language"),
    ],
)
def test_a_broken_spec_says_where(spec: dict[str, Any], place: str) -> None:
    with pytest.raises(TaskFault) as raised:
        VERIFIERS["static"].prepare(parse_spec("static", spec, VERIFIERS), Context())
    assert raised.value.message.startswith(place)


def test_a_configuration_beside_the_worker_changes_nothing(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ruff.toml").write_text('lint.ignore = ["F401"]\n')
    monkeypatch.chdir(tmp_path)
    spec = parse_spec("static", {"language": "python", "pyflakes": "off", "lint": ["F401"]}, VERIFIERS)
    verifier = VERIFIERS["static"]
    task = verifier.prepare(spec, Context())
    grade, _answer = judge(verifier, task, spec, Completion("import os\nprint(1)"))
    assert [check.code for check in grade.checks if not check.passed] == ["static.lint"]


LINTED = ["E9", "F", "W", "B"]
ODD = [
    "import os  # noqa\n",
    "# ruff: noqa\nimport os\n",
    "# ruff: noqa: F401\nimport os\n",
    "\ufeffimport os\n",
    "import os\r\nx = 1\r\n",
    "x = '\0'\n",
    "x = '\ud800'\n",
    "#!/usr/bin/env python\nimport sys\n",
    "# -*- coding: latin-1 -*-\nimport os\n",
    "from __future__ import annotations\nimport answer\n",
    "x = (\n",
    "",
    "\n".join(f"import m{i}" for i in range(20)),
]


def as_alone(sources: list[str]) -> None:
    together = lint.batch(sources, LINTED)
    assert together.keys() == {lint.key(source) for source in sources}
    for source in sources:
        if not isinstance(python_source.parse(source), Fault):
            assert together[lint.key(source)].broken == lint.report(source, LINTED, 60).broken


def test_programs_that_are_linted_together_are_judged_as_alone() -> None:
    as_alone(ODD)


@settings(max_examples=10)
@given(st.lists(st.lists(WORDS, max_size=12).map("".join), min_size=2, max_size=6, unique=True))
def test_any_programs_that_are_linted_together_are_judged_as_alone(sources: list[str]) -> None:
    as_alone(sources)


def test_what_cannot_be_linted_together_is_left_to_be_linted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = ["import os\n", "x = 1\n"]
    assert len(lint.batch(sources, ["F"])) == 2
    assert lint.batch(sources[:1], ["F"]) == {}
    for family in ("ALL", "INP", "INP001", "EXE002"):
        assert lint.batch(sources, [family]) == {}
    long = "x = 1\n" * (lint.BATCH_CHARS // 6)
    assert lint.batch([*sources, long], ["F"]).keys() == set(map(lint.key, sources))
    monkeypatch.setattr(lint, "BATCH_SECONDS", 1e-3)
    assert lint.batch(sources, ["F"]) == {}


def test_one_request_starts_one_linter_for_each_worker_and_every_item_has_its_own_verdict(
    service: RunningService,
) -> None:
    spec = {"language": "python", "pyflakes": "off", "lint": ["F"]}

    def posted(programs: list[str]) -> list[tuple[Any, Any]]:
        results = service.score([{"completion": one, "task": {"verifier": "static", "spec": spec}} for one in programs])
        return [(result["reward"], result["checks"]) for result in results]

    def faults_of_children() -> int:
        stats = [
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in service.worker_pids("light")
        ]
        return sum(int(stat[8]) for stat in stats)

    programs = [f"import os\nx = {i}\n" if i % 3 else f"x = {i}\n" for i in range(64)]
    posted(["x = 'warm'\n"] * 2)
    before = faults_of_children()
    alone = [posted([f"{program}# alone\n"])[0] for program in programs[:8]]
    between = faults_of_children()
    together = posted(programs)
    after = faults_of_children()
    assert [reward for reward, _ in together] == [0.0 if i % 3 else 1.0 for i in range(64)]
    assert together[:8] == alone
    assert after - between < (between - before)  # for 64 programs less than for 8 alone
