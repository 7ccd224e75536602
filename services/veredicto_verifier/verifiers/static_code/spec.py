"""What `static` judges by: a language, what the program must and must not hold, and which lint rules it keeps."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from keyword import iskeyword
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from veredicto_verifier.verifier import Spec

PYTHON_KINDS: Final = ("def", "class", "import", "call", "name", "attr", "node")
DOTTED_KINDS: Final = ("def", "class", "import", "call")
SQL_KINDS: Final = ("table", "column", "function", "node")


@dataclass(frozen=True, slots=True)
class Rule:
    """`def:add/2` as kind `def`, name `add`, arity 2."""

    kind: str
    name: str
    arity: int | None = None

    @classmethod
    def read(cls, text: str) -> Rule:
        """A rule from its text.

        Raises:
            ValueError: it is none.
        """
        kind, colon, name = text.partition(":")
        name, slash, arity = name.partition("/")
        if not colon or not name or kind not in {*PYTHON_KINDS, *SQL_KINDS}:
            raise ValueError(f"a rule is KIND:NAME with KIND one of {', '.join((*PYTHON_KINDS, *SQL_KINDS[:-1]))}")
        if slash and (kind != "def" or not arity.isdecimal()):
            raise ValueError("only `def:NAME/N` takes a number, of the function's parameters")
        return cls(kind, name, int(arity) if slash else None)


def _readable(text: str) -> str:
    Rule.read(text)
    return text


RuleText = Annotated[str, StringConstraints(min_length=3, max_length=120), AfterValidator(_readable)]
Selector = Annotated[str, StringConstraints(pattern=r"^[A-Z]{1,6}[0-9]{0,4}$")]


class StaticSpec(Spec):
    """What `static` judges by."""

    language: Literal["python", "sql"]
    """`python` is that of the worker's interpreter, whose version is part of the verifier's digest."""
    require: Annotated[tuple[RuleText, ...], Field(max_length=64)] = ()
    """What the program must hold, as `KIND:NAME`."""
    forbid: Annotated[tuple[RuleText, ...], Field(max_length=64)] = ()
    """What it must not hold."""
    pyflakes: Literal["off", "errors", "all"] = "errors"
    """Python: `errors` fails on names that are not defined, `all` on everything that pyflakes finds."""
    lint: Annotated[tuple[Selector, ...], Field(max_length=32)] = ()
    """Python: rules of ruff that the program keeps (`E9`, `F`, `B006`); `noqa` comments are ignored."""
    dialect: Literal["duckdb", "sqlite", "postgres", "mysql", "bigquery", "snowflake", "tsql"] = "duckdb"
    """SQL: which one."""

    @model_validator(mode="after")
    def _of_one_language(self) -> StaticSpec:
        kinds = PYTHON_KINDS if self.language == "python" else SQL_KINDS
        for text in (*self.require, *self.forbid):
            rule = Rule.read(text)
            if rule.kind not in kinds:
                raise ValueError(f"`{rule.kind}:` is no rule for {self.language}; it has {', '.join(kinds)}")
            if self.language == "python":
                _check_name(rule)
        if set(self.require) & set(self.forbid):
            raise ValueError("one rule is both in `require` and in `forbid`")
        if self.language == "sql" and self.lint:
            raise ValueError("`lint` is for python")
        return self


def _check_name(rule: Rule) -> None:
    """Refuse a name that no Python program can hold."""
    found = getattr(ast, rule.name, None)
    if rule.kind == "node" and not (isinstance(found, type) and issubclass(found, ast.AST)):
        raise ValueError(f"`node:{rule.name[:60]}` names no class of Python's `ast`")
    parts = rule.name.split(".") if rule.kind in DOTTED_KINDS else [rule.name]
    if not all(part.isidentifier() and not iskeyword(part) for part in parts):
        raise ValueError(f"`{rule.kind}:{rule.name[:60]}` is no name in Python")
