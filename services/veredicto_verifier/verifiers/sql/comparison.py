"""Compare an answer's result with gold's: rows as a bag, ties in any order, one permutation of columns for all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Literal

from veredicto_verifier.verifiers.sql.matching import Closeness, distinct, matched
from veredicto_verifier.verifiers.sql.spec import SqlSpec
from veredicto_verifier.verifiers.sql.values import Row, Table

MAX_PERMUTED = 8
"""Results with more columns compare by position."""
MAX_STEPS = 2_000
"""Column assignments tried before the search for a permutation gives up (real results need a handful)."""

Mapping = tuple[int, ...]
"""For each gold column the answer column that stands for it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How results are compared; see the fields of the spec."""

    columns: Literal["any_permutation", "positional", "by_name"]
    as_set: bool
    closeness: Closeness

    @classmethod
    def of(cls, spec: SqlSpec) -> Rules:
        """The rules that a spec asks for."""
        columns = "positional" if spec.mode == "dml" else spec.columns
        return cls(columns, spec.duplicates == "set", Closeness(spec.numeric.rel_tol, spec.numeric.abs_tol))

    def rows(self, table: Table) -> list[Row]:
        """The rows that count."""
        return distinct(table.rows, table.approximate, self.closeness) if self.as_set else table.rows


@dataclass(frozen=True, slots=True)
class Expected:
    """Gold's result on one fixture. `ties[i]` is the tie group of row i when order counts, else None."""

    table: Table
    ties: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How an answer's result compares: `code` is None when equal, `closeness` the row-F1 in [0, 1]."""

    code: str | None
    reason: str = ""
    closeness: float = 1.0


def compare(expected: Expected, answer: Table, rules: Rules, *, measure: bool) -> Comparison:
    """Compare an answer's result with gold's.

    Args:
        expected: gold's result (already without repetitions under `duplicates: set`).
        answer: the answer's result.
        rules: how they compare.
        measure: whether the row-F1 of a result that differs is wanted (`closeness` is 0 otherwise).
    """
    gold = expected.table
    rows = rules.rows(answer)
    if answer.width != gold.width:
        f1 = _f1_of_prefix(gold, answer, rows, rules) if measure else 0.0
        return Comparison("sql.column_count", f"{_count(answer.width, 'column')}, gold has another number", f1)
    mappings = _by_name(gold, answer) if rules.columns == "by_name" else None
    if rules.columns == "by_name" and mappings is None:
        return Comparison("sql.column_names", "the column names are not gold's; name them as the question asks", 0.0)
    search = _Search(gold, answer, rows, rules, mappings)
    if len(rows) == len(gold.rows):
        if search.finds_equal(expected.ties):
            return Comparison(None)
        if expected.ties is not None and search.finds_equal(None):
            return Comparison("sql.row_order", "the rows are right, their order is not", 0.95)
        reason = f"{search.by_position} of {_count(len(rows), 'row')} right by position of columns"
        return Comparison("sql.values", reason, search.best_f1() if measure else 0.0)
    reason = f"{_count(len(rows), 'row')}, gold has another number"
    return Comparison("sql.row_count", reason, search.best_f1() if measure else 0.0)


def compare_changes(expected: Expected, answer: Table, rules: Rules, *, measure: bool) -> Comparison:
    """Compare the rows that a change removes and adds with those of gold; see `compare`."""
    if not expected.table.rows and not answer.rows:
        return Comparison(None)
    if expected.table.names != answer.names:
        return Comparison("sql.other_table", "it changes another table than gold does", 0.0)
    found = compare(expected, answer, rules, measure=measure)
    return found if found.code is None else replace(found, reason=f"of the rows removed and added: {found.reason}")


def f1(paired: int, left: int, right: int) -> float:
    """The F1 of `paired` rows among `left` and `right`; 1 when both are empty."""
    return 2 * paired / (left + right) if left + right else 1.0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _by_name(gold: Table, answer: Table) -> Mapping | None:
    names = [name.lower() for name in answer.names]
    wanted = [name.lower() for name in gold.names]
    return tuple(names.index(name) for name in wanted) if sorted(names) == sorted(wanted) else None


def _f1_of_prefix(gold: Table, answer: Table, rows: list[Row], rules: Rules) -> float:
    """With too many columns: the first ones by position, times the share of columns that were asked for."""
    if answer.width < gold.width:
        return 0.0
    approximate = tuple(map(bool.__or__, gold.approximate, answer.approximate))
    cut = [row[: gold.width] for row in rows]
    paired = matched(gold.rows, cut, approximate, rules.closeness)
    return f1(paired, len(gold.rows), len(cut)) * gold.width / answer.width


class _Search:
    """The search for the column permutation under which most rows pair."""

    def __init__(self, gold: Table, answer: Table, rows: list[Row], rules: Rules, fixed: Mapping | None) -> None:
        self._gold, self._answer, self._rows, self._closeness = gold, answer, rows, rules.closeness
        self._first = fixed if fixed is not None else tuple(range(gold.width))
        self._permutes = rules.columns == "any_permutation" and 2 <= gold.width <= MAX_PERMUTED
        self._ties: tuple[int, ...] | None = None
        self._steps = 0
        self._by_position: int | None = None

    @property
    def by_position(self) -> int:
        """Rows that pair under the first mapping, whatever their order."""
        if self._by_position is None:
            self._by_position = self._paired(self._first, tuple(range(self._gold.width)), None)
        return self._by_position

    def finds_equal(self, ties: tuple[int, ...] | None) -> bool:
        """Is there a mapping under which all rows pair, those of one tie group among themselves?"""
        total = len(self._gold.rows)
        if not total:
            return True
        if self._paired(self._first, tuple(range(self._gold.width)), ties) == total:
            return True
        return self._permutes and self._best(total - 1, ties) == total

    def best_f1(self) -> float:
        """The row-F1 under the best mapping; below one half it is given as 0, since it earns nothing there."""
        total = len(self._gold.rows) + len(self._rows)
        least = total // 4  # F1 <= 1/2
        best = max(self.by_position, least)
        if self._permutes:
            best = max(best, self._best(best, None))
        return f1(best, len(self._gold.rows), len(self._rows)) if best > least else 0.0

    def _best(self, beaten: int, ties: tuple[int, ...] | None) -> int:
        """The most rows that pair under any mapping, or `beaten` if none pairs more."""
        self._ties, self._steps = ties, 0
        candidates = self._distinct_columns()
        options: list[list[int]] = []
        for i in range(self._gold.width):
            options.append([j for j in candidates if self._paired((j,), (i,), ties) > beaten])
            if not options[i]:
                return beaten
        order = sorted(range(self._gold.width), key=lambda i: len(options[i]))
        return self._extend((), order, options, beaten)

    def _extend(self, chosen: Mapping, order: list[int], options: list[list[int]], beaten: int) -> int:
        """Depth first over gold columns; a partial mapping pairs at least as many rows as any of its extensions."""
        depth = len(chosen)
        for column in self._untaken(options[order[depth]], chosen):
            self._steps += 1
            if self._steps > MAX_STEPS:
                return beaten
            wider = (*chosen, column)
            paired = self._paired(wider, tuple(order[: depth + 1]), self._ties)
            if paired <= beaten:
                continue
            beaten = paired if depth + 1 == len(order) else self._extend(wider, order, options, beaten)
            if beaten == len(self._gold.rows):
                return beaten
        return beaten

    def _untaken(self, columns: list[int], chosen: Mapping) -> Iterator[int]:
        """The columns still free; of equal ones the first free one stands for all."""
        for first in columns:
            for column in self._twins[first]:
                if column not in chosen:
                    yield column
                    break

    def _distinct_columns(self) -> list[int]:
        """The first of each set of equal answer columns."""
        self._twins: dict[int, list[int]] = {}
        firsts: dict[tuple[object, ...], int] = {}
        for j in range(self._answer.width):
            values = tuple(row[j] for row in self._rows)
            self._twins.setdefault(firsts.setdefault(values, j), []).append(j)
        return list(self._twins)

    def _paired(self, answer_columns: Mapping, gold_columns: Mapping, ties: tuple[int, ...] | None) -> int:
        approximate = [
            self._gold.approximate[i] or self._answer.approximate[j]
            for i, j in zip(gold_columns, answer_columns, strict=True)
        ]
        left = _project(self._gold.rows, gold_columns, ties)
        right = _project(self._rows, answer_columns, ties)
        if ties is not None:
            approximate.append(False)
        return matched(left, right, approximate, self._closeness)


def _project(rows: list[Row], columns: Mapping, ties: Sequence[int] | None) -> Sequence[Row]:
    """Some columns of all rows; with `ties`, the tie group of each row's position is added as a last column."""
    width = len(rows[0]) if rows else 0
    if columns == tuple(range(width)):
        projected: list[Row] = rows
    elif len(columns) == 1:
        projected = [(row[columns[0]],) for row in rows]
    else:
        projected = list(map(itemgetter(*columns), rows))
    if ties is None:
        return projected
    return [(*row, tie) for row, tie in zip(projected, ties, strict=True)]
