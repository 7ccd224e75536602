"""Intervals against published or hand-computed values."""

from __future__ import annotations

import math

import pytest

from veredicto_trainer.intervals import bootstrap_mean, effective_count, paired_difference, wilson


@pytest.mark.parametrize(
    ("successes", "count", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_gives_the_values_of_newcombe_1998(successes: int, count: int, low: float, high: float) -> None:
    assert wilson(successes / count, count) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_nothing_measured_is_the_whole_range() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)
    assert all(math.isnan(end) for end in bootstrap_mean([]))


def test_a_paired_difference_is_agresti_and_min() -> None:
    before = [True] * 10 + [False] * 10
    after = [True] * 9 + [False] + [True] * 8 + [False] * 2
    gained, lost, count = 8.5, 1.5, 22.0
    half = 1.959963984540054 * math.sqrt(gained + lost - (gained - lost) ** 2 / count) / count
    expected = (7 / count - half, 7 / count + half)
    assert paired_difference(before, after) == (pytest.approx(expected[0]), pytest.approx(expected[1]))
    low, high = paired_difference(before, before)
    assert low < 0 < high


def test_repeated_answers_count_as_one_when_they_agree_and_as_many_when_they_do_not() -> None:
    agree = [[True] * 4, [False] * 4] * 10
    differ = [[True, False, True, False]] * 20
    assert effective_count(agree) == pytest.approx(20, abs=1.5)
    assert effective_count([[True, False], [False, True]] * 10) == 20.0
    assert 20 <= effective_count(differ) <= 80


def test_a_bootstrap_interval_holds_the_mean_and_repeats() -> None:
    values = [0.0, 0.25, 0.5, 1.0] * 10
    low, high = bootstrap_mean(values)
    assert low < sum(values) / len(values) < high
    assert (low, high) == bootstrap_mean(values)
    assert bootstrap_mean([0.5] * 8) == (0.5, 0.5)
