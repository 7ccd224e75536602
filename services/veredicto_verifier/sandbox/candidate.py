"""The untrusted half: load a program as module `solution` and answer calls.

Runs in its own confined process, forked for one program, standard library only. It holds no test and no expected
value; whatever it sends is believed only to be what the program answered.
"""

from __future__ import annotations

import builtins
import itertools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import Channel, FrameTooLarge

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "call": lambda function, *args, **kwargs: function(*args, **kwargs),
    "isinstance": isinstance,
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


def serve_program(channel: Channel, first: list[Any]) -> int:
    """Load a program and answer requests until the other side is gone."""
    Candidate(channel).serve(first)
    return 0


class Candidate:
    """A loaded program and the objects it handed out.

    Args:
        channel: to whoever asks, the judge or the test host.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._module = own_world("solution")
        self._objects: list[Any] = []

    def serve(self, request: list[Any]) -> None:
        """Answer requests until the other side is gone; an answer carries the number of its question."""
        kinds: dict[str, Callable[..., list[Any]]] = {
            "load": self._load,
            "call": self._call,
            "operate": self._operate,
            "fetch": self._fetch,
            "content": self._content,
        }
        while True:
            try:
                reply = kinds[request[0]](*request[2:])
            except codec.CodecError as error:
                reply = ["unsendable", str(error)]
            except BaseException as error:  # noqa: BLE001  the program may raise anything, SystemExit included
                reply = describe(error)
            try:
                self._channel.send([reply[0], request[1], *reply[1:]])
            except FrameTooLarge as error:
                self._channel.send(["unsendable", request[1], str(error)])
            request = self._channel.receive()

    def _load(self, preamble: str, program: str, entry: str | None) -> list[Any]:
        seed()
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

    def _call(self, entry: str, args: list[Any], kwargs: dict[str, Any], iterate: bool = False) -> list[Any]:
        positional = [self._decode(form) for form in args]
        named = {name: self._decode(form) for name, form in kwargs.items()}
        value = self._resolve(entry)(*positional, **named)
        return self._answer(_read_out(value) if iterate else value, args, positional)

    def _operate(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        operands = [self._decode(form) for form in args]
        named = {key: self._decode(form) for key, form in kwargs.items()}
        return self._answer(_OPERATIONS[name](*operands, **named), args, operands)

    def _answer(self, value: Any, forms: list[Any], given: list[Any]) -> list[Any]:
        awaited = type(value) is types.CoroutineType
        encoded = self._encode(_settle(value))
        return ["value", encoded, self._mutated(forms, given), *(["awaited"] if awaited else [])]

    def _fetch(self, name: str) -> list[Any]:
        """What a name of the module is, for a test file that imports it."""
        found: Any = self._module
        for part in name.split("."):
            found = getattr(found, part)
        if isinstance(found, type) and issubclass(found, BaseException):
            return ["exception", [base.__name__ for base in found.__mro__]]
        if callable(found):
            return ["callable"]
        return ["value", self._encode(found), []]

    def _content(self, form: Any) -> list[Any]:
        """The plain list or dict that an object holds, in a list of one; None when it can say no such thing."""
        value = self._decode(form)
        kind = type(value)
        try:
            if hasattr(kind, "__next__"):
                return ["value", None, []]
            keyed = hasattr(kind, "keys") and hasattr(kind, "__getitem__")
            items = list(itertools.islice(value.keys() if keyed else value, MAX_ITEMS + 1))
            if len(items) <= MAX_ITEMS:
                return ["value", self._encode([{key: value[key] for key in items} if keyed else items]), []]
        except Exception:  # noqa: BLE001  the program's own methods may raise anything: then it holds no such thing
            return ["value", None, []]
        return ["value", None, []]

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


MAX_ITEMS = 100_000


def _read_out(value: Any) -> Any:
    """The items of a generator or other iterator as a list; any other value as it is."""
    if hasattr(type(value), "__anext__"):
        value = _all_of(value)
    elif hasattr(type(value), "__next__"):
        value = list(itertools.islice(value, MAX_ITEMS + 1))
        if len(value) > MAX_ITEMS:
            raise codec.CodecError(f"the iterator gives more than {MAX_ITEMS} items")
    return value


async def _all_of(iterator: Any) -> list[Any]:
    items: list[Any] = []
    async for item in iterator:
        items.append(item)
        if len(items) > MAX_ITEMS:
            raise codec.CodecError(f"the iterator gives more than {MAX_ITEMS} items")
    return items


def _settle(value: Any) -> Any:
    """A coroutine's result; any other value as it is."""
    if type(value) is not types.CoroutineType:
        return value
    import asyncio

    return asyncio.run(value)


def prepare_world() -> None:
    """Make, once and before the fork, the builtins that a program gets for itself.

    A program that replaces `len` in `builtins` must not thereby choose which line of ours fails: our functions, and
    those of the standard library, keep the builtins that they were defined with.
    """
    own = types.ModuleType("builtins")
    own.__dict__.update(vars(builtins))
    sys.modules["builtins"] = own
    sys.modules["__main__"] = types.ModuleType("__main__")


def own_world(name: str) -> types.ModuleType:
    """A fresh module over the program's own builtins, in which integers of any length have a decimal form."""
    sys.set_int_max_str_digits(0)  # the guard is for servers; here the CPU limit stands, and contest tasks print such
    module = types.ModuleType(name)
    module.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules[name] = module
    return module


def seed() -> None:
    """Unseeded random numbers must not decide a verdict; a fork would seed them anew."""
    for name in ("random", "numpy.random"):
        if name in sys.modules:
            sys.modules[name].seed(0)


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
