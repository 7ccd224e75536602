"""Intervals around what a run measures: shares, paired differences of shares, means of grouped values. All 95 %."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""

Interval = tuple[float, float]


def wilson(share: float, count: float) -> Interval:
    """Wilson's score interval of a share among `count` independent trials; the whole range without trials."""
    if count <= 0:
        return (0.0, 1.0)
    centre = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)
    half = Z * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count)) / (1 + Z * Z / count)
    return (max(0.0, centre - half), min(1.0, centre + half))


def effective_count(clusters: Sequence[Sequence[bool]]) -> float:
    """How many independent trials the answers to questions are worth when each question was answered several times.

    The variance of the mean over questions, turned back into a number of trials; between the number of questions and
    the number of answers.
    """
    answers = sum(len(cluster) for cluster in clusters)
    means = np.array([sum(cluster) / len(cluster) for cluster in clusters if cluster])
    if len(means) < 2:
        return float(len(means))
    share, variance = float(means.mean()), float(means.var(ddof=1)) / len(means)
    if variance == 0.0:
        return float(len(means))
    return float(min(max(share * (1 - share) / variance, len(means)), answers))


def paired_difference(before: Sequence[bool], after: Sequence[bool]) -> Interval:
    """Interval of share(after) - share(before) on the same questions (Agresti and Min 2005: half added per cell)."""
    gained = 0.5 + sum(not b and a for b, a in zip(before, after, strict=True))
    lost = 0.5 + sum(b and not a for b, a in zip(before, after, strict=True))
    count = len(before) + 2.0
    difference = (gained - lost) / count
    half = Z * math.sqrt(max(gained + lost - (gained - lost) ** 2 / count, 0.0)) / count
    return (max(-1.0, difference - half), min(1.0, difference + half))


def bootstrap_mean(values: Sequence[float], *, seed: int = 0, resamples: int = 2000) -> Interval:
    """Percentile bootstrap interval of the mean of independent values (one per group of completions)."""
    if not values:
        return (math.nan, math.nan)
    array = np.asarray(values, dtype=np.float64)
    picks = np.random.Generator(np.random.Philox(key=seed)).integers(len(array), size=(resamples, len(array)))
    low, high = np.quantile(array[picks].mean(axis=1), [0.025, 0.975])
    return (float(low), float(high))
