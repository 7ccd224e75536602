"""How many rows of two bags can be paired: equal rows first, then rows that differ by a tolerance in floating point.

Closeness is no equivalence (a close to b and b to c does not make a close to c), so rows cannot just be rounded and
hashed: rows are grouped by their exact part, and inside a group a maximum matching is found.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from veredicto_verifier.verifiers.sql.values import Row

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Closeness:
    """When two floating-point numbers count as equal: `|a-b| <= max(rel·max(|a|,|b|), abs)`."""

    rel_tol: float
    abs_tol: float

    def close(self, left: float, right: float) -> bool:
        """Are two numbers close? Infinities only when equal."""
        return math.isclose(left, right, rel_tol=self.rel_tol, abs_tol=self.abs_tol)

    def all_close(self, left: Vector, right: Vector) -> bool:
        """Are two vectors close in every component?"""
        return all(map(self.close, left, right))

    def reach(self, value: float) -> float:
        """A distance beyond which nothing is close to `value`."""
        if math.isinf(value):
            return 0.0
        return max(self.abs_tol, self.rel_tol * abs(value) / (1 - self.rel_tol)) * 1.0000001


def matched(left: Sequence[Row], right: Sequence[Row], approximate: Sequence[bool], closeness: Closeness) -> int:
    """The number of rows that can be paired one to one. Symmetric, and independent of the order of rows."""
    left_counts, right_counts = Counter(left), Counter(right)
    equal = left_counts & right_counts
    paired = equal.total()
    if not any(approximate) or paired == min(len(left), len(right)):
        return paired
    left_groups = _groups(left_counts - equal, approximate)
    right_groups = _groups(right_counts - equal, approximate)
    for key, vectors in left_groups.items():
        if key in right_groups:
            paired += _paired(vectors, right_groups[key], closeness)
    return paired


def distinct(rows: Iterable[Row], approximate: Sequence[bool], closeness: Closeness) -> list[Row]:
    """The rows without repetitions, close ones counting as repetitions, in the order of first occurrence."""
    unique = list(dict.fromkeys(rows))
    if not any(approximate):
        return unique
    kept: list[Row] = []
    seen: defaultdict[Row, list[Vector]] = defaultdict(list)
    for row in unique:
        key, vector = _split(row, approximate)
        if not any(closeness.all_close(vector, other) for other in seen[key]):
            seen[key].append(vector)
            kept.append(row)
    return kept


def _groups(counts: Counter[Row], approximate: Sequence[bool]) -> dict[Row, list[Vector]]:
    groups: defaultdict[Row, list[Vector]] = defaultdict(list)
    for row, count in counts.items():
        key, vector = _split(row, approximate)
        groups[key].extend([vector] * count)
    return groups


def _split(row: Row, approximate: Sequence[bool]) -> tuple[Row, Vector]:
    """A row's exact part, with a mark in place of each approximate number, and those numbers."""
    numbers: list[float] = []
    key = tuple(_shape(value, numbers) if rough else value for value, rough in zip(row, approximate, strict=True))
    return key, tuple(numbers)


def _shape(value: Any, numbers: list[float]) -> Any:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        numbers.append(float(value))
        return ("number",)
    if isinstance(value, tuple):
        return tuple(_shape(item, numbers) for item in value)
    return value


def _paired(left: list[Vector], right: list[Vector], closeness: Closeness) -> int:
    if not left[0]:
        return min(len(left), len(right))
    if len(left[0]) == 1:
        return _paired_scalars(sorted(left), sorted(right), closeness)
    return _paired_vectors(sorted(left), sorted(right), closeness)


def _paired_scalars(left: list[Vector], right: list[Vector], closeness: Closeness) -> int:
    """On a line the greedy pairing of sorted values is a maximum one."""
    paired = i = j = 0
    while i < len(left) and j < len(right):
        if closeness.close(left[i][0], right[j][0]):
            paired, i, j = paired + 1, i + 1, j + 1
        elif left[i][0] < right[j][0]:
            i += 1
        else:
            j += 1
    return paired


def _paired_vectors(left: list[Vector], right: list[Vector], closeness: Closeness) -> int:
    """Maximum bipartite matching by augmenting paths; candidates lie in a window of the first component."""
    firsts = [vector[0] for vector in right]
    candidates = []
    for vector in left:
        reach = closeness.reach(vector[0])
        index, near = bisect_left(firsts, vector[0] - reach), []
        while index < len(right) and firsts[index] <= vector[0] + reach:
            if closeness.all_close(vector, right[index]):
                near.append(index)
            index += 1
        candidates.append(near)
    owner: dict[int, int] = {}
    partner: dict[int, int] = {}
    return sum(_augment(start, candidates, owner, partner) for start in range(len(left)))


def _augment(start: int, candidates: list[list[int]], owner: dict[int, int], partner: dict[int, int]) -> bool:
    """Find a partner for `start`, moving others along an alternating path (breadth first) if need be."""
    reached_from: dict[int, int] = {}
    frontier = deque([start])
    while frontier:
        node = frontier.popleft()
        for target in candidates[node]:
            if target in reached_from:
                continue
            reached_from[target] = node
            if target in owner:
                frontier.append(owner[target])
                continue
            free: int | None = target
            while free is not None:
                node = reached_from[free]
                moved = partner.get(node)
                owner[free], partner[node] = node, free
                free = moved
            return True
    return False
