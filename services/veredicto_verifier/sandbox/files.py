"""Test files in the test host: collect what unittest or pytest would, run it, say of each test what it did."""

from __future__ import annotations

import sys
import types
import unittest
from collections.abc import Iterator
from typing import Any

from veredicto_verifier.sandbox import pytest_subset
from veredicto_verifier.sandbox.program_name import Global
from veredicto_verifier.sandbox.proxy import Connection
from veredicto_verifier.sandbox.raised import Ended, Lost

Outcome = list[Any]
"""`[test id, status, exception name, calls]`."""


class Solution(types.ModuleType):
    """What `import solution` gives a test file: every name is the program's.

    Args:
        connection: to the candidate process; None in a dry run, where names stand for themselves.
    """

    def __init__(self, connection: Connection, *, dry: bool) -> None:
        super().__init__("solution")
        self.__dict__["_connection"] = connection
        self.__dict__["_dry"] = dry

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        connection: Connection = self.__dict__["_connection"]
        if self.__dict__["_dry"]:
            return [] if name == "__all__" else Global(connection, name)
        return connection.fetch(name)


class FileSuite:
    """One test file.

    Args:
        connection: to the candidate process.
        name: the module's name, part of each test's id.
        source: the file.
        setup: trusted code that runs before it, in the same module.
    """

    def __init__(self, connection: Connection, name: str, source: str, setup: str) -> None:
        self._connection = connection
        sys.modules["pytest"] = pytest_subset.module()
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(compile(setup, "setup", "exec", dont_inherit=True), module.__dict__)
        exec(compile(source, f"{name}.py", "exec", dont_inherit=True), module.__dict__)
        self._cases = list(_flat(unittest.defaultTestLoader.loadTestsFromModule(module)))
        self._functions = list(pytest_subset.collect(module))

    @property
    def ids(self) -> list[str]:
        """The tests, in the order in which they run."""
        return [case.id() for case in self._cases] + [function.id for function in self._functions]

    def run(self) -> list[Outcome]:
        """Run every test; those after a lost program are left out."""
        results = _Outcomes(self._connection)
        unittest.TestSuite(self._cases).run(results)
        for function in self._functions:
            if self._connection.broken is not None:
                break
            results.run_function(function)
        return results.outcomes


def _flat(suite: unittest.TestSuite) -> Iterator[Any]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


class _Outcomes(unittest.TestResult):
    """Takes down what each test did; a skipped test, and one that fails as expected, has not passed."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection
        self._worst: tuple[str, str] = ("passed", "")
        self.outcomes: list[Outcome] = []

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        self._begin()

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        self._finish(test.id())

    def addError(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self._note(err[1])
        if type(test).__name__ == "_ErrorHolder":  # setUpClass or setUpModule failed: its tests do not run
            self._finish(test.id())

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self._note(err[1])

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # noqa: N802
        if err is not None:
            self._note(err[1])

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        self._worst = ("skipped", "SkipTest")

    def addExpectedFailure(self, test: unittest.TestCase, err: Any) -> None:  # noqa: N802
        self._note(err[1])

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        self._worst = ("assertion", "AssertionError")

    def run_function(self, function: pytest_subset.Item) -> None:
        """Run one test of pytest's kind."""
        self._begin()
        try:
            function.run()
        except BaseException as error:  # noqa: BLE001  whatever a test meets is data
            self._note(error)
        self._finish(function.id)

    def _begin(self) -> None:
        self._worst = ("passed", "")
        self._connection.begin()

    def _note(self, error: BaseException) -> None:
        if self._worst[0] == "passed":
            self._worst = classify(error, self._connection)

    def _finish(self, name: str) -> None:
        status, error = self._worst
        if status == "passed" and self._connection.leans_on_nothing:
            status = "opaque"
        if self._connection.broken is not None:  # also when the test swallowed the reason
            status = self._connection.broken
            self.stop()
        self.outcomes.append([name, status, error, self._connection.num_calls])


def classify(error: BaseException, connection: Connection) -> tuple[str, str]:
    """`(status, exception name)` of a test that ended with an exception."""
    if isinstance(error, Lost):
        return error.status, ""
    if isinstance(error, Ended):
        return "raised", str(error)[:60]
    if isinstance(error, MemoryError):
        return "memory", "MemoryError"
    name = type(error).__name__[:60]
    if error is connection.raised:
        return "raised", name
    return ("assertion" if isinstance(error, AssertionError) else "test_error"), name
