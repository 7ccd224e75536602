"""Arrays and scalars of numpy as plain data, where numpy is loaded; without it an array is a list of lists.

Standard library only: numpy is never imported here, since a program that does not use it need not wait for it.
"""

from __future__ import annotations

import math
import sys
from typing import Any

DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)
"""What crosses; an array of objects or texts stays where it is."""
MAX_AXES = 32


def array_parts(value: Any) -> tuple[str, list[int] | None, list[Any]] | None:
    """The type, shape (None for a scalar) and items of a numeric array or scalar; None for anything else."""
    numpy: Any = sys.modules.get("numpy")
    kind = type(value)
    if numpy is None or kind.__module__ != "numpy":
        return None
    if kind is numpy.ndarray:
        name = str(value.dtype.name)
        return (name, list(value.shape), value.ravel().tolist()) if name in DTYPES else None
    if isinstance(value, numpy.generic) and str(value.dtype.name) in DTYPES:
        return str(value.dtype.name), None, [value.item()]
    return None


def is_array(value: Any) -> bool:
    """Whether a value is a numeric array, which can be changed in place."""
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and str(value.dtype.name) in DTYPES


def array_of(name: Any, shape: Any, items: list[Any]) -> Any:
    """The array or scalar of its parts.

    Raises:
        ValueError: they do not fit each other.
    """
    if name not in DTYPES or any(type(item) not in (bool, int, float, complex) for item in items):
        raise ValueError("not a numeric array")
    numpy: Any = sys.modules.get("numpy")
    if shape is None:
        (item,) = items
        return item if numpy is None else numpy.dtype(name).type(item)
    if len(shape) > MAX_AXES or any(type(n) is not int or n < 0 for n in shape) or math.prod(shape) != len(items):
        raise ValueError("not the shape of its items")
    return _nested(items, shape) if numpy is None else numpy.array(items, dtype=name).reshape(shape)


def as_lists(value: Any) -> Any:
    """An array as lists and a scalar as a number; any other value as it is."""
    parts = array_parts(value)
    return value if parts is None else parts[2][0] if parts[1] is None else _nested(parts[2], parts[1])


def _nested(items: list[Any], shape: list[int]) -> Any:
    if not shape:
        return items[0]
    step = len(items) // shape[0] if shape[0] else 0
    return [_nested(items[start * step : (start + 1) * step], shape[1:]) for start in range(shape[0])]
