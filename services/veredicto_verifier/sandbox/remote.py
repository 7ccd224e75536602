"""Stand-ins for objects that stayed with the program, and what keeps them from passing for plain data.

An object may say of its length, its truth and its items whatever it likes, and a list cannot. So where a test treats
what it got as plain data, an object must at least be coherent: it is asked once for the plain value that it stands
for, and what it says must be what that value would say. A test that uses it as an object (makes it by the name of a
class, uses a method or attribute that no plain value has, changes it) takes it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from veredicto_verifier.sandbox.operations import OPERATIONS

if TYPE_CHECKING:
    from veredicto_verifier.sandbox.proxy import Connection

_CHANGES = {
    "add", "append", "clear", "difference_update", "discard", "extend", "insert", "intersection_update", "pop",
    "popitem", "remove", "reverse", "setdefault", "sort", "symmetric_difference_update", "update",
}  # fmt: skip
_PLAIN = (list, tuple, dict, set, frozenset, str, bytes)
_PLAIN_TYPES: dict[str, type] = {kind.__name__: kind for kind in (*_PLAIN, int, float)}
_READS = {name for kind in _PLAIN for name in dir(kind) if not name.startswith("_")} - _CHANGES
"""Methods of plain values that only read: a test that uses them may expect a plain value."""
_PREDICATES = {name for name in dir(str) if name.startswith("is")} | {
    "startswith", "endswith", "issubset", "issuperset", "isdisjoint",
}  # fmt: skip
_READS_OF_A_DICT = {"items", "keys", "values", "get"}


class Witness:
    """What one object of the program has said of itself."""

    def __init__(self) -> None:
        self.is_object = False
        """A test uses it as an object of a class."""
        self.told: dict[str, Any] = {}
        """The plain value that it stands for, and that it is by its type; None for none. See `Connection.content`."""
        self.own: set[str] = set()
        """What the object's class has of its own of what its plain type has."""
        self.as_of = -1
        """The number of changes at which it was asked for that."""
        self.knows = False
        """It came of an operation with plain data of the test's, so it may know what it should come to."""
        self.contradicts = False
        """It said something else than its content would."""
        self.views: set[str] = set()
        """As what a test has looked at it while it stood for no plain value: its truth, items, text, number, parts."""
        self.num_items = 0
        """Items it gave meanwhile."""

    @property
    def doubtful(self) -> bool:
        """A test took it for plain data, and it cannot be any.

        One view alone could also be had of a plain value (its truth of True, its text of a string). An iterator is
        true and gives items.
        """
        views = self.views - {"truth"} if self.num_items else self.views
        return not self.is_object and (self.contradicts or len(views) > 1)


def _viewed(name: str, view: str) -> Callable[..., Any]:
    def method(self: Remote, *args: Any) -> Any:
        if view == "number" and witness_of(self).knows:
            raise _refused(self)
        _check(self, view, lambda _content: True)
        return _ask(self, name, *args)

    return method


_ORDER = ("lt", "le", "gt", "ge")
_ARITHMETIC = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "matmul", "lshift", "rshift",
    "divmod",
)  # fmt: skip
_IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "imatmul")
_VIEWS = {
    "text": ("str", "repr", "format"),
    "parts": ("hash",),
    "number": ("int", "float", "abs", "neg", "pos", "invert", "round", "floor", "ceil", "trunc"),
}
"""Operations on an object alone, by what a test that takes it for plain data looks at."""


def _refused(remote: Remote) -> TypeError:
    _connection(remote).flags.add("opaque_operand")
    return TypeError("an object of the program cannot be ordered against plain data, or computed with it")


def _changed(name: str) -> Callable[..., Any]:
    def method(self: Remote, *args: Any) -> Any:
        witness_of(self).is_object = True
        return _ask(self, name, *args)

    return method


def _operator(name: str, *, reflected: bool = False) -> Callable[[Remote, Any], Any]:
    def method(self: Remote, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        if isinstance(other, Remote):
            return _connection(self).operate(name, *operands)
        if (plain := _plain(self, f"__{'r' if reflected else ''}{name}__")) is not None:
            return OPERATIONS[name](*((other, plain) if reflected else (plain, other)))
        if not witness_of(self).is_object or name in _ORDER:
            raise _refused(self)
        result = _connection(self).operate(name, *operands)
        if not isinstance(result, Remote):
            raise _refused(self)
        witness_of(result).is_object = witness_of(result).knows = True
        return result

    return method


def _with_operators(kind: type[Remote]) -> type[Remote]:
    for view, names in _VIEWS.items():
        for name in names:
            setattr(kind, f"__{name}__", _viewed(name, view))
    for name in ("setitem", "delitem"):
        setattr(kind, f"__{name}__", _changed(name))
    for name in _ARITHMETIC:
        setattr(kind, f"__r{name}__", _operator(name, reflected=True))
    for name in (*_ARITHMETIC, *_IN_PLACE, *_ORDER):
        setattr(kind, f"__{name}__", _operator(name))
    return kind


@_with_operators
class Remote:
    """An object that stayed with the program: attributes, calls, operators and iteration go there.

    Operators with plain data are refused: in `abs(f(x) - 0.5) < 1e-6` they would hand the program the expected value
    and let it say that the difference is 0. Where the test uses it as an object of a class, arithmetic may give another
    object (`Vector(1, 2) * 3`), which then is no number. For the same reason `in` iterates here instead of asking
    there, unless the test uses it as an object.
    """

    def __init__(self, connection: Connection, handle: int, type_name: str, base: str = "") -> None:
        object.__setattr__(self, "_connection", connection)
        object.__setattr__(self, "_handle", handle)
        object.__setattr__(self, "_type_name", type_name)
        object.__setattr__(self, "_witness", Witness())
        object.__setattr__(self, "_base", _PLAIN_TYPES.get(base))

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return _ask(self, "getattr", "__doc__")

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # `isinstance(row, tuple)` holds for a named tuple.
        return object.__getattribute__(self, "_base") or type(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__name__", "__qualname__", "__wrapped__"):
            raise AttributeError(name)
        found = _ask(self, "getattr", name)
        if name not in _READS or not isinstance(found, Remote):  # of a plain value it would be a method
            witness_of(self).is_object = True
            return found
        if (plain := _plain(self, name)) is not None and hasattr(plain, name):
            return getattr(plain, name)
        if _check(self, "parts", lambda _content: True):
            content = _connection(self).content(self)
            if isinstance(content, dict) and name in _READS_OF_A_DICT:
                return getattr(content, name)
        if name in _PREDICATES and not witness_of(self).is_object:
            witness_of(self).contradicts = True
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        witness_of(self).is_object = True
        _ask(self, "setattr", name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it in the candidate process."""
        witness_of(self).is_object = True
        return _connection(self).operate("call", self, *args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return _connection(self).equal(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __len__(self) -> int:
        length: int = _ask(self, "len")
        if not _check(self, "length", lambda content: len(content) == length):
            witness_of(self).contradicts = True
        return length

    def __bool__(self) -> bool:
        truth = _ask(self, "bool") is True
        _check(self, "truth", lambda content: bool(content) is truth)
        return truth

    def __getitem__(self, key: Any) -> Any:
        item = _ask(self, "getitem", key)
        # A subclass of dict may make what it lacks (`__missing__`).
        made = object.__getattribute__(self, "_base") is dict
        _check(self, "items", lambda content: (made and key not in content) or _holds(content, key, item))
        return item

    def __contains__(self, item: Any) -> bool:
        if witness_of(self).is_object:
            return _ask(self, "contains", item) is True
        if isinstance(item, str) and isinstance(plain := _plain(self, "__contains__"), str):
            return item in plain
        return any(member == item for member in self)

    def __enter__(self) -> Any:
        witness_of(self).is_object = True
        return _ask(self, "enter")

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # Whatever it returns, the exception goes on: it may be a test's assertion, or be raised to skip one.
        _connection(self).leave(self, error)

    def __iter__(self) -> Any:
        if _check(self, "items", lambda _content: True):
            return iter(_connection(self).content(self))
        iterator = _ask(self, "iter")
        if not isinstance(iterator, Remote):
            return iter(iterator)
        object.__setattr__(iterator, "_witness", witness_of(self))
        return iterator

    def __next__(self) -> Any:
        item = _ask(self, "next")
        witness_of(self).num_items += 1
        return item


def witness_of(remote: Remote) -> Witness:
    """What an object has said of itself."""
    found: Witness = object.__getattribute__(remote, "_witness")
    return found


def handle_of(remote: Remote) -> int:
    """The number by which the program knows the object."""
    found: int = object.__getattribute__(remote, "_handle")
    return found


def _connection(remote: Remote) -> Connection:
    found: Connection = object.__getattribute__(remote, "_connection")
    return found


def _plain(remote: Remote, name: str) -> Any:
    """The plain value that an object is by its type, if a method of that name is the plain type's; else None."""
    if object.__getattribute__(remote, "_base") is None:
        return None
    plain = _connection(remote).content(remote, "plain")
    return None if name in witness_of(remote).own else plain


def _ask(remote: Remote, name: str, *args: Any) -> Any:
    return _connection(remote).operate(name, remote, *args)


def _check(remote: Remote, view: str, agrees: Callable[[Any], bool]) -> bool:
    """Note how a test looks at an object that it does not use as one; whether it stands for a plain value."""
    witness = _connection(remote).notice(remote)
    if witness.is_object:
        return False
    content = _connection(remote).content(remote)
    if content is None:
        witness.views.add(view)
    elif not agrees(content):
        witness.contradicts = True
    return content is not None


def _holds(content: Any, key: Any, item: Any) -> bool:
    """Whether a plain value would give this item."""
    if isinstance(item, Remote):  # which object of the program it is cannot be told here
        return True
    if isinstance(content, dict):
        return type(key).__hash__ is not None and key in content and _same(content[key], item)
    if isinstance(key, slice):
        return isinstance(item, list | tuple | str) and _same(content[key], list(item))
    return not isinstance(key, int) or (-len(content) <= key < len(content) and _same(content[key], item))


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other or (one != one and other != other))
