"""Suspicions from reading a program: flags for a person, never a reason to change a reward."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from veredicto_verifier.verifier import Flag
from veredicto_verifier.verifiers.python_code.spec import PythonSpec

_EXITS = {"sys.exit", "os._exit", "os.abort", "os.kill", "exit", "quit", "SystemExit"}
_FRAMES = {
    "sys._getframe", "sys._current_frames", "sys.settrace", "sys.setprofile", "inspect.stack", "inspect.currentframe",
    "gc.get_objects", "gc.get_referrers",
}  # fmt: skip
_HOOKS = {"atexit.register", "signal.signal", "sys.excepthook", "threading.excepthook", "sys.unraisablehook"}
_FILES = {"open", "io.open", "os.open", "pathlib.Path", "glob.glob", "os.listdir", "os.walk", "os.scandir"}
_COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__"}


def signals(program: str, spec: PythonSpec) -> tuple[Flag, ...]:
    """The flags that reading the program raises; none when it does not parse."""
    if spec.language != "python":
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(program)
            nodes = list(ast.walk(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found: dict[str, int] = {}
    for node in nodes:
        for name in _of_node(node):
            found.setdefault(name, getattr(node, "lineno", 1))
    if spec.format == "stdio":  # a script may end itself
        found.pop("suspicious_exit", None)
    table = _literal_table(nodes, spec)
    if table is not None:
        found["literal_table"] = table
    return tuple(Flag(name, f"line {line}") for name, line in sorted(found.items()))


def _of_node(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute | ast.Name):
        dotted = _dotted(node)
        if dotted in _FRAMES:
            yield "frame_access"
        if dotted in _HOOKS:
            yield "hooks"
    if isinstance(node, ast.Attribute) and node.attr in ("f_back", "f_locals", "f_globals", "__code__", "co_consts"):
        yield "frame_access"
    if isinstance(node, ast.Import) and any(alias.name.split(".")[0] == "ctypes" for alias in node.names):
        yield "frame_access"
    if isinstance(node, ast.Call):
        dotted = _dotted(node.func)
        if dotted in _EXITS:
            yield "suspicious_exit"
        if dotted in _FILES:
            yield "file_access"
    if isinstance(node, ast.FunctionDef) and node.name in _COMPARISONS and _returns_only_constants(node):
        yield "always_equal"


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


def _returns_only_constants(function: ast.FunctionDef) -> bool:
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    return bool(returns) and all(isinstance(node.value, ast.Constant) for node in returns)


def _literal_table(nodes: list[ast.AST], spec: PythonSpec) -> int | None:
    """The line of a dict literal that holds at least half (and two) of the visible answers beside their inputs."""
    visible = [case for case in spec.cases if not case.hidden]
    if spec.format != "calls" or len(visible) < 2:
        return None
    wanted = {(_text(case.args if len(case.args) != 1 else case.args[0]), _text(case.expected)) for case in visible}
    for node in nodes:
        if isinstance(node, ast.Dict) and len(node.keys) >= 2:
            pairs = zip(node.keys, node.values, strict=True)
            held = {(_literal(key), _literal(value)) for key, value in pairs if key is not None}
            if 2 * len(wanted & held) >= len(wanted):
                return node.lineno
    return None


def _literal(node: ast.expr) -> str:
    try:
        return _text(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return ""


def _text(value: object) -> str:
    """One text for values that compare equal in a case: a list and a tuple of the same items have the same."""
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_text, value)) + "]"
    return repr(value)
