"""What `tools` judges by: the tools on offer, the calls wanted, what is forbidden, and perhaps a bank."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from veredicto_verifier.comparators import Comparison
from veredicto_verifier.json_values import plain_json
from veredicto_verifier.verifier import Spec
from veredicto_verifier.verifiers.tool_calls.bank import OPERATIONS, WRITES

ToolName = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Identity = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Arguments = Annotated[dict[str, Any], AfterValidator(plain_json)]
Money = Annotated[Decimal, Field(ge=-(10**15), le=10**15, decimal_places=2)]
Sum = Annotated[Decimal, Field(ge=0, le=10**15, decimal_places=2)]


class Part(BaseModel):
    """Settings of a part of the spec."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Tool(Part):
    """A tool that the prompt offers."""

    name: ToolName
    parameters: Annotated[dict[str, Any] | bool, AfterValidator(plain_json)] = True
    """JSON Schema of the arguments; with `properties`, an argument that is not among them is refused."""
    description: str = ""
    """For people; not judged."""
    writes: bool = True
    """Whether a call changes anything; a call of a tool that only reads may be made beyond those expected."""
    compare: dict[str, Comparison] = Field(default_factory=dict)
    """How an argument is compared; exactly, if not named."""
    idempotency_key: str | None = None
    """The argument that names one intent: the same key and body count once, another body under it fails."""


class ExpectedCall(Part):
    """A call that must be made."""

    name: ToolName
    arguments: Arguments = Field(default_factory=dict)
    label: Identity | None = None
    """A name for `after`."""
    after: tuple[Identity, ...] = ()
    """Labels of the calls that must come before this one; others may come in any order."""
    compare: dict[str, Comparison] = Field(default_factory=dict)
    """Beyond the tool's own comparators."""


class Forbidden(Part):
    """A call that must not be made: of this tool, with these arguments whatever the others are."""

    name: ToolName
    arguments: Arguments = Field(default_factory=dict)


class BankAccount(Part):
    """An account when the clock stands at `now`."""

    id: Identity
    balance: Money
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "MXN"
    overdraft: Sum = Decimal("0.00")
    daily_limit: Sum | None = None
    status: Literal["active", "frozen", "closed"] = "active"


class BankHold(Part):
    """An open hold; its id is `H-0001` for the first of the list, and so on."""

    account: Identity
    amount: Sum
    concept: str = ""


class BankSpec(Part):
    """The bank that calls named like its operations run in."""

    accounts: Annotated[tuple[BankAccount, ...], Field(min_length=1, max_length=100)]
    holds: Annotated[tuple[BankHold, ...], Field(max_length=100)] = ()
    now: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$")] = "2026-11-30T12:00:00"
    ignored: tuple[Literal["concept"], ...] = ()
    """Fields of transfers and holds that the final state is compared without."""
    floors: dict[str, Money] = Field(default_factory=dict)
    """Balances that no call may take an account below, by account."""
    untouched: tuple[Identity, ...] = ()
    """Accounts that nothing may change."""

    @model_validator(mode="after")
    def _of_one_piece(self) -> BankSpec:
        known = {account.id for account in self.accounts}
        if len(known) != len(self.accounts):
            raise ValueError("two accounts have the same id")
        named = {*self.floors, *self.untouched, *(hold.account for hold in self.holds)}
        if not named <= known:
            raise ValueError("`holds`, `floors` and `untouched` name accounts that are not in `accounts`")
        return self


class ToolsSpec(Spec):
    """What `tools` judges by."""

    tools: Annotated[tuple[Tool, ...], Field(min_length=1, max_length=64)]
    """The tools on offer."""
    expected: Annotated[tuple[ExpectedCall, ...], Field(max_length=32)]
    """The calls wanted; an empty list wants none, and then a refusal in words."""
    forbidden: Annotated[tuple[Forbidden, ...], Field(max_length=32)] = ()
    """Calls that fail the answer whatever else it does."""
    judge_by: Literal["calls", "state"] = "calls"
    """`calls` wants the expected calls; `state` (needs `bank`) wants the final state that they lead to."""
    bank: BankSpec | None = None
    """The simulated bank; with it the final state is compared too."""
    extra_reads: bool = True
    """Whether tools that only read may be called beyond `expected`; extra writes never may."""
    max_calls: Annotated[int, Field(ge=1, le=128)] = 32
    """Most calls of one answer."""
    refusal: bool | None = None
    """Whether the answer must say in words that it does not do what was asked; null: if `expected` is empty."""
    refusal_words: Annotated[tuple[Identity, ...], Field(max_length=64)] = ()
    """Words of which the refusal must hold one, in any case; none given: any words are a refusal."""
    partial_cap: Annotated[float, Field(ge=0, le=0.3)] = 0.3
    """The most that an answer which does not pass can earn under `shaped`."""

    @property
    def wants_refusal(self) -> bool:
        """Whether prose is part of the answer."""
        return not self.expected if self.refusal is None else self.refusal

    @model_validator(mode="after")
    def _of_one_piece(self) -> ToolsSpec:
        names = {tool.name for tool in self.tools}
        if len(names) != len(self.tools):
            raise ValueError("two tools have the same name")
        named = [*(call.name for call in self.expected), *(call.name for call in self.forbidden)]
        unknown = [name for name in named if name not in names]
        if unknown:
            raise ValueError(f"`expected` or `forbidden` names {unknown[0]!r}, which is not among `tools`")
        labels = [call.label for call in self.expected if call.label is not None]
        wanted = {label for call in self.expected for label in call.after}
        if len(set(labels)) != len(labels) or not wanted <= set(labels):
            raise ValueError("labels must differ, and `after` must name labels of `expected`")
        if self.refusal is False and not self.expected:
            raise ValueError("`expected` is empty: without a refusal in words, doing nothing would be paid")
        self._check_bank()
        return self

    def _check_bank(self) -> None:
        if self.bank is None:
            if self.judge_by == "state":
                raise ValueError("`judge_by` state needs `bank`")
            return
        for tool in self.tools:
            if tool.name in OPERATIONS and tool.writes != (tool.name in WRITES):
                raise ValueError(f"`writes` of {tool.name!r} is not what the bank's operation does")
