"""Answers and specs made to burn time, to run code or to reach out: each with the code that it must come to.

What is opened meanwhile is watched in three ways: Python's audit events, inotify on the file that the specs point at
(a library in Rust raises no audit event), and a listener on the loopback port that they point at.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from figures import Figure

from veredicto_verifier.errors import TaskFault
from veredicto_verifier.judging import judge
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Completion, Context

LONGEST_MS = 1000
IN_OPEN = 0x20
IN_NONBLOCK = 0o4000

Item = tuple[str, dict[str, Any], str, str]
"""Verifier, spec, completion, and the code of a check or of the task's error."""

POWERS = (
    *("9^{9^{9^9}}", "10^{10^{10}}", "(10^6)!", "9!!!", "e^{e^{e^{10}}}", "2^{-10^{9}}", "\\exp(\\exp(\\exp 9))"),
    *("(" * 2000 + "x" + ")" * 2000, "-" * 3000 + "1", "((" * 150, "9" * 5000),
)
LATEX = ("\\sum_{k=1}^{10^9} k", "\\binom{1000000}{500000}", "\\prod_{k=1}^{100000} k", "\\int_0^{9^{9^9}} x dx")
GROWING = (
    *(
        "\\binom{5}{2}(10^6)!",
        "\\binom{5}{2}+9!!!",
        "\\binom{99}{50}!",
        "\\binom{5}{2}99^{99}!",
        "\\binom{5}{2}((99)!)!",
    ),
    *("2^{\\binom{99}{50}}", "\\binom{5}{2}(x+y+z+w)^{100}", "\\binom{5}{2}10^{20!}", "\\binom{\\binom{99}{50}}{2}"),
)
CODE = ("__import__('os').getpid()", "open('/etc/passwd').read()", "().__class__.__base__.__subclasses__()")
A = "a" * 50_000 + "!"
REDOS = ("^(a+)+$", "^(a|aa)+$", "^(.*a){20}$", "^([a-z]+)*$")
TOOL = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}


def items(url: str, file: str) -> Iterator[Item]:
    """Every hostile item; `url` and `file` are what references point at."""
    for text in (*POWERS, *LATEX, *CODE):
        symbolic = "math.too_complex" if text in POWERS else "math.not_read"
        yield "math", {"answer": "x", "kind": "expression"}, f"\\boxed{{{text}}}", symbolic
        yield "math", {"answer": "5"}, f"\\boxed{{{text}}}", "math.not_a_number"
    for text in (*POWERS, *LATEX):
        yield "math", {"answer": "\\binom{5}{2}", "kind": "latex"}, f"\\boxed{{{text}}}", "math."
    for text in GROWING:
        yield "math", {"answer": "\\binom{5}{2}", "kind": "latex"}, f"\\boxed{{{text}}}", "math.too_complex"
    for pattern in REDOS:
        schema = {"type": "object", "properties": {"a": {"pattern": pattern}}}
        yield "json", {"schema": schema}, f'{{"a": "{A}"}}', "json.schema"
        compared = {"expected": {"a": "a" * 20}, "compare": {"a": {"by": "regex", "pattern": pattern.strip("^$")}}}
        yield "json", compared, f'{{"a": "{A}"}}', "json.field_differs"
        called = {
            "tools": [{**TOOL, "compare": compared["compare"]}],
            "expected": [{"name": "f", "arguments": {"a": "a" * 20}}],
        }
        call = f'<tool_call>{{"name": "f", "arguments": {{"a": "{A}"}}}}</tool_call>'
        yield "tools", called, call, "tools.wrong_arguments"
    for text in ("answer " * 100_000, "answer is " * 100_000, "#" * 500_000, "\\boxed{" * 100_000, "1 " * 250_000):
        yield "math", {"answer": "5"}, text, "extract."
    yield "json", {"expected": {"a": 1}}, "[" * 200_000, "json.too_deep"
    yield "json", {"expected": {"a": 1}}, '{"a": ' + "9" * 200_000 + "}", "json.number_out_of_range"
    yield "static", {"language": "python"}, "x = " + "-" * 60_000 + "1", "static.too_complex"
    yield "static", {"language": "python"}, "x = " + "(" * 2000 + ")" * 2000, "static.syntax"
    yield (
        "static",
        {"language": "sql", "require": ["table:t"]},
        "SELECT " + "(" * 2000 + "1" + ")" * 2000,
        "static.too_complex",
    )
    for reference in (url, file, file.removeprefix("file://"), "other.json", "//127.0.0.1/x"):
        for schema in _referring(reference):
            yield "json", {"schema": schema}, "{}", "task.spec_invalid"
            yield "tools", {"tools": [{"name": "f", "parameters": schema}], "expected": []}, "no", "task.spec_invalid"


def _referring(reference: str) -> Iterator[dict[str, Any]]:
    yield {"$ref": reference}
    yield {"properties": {"a": {"$ref": f"{reference}#/a"}}}
    yield {"$defs": {"a": {"allOf": [{"$ref": reference}]}}, "properties": {"a": {"$ref": "#/$defs/a"}}}
    yield {"$dynamicRef": reference}
    if ":" in reference:
        yield {"$schema": reference, "type": "object"}
        yield {"$id": reference, "$ref": "beside.json"}


@dataclass
class Opened:
    """What was opened while it was watched."""

    events: list[str] = field(default_factory=list)


@contextmanager
def watched(opened: Opened, target: Path, listener: socket.socket) -> Iterator[None]:
    """Note Python's opens and sockets, opens of `target` by anything, and connections to `listener`."""
    on = [True]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if on[0] and (event == "open" or event.startswith(("socket.", "urllib.", "http.", "subprocess.", "os.exec"))):
            opened.events.append(f"{event} {str(arguments)[:80]}")

    libc = ctypes.CDLL(None, use_errno=True)
    notes = libc.inotify_init1(IN_NONBLOCK)
    libc.inotify_add_watch(notes, os.fsencode(target), IN_OPEN)
    sys.addaudithook(hook)
    try:
        yield
    finally:
        on[0] = False
        for name, seen in (("inotify", lambda: os.read(notes, 4096)), ("connection", listener.accept)):
            try:
                seen()
                opened.events.append(name)
            except BlockingIOError:
                pass
        os.close(notes)


def verdict(item: Item) -> str:
    """The code that an item comes to; `passed` for one that passes."""
    name, raw, text, _code = item
    try:
        spec = parse_spec(name, raw, VERIFIERS)
        task = VERIFIERS[name].prepare(spec, Context(verifiers=VERIFIERS))
    except TaskFault as fault:
        return fault.code
    grade, _answer = judge(VERIFIERS[name], task, spec, Completion(text))
    return next((check.code or "" for check in grade.checks if not check.passed), "passed")


def hostile() -> list[Figure]:
    """Every item: in time, with its code, nothing opened."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listener:
        target = Path(folder) / "schema.json"
        target.write_text('{"type": "object"}')
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        every = list(items(url, target.as_uri()))
        for item in every[:: max(1, len(every) // 20)]:
            verdict(item)  # what is imported at first use opens files
        for name in ("math", "json", "tools", "static"):
            verdict((name, dict(VERIFIERS[name].example), VERIFIERS[name].good, ""))
        verdict(("math", {"answer": "\\binom{5}{2}", "kind": "latex"}, "\\boxed{\\binom{5}{2}}", ""))
        verdict(("static", {"language": "sql", "require": ["table:t"]}, "SELECT 1", ""))
        seen = Opened()
        with watched(seen, target, listener), socket.create_connection(listener.getsockname()):
            target.read_text()
        assert {"inotify", "connection"} <= set(seen.events), "the watch is blind"
        opened, longest, wrong = Opened(), 0.0, []
        with watched(opened, target, listener):
            for item in every:
                started = time.process_time()
                code = verdict(item)
                longest = max(longest, time.process_time() - started)
                if not code.startswith(item[3]):
                    wrong.append(f"{item[0]} {str(item[1])[:60]} {item[2][:40]!r}: {code}, not {item[3]}")
    for line in (*wrong, *opened.events):
        print(line)
    return [
        Figure("hostile_items", len(every), "at least", 100),
        Figure("hostile_longest_ms", longest * 1e3, "at most", LONGEST_MS, "ms"),
        Figure("hostile_wrong_code", len(wrong), "at most", 0),
        Figure("hostile_opened", len(opened.events), "at most", 0),
    ]
