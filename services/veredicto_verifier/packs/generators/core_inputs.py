"""What a problem of `python-core` is, and the seeded sources of its inputs beyond those of `python-mini`."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from veredicto_verifier.packs.generators.python_inputs import (
    WORDS,
    Inputs,
    a_day,
    a_text,
    a_word,
    an_amount,
    an_int,
    some_ints,
    two_ints,
)

__all__ = [
    "CoreProblem",
    "a_code",
    "a_day",
    "a_repetitive_text",
    "a_table",
    "a_text",
    "a_text_with_numbers",
    "a_time",
    "a_word",
    "a_written_amount",
    "an_amount",
    "an_int",
    "many_words",
    "pairs",
    "some_ints",
    "some_lines",
    "two_ints",
    "two_near_days",
]


@dataclass(frozen=True, slots=True)
class CoreProblem:
    """One problem; `<k>` stands for the parameter, `<f>` in the program for the function's name."""

    category: str
    names: tuple[str, str]
    """The function's name in English and in Spanish."""
    difficulty: float
    english: str
    spanish: str
    program: str
    parameters: tuple[str, ...]
    inputs: Inputs
    edges: tuple[tuple[Any, ...], ...]
    """Inputs that are always among the hidden cases."""
    perturbed: tuple[dict[str, Any], ...] = ()
    """Hidden inputs made when the task is loaded, as the spec declares them."""
    metamorphic: tuple[dict[str, Any], ...] = ()
    """Relations between answers, as the spec declares them."""


def a_repetitive_text(rng: random.Random) -> tuple[str]:
    """Runs of a few letters."""
    return ("".join(rng.choice("abc") * rng.randint(1, 4) for _ in range(rng.randint(2, 6))),)


def many_words(rng: random.Random) -> tuple[list[str]]:
    """A list of few different words."""
    return ([rng.choice(WORDS[:4]) for _ in range(rng.randint(4, 9))],)


def two_near_days(rng: random.Random) -> tuple[str, str]:
    """Two dates of one year, often few days apart."""
    year, month, day = rng.randint(2020, 2030), rng.randint(1, 11), rng.randint(1, 28)
    return f"{year}-{month:02}-{day:02}", f"{year}-{month + rng.randint(0, 1):02}-{rng.randint(1, 28):02}"


def pairs(separator: str) -> Inputs:
    """Key-value pairs on one line."""
    return lambda rng: (
        separator.join(f"{rng.choice(WORDS[:6])}={rng.randint(0, 99)}" for _ in range(rng.randint(2, 5))),
    )


def a_table(rng: random.Random) -> tuple[str]:
    """Lines of one to four fields."""
    rows = [[rng.choice(WORDS) for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(2, 5))]
    return ("\n".join(", ".join(row) for row in rows),)


def a_time(rng: random.Random) -> tuple[str]:
    """A time of day."""
    return (f"{rng.randint(0, 23)}:{rng.randint(0, 59):02}",)


def a_text_with_numbers(rng: random.Random) -> tuple[str]:
    """Words and numbers mixed."""
    return (" ".join(rng.choice([rng.choice(WORDS), str(rng.randint(0, 300))]) for _ in range(rng.randint(3, 8))),)


def a_code(rng: random.Random) -> tuple[str]:
    """Some letters, then some digits; often of the right number."""
    letters = "".join(rng.choice("ABCXYZ") for _ in range(rng.randint(1, 5)))
    return (letters + "".join(rng.choice("0123456789") for _ in range(rng.choice([3, 4, 4, 4, 5]))),)


def a_written_amount(prefix: str) -> Inputs:
    """An amount as text, sometimes without its prefix."""
    return lambda rng: (
        (prefix if rng.random() < 0.8 else "") + f"{rng.randint(0, 2_000_000):,}.{rng.randint(0, 99):02}",
    )


def some_lines(rng: random.Random) -> tuple[list[list[int]]]:
    """Pairs of a quantity and a price in cents."""
    return ([[rng.randint(1, 9), rng.randint(50, 5000)] for _ in range(rng.randint(1, 5))],)
