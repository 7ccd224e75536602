"""What can be held against an author's tests before any program is judged: such a task would pay or zero anything."""

from __future__ import annotations

import ast
import builtins
import difflib
import sys
from collections import Counter
from collections.abc import Iterator

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.verifiers.python_code.spec import Case, PythonSpec

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OURS = frozenset({"solution", "pytest", "tests"})
_CAPTURES = frozenset({"redirect_stdout", "redirect_stderr"})
_ASSERTING = ("assert", "fail", "raises", "warns", "approx", "expect")
"""How the names of functions begin that assert something: `assertEqual`, `assert_allclose`, `pytest.raises`."""


def check_cases(spec: PythonSpec) -> None:
    """Refuse cases that say nothing of the answer, or name an exception that is a built-in one misspelt.

    Raises:
        TaskFault: `task.spec_invalid`, with the place.
    """
    wanted = "expected" if spec.format == "calls" else "stdout"
    for index, case in enumerate(spec.cases):
        if wanted not in case.model_fields_set and case.raises is None and not spec.checker:
            hint = " or `raises`" if spec.format == "calls" else ""
            raise TaskFault("task.spec_invalid", f"$.cases[{index}]: it needs `{wanted}`{hint}")
        if case.raises is not None:
            _check_exception(spec, index, case)


def _check_exception(spec: PythonSpec, index: int, case: Case) -> None:
    name = case.raises or ""
    known = [
        each for each, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
    ]
    if name in known or name in spec.preamble or name in (spec.reference or ""):
        return
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.88)
    if close:
        raise TaskFault("task.spec_invalid", f"$.cases[{index}].raises: {name[:60]!r} is no exception; {close[0]} is")


def check_lines(lines: tuple[str, ...], field: str) -> None:
    """Refuse a line of tests that only defines a function: nothing would run its assertions.

    Raises:
        TaskFault: `task.gold_failed`, with the place.
    """
    for index, line in enumerate(lines):
        body = ast.parse(line).body
        runs = [each for each in body if not isinstance(each, (*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom))]
        if not runs:
            raise TaskFault(
                "task.gold_failed", f"$.{field}[{index}]: nothing runs in it; give a check(candidate) as one text"
            )


def check_source(source: str, field: str, libraries: tuple[str, ...]) -> None:
    """Refuse tests that import what is not there, or that look at what a program prints.

    Raises:
        TaskFault: `task.gold_failed`, with the place.
    """
    for node in ast.walk(ast.parse(source)):
        for name in _imported(node):
            if name not in sys.stdlib_module_names and name not in _OURS and name not in libraries:
                raise TaskFault(
                    "task.gold_failed", f"$.{field}: line {_line(node)} imports {name[:60]}, which is not there"
                )
        if getattr(node, "id", getattr(node, "attr", "")) in _CAPTURES:
            raise TaskFault(
                "task.gold_failed",
                f"$.{field}: line {_line(node)}: tests do not see what a program prints; use format 'stdio'",
            )


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    return (
        [node.module.partition(".")[0]] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
    )


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def check_file(source: str, field: str) -> None:
    """Refuse a test file that never imports the program, hides a test under another, or has one that asserts nothing.

    Raises:
        TaskFault: `task.gold_failed` or `task.empty_tests`, with the place.
    """
    tree = ast.parse(source)
    if not any("solution" in _imported(node) for node in ast.walk(tree)):
        raise TaskFault("task.empty_tests", f"$.{field}: it does not import `solution`, the program")
    asserting = _asserting_functions(tree)
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    for body in bodies:
        tests = [node for node in body if isinstance(node, _FUNCTIONS) and node.name.startswith("test")]
        twice = [name for name, times in Counter(test.name for test in tests).items() if times > 1]
        if twice:
            raise TaskFault("task.gold_failed", f"$.{field}: two tests are called {twice[0]}, and one hides the other")
        for test in tests:
            if not _asserts(test, asserting):
                raise TaskFault("task.empty_tests", f"$.{field}: {test.name} asserts nothing")


def _asserting_functions(tree: ast.Module) -> set[str]:
    """The functions and methods of a file that assert something, themselves or by others of it."""
    functions = [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]
    found: set[str] = set()
    while True:
        more = {each.name for each in functions if _asserts(each, found)} - found
        if not more:
            return found
        found |= more


def _asserts(function: ast.AST, asserting: set[str]) -> bool:
    return any(
        isinstance(node, ast.Assert | ast.Raise) or any(_says(name, asserting) for name in _called(node))
        for node in ast.walk(function)
    )


def _says(name: str, asserting: set[str]) -> bool:
    return name in asserting or name.lstrip("_").lower().startswith(_ASSERTING)


def _called(node: ast.AST) -> Iterator[str]:
    """The last part of the name of what is called, or passed on to be called."""
    if isinstance(node, ast.Call):
        yield getattr(node.func, "attr", getattr(node.func, "id", ""))
        yield from (each.id for each in node.args if isinstance(each, ast.Name))


def check_function(source: str, field: str, used: set[str]) -> None:
    """Refuse a `check(candidate)` that never uses its candidate or another name of the program's.

    Args:
        source: of the function.
        field: of the spec.
        used: names that the source uses and nothing but the program can define.

    Raises:
        TaskFault: `task.empty_tests`, with the place.
    """
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == "check":
            names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            if not names.intersection({arg.arg for arg in node.args.args}) and not used:
                raise TaskFault("task.empty_tests", f"$.{field}: check never uses the program")
