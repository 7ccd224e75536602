"""Read a Python program without running it: syntax, names, and what it holds, by its tree and never by its text."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from veredicto_verifier.verifiers.static_code.outcome import Fault
from veredicto_verifier.verifiers.static_code.spec import Rule

MAX_CHARS: Final = 65_536
"""Longest program: 100,000 chained comparisons take over a second to compile."""
MAX_DEPTH: Final = 120
"""Deepest tree; pyflakes walks it by recursion."""

ERRORS: Final = frozenset({"UndefinedName", "UndefinedLocal", "UndefinedExport", "ImportStarUsage"})
"""Messages of pyflakes that mean a name which is not there; a star import hides them, so it counts as well."""

IMPORTERS: Final = frozenset({"__import__", "importlib.import_module", "importlib.__import__"})
BUILTINS: Final = frozenset({"builtins", "__builtins__"})
NAMESPACES: Final = BUILTINS | {"sys.modules"}
SCOPES: Final = frozenset({"globals", "locals", "vars"})
"""Called without an argument they give every name in sight."""
WAYS_OUT: Final = frozenset({"__globals__", "__builtins__", "__subclasses__", "__loader__", "f_globals", "f_builtins"})
"""Attributes that lead to names which a program never writes."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def parse(source: str) -> ast.Module | Fault:
    """The tree of a program that compiles, or why there is none."""
    if len(source) > MAX_CHARS:
        return Fault("static.too_large", f"the program is longer than {MAX_CHARS} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, "answer.py")
            if _depth(tree) > MAX_DEPTH:
                return Fault("static.too_complex", f"the program nests deeper than {MAX_DEPTH}")
            compile(tree, "answer.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        return Fault("static.syntax", f"line {error.lineno or 0}: {_said(error)}")
    except UnicodeEncodeError:
        return Fault("static.syntax", "the program holds half of a surrogate pair, which is no character")
    except ValueError:
        return Fault("static.syntax", "the program holds a NUL character")
    except (RecursionError, MemoryError, OverflowError):
        return Fault("static.too_complex", "the program nests too deep to be compiled")
    if not any(_does_something(statement) for statement in tree.body):
        return Fault("static.empty", "the program does and defines nothing")
    return tree


def _said(error: SyntaxError) -> str:
    """Python's own phrase, cut where it quotes the program."""
    return (error.msg or "invalid syntax").partition("'")[0].strip()[:100] or "invalid syntax"


def _depth(tree: ast.AST) -> int:
    level: list[ast.AST] = [tree]
    depth = 0
    while level and depth <= MAX_DEPTH:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


def _does_something(statement: ast.stmt) -> bool:
    """Whether a statement is more than `pass`, a bare constant, or an import."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    return not isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom)


def complaints(tree: ast.Module, level: str) -> list[str]:
    """What pyflakes finds at a level, `line 3: undefined name`, in the order of the lines."""
    from pyflakes.checker import Checker  # lazily: only tasks that ask for it pay for the import

    found = Checker(tree, filename="answer.py", withDoctest=False).messages
    kept = [message for message in found if level == "all" or type(message).__name__ in ERRORS]
    kept.sort(key=lambda message: (message.lineno, message.col, type(message).__name__))
    return [f"line {message.lineno}: {_plain(message)}" for message in kept]


def _plain(message: Any) -> str:
    words = message.message % tuple(
        "…" if isinstance(one, str) and len(one) > 60 else one for one in message.message_args
    )
    return str(words)[:100]


@dataclass(frozen=True)
class Program:
    """A tree with what rules ask of it."""

    tree: ast.Module

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node."""
        return list(ast.walk(self.tree))

    @cached_property
    def imported(self) -> list[str]:
        """Every module that is imported, by a statement or by name: `os.path`."""
        found: list[str] = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found.extend(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.append(node.module)
                found.extend(f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, ast.Call) and self.dotted(node.func) in IMPORTERS:
                found.extend(_text_of(named_module(node)))
            elif self.dotted(_holder(node)) == "sys.modules":
                found.extend(_key(node))
        return found

    @cached_property
    def imports_unseen(self) -> bool:
        """Whether a module is imported by a name that is worked out, or the means to do so is passed on."""
        means = [node for node in self.nodes if self.dotted(node) in IMPORTERS]
        seen = [
            node
            for node in self.nodes
            if isinstance(node, ast.Call) and self.dotted(node.func) in IMPORTERS and _text_of(named_module(node))
        ]
        return len(means) > len(seen)

    @cached_property
    def reaches_unseen(self) -> bool:
        """Whether it gets at modules or built-ins by a key that is worked out, or through a whole namespace."""
        whole = [node for node in self.nodes if self.dotted(node) in NAMESPACES]
        keyed = [node for node in self.nodes if self.dotted(_holder(node)) in NAMESPACES and _key(node)]
        named = [node for node in self.nodes if isinstance(node, ast.Attribute) and self.dotted(node.value) in BUILTINS]
        return len(whole) > len(keyed) + len(named) or any(map(self._opens_a_scope, self.nodes))

    def _opens_a_scope(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return self.dotted(node.func) in SCOPES and not node.args and not node.keywords
        return isinstance(node, ast.Attribute) and node.attr in WAYS_OUT

    @cached_property
    def suspects(self) -> set[str]:
        """Every dotted name that is read, as written and as imported: what may be called under another name.

        A plain name that the program binds itself counts only where it is called.
        """
        called = {id(node.func) for node in self.nodes if isinstance(node, ast.Call)}
        found = set()
        for node in self.nodes:
            if isinstance(node, ast.Name) and node.id in self.bound and id(node) not in called:
                continue
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
                found |= {self.dotted(node), self.dotted(node, as_written=True)}
        return found - {""}

    @cached_property
    def bound(self) -> set[str]:
        """The names that the program gives values to: variables, parameters, definitions."""
        found = {node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        found |= {node.arg for node in self.nodes if isinstance(node, ast.arg)}
        return found | {node.name for node in self.nodes if isinstance(node, Definition)}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """What a name that was imported stands for: `np` for `numpy`, `run` for `subprocess.run`."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found.update({alias.asname: alias.name for alias in node.names if alias.asname})
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        return found

    def dotted(self, node: ast.AST, *, as_written: bool = False) -> str:
        """`os.system` for the expression of that name, whatever it was imported as; empty for any other."""
        parts: list[str] = []
        while not isinstance(node, ast.Name):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            elif isinstance(node, ast.Subscript) and _is_builtins(node.value) and _text_of(node.slice):
                parts.extend(_text_of(node.slice))
            else:
                return ""
            node = node.value
        first = node.id if as_written or node.id == "__import__" else self.aliases.get(node.id, node.id)
        return ".".join([first, *reversed(parts)]).removeprefix("builtins.").removeprefix("__builtins__.")

    def definitions(self, path: str) -> list[Definition]:
        """The definitions at a dotted path from the module: `Account.deposit`."""
        bodies: list[Sequence[ast.stmt]] = [self.tree.body]
        found: list[Definition] = []
        for part in path.split("."):
            found = [one for body in bodies for one in body if isinstance(one, Definition) and one.name == part]
            bodies = [one.body for one in found if isinstance(one, ast.ClassDef)]
        return found


def holds(program: Program, rule: Rule) -> bool:
    """Whether a program holds what a rule names."""
    return any(_found(program, rule))


def may_hold(program: Program, rule: Rule) -> bool:
    """Whether a program holds what a rule forbids, or what could stand for it: `e = eval`, `__import__(name)`."""
    if rule.kind not in ("call", "import"):
        return holds(program, rule)
    if rule.name in program.suspects if rule.kind == "call" else program.imports_unseen:
        return True
    return holds(program, rule) or program.reaches_unseen


def named_module(call: ast.Call) -> ast.AST | None:
    """The argument of an importing call that names the module."""
    named = [one.value for one in call.keywords if one.arg == "name"]
    return next(iter([*call.args[:1], *named]), None)


def _text_of(node: ast.AST | None) -> list[str]:
    """The text of a constant, as a list of one; empty for anything else."""
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _holder(node: ast.AST) -> ast.AST:
    """What a subscript or a call of `get` takes something from; the node itself for any other."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        return node.func.value
    return node.value if isinstance(node, ast.Subscript) else node


def _key(node: ast.AST) -> list[str]:
    """The key by which it is taken, as a list of one; empty where the key is worked out."""
    if isinstance(node, ast.Call):
        return _text_of(node.args[0]) if node.args else []
    return _text_of(node.slice) if isinstance(node, ast.Subscript) else []


def _is_builtins(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__builtins__"


def stub(program: Program, rule: Rule) -> bool:
    """Whether what a `def` or `class` rule names is there, but empty where it counts: its last definition."""
    if rule.kind not in ("def", "class"):
        return False
    found = program.definitions(rule.name)
    return bool(found) and not any(_does_something(one) and not _only_raises(one) for one in found[-1].body)


def _only_raises(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _found(program: Program, rule: Rule) -> Iterator[bool]:
    if rule.kind == "def":
        functions = (one for one in program.definitions(rule.name) if not isinstance(one, ast.ClassDef))
        yield from (rule.arity is None or _arity(one) == rule.arity for one in functions)
    elif rule.kind == "class":
        yield from (isinstance(one, ast.ClassDef) for one in program.definitions(rule.name))
    elif rule.kind == "import":
        yield from (f"{module}.".startswith(f"{rule.name}.") for module in program.imported)
    elif rule.kind == "call":
        yield from (isinstance(one, ast.Call) and program.dotted(one.func) == rule.name for one in program.nodes)
    elif rule.kind == "name":
        yield from (isinstance(one, ast.Name) and one.id == rule.name for one in program.nodes)
    elif rule.kind == "attr":
        yield from (isinstance(one, ast.Attribute) and one.attr == rule.name for one in program.nodes)
    else:
        yield from (isinstance(one, getattr(ast, rule.name)) for one in program.nodes)


def _arity(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Parameters by position and by keyword, without `*args` and `**kwargs`."""
    given = function.args
    return len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
