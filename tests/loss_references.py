"""Every policy loss and its gradient written out token by token, without tensors or automatic differentiation.

Each function gives, for one token, its value and its derivative by that token's own log-probability, before the weight
of the token; `gspo` couples the tokens of a completion and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from veredicto_trainer.losses import Constants

Rows = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Reference:
    loss: float
    gradient: list[list[float]]


def clipped(ratio: float, advantage: float, c: Constants) -> tuple[float, float]:
    """Value and derivative by the log-ratio of the pessimistic clipped loss, with a dual clip."""
    bounded = min(max(ratio, 1 - c.clip_low), 1 + c.clip_high)
    plain = ratio * advantage
    gain, slope = (plain, plain) if plain <= bounded * advantage else (bounded * advantage, 0.0)
    if c.dual_clip and advantage < 0 and gain < c.dual_clip * advantage:
        gain, slope = c.dual_clip * advantage, 0.0
    return -gain, -slope


def surrogate(logps: Sequence[float], olds: Sequence[float], a: float, c: Constants) -> list[tuple[float, float]]:
    return [clipped(math.exp(p - o), a, c) for p, o in zip(logps, olds, strict=True)]


def gspo(logps: Sequence[float], olds: Sequence[float], a: float, c: Constants) -> list[tuple[float, float]]:
    """The completion's ratio depends on each token with weight 1/T, and each of its T tokens has that one value."""
    if not logps:
        return []
    ratio = math.exp(sum(p - o for p, o in zip(logps, olds, strict=True)) / len(logps))
    return [clipped(ratio, a, c)] * len(logps)


def cispo(logps: Sequence[float], olds: Sequence[float], a: float, c: Constants) -> list[tuple[float, float]]:
    weights = [min(max(math.exp(p - o), 1 - c.clip_low), 1 + c.clip_high) for p, o in zip(logps, olds, strict=True)]
    return [(-w * a * p, -w * a) for w, p in zip(weights, logps, strict=True)]


def mu_grpo(logps: Sequence[float], olds: Sequence[float], a: float, c: Constants) -> list[tuple[float, float]]:
    terms = surrogate(logps, olds, a, c)
    ratios = [math.exp(p - o) for p, o in zip(logps, olds, strict=True)]
    for t, ratio in enumerate(ratios):
        if a < 0 and ratio < c.veto.threshold:
            return terms[: t + 1] + [(0.0, 0.0)] * (len(terms) - t - 1)
    return terms


def m2po(logps: Sequence[float], olds: Sequence[float], a: float, c: Constants) -> list[tuple[float, float]]:
    ratios = [math.exp(p - o) for p, o in zip(logps, olds, strict=True)]
    return [(-r * a, -r * a) for r in ratios]


def per_completion(lengths: Sequence[int], c: Constants) -> list[float]:
    count = sum(length > 0 for length in lengths)
    return [1 / (count * length) if length else 0.0 for length in lengths]


def per_token(lengths: Sequence[int], c: Constants) -> list[float]:
    return [1 / sum(lengths)] * len(lengths)


def per_limit(lengths: Sequence[int], c: Constants) -> list[float]:
    return [1 / (len(lengths) * c.max_tokens)] * len(lengths)


Terms = Callable[[Sequence[float], Sequence[float], float, Constants], list[tuple[float, float]]]
REFERENCES: dict[str, tuple[Terms, Callable[[Sequence[int], Constants], list[float]]]] = {
    "grpo": (surrogate, per_completion),
    "dr_grpo": (surrogate, per_limit),
    "dapo": (surrogate, per_token),
    "gspo": (gspo, per_completion),
    "cispo": (cispo, per_token),
    "mu_grpo": (mu_grpo, per_token),
    "m2po": (m2po, per_token),
}


def reference(name: str, logps: Rows, olds: Rows, advantages: Sequence[float], c: Constants) -> Reference:
    """The loss of a step and its gradient by every token's log-probability; rows have the completions' lengths."""
    terms, weigh = REFERENCES[name]
    weights = weigh([len(row) for row in logps], c)
    rows = [terms(p, o, a, c) for p, o, a in zip(logps, olds, advantages, strict=True)]
    loss = sum(w * value for w, row in zip(weights, rows, strict=True) for value, _ in row)
    return Reference(loss, [[w * slope for _, slope in row] for w, row in zip(weights, rows, strict=True)])
