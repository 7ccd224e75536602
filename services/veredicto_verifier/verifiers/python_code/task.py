"""From a spec to a task that can be run many times: values decoded, requests encoded, tests compiled once."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import FrameTooLarge, pack
from veredicto_verifier.sandbox.meter import Meter
from veredicto_verifier.sandbox.process import Child, Quota
from veredicto_verifier.verifiers.python_code.authored import (
    check_cases,
    check_file,
    check_function,
    check_lines,
    check_source,
)
from veredicto_verifier.verifiers.python_code.relations import Metamorphic
from veredicto_verifier.verifiers.python_code.spec import PythonSpec
from veredicto_verifier.verifiers.python_code.values import BadValue, plain


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the program and what must come of it."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    request: list[Any]
    """The call, encoded; no expected value is in it."""
    expected: Any = None
    raises: str | None = None
    """The exception that must come instead of a value."""
    hidden: bool = True


@dataclass(frozen=True, slots=True)
class Pair:
    """Two calls whose answers must relate."""

    first: Call
    second: Call | None
    """None when the first answer is an argument of the second call."""
    how: Metamorphic


@dataclass(frozen=True, slots=True)
class CallTask:
    """A task of format `calls`."""

    spec: PythonSpec
    calls: tuple[Call, ...]
    pairs: tuple[Pair, ...] = ()
    checker_proven: bool = False
    """The checker works on right answers, so that it raises is an answer's fault."""

    @property
    def hidden(self) -> tuple[bool, ...]:
        """For each call, then for each pair, whether it is held out."""
        return (*(call.hidden for call in self.calls), *[True] * len(self.pairs))


@dataclass(frozen=True, slots=True)
class StdioTask:
    """A task of format `stdio`."""

    spec: PythonSpec
    hidden: tuple[bool, ...]
    checker_proven: bool = False


@dataclass(frozen=True, slots=True)
class AssertTask:
    """A task of format `asserts`."""

    spec: PythonSpec
    tests: tuple[tuple[str, str], ...]
    """`(kind, source)`: kind `check` defines `check(candidate)`, kind `lines` is one assert line."""
    names: tuple[str, ...]
    """Global names that the tests use: those that nothing else defines are the program's."""
    hidden: tuple[bool, ...]
    awaits: bool
    """The tests await what the program returns."""


@dataclass(frozen=True, slots=True)
class FileTask:
    """A task of format `unittest` or `pytest`."""

    spec: PythonSpec
    files: tuple[tuple[str, str], ...]
    """`(module name, source)`."""
    ids: tuple[str, ...] = ()
    """The tests in them, once collected."""
    hidden: tuple[bool, ...] = ()


PythonTask = CallTask | StdioTask | AssertTask | FileTask


def quota(spec: PythonSpec) -> Quota:
    """The kernel's limits for one program."""
    return Quota(spec.suite_cpu_seconds, spec.limits.memory_mb * 1024 * 1024)


def suite_meter(spec: PythonSpec, children: Sequence[Child]) -> Meter:
    """What all cases together may use."""
    pids = [child.pid for child in children]
    return Meter(pids, cpu_s=spec.suite_cpu_seconds, wall_s=spec.limits.wall_seconds)


def build_task(spec: PythonSpec) -> PythonTask:
    """The task of a spec; runs nothing.

    Raises:
        TaskFault: there are no tests, or they cannot be understood.
    """
    if spec.preamble:
        _parse(spec.preamble, "preamble")
    if spec.format == "asserts":
        return _assert_task(spec)
    if spec.format in ("unittest", "pytest"):
        return _file_task(spec)
    if spec.checker:
        _parse(spec.checker, "checker")
    if not spec.cases:
        raise TaskFault("task.empty_tests", f"format {spec.format!r} needs at least one case in `cases`")
    check_cases(spec)
    hidden = tuple(case.hidden for case in spec.cases)
    if spec.format == "stdio":
        for index, case in enumerate(spec.cases):
            _check_text(index, case.stdin + case.stdout)
        return StdioTask(spec, hidden)
    return CallTask(spec, tuple(_call(spec, index) for index in range(len(spec.cases))))


def _check_text(index: int, text: str) -> None:
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise TaskFault("task.gold_failed", f"$.cases[{index}]: input or output is no text") from error


def _call(spec: PythonSpec, index: int) -> Call:
    case = spec.cases[index]
    args = tuple(_plain(index, "args", arg) for arg in case.args)
    kwargs = {name: _plain(index, "kwargs", value) for name, value in case.kwargs.items()}
    try:
        request = call_request(spec, args, kwargs)
        pack(request)
    except (codec.CodecError, FrameTooLarge) as error:
        raise TaskFault("task.gold_failed", f"$.cases[{index}]: the arguments cannot be sent: {error}") from error
    return Call(args, kwargs, request, _plain(index, "expected", case.expected), case.raises, case.hidden)


def call_request(spec: PythonSpec, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """A call of the entry point as it crosses to the program.

    Raises:
        CodecError: an argument is no plain value.
    """
    forms = [codec.encode(arg, _no_objects) for arg in args]
    named = {name: codec.encode(value, _no_objects) for name, value in kwargs.items()}
    return ["call", spec.entry, forms, named, spec.iterate]


def _plain(index: int, field: str, value: Any) -> Any:
    try:
        return plain(value)
    except BadValue as error:
        raise TaskFault("task.gold_failed", f"$.cases[{index}].{field}: {error}") from error


def argument(call: Call, where: int | str) -> Any:
    """One argument of a call.

    Raises:
        LookupError: it has no such argument.
    """
    return call.kwargs[where] if isinstance(where, str) else call.args[where]


def with_argument(call: Call, where: int | str, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, with another value in one place that it has."""
    if isinstance(where, str):
        return call.args, {**call.kwargs, where: value}
    return (*call.args[:where], value, *call.args[where + 1 :]), call.kwargs


def _no_objects(value: Any) -> NoReturn:
    raise codec.CodecError(f"a {type(value).__name__} is no plain value")


def _assert_task(spec: PythonSpec) -> AssertTask:
    visible = _tests(spec.tests, "tests")
    held_out = _tests(spec.hidden_tests, "hidden_tests")
    _parse(spec.setup, "setup")
    if not visible and not held_out:
        raise TaskFault(
            "task.empty_tests", "format 'asserts' needs `tests`: a check(candidate) function or assert lines"
        )
    tests = (*visible, *held_out)
    if spec.entry is None and any(kind == "check" for kind, _ in tests):
        raise TaskFault("task.gold_failed", "$.entry: check(candidate) needs the name of the function it checks")
    names = {name for _, source in tests for name in _global_names(_parse(source, "tests"))}
    for kind, source in tests:
        if kind == "check":
            check_function(source, "tests", names)
        elif not names and (spec.entry or "candidate").rpartition(".")[2] not in source:
            raise TaskFault("task.empty_tests", "$.tests: they never use the program")
    _check_authored(spec)
    hidden = (False,) * len(visible) + (True,) * len(held_out)
    trees = [_parse(source, "tests") for _, source in tests]
    awaits = any(isinstance(node, ast.Await) or _names_asyncio(node) for tree in trees for node in ast.walk(tree))
    return AssertTask(spec, tests, tuple(sorted(names - {"candidate", "check"})), hidden, awaits)


def _names_asyncio(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "asyncio"


def _file_task(spec: PythonSpec) -> FileTask:
    _parse(spec.setup, "setup")
    files = []
    for name, field in (("test_solution", "tests"), ("test_hidden", "hidden_tests")):
        source = getattr(spec, field)
        if not isinstance(source, str):
            if source:
                raise TaskFault("task.gold_failed", f"$.{field}: format {spec.format!r} takes one test file as text")
        elif source.strip():
            _parse(source, field)
            check_file(source, field)
            files.append((name, source))
    if not files:
        raise TaskFault("task.empty_tests", f"format {spec.format!r} needs `tests`: a file that imports from solution")
    _check_authored(spec)
    return FileTask(spec, tuple(files))


def _check_authored(spec: PythonSpec) -> None:
    for field in ("setup", "tests", "hidden_tests"):
        value: str | tuple[str, ...] = getattr(spec, field)
        for source in (value,) if isinstance(value, str) else value:
            check_source(source, field, spec.libraries)


def _tests(source: str | tuple[str, ...], field: str) -> tuple[tuple[str, str], ...]:
    if isinstance(source, str):
        tree = _parse(source, field)
        if not any(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(tree)):
            if source.strip():
                raise TaskFault("task.empty_tests", f"$.{field}: there is no assert in it")
            return ()
        if not any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body):
            raise TaskFault("task.gold_failed", f"$.{field}: define check(candidate), or give a list of assert lines")
        return (("check", source),)
    for index, line in enumerate(source):
        if not any(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(_parse(line, f"{field}[{index}]"))):
            raise TaskFault("task.empty_tests", f"$.{field}[{index}]: there is no assert in it")
    check_lines(source, field)
    return tuple(("lines", line) for line in source)


def _parse(source: str, field: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            compile(source, field, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TaskFault("task.gold_failed", f"$.{field}: does not compile: {error}"[:300]) from error
    return tree


def _global_names(tree: ast.Module) -> set[str]:
    """Names that a source reads and does not bind itself."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return read - bound - set(dir(builtins)) - {"__name__"}
