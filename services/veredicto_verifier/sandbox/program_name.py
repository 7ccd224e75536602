"""Names of the program's module as the tests see them: its functions and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veredicto_verifier.sandbox.remote import Remote, witness_of

if TYPE_CHECKING:
    from veredicto_verifier.sandbox.proxy import Connection

_TOLD = {"__members__", "__annotations__", "__qualname__", "__version__"}
"""Of the attributes with two underscores those that a test may ask for."""


class Global:
    """A name of the program's module: its entry point or another of its functions.

    Args:
        connection: to the candidate process.
        name: the name there, `Solution.f` for a method.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self.path = name

    @property
    def __name__(self) -> Any:
        """Its name there."""
        return self._connection.fetch(f"{self.path}.__name__")

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        """Its docstring there."""
        return self._connection.fetch(f"{self.path}.__doc__")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it in the candidate process."""
        return self._connection.call(self.path, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _TOLD:
            raise AttributeError(name)
        return self._connection.fetch(f"{self.path}.{name}")

    def __iter__(self) -> Any:
        return iter(self._connection.operate("iter", self))

    def __len__(self) -> Any:
        return self._connection.operate("len", self)

    def __getitem__(self, key: Any) -> Any:
        return self._connection.operate("getitem", self, key)

    def __contains__(self, item: Any) -> bool:
        return self._connection.operate("contains", self, item) is True

    def __bool__(self) -> bool:
        return True

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        raise self._connection.refused("class derived from one of the program's")

    def __subclasscheck__(self, kind: Any) -> bool:
        return isinstance(kind, Global) and self._connection.operate("issubclass", kind, self) is True

    def __instancecheck__(self, instance: Any) -> bool:
        if not isinstance(instance, Remote):
            return False
        witness_of(instance).is_object = True
        return self._connection.operate("isinstance", instance, self) is True
