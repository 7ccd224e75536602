"""What the test host may ask of an object that stayed with the program. Standard library only."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

OPERATIONS: dict[str, Callable[..., Any]] = {
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
    "hash": hash,
    "contains": operator.contains,
    "enter": lambda manager: type(manager).__enter__(manager),
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
"""Each operation, by its name in a request."""
