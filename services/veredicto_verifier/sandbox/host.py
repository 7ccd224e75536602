"""The trusted half of `asserts`: run the task author's tests against stand-ins for the program.

Runs in its own confined process, which holds the tests and the expected values; the program is elsewhere. It reports
once, to the judge, with the judge's nonce: what each test did, how often it called the program, and that all ran.
"""

from __future__ import annotations

import builtins
import contextlib
import sys
import types
from typing import Any

from veredicto_verifier.sandbox.channel import Channel
from veredicto_verifier.sandbox.files import FileSuite, Solution, classify
from veredicto_verifier.sandbox.program_name import Global
from veredicto_verifier.sandbox.proxy import Connection
from veredicto_verifier.sandbox.raised import Lost


def serve_tests(judge: Channel, first: list[Any]) -> int:
    """Run the tests against the program at the other end of the descriptor that came along, and report."""
    order = first[1]
    connection = Connection(Channel(judge.received_fds[0]), awaits=order["awaits"])
    run = _run_files if order["files"] else _run_asserts
    try:
        fault, results = run(connection, order)
    except Lost as error:  # the program was lost while a test file was imported
        fault, results = None, [["", error.status, "", 1]]
    judge.send(["report", order["nonce"], fault, results, sorted(connection.flags)])
    return 0


def _run_asserts(connection: Connection, order: dict[str, Any]) -> tuple[str | None, list[Any]]:
    suite = Suite(connection, order["entry"])
    fault = suite.define(order["setup"], order["globals"], dry=order["dry_run"])
    return fault, suite.run(order["tests"]) if fault is None and not order["dry_run"] else []


def _run_files(connection: Connection, order: dict[str, Any]) -> tuple[str | None, list[Any]]:
    """Run test files in turn; in a dry run give the ids of their tests instead of outcomes."""
    sys.modules["solution"] = Solution(connection, dry=order["dry_run"])
    results: list[Any] = []
    for name, source in order["tests"]:
        try:
            suite = FileSuite(connection, name, source, order["setup"])
        except Exception as error:  # noqa: BLE001  the author's file may raise anything, also for what a program lacks
            if order["dry_run"]:
                return f"{type(error).__name__}: {error}"[:200], []
            return None, [*results, ["", "import", type(error).__name__[:60], 1]]
        results += [[name, test] for test in suite.ids] if order["dry_run"] else suite.run()
        if connection.broken is not None:
            break
    return None, results


class Suite:
    """The author's setup and tests, in one namespace.

    Args:
        connection: to the candidate process.
        entry: the entry point's name.
    """

    def __init__(self, connection: Connection, entry: str | None) -> None:
        self._connection = connection
        self._module = types.ModuleType("tests")
        self._entry = entry

    def define(self, setup: str, names: list[str], *, dry: bool = False) -> str | None:
        """Run the setup and bind the program's names; returns what went wrong there, if anything.

        Args:
            setup: the author's code.
            names: the program's names that the tests use.
            dry: there is no program to ask.
        """
        sys.modules["tests"] = self._module
        namespace = self._module.__dict__
        for name in names:
            if not hasattr(builtins, name) or name == self._entry:
                namespace[name] = Global(self._connection, name) if dry else self._bound(name)
        try:
            exec(compile(setup, "setup", "exec", dont_inherit=True), namespace)
        except Exception as error:  # noqa: BLE001  the author's code may raise anything; the judge reports it
            return f"{type(error).__name__}: {error}"[:200]
        if self._entry is not None:
            candidate = Global(self._connection, self._entry)
            # The program's own function wins over a helper of the same name in the setup.
            namespace[self._entry.split(".")[-1]] = candidate
            namespace["candidate"] = candidate
        return None

    def _bound(self, name: str) -> Any:
        """What a name of the program's stands for: a value, an exception class that `except` takes, or a stand-in."""
        with contextlib.suppress(Exception, Lost):  # the test that uses the name will meet what is wrong with it
            return self._connection.fetch(name)
        return Global(self._connection, name)

    def run(self, tests: list[list[Any]]) -> list[list[Any]]:
        """Run each `[kind, source]` (kind `lines` or `check`); `[status, exception name, calls]` for each that ran."""
        results: list[list[Any]] = []
        for kind, source in tests:
            self._connection.begin()
            status, name = self._outcome(kind, source)
            if status == "passed" and self._connection.leans_on_nothing:
                status = "opaque"
            if self._connection.broken is not None:  # also when the test swallowed the reason
                status = self._connection.broken
            results.append([status, name, self._connection.num_calls])
            if self._connection.broken is not None or status == "memory":
                break
        return results

    def _outcome(self, kind: str, source: str) -> tuple[str, str]:
        namespace = self._module.__dict__
        try:
            exec(compile(source, "tests", "exec", dont_inherit=True), namespace)
            if kind == "check":
                namespace["check"](namespace["candidate"])
        except (Exception, Lost) as error:  # noqa: BLE001  tests meet whatever the program answers; each outcome is data
            return classify(error, self._connection)
        return "passed", ""
