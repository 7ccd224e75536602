"""Containers that tests and program share: whatever either does, both hold the same, object by object."""

from __future__ import annotations

import contextlib
import json
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veredicto_verifier.sandbox import codec
from veredicto_verifier.sandbox.sharing import MAX_PARTS, Shared

KINDS: list[Callable[[], Any]] = [
    list, dict, set, bytearray, deque, Counter, OrderedDict, lambda: defaultdict(int), lambda: deque(maxlen=2),
]  # fmt: skip


def not_plain(value: Any) -> Any:
    raise codec.CodecError(f"a {type(value).__name__} is not plain")


class End:
    """One of the two ends, and the variables that it still holds (None for one that went out of its scope)."""

    def __init__(self, first: int) -> None:
        self.shared = Shared(first, not_plain, not_plain)
        self.held: list[Any] = []

    def send(self, other: End, value: Any) -> Any:
        """What a value is at the other end."""
        form = self.shared.encode(value)
        released = []
        updates = self.shared.updates()
        if self.first == 0:
            released = self.shared.release()
        message = json.loads(json.dumps([updates, released, form]))
        other.shared.apply(message[0])
        try:
            return other.shared.decode(message[2])
        finally:
            other.shared.forget(message[1])

    @property
    def first(self) -> int:
        return self.shared._parity


def shape(value: Any, known: dict[int, int]) -> Any:
    """A value's structure, in which a container that was met before is the number at which it was."""
    if not codec.is_mutable(value):
        return [shape(item, known) for item in value] if isinstance(value, tuple) else (type(value).__name__, value)
    if id(value) in known:
        return known[id(value)]
    known[id(value)] = len(known)
    if isinstance(value, dict):
        return type(value).__name__, [(shape(key, known), shape(item, known)) for key, item in value.items()]
    items = sorted(value) if isinstance(value, set | bytearray) else value
    return type(value).__name__, [shape(item, known) for item in items]


def put(target: Any, item: Any, key: int) -> None:
    if isinstance(target, Counter | set | bytearray):
        target.update([key]) if not isinstance(target, bytearray) else target.append(key)
    elif isinstance(target, dict):
        target[key] = item
    else:
        target.append(item)


small = st.integers(0, 5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("new"), small, st.integers(0, len(KINDS) - 1)),
        st.tuples(st.just("put"), small, small),
        st.tuples(st.just("tuple"), small, small),
        st.tuples(st.just("scalar"), small, small),
        st.tuples(st.just("clear"), small, small),
        st.tuples(st.just("drop"), small, small),
        st.tuples(st.just("show"), small, small),
    ),
    max_size=40,
)


def act(end: End, other: End, what: str, i: int, j: int) -> None:
    if what == "new":
        value = KINDS[j]()
        end.held.append(value)
        other.held.append(end.send(other, value))
        return
    if i >= len(end.held) or end.held[i] is None:
        return
    if what == "drop":
        end.held[i] = None
    elif what == "show":
        other.held[i] = end.send(other, end.held[i])
    elif what == "clear":
        end.held[i].clear()
    elif what == "scalar":
        put(end.held[i], float(j) / 2, j)
    elif j < len(end.held) and end.held[j] is not None:
        put(end.held[i], end.held[j] if what == "put" else (j, end.held[j]), j)


@given(st.lists(st.tuples(st.booleans(), STEPS), max_size=6))
def test_both_ends_hold_the_same_objects_whatever_either_does(turns: list[tuple[bool, list[Any]]]) -> None:
    tests, program = End(0), End(1)
    for of_tests, steps in turns:
        end, other = (tests, program) if of_tests else (program, tests)
        for step in steps:
            act(end, other, *step)
        end.send(other, None)
        both = [i for i, item in enumerate(tests.held) if item is not None and program.held[i] is not None]
        seen: tuple[dict[int, int], dict[int, int]] = {}, {}
        for i in both:
            assert shape(tests.held[i], seen[0]) == shape(program.held[i], seen[1])


def test_rows_that_are_one_list_stay_one_list() -> None:
    tests, program = End(0), End(1)
    rows = program.send(tests, [[0] * 2] * 3)
    assert rows[0] is rows[1] is rows[2]


def test_a_container_that_holds_itself_crosses() -> None:
    tests, program = End(0), End(1)
    cycle: list[Any] = [1]
    cycle.append(cycle)
    got = program.send(tests, cycle)
    assert got[0] == 1
    assert got[1] is got


def test_what_is_over_the_number_of_shared_containers_crosses_as_a_copy_that_is_kept_up_to_date() -> None:
    tests, program = End(0), End(1)
    grid = [[i] for i in range(MAX_PARTS + 10)]
    there = tests.send(program, grid)
    assert there == grid
    there[-1].append("changed")
    there[0].append("changed")
    program.send(tests, None)
    assert grid[-1] == [MAX_PARTS + 9, "changed"]
    assert grid[0] == [0, "changed"]
    grid[-1].append("again")
    tests.send(program, None)
    assert there[-1] == [MAX_PARTS + 9, "changed", "again"]


def test_containers_that_the_tests_no_longer_hold_are_forgotten_at_both_ends() -> None:
    tests, program = End(0), End(1)
    for i in range(3 * MAX_PARTS):
        tests.send(program, [i])
    assert len(tests.shared._parts) <= 2
    assert len(program.shared._parts) <= 2


def test_a_change_is_told_before_the_tests_forget_the_container() -> None:
    tests, program = End(0), End(1)
    mine = [1]
    there = tests.send(program, mine)
    mine.append(2)
    del mine
    tests.send(program, None)
    assert there == [1, 2]


def test_true_in_the_place_of_one_is_a_change() -> None:
    tests, program = End(0), End(1)
    mine = [1, 1.0, 0.0]
    there = tests.send(program, mine)
    there[:] = [True, 1, -0.0]
    program.send(tests, None)
    assert [repr(item) for item in mine] == ["True", "1", "-0.0"]


def test_values_nested_too_deep_are_refused_and_leave_nothing_behind() -> None:
    tests, program = End(0), End(1)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(codec.CodecError):
        program.send(tests, deep)
    assert program.shared._parts == {}
    assert program.send(tests, [1]) == [1]


HOSTILE: dict[str, Any] = {
    "a number of the other end": [[2, ["l", []], False]],
    "a negative number": [[-1, ["l", []], False]],
    "a truth for a number": [[True, ["l", []], False]],
    "a text for a number": [["1", ["l", []], False]],
    "a number that is no hash": [[[], ["l", []], False]],
    "no container": [[1, ["t", [1]], False]],
    "a scalar": [[1, 5, False]],
    "a reference alone": [[1, ["=", 0], False]],
    "an unknown reference": [[1, ["l", [["=", 7]]], False]],
    "another kind for a known list": [[0, ["d", []], False]],
    "a list for a key": [[1, ["d", [[["=", 0], 1]]], False]],
    "a list in a set": [[1, ["S", [["=", 0]]], False]],
    "a shape that does not fit": [[1, ["na", "int64", [3], [1]], False]],
    "a factory that is no type": [[1, ["dd", "eval", []], False]],
    "too few parts": [[1, ["l", []]]],
    "no list": 5,
    "too many": [[2 * i + 1, ["l", []], False] for i in range(MAX_PARTS + 1)],
}


@pytest.mark.parametrize("updates", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_updates_are_refused(updates: Any) -> None:
    tests, program = End(0), End(1)
    tests.held.append([1])
    tests.send(program, tests.held[0])
    with pytest.raises(codec.CodecError):
        tests.shared.apply(updates)
    assert tests.held == [[1]]


@pytest.mark.parametrize("form", [["=", 7], ["=", []], ["="], ["=", 0, 1], ["=", "0"]], ids=str)
def test_a_reference_to_nothing_is_refused(form: Any) -> None:
    with pytest.raises(codec.CodecError):
        End(0).shared.decode(form)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5) | st.sampled_from(["=", "l", "d", "S", "na", "q", "dd", "int", "B"]),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_any_json_is_an_update_or_a_codec_error(updates: Any) -> None:
    tests, program = End(0), End(1)
    tests.send(program, [1])
    with contextlib.suppress(codec.CodecError):
        tests.shared.apply(updates)


def test_a_container_that_only_the_message_names_is_forgotten_after_it_was_read() -> None:
    tests, program = End(0), End(1)
    form = tests.shared.encode([1])
    updates, released = tests.shared.updates(), tests.shared.release()
    program.shared.apply(updates)
    program.shared.forget(released)
    assert program.shared.decode(form) == [1]
    tests.send(program, None)
    assert program.shared._parts == tests.shared._parts == {}
