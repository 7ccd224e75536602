"""What a problem of `python-mini` is, and the seeded sources of its inputs."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Inputs = Callable[[random.Random], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: `<k>` in the statement and the program stands for the parameter."""

    category: str
    entry: str
    difficulty: float
    statement: str
    program: str
    parameters: tuple[str, ...]
    inputs: Inputs
    edges: tuple[tuple[Any, ...], ...] = ()
    """Inputs that are always among the hidden cases."""


WORDS = (
    "account bank branch card cash cheque client credit currency debit deposit fee fund interest invoice ledger loan "
    "market office order payment peso rate receipt report saving share stock tax teller transfer vault"
).split()


def a_text(rng: random.Random) -> tuple[str]:
    """A few words, some with capitals."""
    words = [rng.choice(WORDS) for _ in range(rng.randint(2, 7))]
    return (" ".join(word.capitalize() if rng.random() < 0.4 else word for word in words),)


def a_word(rng: random.Random) -> tuple[str]:
    """One word."""
    return (rng.choice(WORDS),)


def an_int(low: int, high: int) -> Inputs:
    """One integer."""
    return lambda rng: (rng.randint(low, high),)


def two_ints(low: int, high: int) -> Inputs:
    """Two integers."""
    return lambda rng: (rng.randint(low, high), rng.randint(low, high))


def some_ints(low: int, high: int) -> Inputs:
    """A list of three to nine integers."""
    return lambda rng: ([rng.randint(low, high) for _ in range(rng.randint(3, 9))],)


def some_words(rng: random.Random) -> tuple[list[str]]:
    """A list of words, some of them twice."""
    return ([rng.choice(WORDS[:12]) for _ in range(rng.randint(3, 8))],)


def a_day(rng: random.Random) -> tuple[str]:
    """A date as text."""
    return (f"{rng.randint(1990, 2035)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",)


def two_days(rng: random.Random) -> tuple[str, str]:
    """Two dates as text."""
    return (*a_day(rng), *a_day(rng))


def an_amount(rng: random.Random) -> tuple[int]:
    """Centavos."""
    return (rng.randint(1, 5_000_000),)


def some_movements(rng: random.Random) -> tuple[list[list[Any]]]:
    """Pairs of an account name and centavos."""
    return ([[rng.choice(WORDS[:4]), rng.randint(-9_000, 9_000)] for _ in range(rng.randint(2, 7))],)
