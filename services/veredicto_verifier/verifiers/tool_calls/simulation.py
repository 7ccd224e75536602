"""Run calls in the simulated bank, and say whether the task's own bounds held at every step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from veredicto_verifier.verifiers.tool_calls.bank import OPERATIONS, Account, Bank, Hold, perform
from veredicto_verifier.verifiers.tool_calls.books import breaches
from veredicto_verifier.verifiers.tool_calls.calls import Call
from veredicto_verifier.verifiers.tool_calls.spec import BankSpec

_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Run:
    """The state after the calls, what broke on the way, and how many operations the bank refused."""

    bank: Bank
    broken: tuple[str, ...]
    refused: int


def opened(spec: BankSpec) -> Bank:
    """The bank as a task describes it."""
    accounts = {
        one.id: Account(
            one.id,
            one.balance.quantize(_CENT),
            one.currency,
            one.overdraft.quantize(_CENT),
            None if one.daily_limit is None else one.daily_limit.quantize(_CENT),
            one.status,
        )
        for one in spec.accounts
    }
    holds = {
        f"H-{number:04d}": Hold(f"H-{number:04d}", one.account, one.amount.quantize(_CENT), one.concept)
        for number, one in enumerate(spec.holds, start=1)
    }
    return Bank(accounts, spec.now, holds)


def run(spec: BankSpec, before: Bank, calls: Iterable[Call]) -> Run:
    """Run the calls that stand for operations of the bank, in order."""
    bank, refused = before, 0
    broken: list[str] = []
    for call in calls:
        if call.tool.name not in OPERATIONS:
            continue
        bank, result = perform(bank, call.tool.name, call.arguments)
        refused += isinstance(result, dict) and "error" in result
        broken.extend(_out_of_bounds(spec, before, bank))
    broken.extend(breaches(before, bank))
    return Run(bank, tuple(dict.fromkeys(broken)), refused)


def _out_of_bounds(spec: BankSpec, before: Bank, bank: Bank) -> Iterable[str]:
    if any(bank.accounts[name].balance < floor for name, floor in spec.floors.items()):
        yield "an account fell below the floor that the task sets"
    if any(bank.accounts[name] != before.accounts[name] for name in spec.untouched):
        yield "an account that was not to be touched has changed"
