"""The pack `bank-tools`: requests to a bank, carried out by tool calls or refused, in two languages, from a seed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Final

NAME: Final = "bank-tools"
SEED: Final = 20261203
COUNTS: Final = {"train": 40, "test": 10, "examples": 1}
"""Of one kind of request in one language."""

_MANIFEST: Final = f"""\
name = "{NAME}"
version = "1.0.0"
licence = "Apache-2.0"
language = "mul"
description = "Requests to a bank, carried out by tool calls or refused, in Spanish and English."
"""
REASONS: Final = ("insufficient_funds", "account_frozen", "over_limit", "unknown_account")
_TEXT: Final = {"type": "string"}


def _tool(name: str, arguments: list[str], **more: Any) -> dict[str, Any]:
    properties = {argument: {"enum": list(REASONS)} if argument == "reason" else _TEXT for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": arguments}
    money = {"compare": {"amount": "decimal"}} if "amount" in arguments else {}
    return {"name": name, "parameters": parameters, **money, **more}


TOOLS: Final = (
    _tool("get_balance", ["account"], writes=False),
    _tool("transfer", ["source", "target", "amount", "key"], idempotency_key="key"),
    _tool("place_hold", ["account", "amount"]),
    _tool("release_hold", ["hold"]),
    _tool("capture_hold", ["hold", "target"]),
    _tool("set_limit", ["account", "amount"]),
    _tool("freeze_account", ["account"]),
    _tool("decline", ["reason"]),
)
_INTRODUCTION: Final = {
    "es": "Atiendes a clientes de un banco por medio de herramientas. Haz las llamadas que pide la solicitud, cada una "
    'como <tool_call>{{"name": …, "arguments": {{…}}}}</tool_call>, y ninguna otra que cambie algo. Si no se puede '
    "cumplir (saldo insuficiente, cuenta congelada, límite diario, cuenta desconocida), llama solo a decline con el "
    "motivo. Los montos son textos con dos decimales. Si falta un dato, no llames a nada: pregunta cuál falta.\n"
    "Herramientas: {tools}\nCuentas: {accounts}\nRetenciones: {holds}\n\nSolicitud: {request}",
    "en": "You serve the customers of a bank through tools. Make the calls that the request needs, each as "
    '<tool_call>{{"name": …, "arguments": {{…}}}}</tool_call>, and no other that changes anything. If it cannot '
    "be done "
    "(insufficient funds, frozen account, daily limit, unknown account), call only decline with the reason. "
    "Amounts are "
    "strings with two decimals. If something is missing from the request, call nothing: ask for what is missing.\n"
    "Tools: {tools}\nAccounts: {accounts}\nHolds: {holds}\n\nRequest: {request}",
}


@dataclass(frozen=True, slots=True)
class _Scene:
    """A bank with three accounts, a hold on the first one, and some numbers to ask with."""

    accounts: list[dict[str, Any]]
    hold: dict[str, Any]
    amounts: tuple[str, str, str]
    """Two within the daily limit of the first account, one over it but within its balance."""
    key: str


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request in both languages and the calls that it wants."""

    texts: dict[str, str]
    calls: list[dict[str, Any]]
    words: tuple[str, ...] = ()


def build() -> dict[str, str]:
    """The pack's files by relative path; the same at every call. No prompt occurs twice."""
    rng = Random(SEED)
    rows: dict[str, list[dict[str, Any]]] = {"train": [], "test": [], "examples": []}
    for kind, (category, make) in _KINDS.items():
        for language in ("es", "en"):
            for split, count in COUNTS.items():
                for index in range(count):
                    rows[split].append(_row(rng, kind, category, make, language, split, index))
    return {
        "pack.toml": _MANIFEST,
        **{f"tasks/{split}.jsonl": _lines(rows[split]) for split in ("train", "test")},
        "examples.jsonl": _lines(rows["examples"]),
    }


def _row(
    rng: Random, kind: str, category: str, make: Callable[[_Scene], _Asked], language: str, split: str, index: int
) -> dict[str, Any]:
    scene = _scene(rng)
    asked = make(scene)
    shown = [{"name": tool["name"], "parameters": tool["parameters"]} for tool in TOOLS]
    prompt = _INTRODUCTION[language].format(
        tools=json.dumps(shown),
        accounts=json.dumps(scene.accounts),
        holds=json.dumps([{"id": "H-0001", **scene.hold}]),
        request=asked.texts[language],
    )
    base = {"prompt": prompt, "category": category}
    if split == "examples":
        return {**base, "completion": _completion(asked, language)}
    spec: dict[str, Any] = {"tools": list(TOOLS), "expected": asked.calls}
    spec["bank"] = {"accounts": scene.accounts, "holds": [scene.hold]}
    if asked.words:
        spec["refusal_words"] = list(asked.words)
    task_id = f"{kind}-{language}-{index:03d}"
    return {"id": task_id, **base, "difficulty": max(1, len(asked.calls)), "verifier": "tools", "spec": spec}


def _completion(asked: _Asked, language: str) -> str:
    if not asked.calls:
        return {"es": "¿A qué cuenta hay que enviarlo?", "en": "Which account should it go to?"}[language]
    return "\n".join(
        f"<tool_call>{json.dumps({'name': call['name'], 'arguments': call['arguments']})}</tool_call>"
        for call in asked.calls
    )


def _scene(rng: Random) -> _Scene:
    names = rng.sample(range(1000, 9999), 3)
    first, second = rng.randrange(100_000, 900_000), rng.randrange(10_000, 90_000)
    accounts = [
        {"id": f"ACC-{names[0]}", "balance": _money(first + second), "daily_limit": _money(first * 8 // 10)},
        {"id": f"ACC-{names[1]}", "balance": _money(rng.randrange(1_000, 500_000))},
        {"id": f"ACC-{names[2]}", "balance": _money(rng.randrange(1_000, 500_000)), "status": "frozen"},
    ]
    held = {"account": accounts[0]["id"], "amount": _money(second)}
    return _Scene(
        accounts,
        held,
        (_money(first // 2), _money(first // 3), _money(first * 9 // 10)),
        f"F-{rng.randrange(100_000, 999_999)}",
    )


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def _call(name: str, **arguments: str) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _declined(reason: str) -> list[dict[str, Any]]:
    return [_call("decline", reason=reason)]


def _ids(scene: _Scene) -> tuple[str, str, str]:
    one, two, three = (str(account["id"]) for account in scene.accounts)
    return one, two, three


def _transfer(scene: _Scene) -> _Asked:
    one, two, _ = _ids(scene)
    amount = scene.amounts[0]
    texts = {
        "es": f"Transfiere ${amount} de {one} a {two} con la clave {scene.key}.",
        "en": f"Transfer ${amount} from {one} to {two} under the key {scene.key}.",
    }
    return _Asked(texts, [_call("transfer", source=one, target=two, amount=amount, key=scene.key)])


def _balance(scene: _Scene) -> _Asked:
    _, two, _ = _ids(scene)
    texts = {"es": f"¿Cuál es el saldo actual de {two}? Consúltalo.", "en": f"Look up the current balance of {two}."}
    return _Asked(texts, [_call("get_balance", account=two)])


def _poor(scene: _Scene) -> _Asked:
    one, two, _ = _ids(scene)
    amount = f"{scene.accounts[1]['balance'].partition('.')[0]}9.00"
    texts = {
        "es": f"Transfiere ${amount} de {two} a {one} con la clave {scene.key}.",
        "en": f"Transfer ${amount} from {two} to {one} under the key {scene.key}.",
    }
    return _Asked(texts, _declined("insufficient_funds"))


def _frozen(scene: _Scene) -> _Asked:
    one, _, three = _ids(scene)
    amount = scene.amounts[1]
    texts = {
        "es": f"Pasa ${amount} de {one} a {three} con la clave {scene.key}.",
        "en": f"Move ${amount} from {one} to {three} under the key {scene.key}.",
    }
    return _Asked(texts, _declined("account_frozen"))


def _unknown(scene: _Scene) -> _Asked:
    one, two, _ = _ids(scene)
    stranger = f"{two}0"
    texts = {
        "es": f"Transfiere ${scene.amounts[0]} de {one} a {stranger} con la clave {scene.key}.",
        "en": f"Transfer ${scene.amounts[0]} from {one} to {stranger} under the key {scene.key}.",
    }
    return _Asked(texts, _declined("unknown_account"))


def _incomplete(scene: _Scene) -> _Asked:
    one, _, _ = _ids(scene)
    texts = {
        "es": f"Transfiere ${scene.amounts[0]} desde {one} con la clave {scene.key}.",
        "en": f"Transfer ${scene.amounts[0]} from {one} under the key {scene.key}.",
    }
    return _Asked(texts, [], ("cuenta", "destino", "beneficiario", "account", "target", "recipient"))


def _capture(scene: _Scene) -> _Asked:
    _, two, _ = _ids(scene)
    texts = {
        "es": f"Cobra la retención H-0001 y abona el dinero a {two}.",
        "en": f"Capture the hold H-0001 and credit the money to {two}.",
    }
    return _Asked(texts, [_call("capture_hold", hold="H-0001", target=two)])


def _swap(scene: _Scene) -> _Asked:
    one, _, _ = _ids(scene)
    amount = scene.amounts[1]
    texts = {
        "es": f"Libera primero la retención H-0001 y después retén ${amount} en {one}.",
        "en": f"First release the hold H-0001, then place a hold of ${amount} on {one}.",
    }
    calls = [_call("release_hold", hold="H-0001"), _call("place_hold", account=one, amount=amount)]
    return _Asked(texts, _in_order(calls))


def _close(scene: _Scene) -> _Asked:
    one, two, _ = _ids(scene)
    amount = scene.amounts[0]
    texts = {
        "es": f"Consulta el saldo de {one}, luego envía ${amount} de {one} a {two} con la clave {scene.key} y al final "
        f"congela {one}.",
        "en": f"Look up the balance of {one}, then send ${amount} from {one} to {two} under the key {scene.key}, and "
        f"finally freeze {one}.",
    }
    calls = [
        _call("get_balance", account=one),
        _call("transfer", source=one, target=two, amount=amount, key=scene.key),
        _call("freeze_account", account=one),
    ]
    return _Asked(texts, _in_order(calls))


def _limit(scene: _Scene) -> _Asked:
    one, two, _ = _ids(scene)
    low, high = scene.amounts[1], scene.amounts[0]
    texts = {
        "es": f"Baja el límite diario de {one} a ${low} y retén ${high} en {one}; el orden no importa. {two} no "
        f"cambia.",
        "en": f"Lower the daily limit of {one} to ${low} and hold ${high} on {one}; the order is free. {two} "
        f"stays as it is.",
    }
    return _Asked(texts, [_call("set_limit", account=one, amount=low), _call("place_hold", account=one, amount=high)])


def _over(scene: _Scene) -> _Asked:
    one, two, _ = _ids(scene)
    amount = scene.amounts[2]
    texts = {
        "es": f"Manda hoy ${amount} de {one} a {two} con la clave {scene.key}.",
        "en": f"Send ${amount} from {one} to {two} today under the key {scene.key}.",
    }
    return _Asked(texts, _declined("over_limit"))


def _in_order(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls, each after the one before it."""
    return [
        {**call, "label": f"step-{at}", **({"after": [f"step-{at - 1}"]} if at else {})}
        for at, call in enumerate(calls)
    ]


_KINDS: Final[dict[str, tuple[str, Callable[[_Scene], _Asked]]]] = {
    "transfer": ("transfers", _transfer),
    "balance": ("reads", _balance),
    "poor": ("refusals", _poor),
    "frozen": ("refusals", _frozen),
    "unknown": ("refusals", _unknown),
    "over": ("refusals", _over),
    "incomplete": ("questions", _incomplete),
    "capture": ("holds", _capture),
    "swap": ("multi-step", _swap),
    "close": ("multi-step", _close),
    "limit": ("multi-step", _limit),
}


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
