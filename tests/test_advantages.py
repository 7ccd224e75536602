"""Advantages against numbers worked out by hand, and the rules for rewards that are missing or equal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veredicto_trainer.advantages import group_advantages


@pytest.mark.parametrize(
    ("rewards", "scale", "floor", "values", "state"),
    [
        ([1.0, 0.0], "std", 1e-3, [math.sqrt(0.5), -math.sqrt(0.5)], "mixed"),
        ([1.0, 0.0, 0.0, 0.0], "std", 1e-3, [1.5, -0.5, -0.5, -0.5], "mixed"),
        ([1.0, 0.0, 0.0, 0.0], "mean", 1e-3, [0.75, -0.25, -0.25, -0.25], "mixed"),
        ([0.3, 0.3 + 2e-5], "std", 1e-3, [-0.01, 0.01], "mixed"),
        ([1.0, None, 0.0], "std", 1e-3, [math.sqrt(0.5), None, -math.sqrt(0.5)], "mixed"),
        ([0.1, 0.1, 0.1], "std", 1e-3, [0.0, 0.0, 0.0], "equal"),
        ([0.7, None, 0.7], "mean", 1e-3, [0.0, None, 0.0], "equal"),
        ([1.0, None, None], "std", 1e-3, [None, None, None], "void"),
        ([None, None], "std", 1e-3, [None, None], "void"),
    ],
)
def test_advantages_are_those_worked_out_by_hand(
    rewards: Sequence[float | None], scale: str, floor: float, values: list[float | None], state: str
) -> None:
    result = group_advantages(rewards, scale=scale, std_floor=floor)  # type: ignore[arg-type]
    assert result.state == state
    assert [value is None for value in result.values] == [value is None for value in values]
    for got, wanted in zip(result.values, values, strict=True):
        assert got is wanted is None or got == pytest.approx(wanted, abs=1e-9)


@given(st.floats(min_value=0.0, max_value=1.0), st.integers(min_value=2, max_value=64))
def test_equal_rewards_give_exactly_zero_however_they_are_rounded(reward: float, size: int) -> None:
    result = group_advantages([reward] * size, scale="std", std_floor=1e-6)
    assert result.state == "equal"
    assert set(result.values) == {0.0}


@given(st.lists(st.one_of(st.none(), st.floats(min_value=0.0, max_value=1.0)), min_size=2, max_size=16))
def test_a_missing_reward_changes_nothing_for_the_others(rewards: list[float | None]) -> None:
    known = [reward for reward in rewards if reward is not None]
    alone = group_advantages(known, scale="std", std_floor=1e-3)
    mixed = group_advantages(rewards, scale="std", std_floor=1e-3)
    assert mixed.state == alone.state
    assert [v for v, r in zip(mixed.values, rewards, strict=True) if r is not None] == list(alone.values)
    if mixed.state != "void":
        assert sum(value for value in mixed.values if value is not None) == pytest.approx(0.0, abs=1e-9)
