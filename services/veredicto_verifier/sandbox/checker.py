"""A task author's own comparison, run in a process of its own: it reads hostile output, so it may hold nothing else.

Runs in its own confined process. It answers each question once, with a decision or with the exception that it raised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import Channel


def serve_checks(judge: Channel, first: list[Any]) -> int:
    """Define `check(given, output, expected)` and answer questions until the judge is gone."""
    namespace: dict[str, Any] = {"__name__": "checker"}
    try:
        exec(compile(first[1], "checker", "exec", dont_inherit=True), namespace)
        check: Callable[[Any, Any, Any], Any] = namespace["check"]
    except Exception as error:  # noqa: BLE001  the author's code may raise anything; the judge reports it
        judge.send(["broken", f"{type(error).__name__}: {error}"[:200]])
        return 0
    judge.send(["defined"])
    while True:
        _, *forms = judge.receive()
        try:
            reply = ["checked", check(*(codec.decode(form, _no_objects) for form in forms)) is True]
        except (Exception, SystemExit) as error:  # noqa: BLE001  the author's code may raise anything; the judge decides
            reply = ["raised", type(error).__name__[:60]]
        judge.send(reply)


def _no_objects(_form: list[Any]) -> Any:
    raise codec.CodecError("a checker gets plain values only")
