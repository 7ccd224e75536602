"""A core bank in memory, pure: accounts, transfers, holds, limits, statements, with a fixed clock and id generator.

Every operation takes a state and gives the next one; a refused write changes nothing but the audit. Amounts are
decimals with two places. What this does not model: interest, fees, currencies exchanged, postings of another day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final

from veredicto_verifier.comparators import decimal_of

ZERO: Final = Decimal("0.00")
_CENT: Final = Decimal("0.01")
_MOST: Final = Decimal("1e15")


class Refused(Exception):
    """The bank refuses an operation; the message says why."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account; `daily_limit` bounds what leaves it in a day, `overdraft` how far it may go below zero."""

    id: str
    balance: Decimal
    currency: str = "MXN"
    overdraft: Decimal = ZERO
    daily_limit: Decimal | None = None
    status: str = "active"


@dataclass(frozen=True, slots=True)
class Hold:
    """Money set aside on an account: `held`, then `released` or `captured`."""

    id: str
    account: str
    amount: Decimal
    concept: str = ""
    status: str = "held"


@dataclass(frozen=True, slots=True)
class Transfer:
    """Money that moved: one entry out of `source`, one into `target`."""

    id: str
    source: str
    target: str
    amount: Decimal
    concept: str = ""


@dataclass(frozen=True, slots=True)
class Bank:
    """The whole state. `audit` has one row for each attempted write: operation and whether it was done."""

    accounts: Mapping[str, Account]
    now: str
    holds: Mapping[str, Hold] = field(default_factory=dict)
    transfers: tuple[Transfer, ...] = ()
    audit: tuple[tuple[str, bool], ...] = ()


Arguments = Mapping[str, Any]
Operation = Callable[[Bank, Arguments], tuple[Bank, Any]]


def perform(bank: Bank, name: str, arguments: Arguments) -> tuple[Bank, Any]:
    """Do one operation; a refused one gives `{"error": reason}` and, if it is a write, an audit row."""
    try:
        after, result = OPERATIONS[name](bank, arguments)
    except Refused as refusal:
        after, result = bank, {"error": str(refusal)}
        done = False
    else:
        done = True
    if name in WRITES:
        after = replace(after, audit=(*after.audit, (name, done)))
    return after, result


def available(bank: Bank, account: Account) -> Decimal:
    """What may leave the account now: balance and overdraft less what is held."""
    return account.balance + account.overdraft - _held(bank, account.id)


def spent(bank: Bank, account: str) -> Decimal:
    """What has left the account today."""
    return sum((transfer.amount for transfer in bank.transfers if transfer.source == account), ZERO)


def _held(bank: Bank, account: str) -> Decimal:
    held = (hold.amount for hold in bank.holds.values() if hold.account == account and hold.status == "held")
    return sum(held, ZERO)


def _get_balance(bank: Bank, arguments: Arguments) -> tuple[Bank, Any]:
    account = _account(bank, arguments, "account")
    return bank, {"balance": str(account.balance), "available": str(available(bank, account))}


def _get_statement(bank: Bank, arguments: Arguments) -> tuple[Bank, Any]:
    account = _account(bank, arguments, "account")
    rows = [
        {"id": row.id, "amount": str(row.amount if row.target == account.id else -row.amount), "concept": row.concept}
        for row in bank.transfers
        if account.id in (row.source, row.target)
    ]
    return bank, {"date": bank.now[:10], "balance": str(account.balance), "entries": rows}


def _list_holds(bank: Bank, arguments: Arguments) -> tuple[Bank, Any]:
    account = _account(bank, arguments, "account")
    rows = [hold for hold in bank.holds.values() if hold.account == account.id]
    return bank, [{"id": hold.id, "amount": str(hold.amount), "status": hold.status} for hold in rows]


def _transfer(bank: Bank, arguments: Arguments) -> tuple[Bank, Any]:
    source, target = _account(bank, arguments, "source"), _account(bank, arguments, "target")
    amount, concept = _amount(arguments), _text(arguments, "concept", optional=True)
    if arguments.get("currency", source.currency) != source.currency:
        raise Refused("the account has another currency")
    after = _moved(bank, source, target, amount, concept)
    return after, {"id": after.transfers[-1].id}


def _place_hold(bank: Bank, arguments: Arguments) -> tuple[Bank, Any]:
    account, amount = _active(_account(bank, arguments, "account")), _amount(arguments)
    if amount > available(bank, account):
        raise Refused("insufficient funds")
    hold = Hold(f"H-{len(bank.holds) + 1:04d}", account.id, amount, _text(arguments, "concept", optional=True))
    return _with_hold(bank, hold), {"id": hold.id}


def _release_hold(bank: Bank, arguments: Arguments) -> tuple[Bank, Any]:
    hold = _hold(bank, arguments)
    _active(bank.accounts[hold.account])
    return _with_hold(bank, replace(hold, status="released")), {"id": hold.id}


def _capture_hold(bank: Bank, arguments: Arguments) -> tuple[Bank, Any]:
    hold, target = _hold(bank, arguments), _account(bank, arguments, "target")
    freed = _with_hold(bank, replace(hold, status="captured"))
    after = _moved(freed, bank.accounts[hold.account], target, hold.amount, hold.concept)
    return after, {"id": after.transfers[-1].id}


def _set_limit(bank: Bank, arguments: Arguments) -> tuple[Bank, Any]:
    account, limit = _active(_account(bank, arguments, "account")), _amount(arguments)
    if limit < spent(bank, account.id):
        raise Refused("more than that has already left the account today")
    return _with_account(bank, replace(account, daily_limit=limit)), {"daily_limit": str(limit)}


def _freeze_account(bank: Bank, arguments: Arguments) -> tuple[Bank, Any]:
    account = _active(_account(bank, arguments, "account"))
    return _with_account(bank, replace(account, status="frozen")), {"status": "frozen"}


def _moved(bank: Bank, source: Account, target: Account, amount: Decimal, concept: str) -> Bank:
    _active(source)
    _active(target)
    if source.id == target.id:
        raise Refused("source and target are the same account")
    if source.currency != target.currency:
        raise Refused("the accounts have different currencies")
    if source.daily_limit is not None and spent(bank, source.id) + amount > source.daily_limit:
        raise Refused("over the daily limit")
    if amount > available(bank, source):
        raise Refused("insufficient funds")
    bank = _with_account(bank, replace(source, balance=source.balance - amount))
    bank = _with_account(bank, replace(target, balance=target.balance + amount))
    moved = Transfer(f"T-{len(bank.transfers) + 1:04d}", source.id, target.id, amount, concept)
    return replace(bank, transfers=(*bank.transfers, moved))


def _with_account(bank: Bank, account: Account) -> Bank:
    return replace(bank, accounts={**bank.accounts, account.id: account})


def _with_hold(bank: Bank, hold: Hold) -> Bank:
    return replace(bank, holds={**bank.holds, hold.id: hold})


def _account(bank: Bank, arguments: Arguments, name: str) -> Account:
    account = bank.accounts.get(_text(arguments, name))
    if account is None:
        raise Refused(f"`{name}` is no account")
    return account


def _active(account: Account) -> Account:
    if account.status != "active":
        raise Refused(f"the account is {account.status}")
    return account


def _hold(bank: Bank, arguments: Arguments) -> Hold:
    hold = bank.holds.get(_text(arguments, "hold"))
    if hold is None or hold.status != "held":
        raise Refused("`hold` is no open hold")
    return hold


def _text(arguments: Arguments, name: str, *, optional: bool = False) -> str:
    value = arguments.get(name, "" if optional else None)
    if not isinstance(value, str):
        raise Refused(f"`{name}` is missing or no text")
    return value


def _amount(arguments: Arguments) -> Decimal:
    amount = decimal_of(arguments.get("amount"))
    if amount is None or not ZERO < amount < _MOST or amount != amount.quantize(_CENT):
        raise Refused("`amount` must be a positive amount with at most two decimals")
    return amount.quantize(_CENT)


READS: Final[dict[str, Operation]] = {
    "get_balance": _get_balance,
    "get_statement": _get_statement,
    "list_holds": _list_holds,
}
WRITES: Final[dict[str, Operation]] = {
    "transfer": _transfer,
    "place_hold": _place_hold,
    "release_hold": _release_hold,
    "capture_hold": _capture_hold,
    "set_limit": _set_limit,
    "freeze_account": _freeze_account,
}
OPERATIONS: Final[dict[str, Operation]] = {**READS, **WRITES}
"""By the name of the tool that stands for it."""
