"""What is read from a bank's state when the calls have run: a canonical picture to compare, and the invariants."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import Any, Final

from veredicto_verifier.verifiers.tool_calls.bank import ZERO, Bank, available, spent

VOLATILE: Final = ("concept",)
"""Fields that a task may declare as not compared."""


def canonical(bank: Bank, ignored: Collection[str] = ()) -> str:
    """The state as JSON without what depends on the order of independent calls (ids, running balances).

    Transfers, holds and the audit are bags; the money of two transfers is not the money of one.
    """
    picture: dict[str, Any] = {
        "accounts": {
            name: [str(account.balance), str(account.daily_limit), account.status]
            for name, account in bank.accounts.items()
        },
        "holds": sorted(
            [hold.account, str(hold.amount), hold.status, _kept("concept", hold.concept, ignored)]
            for hold in bank.holds.values()
        ),
        "transfers": sorted(
            [move.source, move.target, str(move.amount), _kept("concept", move.concept, ignored)]
            for move in bank.transfers
        ),
        "audit": sorted([name, done] for name, done in bank.audit),
    }
    return json.dumps(picture, sort_keys=True, ensure_ascii=False)


def breaches(before: Bank, after: Bank) -> Iterator[str]:
    """What holds in any bank whatever the calls were, and does not hold here.

    Money is conserved by currency; every account is its opening balance and its entries; nothing is below its
    overdraft or above its daily limit; a frozen account has not moved; each write has its audit row.
    """
    totals = dict.fromkeys({account.currency for account in before.accounts.values()}, ZERO)
    for name, account in after.accounts.items():
        opening = before.accounts[name]
        totals[account.currency] += account.balance - opening.balance
        if opening.balance + entries(after, name) - entries(before, name) != account.balance:
            yield "an account is not the sum of its entries"
        if available(after, account) < min(ZERO, available(before, opening)):
            yield "an account is below its overdraft"
        if account.daily_limit is not None and spent(after, name) > max(account.daily_limit, spent(before, name)):
            yield "an account is over its daily limit"
        if opening.status != "active" and account != opening:
            yield "an account that was not active has changed"
    if any(totals.values()):
        yield "money was made or lost"
    done = sum(1 for name, ok in after.audit if ok and name in ("transfer", "capture_hold"))
    if len(after.transfers) - len(before.transfers) != done:
        yield "a transfer has no audit row"


def entries(bank: Bank, account: str) -> Decimal:
    """The sum of an account's entries, in less out."""
    into = sum((move.amount for move in bank.transfers if move.target == account), ZERO)
    return into - spent(bank, account)


def _kept(field: str, value: str, ignored: Collection[str]) -> str:
    return "" if field in ignored else value
