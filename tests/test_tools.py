"""The simulated bank keeps its books whatever is done to it, and calls are matched as well as they can be."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veredicto_verifier.comparators import Comparator, agrees, decimal_of
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.judging import judge
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.specs import parse_spec
from veredicto_verifier.verifier import Completion, Context, ToolCall, reward
from veredicto_verifier.verifiers.tool_calls.bank import OPERATIONS, READS, WRITES, Account, Bank, perform
from veredicto_verifier.verifiers.tool_calls.books import breaches, canonical, entries
from veredicto_verifier.verifiers.tool_calls.matching import in_order, maximum, topological

OPENING = Bank(
    {
        "A": Account("A", Decimal("100.00"), daily_limit=Decimal("80.00")),
        "B": Account("B", Decimal("0.00"), overdraft=Decimal("50.00")),
        "C": Account("C", Decimal("20.00"), status="frozen"),
        "D": Account("D", Decimal("5.00"), currency="USD"),
    },
    "2026-11-30T12:00:00",
)
NAMES = st.sampled_from(["A", "B", "C", "D", "a", "", None, 7])
AMOUNTS = st.sampled_from(["1.00", "49.99", "80", "1000", "-5", "0", "1.001", "1e5", "", None, 3, Decimal("2.50")])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(sorted(OPERATIONS)),
        st.fixed_dictionaries(
            {
                "account": NAMES,
                "source": NAMES,
                "target": NAMES,
                "amount": AMOUNTS,
                "hold": st.sampled_from(["H-0001", "H-0002", "H-9999", None]),
            }
        ),
    ),
    max_size=25,
)


@given(steps=STEPS)
def test_the_books_balance_whatever_is_done(steps: list[tuple[str, dict[str, Any]]]) -> None:
    bank = OPENING
    for name, arguments in steps:
        before = bank
        bank, result = perform(bank, name, arguments)
        assert list(breaches(OPENING, bank)) == []
        refused = isinstance(result, dict) and "error" in result
        if name in READS:
            assert bank is before
        elif refused:
            assert (bank.accounts, bank.holds, bank.transfers) == (before.accounts, before.holds, before.transfers)
        if name in WRITES:
            assert bank.audit == (*before.audit, (name, not refused))
    assert sum(account.balance for account in bank.accounts.values()) == Decimal("125.00")
    assert bank.accounts["C"] == OPENING.accounts["C"]
    for name, account in bank.accounts.items():
        assert account.balance == OPENING.accounts[name].balance + entries(bank, name)


@given(steps=STEPS)
def test_the_same_calls_give_the_same_state(steps: list[tuple[str, dict[str, Any]]]) -> None:
    def final() -> str:
        bank = OPENING
        for name, arguments in steps:
            bank, _result = perform(bank, name, arguments)
        return canonical(bank)

    assert final() == final()


def broken_by(**changes: Any) -> set[str]:
    moved, _ = perform(OPENING, "transfer", {"source": "A", "target": "B", "amount": "10"})
    account = moved.accounts["A"]
    fields = {name: changes.get(name, getattr(account, name)) for name in ("balance", "daily_limit", "overdraft")}
    forged = Account("A", **fields)
    return set(breaches(OPENING, Bank({**moved.accounts, "A": forged}, moved.now, moved.holds, moved.transfers)))


def test_a_breach_is_seen() -> None:
    assert "money was made or lost" in broken_by(balance=Decimal("95.00"))
    assert "an account is not the sum of its entries" in broken_by(balance=Decimal("95.00"))
    assert "an account is over its daily limit" in broken_by(daily_limit=Decimal("5.00"))
    assert "an account is below its overdraft" in broken_by(balance=Decimal("-1.00"))
    assert "a transfer has no audit row" in broken_by()


TABLES = st.integers(0, 4).flatmap(
    lambda calls: st.lists(st.lists(st.booleans(), min_size=calls, max_size=calls), max_size=4)
)


def assignments(fits: list[list[bool]]) -> list[tuple[int | None, ...]]:
    """Every way to give each expected call one that fits, or none."""
    calls = len(fits[0]) if fits else 0
    places = [*range(calls), *[None] * len(fits)]
    return [
        chosen
        for chosen in set(permutations(places, len(fits)))
        if all(call is None or fits[expected][call] for expected, call in enumerate(chosen))
    ]


@given(fits=TABLES)
def test_a_matching_is_as_large_as_any(fits: list[list[bool]]) -> None:
    chosen = maximum(fits)
    found = [call for call in chosen if call is not None]
    assert len(set(found)) == len(found)
    assert all(call is None or fits[expected][call] for expected, call in enumerate(chosen))
    best = max(sum(call is not None for call in one) for one in assignments(fits))
    assert len(found) == best


@given(fits=TABLES, seed=st.lists(st.booleans(), min_size=6, max_size=6))
def test_an_ordered_matching_is_found_if_there_is_one(fits: list[list[bool]], seed: list[bool]) -> None:
    pairs = [(first, second) for second in range(len(fits)) for first in range(second)]
    edges = [pair for pair, kept in zip(pairs, seed, strict=False) if kept]
    after = [[first for first, second in edges if second == index] for index in range(len(fits))]
    whole = [one for one in assignments(fits) if None not in one]
    possible = any(all(one[first] < one[second] for first, second in edges) for one in whole)  # type: ignore[operator]
    found = in_order(fits, after)
    assert (found is not None) is possible
    if found is not None:
        assert tuple(found) in whole
        assert all(found[first] < found[second] for first, second in edges)


def test_a_circle_has_no_order() -> None:
    assert topological([[1], [0]]) is None
    assert topological([[1], [], [0]]) == [1, 0, 2]


@given(text=st.text(max_size=20) | st.from_regex(r"-?\d{1,4}(\.\d{1,3})?", fullmatch=True))
def test_an_amount_is_read_exactly_or_not_at_all(text: str) -> None:
    amount = decimal_of(text)
    if amount is not None:
        assert text.isascii()
        assert amount == Decimal(text)
    assert agrees(text, text, Comparator(by="decimal")) is (amount is not None)


TRANSFER = {
    "name": "transfer",
    "parameters": {
        "type": "object",
        "properties": {"source": {"type": "string"}, "target": {"type": "string"}, "amount": {"type": "string"}},
        "required": ["source", "target", "amount"],
    },
    "compare": {"amount": "decimal"},
}
LOOK = {"name": "look", "parameters": {"type": "object"}, "writes": False}


def earned(calls: list[dict[str, str]], looks: int = 0) -> float:
    moves = [{"source": "A", "target": target, "amount": "10.00"} for target in ("B", "C", "D")]
    spec = parse_spec(
        "tools",
        {
            "reward": "shaped",
            "tools": [TRANSFER, LOOK],
            "expected": [{"name": "transfer", "arguments": move} for move in moves],
        },
        VERIFIERS,
    )
    verifier = VERIFIERS["tools"]
    written = [ToolCall("transfer", json.dumps(call)) for call in calls] + [ToolCall("look", "{}")] * looks
    task = verifier.prepare(spec, Context())
    return reward(spec, judge(verifier, task, spec, Completion("", tuple(written)))[0])


@given(kept=st.sets(st.sampled_from("BCD")), looks=st.integers(0, 5))
def test_shaped_grows_with_the_writes_and_not_with_padding(kept: set[str], looks: int) -> None:
    calls = [{"source": "A", "target": target, "amount": "10"} for target in sorted(kept)]
    assert earned(calls, looks if calls else 0) == earned(calls)
    if len(kept) == 3:
        assert earned(calls) == 1.0
    else:
        assert earned(calls) < earned([*calls, {"source": "A", "target": min(set("BCD") - kept), "amount": "10"}])
        assert earned(calls) < 0.3
    assert earned([*calls, {"source": "A", "target": "E", "amount": "10"}]) == 0.0


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"tools": [{**TRANSFER, "parameters": {"type": 5}}], "expected": []}, "$.tools[0].parameters"),
        ({"tools": [TRANSFER], "expected": [{"name": "transfer"}]}, "$.expected[0].arguments"),
        ({"tools": [{**TRANSFER, "compare": {"amount": "nearly"}}], "expected": []}, "$.tools[0].compare.amount"),
        ({"tools": [TRANSFER], "expected": [], "judge_by": "state"}, "$"),
        ({"tools": [TRANSFER], "expected": [], "bank": {"accounts": []}}, "$.bank.accounts"),
        ({"tools": [], "expected": []}, "$.tools"),
    ],
)
def test_a_broken_spec_says_where(spec: dict[str, Any], place: str) -> None:
    with pytest.raises(TaskFault) as raised:
        VERIFIERS["tools"].prepare(parse_spec("tools", spec, VERIFIERS), Context())
    assert raised.value.message.startswith(place)
