"""The untrusted half of `stdio`: run a program as `__main__` on the real standard streams and end as Python would.

Runs in its own confined process, forked for one case. The streams are pipes to the judge, the input is theirs.
"""

from __future__ import annotations

import atexit
import sys
import threading
import types
from typing import Any

from veredicto_verifier.sandbox.candidate import own_world, seed
from veredicto_verifier.sandbox.channel import Channel
from veredicto_verifier.sandbox.exceptions import describe


def run_script(channel: Channel, first: list[Any]) -> int:
    """Run a program as `__main__` with the real standard streams; the exit status it would give."""
    try:
        code = compile(first[2], "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        kind, *rest = describe(error)
        channel.send([kind, first[1], *rest])
        return 0
    module = own_world("__main__")
    seed()
    channel.send(["compiled", first[1]])
    channel.close()
    return _finish(_execute(code, module.__dict__))


def _execute(code: types.CodeType, namespace: dict[str, Any]) -> int:
    try:
        exec(code, namespace)
    except SystemExit as end:
        return _exit_status(end.code)
    except BaseException as error:  # noqa: BLE001  the program may raise anything; the interpreter would report it
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException:  # noqa: BLE001  the program's own hook may raise anything
            sys.__excepthook__(type(error), error, error.__traceback__)
        return 1
    return 0


def _exit_status(code: Any) -> int:
    """What the interpreter makes of `sys.exit(code)`."""
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _finish(status: int) -> int:
    """What the interpreter does at its end, short of taking its modules apart; the final status."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as end:
        return _exit_status(end.code)
    except BaseException:  # noqa: BLE001  closed or replaced streams; the interpreter ends with 120
        return 120
    return status
