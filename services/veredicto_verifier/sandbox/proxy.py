"""Stand-ins, in the test host, for the program under test and for its objects that stayed with it."""

from __future__ import annotations

import collections.abc
import functools
import io
import secrets
from collections.abc import Callable
from typing import Any, Literal

from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.channel import BadFrame, Channel, ChannelClosed, FrameTooLarge
from veredicto_verifier.sandbox.program_name import Global
from veredicto_verifier.sandbox.raised import Ended, Lost, exception_class, exception_of
from veredicto_verifier.sandbox.remote import Remote, Witness, handle_of, witness_of
from veredicto_verifier.sandbox.sharing import Shared


class Uncrossable(TypeError):
    """A value of the test's that cannot cross: its type's name."""


class Connection:
    """Asks the candidate process, on behalf of the tests.

    Args:
        channel: to the candidate process.
        awaits: the tests await what the program's coroutine functions return, so they get coroutines.
    """

    def __init__(self, channel: Channel, *, awaits: bool = False) -> None:
        self._channel = channel
        self._shared = Shared(0, self._opaque_form, self._remote)
        self._awaits = awaits
        self._exceptions: dict[str, type[Exception]] = {}
        self._callbacks: list[Callable[..., Any]] = []
        self._number = 0
        self.num_calls = 0
        self.broken: str | None = None
        """Why the program can no longer be asked; a test that swallows `Lost` has not passed."""
        self.flags: set[str] = set()
        self.raised: Exception | None = None
        """The last exception that came from the program, to tell it from the test's own."""
        self._relayed: list[Exception] = []
        """What the test's own functions raised when the program called them."""
        self.num_changes = 0
        """How often something was asked that may change an object of the program."""
        self._asked: set[Witness] = set()
        self._met_always_equal = False
        self._remotes: dict[int, Remote] = {}
        """The stand-ins that the running test has, by handle: one object is one stand-in."""

    def begin(self) -> None:
        """Forget what the last test did."""
        self.num_calls = 0
        self.raised = None
        self._asked = set()
        self._met_always_equal = False
        self._remotes = {}

    @property
    def leans_on_nothing(self) -> bool:
        """An object that the test took for plain data said of itself what no plain value would."""
        return self._met_always_equal or any(witness.doubtful for witness in self._asked)

    def call(self, entry: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the program's entry point."""
        value = self._ask("call", [entry, *self._arguments(args, kwargs)])
        if isinstance(value, Remote) and entry.rpartition(".")[2][:1].isupper():
            witness_of(value).is_object = True  # the author calls it by the name of a class
        return value

    def operate(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Apply an operation to objects that stayed with the program."""
        return self._ask("operate", [name, *self._arguments(args, kwargs)])

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        try:
            return [[self._encode(arg) for arg in args], {name: self._encode(value) for name, value in kwargs.items()}]
        except Uncrossable as error:
            raise self._given_up(error) from error

    def refused(self, what: str) -> Lost:
        """What to raise where a test does what no test can do here."""
        return self._given_up(Uncrossable(what))

    def _given_up(self, error: Uncrossable) -> Lost:
        """The test is to blame, and nothing that it does now may count."""
        self.broken = self.broken or f"uncrossable:{error}"
        return Lost(self.broken)

    def leave(self, remote: Remote, error: BaseException | None) -> None:
        """Leave a `with` block over an object of the program, by an exception if there is one."""
        names = [] if error is None else [base.__name__ for base in type(error).__mro__]
        self._ask("exit", [self._encode(remote), names, self._error_args(error)])

    def content(self, remote: Remote, kind: Literal["content", "plain"] = "content") -> Any:
        """The plain value that an object stands for (`content`: a list or dict), or is by its type; None for none.

        Asked once, until something is done that may change it.
        """
        witness = witness_of(remote)
        if witness.as_of != self.num_changes:
            witness.told.clear()
            witness.as_of = self.num_changes
        if kind not in witness.told:
            witness.told[kind] = None
            match self._ask(kind, [self._encode(remote)]):
                case [dict() | list() as content]:
                    witness.told[kind] = content
                case [
                    tuple() | list() | dict() | set() | frozenset() | str() | bytes() | int() | float() as value,
                    list(own),
                ]:
                    witness.told[kind] = value
                    witness.own = {name for name in own if type(name) is str}
        return witness.told[kind]

    def notice(self, remote: Remote) -> Witness:
        """Remember that the running test asks an object about itself."""
        witness = witness_of(remote)
        self._asked.add(witness)
        return witness

    def fetch(self, name: str) -> Any:
        """What a name of the program's module stands for: a value, a stand-in, or an exception class of that name.

        Raises:
            AttributeError: the program does not define it.
        """
        return self._ask("fetch", [name], name)

    def _ask(self, kind: str, request: list[Any], name: str = "") -> Any:
        if self.broken is not None:
            raise Lost(self.broken)
        self.num_calls += 1
        self._number += 1
        if kind in ("call", "exit") or (kind == "operate" and request[0] in _CHANGING):
            self.num_changes += 1
        try:
            return self._exchange([kind, self._number, *request], name)
        except Uncrossable as error:
            raise self._given_up(error) from error
        except ChannelClosed as error:
            self.broken = "lost"
            raise Lost(self.broken) from error
        except (BadFrame, codec.CodecError, FrameTooLarge) as error:
            self.broken = "protocol"
            raise Lost(self.broken) from error

    def _send(self, message: list[Any]) -> None:
        # What changed is told before it is forgotten here: the program may still hold it.
        self._channel.send(["shared", self._shared.updates(), self._shared.release(), message])

    def _receive(self) -> list[Any]:
        match self._channel.receive():
            case ["shared", updates, [str(kind), *rest]]:
                self._shared.apply(updates)
                return [kind, *rest]
            case ["unsendable", *rest]:
                return ["unsendable", *rest]
        raise BadFrame("a message without what it says of shared containers")

    def _exchange(self, request: list[Any], name: str) -> Any:
        self._send(request)
        reply = self._receive()
        while reply[0] == "callback":
            self._send(self._run_callback(reply))
            reply = self._receive()
        if reply[1:2] != [request[1]]:
            raise BadFrame("an answer to another question")
        match [reply[0], *reply[2:]]:
            case ["callable"] if name:
                return Global(self, name)
            case ["exception", list(classes)] if name:
                return self._class(classes)
            case ["value", form, *awaited]:
                value = self._decode(form)
                return _coroutine(value) if awaited and self._awaits else value
            case ["unsendable", _]:
                self.broken = "too_large"
                raise Lost(self.broken)
            case ["relayed", int(number)] if 0 <= number < len(self._relayed):
                self.raised = self._relayed[number]
                raise self.raised
            case ["raised", list(), str(message), _, list(classes), args, dict(attributes)]:
                self.raised = self._exception(classes, message, args, attributes)
                raise self.raised
        raise BadFrame("the program answered something else")

    def _class(self, classes: list[Any]) -> type[Exception]:
        try:
            return exception_class(classes, self._exceptions)
        except (TypeError, ValueError, LookupError) as error:
            raise BadFrame("no classes of an exception") from error

    def _exception(self, classes: list[Any], message: str, args: Any, attributes: dict[str, Any]) -> Exception:
        kind = self._class(classes)
        if kind is Ended:
            self.flags.add("suspicious_exit")
            return Ended(str(classes[0][0]))
        given = [self._decode(arg) for arg in args] if type(args) is list else None
        return exception_of(kind, message, given, {name: self._decode(form) for name, form in attributes.items()})

    def _run_callback(self, request: list[Any]) -> list[Any]:
        match request:
            case [_, int(number), list(forms), dict(named)] if 0 <= number < len(self._callbacks):
                function, args = self._callbacks[number], [self._decode(form) for form in forms]
                kwargs = {name: self._decode(form) for name, form in named.items()}
            case _:
                raise BadFrame("the program calls a function that it was not given")
        try:
            return ["returned", self._encode(function(*args, **kwargs))]
        except Exception as error:  # noqa: BLE001  the test's own function may raise anything; the program is told
            self._relayed.append(error)
            names = [base.__name__ for base in type(error).__mro__]
            return ["raised", len(self._relayed) - 1, names, self._error_args(error)]

    def _error_args(self, error: BaseException | None) -> list[Any]:
        try:
            return [self._encode(arg) for arg in error.args] if error is not None else []
        except (TypeError, codec.CodecError):  # something in them cannot cross
            return [str(error)[:200]]

    def _encode(self, value: Any) -> Any:
        return self._shared.encode(value)

    def _opaque_form(self, value: Any) -> list[Any]:
        if isinstance(value, Remote):
            return ["o", handle_of(value)]
        if isinstance(value, Global):
            return ["n", value.path]
        if isinstance(value, collections.abc.Iterator) and not isinstance(value, io.IOBase):
            return ["it", self._called_back(functools.partial(next, value))]
        for name, kind in _VIEWS.items():
            if isinstance(value, kind):
                return ["v", name, self._encode(dict(value.mapping))]
        if callable(value):
            return ["h", self._called_back(value), str(getattr(value, "__name__", "")), getattr(value, "__doc__", None)]
        raise Uncrossable(type(value).__name__)

    def _called_back(self, function: Callable[..., Any]) -> int:
        self._callbacks.append(function)
        return len(self._callbacks) - 1

    def _decode(self, form: Any) -> Any:
        return self._shared.decode(form)

    def _remote(self, form: list[Any]) -> Any:
        match form:
            case ["o", int(handle), str(type_name), str(base)]:
                return self._remotes.setdefault(handle, Remote(self, handle, type_name, base))
        raise codec.CodecError("a frame does not hold an encoded value")

    def _equals_anything(self, remote: Remote) -> bool:
        try:
            return self.operate("eq", remote, secrets.token_hex(8)) is True
        except Exception:  # noqa: BLE001  an honest __eq__ may only know objects of its own class, and raise
            return False

    def equal(self, left: Remote, right: Any) -> bool:
        """`==` where an object of the program is involved, which is never believed blindly.

        Plain data it equals only as an object of a subclass of a plain type (a named tuple): by the plain value that
        it is, which it tells without having seen what it is compared with.
        """
        if self._equals_anything(left):
            self.flags.add("always_equal")
            self._met_always_equal = True
            return False
        if isinstance(right, Remote):
            return self.operate("eq", left, right) is True
        plain = self.content(left, "plain")
        return plain is not None and _is_like(plain, right) and bool(plain == right)


_VIEWS = {"keys": collections.abc.KeysView, "values": collections.abc.ValuesView, "items": collections.abc.ItemsView}
_CHANGING = {"call", "setattr", "setitem", "delitem", "next", "enter"}


def _is_like(plain: Any, other: Any) -> bool:
    """Of one plain type, or both numbers; nothing that a test's own class could make of the comparison."""
    numbers = (int, float, bool)
    return type(plain) is type(other) or (type(plain) in numbers and type(other) in numbers)


async def _coroutine(value: Any) -> Any:
    return value
