"""The spec of a `python` task: declarative calls, a test function or assert lines, or standard input and output."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from veredicto_verifier.sandbox.compare import StdoutMode, Tolerance
from veredicto_verifier.verifier import Spec
from veredicto_verifier.verifiers.python_code.perturbations import Perturbation
from veredicto_verifier.verifiers.python_code.relations import Metamorphic

EntryName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$")]

MAX_CASES = 2000


class Case(BaseModel):
    """One declarative case: a call (`calls`) or one run of the program (`stdio`).

    Values that JSON lacks are written as an object with one key: `{"$tuple": […]}`, `{"$set": […]}`,
    `{"$frozenset": […]}`, `{"$dict": [[key, value], …]}`, `{"$bytes": "hex"}`, `{"$decimal": "1.10"}`,
    `{"$fraction": "1/3"}`, `{"$complex": [re, im]}`, `{"$date": "2026-11-30"}`, `{"$datetime": "…"}`,
    `{"$float": "nan"}`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    args: tuple[Any, ...] = ()
    """Positional arguments (`calls`)."""
    kwargs: dict[str, Any] = {}
    """Keyword arguments (`calls`)."""
    expected: Any = None
    """What the call must return (`calls`)."""
    raises: Annotated[str, StringConstraints(min_length=1, max_length=100)] | None = None
    """The exception class, by name, that the call must raise instead of returning (`calls`)."""
    stdin: str = ""
    """The program's whole standard input (`stdio`)."""
    stdout: str = ""
    """The standard output it must write (`stdio`)."""
    hidden: bool = False
    """Counts like any other case, but is reported apart: a held-out case."""


class PythonSpec(Spec):
    """A Python program is judged by running it, apart from everything that knows the right answers."""

    format: Literal["calls", "asserts", "stdio", "unittest", "pytest"]
    """How it is tested: by declarative calls, the author's assertions, its standard output, or a test file."""
    language: Literal["python", "bash", "node"] = "python"
    """The program's language; other ones than Python are tested by their standard output (`stdio`)."""
    entry: EntryName | None = None
    """The function the tests call: `add`, or `Solution.f` (a fresh instance for every call)."""
    cases: Annotated[tuple[Case, ...], Field(max_length=MAX_CASES)] = ()
    """The cases of `calls` and `stdio`."""
    setup: str = ""
    """Trusted code that runs before the tests, in their process (`asserts`, `unittest`, `pytest`)."""
    tests: str | tuple[str, ...] = ()
    """A source that defines `check(candidate)`, or a list of assert lines (`asserts`); a test file that imports from
    `solution` (`unittest`, `pytest`)."""
    hidden_tests: str | tuple[str, ...] = ()
    """Further tests of the same form that are reported apart (`asserts`, `unittest`, `pytest`)."""
    preamble: str = ""
    """Code that runs before the program, in its module: the imports and signatures that the prompt gave it."""
    compare: StdoutMode = "tokens"
    """How standard output is compared (`stdio`)."""
    checker: str = ""
    """A trusted source that defines `check(given, output, expected)`; it decides instead of a comparison. `given` is
    the standard input or the list of arguments (`calls`, `stdio`)."""
    iterate: bool = False
    """Read a returned iterator or generator to its end, as a list (`calls`)."""
    libraries: tuple[Literal["numpy"], ...] = ()
    """Third-party libraries that the program and the tests may import."""
    strict_types: bool = False
    """Compare types too: a list is no tuple, 1 is neither 1.0 nor true (`calls`)."""
    float_rel: Annotated[float, Field(ge=0, le=1)] = 1e-9
    """Relative tolerance where a float is compared."""
    float_abs: Annotated[float, Field(ge=0)] = 0.0
    """Absolute tolerance where a float is compared."""
    suite_cpu_s: Annotated[float, Field(gt=0, le=1200)] | None = None
    """CPU seconds for all cases together (`calls`, `stdio`); null means 4 times `limits.cpu_s`."""
    reference: str | None = None
    """A program that is right; the task is refused unless it passes."""
    perturbed: Annotated[tuple[Perturbation, ...], Field(max_length=50)] = ()
    """Hidden inputs made from those of the cases; what the reference answers to them is expected (`calls`)."""
    metamorphic: Annotated[tuple[Metamorphic, ...], Field(max_length=50)] = ()
    """Hidden tests of how the answers to two inputs relate; the reference must pass them (`calls`)."""

    @property
    def suite_cpu_seconds(self) -> float:
        """The limit for the whole suite; the tests of `asserts` are one suite with one limit."""
        if self.format not in ("calls", "stdio"):
            return self.limits.cpu_s
        return 4 * self.limits.cpu_s if self.suite_cpu_s is None else self.suite_cpu_s

    @property
    def trusted_profile(self) -> str:
        """The sandbox profile of the author's own Python code."""
        return "+".join(("python", *sorted(set(self.libraries))))

    @property
    def profile(self) -> str:
        """The sandbox profile of the program."""
        return self.trusted_profile if self.language == "python" else "exec"

    @property
    def tolerance(self) -> Tolerance:
        """How strictly values are compared."""
        return Tolerance(self.strict_types, self.float_rel, self.float_abs)

    @model_validator(mode="after")
    def _only_what_the_format_takes(self) -> Self:
        foreign = {
            name for name in self.model_fields_set if name in _FORMATS_OF and self.format not in _FORMATS_OF[name]
        }
        if foreign:
            raise ValueError(f"format {self.format!r} takes no {', '.join(sorted(foreign))}")
        if self.language != "python" and (self.format != "stdio" or self.libraries):
            raise ValueError(f"language {self.language!r} takes format 'stdio' and no libraries")
        if self.format == "calls" and self.entry is None:
            raise ValueError("format 'calls' needs `entry`, the function to call")
        if (self.perturbed or self.metamorphic) and self.reference is None:
            raise ValueError("`perturbed` and `metamorphic` need a `reference`, which must pass them")
        for case in self.cases:
            wrong = case.model_fields_set & (_CALL_FIELDS if self.format == "stdio" else _STDIO_FIELDS)
            if wrong:
                raise ValueError(f"a case of format {self.format!r} takes no {', '.join(sorted(wrong))}")
            if case.raises is not None and case.expected is not None:
                raise ValueError("a case has `expected` or `raises`, not both")
        return self


_WITH_TESTS = ("asserts", "unittest", "pytest")
_FORMATS_OF = {
    "cases": ("calls", "stdio"),
    "checker": ("calls", "stdio"),
    "entry": ("calls", "asserts"),
    "iterate": ("calls",),
    "perturbed": ("calls",),
    "metamorphic": ("calls",),
    "setup": _WITH_TESTS,
    "tests": _WITH_TESTS,
    "hidden_tests": _WITH_TESTS,
    "preamble": ("calls", *_WITH_TESTS),
    "compare": ("stdio",),
    "strict_types": ("calls",),
    "float_rel": ("calls", "stdio"),
    "float_abs": ("calls", "stdio"),
    "suite_cpu_s": ("calls", "stdio"),
}
_CALL_FIELDS = {"args", "kwargs", "expected", "raises"}
_STDIO_FIELDS = {"stdin", "stdout"}
