"""The untrusted half: load a program as module `solution` and answer calls.

Runs in its own confined process, forked for one program, standard library only. It holds no test and no expected
value; whatever it sends is believed only to be what the program answered.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import site
import sys
import types
from collections import deque
from collections.abc import Callable
from typing import Any

from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import Channel, FrameTooLarge
from veredicto_verifier.sandbox.exceptions import classes_of, describe, test_error, told
from veredicto_verifier.sandbox.given import given
from veredicto_verifier.sandbox.operations import OPERATIONS
from veredicto_verifier.sandbox.sharing import Shared


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
        self._handles: dict[int, int] = {}
        self._shared: Shared | None = None
        """What the program and the tests share, once tests have asked; the judge alone only ever sends copies."""
        self._relayed: deque[tuple[int, BaseException]] = deque(maxlen=MAX_RELAYED)
        self._kinds: dict[str, Callable[..., list[Any]]] = {
            "load": self._load,
            "call": self._call,
            "operate": self._operate,
            "exit": self._exit,
            "fetch": self._fetch,
            "content": self._content,
            "plain": self._plain,
        }

    def serve(self, request: list[Any]) -> None:
        """Answer requests until the other side is gone."""
        while True:
            self._reply(request)
            request = self._receive()

    def _receive(self) -> list[Any]:
        """The next message, after what it says of shared containers."""
        match self._channel.receive():
            case ["shared", updates, released, list(message)]:
                if self._shared is None:
                    self._shared = Shared(1, self._keep, self._given)
                self._shared.apply(updates)
                self._shared.forget(released)
                return message
            case message:
                return message

    def _send(self, message: list[Any]) -> None:
        self._channel.send(message if self._shared is None else ["shared", self._shared.updates(), message])

    def _reply(self, request: list[Any]) -> None:
        """Answer one request; an answer carries the number of its question."""
        try:
            reply = self._kinds[request[0]](*request[2:])
        except codec.CodecError as error:
            reply = ["unsendable", str(error)]
        except BaseException as error:  # noqa: BLE001  the program may raise anything, SystemExit included
            reply = next(
                (["relayed", number] for number, known in self._relayed if known is error), self._raised(error)
            )
        try:
            self._send([reply[0], request[1], *reply[1:]])
        except (FrameTooLarge, codec.CodecError) as error:  # the tests end here, so that nothing need be kept equal
            self._channel.send(["unsendable", request[1], str(error)])

    def _raised(self, error: BaseException) -> list[Any]:
        return describe(error) if self._shared is None else [*describe(error), *told(error, self._encode)]

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
        return getattr(found() if isinstance(found, type) and _needs_instance(found, method) else found, method)

    def _call(self, entry: str, args: list[Any], kwargs: dict[str, Any], iterate: bool = False) -> list[Any]:
        positional = [self._decode(form) for form in args]
        named = {name: self._decode(form) for name, form in kwargs.items()}
        value = self._resolve(entry)(*positional, **named)
        return self._answer(_read_out(value) if iterate else value)

    def _operate(self, name: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        operands = [self._decode(form) for form in args]
        named = {key: self._decode(form) for key, form in kwargs.items()}
        return self._answer(OPERATIONS[name](*operands, **named))

    def _exit(self, manager: Any, names: list[str], args: list[Any]) -> list[Any]:
        """Leave a `with` block of the test's, by an exception if it has names."""
        error = test_error(names, [self._decode(arg) for arg in args], vars(self._module)) if names else None
        found = self._decode(manager)
        type(found).__exit__(found, type(error) if error else None, error, None)
        return ["value", None]

    def _answer(self, value: Any) -> list[Any]:
        awaited = type(value) is types.CoroutineType
        return ["value", self._encode(_settle(value)), *(["awaited"] if awaited else [])]

    def _fetch(self, name: str) -> list[Any]:
        """What a name of the module is, for a test file that imports it."""
        found: Any = self._module
        if name == "__all__" and not hasattr(found, name):
            return ["value", self._encode([each for each in vars(found) if not each.startswith("_")])]
        for part in name.split("."):
            found = getattr(found, part)
        if isinstance(found, type) and issubclass(found, BaseException):
            return ["exception", classes_of(found)]
        if callable(found):
            return ["callable"]
        return ["value", self._encode(found)]

    def _content(self, form: Any) -> list[Any]:
        """The plain list or dict that an object holds, in a tuple of one; None when it can say no such thing."""
        value = self._decode(form)
        kind = type(value)
        try:
            if hasattr(kind, "__next__"):
                return ["value", None]
            keyed = hasattr(kind, "keys") and hasattr(kind, "__getitem__")
            items = list(itertools.islice(value.keys() if keyed else value, MAX_ITEMS + 1))
            if len(items) <= MAX_ITEMS:
                return ["value", self._encode(({key: value[key] for key in items} if keyed else items,))]
        except Exception:  # noqa: BLE001  the program's own methods may raise anything: then it holds no such thing
            return ["value", None]
        return ["value", None]

    def _plain(self, form: Any) -> list[Any]:
        """The plain value that an object of a subclass of a plain type is, and what the subclass has of its own.

        None for another object.
        """
        value = self._decode(form)
        base = _plain_base(type(value))
        if base is None:
            return ["value", None]
        own = {
            name for each in type(value).__mro__ if each is not base and issubclass(each, base) for name in vars(each)
        }
        return ["value", self._encode((base(value), sorted(own.intersection(dir(base)))))]

    def _encode(self, value: Any) -> Any:
        return codec.encode(value, self._keep) if self._shared is None else self._shared.encode(value)

    def _keep(self, value: Any) -> list[Any]:
        handle = self._handles.setdefault(id(value), len(self._objects))
        if handle == len(self._objects):
            self._objects.append(value)  # kept for good, so that no other object ever has its id
        base = _plain_base(type(value))
        return ["o", handle, type(value).__name__[:60], base.__name__ if base else ""]

    def _decode(self, form: Any) -> Any:
        return codec.decode(form, self._given) if self._shared is None else self._shared.decode(form)

    def _given(self, form: list[Any]) -> Any:
        if form[0] == "o":
            return self._objects[form[1]]
        if form[0] == "n":
            return functools.reduce(getattr, form[1].split("."), self._module)
        return given(form, self.ask, self._decode)

    def ask(self, callback: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the test's, and serve what the test asks meanwhile."""
        named = {name: self._encode(value) for name, value in kwargs.items()}
        self._send(["callback", callback, [self._encode(arg) for arg in args], named])
        while True:
            match self._receive():
                case ["returned", form]:
                    return self._decode(form)
                case ["raised", number, names, forms]:
                    error = test_error(names, [self._decode(form) for form in forms], vars(self._module))
                    self._relayed.append((number, error))
                    raise error
                case request:
                    self._reply(request)


MAX_ITEMS = 100_000
PLAIN = (tuple, list, dict, set, frozenset, str, bytes, int, float)
MAX_RELAYED = 64
"""Exceptions of the test's functions that are still known as such when they come out of the program."""


def _plain_base(kind: type) -> Any:
    return next((each for each in PLAIN if issubclass(kind, each)), None)


def _needs_instance(kind: type, method: str) -> bool:
    """Whether a method of a class is neither a class's nor a static one."""
    found = next((vars(base)[method] for base in kind.__mro__ if method in vars(base)), None)
    return not isinstance(found, classmethod | staticmethod)


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
    site.setquit()  # what the interpreter itself adds, which was started without
    site.sethelper()
    site.setcopyright()
    own = types.ModuleType("builtins")
    own.__dict__.update(vars(builtins))
    sys.modules["builtins"] = own
    sys.modules["__main__"] = types.ModuleType("__main__")


def own_world(name: str) -> types.ModuleType:
    """A fresh module over the program's own builtins, in which integers of any length have a decimal form."""
    sys.set_int_max_str_digits(0)  # the guard is for servers; here the CPU limit stands, and contest tasks print such
    module = types.ModuleType(name)
    module.__dict__.update({"__builtins__": sys.modules["builtins"], "__file__": "solution.py"})
    sys.modules[name] = module
    return module


def seed() -> None:
    """Unseeded random numbers must not decide a verdict; a fork would seed them anew."""
    for name in ("random", "numpy.random"):
        if name in sys.modules:
            sys.modules[name].seed(0)
