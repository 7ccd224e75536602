"""Which call of the answer stands for which expected call: a maximum matching, then one that keeps the order.

Greedy matching is wrong: with golds `x in {1, 2}` and `x = 1`, the calls x=1 and x=2 must both find their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MAX_TRIES: Final = 20_000
"""Most steps of the search for a matching that keeps the order."""


def maximum(fits: Sequence[Sequence[bool]]) -> list[int | None]:
    """For each expected call the call that stands for it; as many as can be (Kuhn's augmenting paths).

    Args:
        fits: `fits[expected][call]`.
    """
    taken: dict[int, int] = {}

    def place(expected: int, seen: set[int]) -> bool:
        for call, fit in enumerate(fits[expected]):
            if fit and call not in seen:
                seen.add(call)
                if call not in taken or place(taken[call], seen):
                    taken[call] = expected
                    return True
        return False

    for expected in range(len(fits)):
        place(expected, set())
    by_expected = {expected: call for call, expected in taken.items()}
    return [by_expected.get(expected) for expected in range(len(fits))]


def in_order(fits: Sequence[Sequence[bool]], after: Sequence[Sequence[int]]) -> list[int] | None:
    """A matching of every expected call in which each comes later than those in its `after`; None if there is none.

    Args:
        fits: `fits[expected][call]`.
        after: for each expected call the indices that must come before it; no cycles.
    """
    order = topological(after)
    assert order is not None
    chosen: dict[int, int] = {}
    tries = 0

    def search(at: int) -> bool:
        nonlocal tries
        if at == len(order):
            return True
        expected = order[at]
        earliest = max((chosen[before] for before in after[expected]), default=-1) + 1
        for call in range(earliest, len(fits[expected])):
            tries += 1
            if tries > MAX_TRIES:
                return False
            if fits[expected][call] and call not in chosen.values():
                chosen[expected] = call
                if search(at + 1):
                    return True
                del chosen[expected]
        return False

    return [chosen[expected] for expected in range(len(fits))] if search(0) else None


def topological(after: Sequence[Sequence[int]]) -> list[int] | None:
    """The indices in an order that keeps `after`, the smallest first; None if there is a cycle."""
    order: list[int] = []
    left = list(range(len(after)))
    while left:
        free = next((index for index in left if set(after[index]) <= set(order)), None)
        if free is None:
            return None
        order.append(free)
        left.remove(free)
    return order
