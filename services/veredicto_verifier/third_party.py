"""Verifiers of other packages: the one entry point by which they join the registry.

A package names them under `[project.entry-points."veredicto.verifiers"]`; the service and each of its workers read the
list once when they start. Whatever is installed beside the service runs with its rights: install what you trust.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib.metadata import entry_points
from typing import Any, Final

from veredicto_verifier.errors import PluginFault
from veredicto_verifier.verifier import Verifier

GROUP: Final = "veredicto.verifiers"


def admit(verifiers: MutableMapping[str, Verifier[Any, Any]]) -> None:
    """Add what other packages offer to the registry.

    Raises:
        PluginFault: an entry point cannot be loaded, is no verifier, or has a name that is taken or not its own.
    """
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            verifier = point.load()
        except (ImportError, AttributeError) as error:
            raise PluginFault(f"{GROUP}: {point.name} = {point.value}: cannot be loaded: {error}") from error
        if not isinstance(verifier, Verifier) or verifier.name != point.name:
            raise PluginFault(f"{GROUP}: {point.name} = {point.value}: is not a `Verifier` of that name")
        if verifiers.get(point.name, verifier) is not verifier:
            raise PluginFault(f"{GROUP}: {point.name} = {point.value}: a verifier of that name is there already")
        verifiers[point.name] = verifier
