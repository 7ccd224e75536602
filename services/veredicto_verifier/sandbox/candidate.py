"""The untrusted half: load a program as module `solution` and answer calls, or run it as a script.

Runs in its own confined process, standard library only. It holds no test and no expected value; whatever it sends
is believed only to be what the program answered.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import Channel, ChannelClosed, FrameTooLarge
from veredicto_verifier.sandbox.confine import CHANNEL_FD, enter, forget_the_service

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "call": lambda function, *args: function(*args),
    "getattr": getattr,
    "setattr": setattr,
    "len": len,
    "iter": iter,
    "next": next,
    "bool": bool,
    "str": str,
    "repr": repr,
    "int": int,
    "float": float,
    "abs": abs,
    "neg": operator.neg,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "eq": operator.eq,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "matmul": operator.matmul,
}
"""What the test host may ask of an object that stayed here."""


def main() -> None:
    """Confine this process, then do what the judge says until the channel closes."""
    channel = Channel(CHANNEL_FD)
    enter(channel)
    forget_the_service()
    try:
        first = channel.receive()
        if first[0] == "script":
            _run_script(channel, first[1])
        else:
            Candidate(channel).serve(first)
    except ChannelClosed:
        return


class Candidate:
    """A loaded program and the objects it handed out.

    Args:
        channel: to whoever asks, the judge or the test host.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._module = types.ModuleType("solution")
        self._objects: list[Any] = []

    def serve(self, request: list[Any]) -> None:
        """Answer requests until the other side is gone."""
        kinds: dict[str, Callable[..., list[Any]]] = {"load": self._load, "call": self._call, "operate": self._operate}
        while True:
            try:
                reply = kinds[request[0]](*request[1:])
            except codec.CodecError as error:
                reply = ["unsendable", str(error)]
            except BaseException as error:  # noqa: BLE001  the program may raise anything, SystemExit included
                reply = describe(error)
            try:
                self._channel.send(reply)
            except FrameTooLarge as error:
                self._channel.send(["unsendable", str(error)])
            request = self._channel.receive()

    def _load(self, preamble: str, program: str, entry: str | None) -> list[Any]:
        sys.modules["solution"] = self._module
        _seed(program)
        if preamble:
            exec(compile(preamble, "preamble.py", "exec"), self._module.__dict__)
        exec(compile(program, "solution.py", "exec", dont_inherit=True), self._module.__dict__)
        if entry is not None and not self._has(entry):
            return ["missing", entry]
        return ["loaded"]

    def _has(self, entry: str) -> bool:
        found: Any = self._module
        for part in entry.split("."):
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return callable(found)

    def _resolve(self, entry: str) -> Any:
        """The callable that an entry names; a method gets a fresh instance for each call."""
        owner, _, method = entry.rpartition(".")
        if not owner:
            return getattr(self._module, method)
        found: Any = self._module
        for part in owner.split("."):
            found = getattr(found, part)
        return getattr(found() if isinstance(found, type) else found, method)

    def _call(self, entry: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        positional = [self._decode(form) for form in args]
        named = {name: self._decode(form) for name, form in kwargs.items()}
        value = _settle(self._resolve(entry)(*positional, **named))
        return ["value", self._encode(value), self._mutated(args, positional)]

    def _operate(self, name: str, args: list[Any]) -> list[Any]:
        operands = [self._decode(form) for form in args]
        value = _settle(_OPERATIONS[name](*operands))
        return ["value", self._encode(value), self._mutated(args, operands)]

    def _mutated(self, forms: list[Any], values: list[Any]) -> list[Any]:
        """`[position, new form]` of each mutable argument that the program changed in place."""
        changed = []
        for position, (form, value) in enumerate(zip(forms, values, strict=True)):
            if type(value) in (list, dict, set, bytearray):
                now = self._encode(value)
                if now != form:
                    changed.append([position, now])
        return changed

    def _encode(self, value: Any) -> Any:
        return codec.encode(value, self._keep)

    def _keep(self, value: Any) -> list[Any]:
        self._objects.append(value)
        return ["o", len(self._objects) - 1, type(value).__name__[:60]]

    def _decode(self, form: Any) -> Any:
        return codec.decode(form, self._given)

    def _given(self, form: list[Any]) -> Any:
        if form[0] == "o":
            return self._objects[form[1]]
        if form[0] == "n":
            return getattr(self._module, form[1])
        if form[0] == "h":
            return _Callback(self, form[1])
        raise codec.CodecError("unknown tag")

    def ask(self, callback: int, args: tuple[Any, ...]) -> Any:
        """Call a function of the test's, and serve what the test asks meanwhile."""
        self._channel.send(["callback", callback, [self._encode(arg) for arg in args]])
        kind, *rest = self._channel.receive()
        if kind == "raised":
            raise RuntimeError(f"the test's function raised {rest[0]}")
        return self._decode(rest[0])


class _Callback:
    """A function of the test's that the program was given; calling it asks the test host."""

    def __init__(self, owner: Candidate, number: int) -> None:
        self._owner = owner
        self._number = number

    def __call__(self, *args: Any) -> Any:
        return self._owner.ask(self._number, args)


def _settle(value: Any) -> Any:
    """A coroutine's result; any other value as it is."""
    if type(value) is not types.CoroutineType:
        return value
    import asyncio

    return asyncio.run(value)


def _seed(program: str) -> None:
    # Unseeded random numbers must not decide a verdict. Importing random costs a fifth of a start, so only on demand.
    if "random" in program:
        import random

        random.seed(0)


def describe(error: BaseException) -> list[Any]:
    """An exception as data: the names of its bases, its message and the line of the program that raised it."""
    names = [base.__name__ for base in type(error).__mro__]
    try:
        message = str(error)[:200]
    except BaseException:  # noqa: BLE001  the program's own __str__ may raise anything
        message = ""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "solution.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    return ["raised", names, message, line]


def _run_script(channel: Channel, program: str) -> None:
    """Run a program as `__main__` with the real standard streams, then end as the interpreter would."""
    try:
        code = compile(program, "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        channel.send(describe(error))
        return
    channel.send(["compiled"])
    channel.close()
    _seed(program)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(code, module.__dict__)
