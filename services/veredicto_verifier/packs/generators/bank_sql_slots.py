"""The slots of bank-sql's question templates: each option in SQL, in English and in Spanish."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from veredicto_verifier.packs.generators.bank_sql_rows import DATES, NUMBERS


@dataclass(frozen=True, slots=True)
class Option:
    """One way to fill a slot."""

    sql: str
    en: str
    es: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question in both languages and the query that answers it."""

    template: str
    category: str
    difficulty: float
    sql: str
    en: str
    es: str


Slot = tuple[Option, ...]


def values(*literals: str) -> Slot:
    """Options that read the same in every language."""
    return tuple(Option(literal, literal, literal) for literal in literals)


def numbers(column: str) -> Slot:
    """The literals of a column."""
    return values(*NUMBERS[column])


OP = (
    Option(">", "more than", "más de"),
    Option(">=", "at least", "como mínimo"),
    Option("<", "less than", "menos de"),
    Option("<=", "at most", "como máximo"),
)
UP, DOWN = OP[:2], OP[2:]
WHEN = (
    Option(">", "after", "después del"),
    Option(">=", "on or after", "el mismo día o después del"),
    Option("<", "before", "antes del"),
    Option("<=", "on or before", "el mismo día o antes del"),
)
DAY = values(*DATES)
SEGMENT = values("retail", "premium", "business")
COUNTRY = values("MX", "CO", "PE", "CL", "AR")
CURRENCY = values("MXN", "USD", "PEN")
ACCOUNT_PRODUCT = values("savings", "payroll", "checking")
ACCOUNT_STATUS = values("active", "dormant", "closed")
KIND = values("deposit", "withdrawal", "transfer", "payment")
CHANNEL = values("app", "branch", "atm", "card")
LOAN_PRODUCT = values("mortgage", "car", "personal")
LOAN_STATUS = values("current", "late", "paid")
CARD_KIND = values("debit", "credit")
CARD_STATUS = values("active", "blocked", "expired")
FEW = values("2", "3")
TOP = values("3", "5", "8")


@dataclass(frozen=True, slots=True)
class Template:
    """A question with slots; `{name}` stands for the option of the slot in the text's own language."""

    name: str
    category: str
    difficulty: float
    sql: str
    en: str
    es: str
    slots: dict[str, Slot]

    def questions(self) -> Iterator[Question]:
        """Every way to fill the slots, in a fixed shuffled order."""
        filled = list(product(*self.slots.values()))
        random.Random(self.name).shuffle(filled)
        for options in filled:
            named = dict(zip(self.slots, options, strict=True))
            yield Question(
                self.name,
                self.category,
                self.difficulty,
                self.sql.format(**{name: option.sql for name, option in named.items()}),
                self.en.format(**{name: option.en for name, option in named.items()}),
                self.es.format(**{name: option.es for name, option in named.items()}),
            )
