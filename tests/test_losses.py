"""Every loss and gradient against formulas written out by hand and against TRL, and what no loss lets through."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.loss_references import REFERENCES, reference
from veredicto_trainer.config import GrpoSection
from veredicto_trainer.loss_config import CorrectionSection, VetoSection
from veredicto_trainer.losses import LOSSES, Constants, TokenLoss, Tokens, constants_of, sequence_mean_weights
from veredicto_trainer.ratios import Correction, correction_weights, k3, second_moment_mask, unbiased_k3
from veredicto_trainer.veto import Veto, vetoed_tokens

LENGTHS = (3, 6, 1, 0, 4, 5)
ADVANTAGES = (1.5, -0.7, 0.4, -1.0, -2.0, 0.9)
TRL = json.loads((Path(__file__).parent / "cases" / "trl_losses.json").read_text(encoding="utf-8"))


def step(spread: float, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities now and when sampled of a small step in float64, and its mask."""
    rng = np.random.default_rng(seed)
    old_BT = torch.from_numpy(-rng.random((len(LENGTHS), 6)) * 2)
    logprobs_BT = old_BT + torch.from_numpy(rng.normal(size=old_BT.shape) * spread)
    mask_BT = torch.arange(6)[None, :] < torch.tensor(LENGTHS)[:, None]
    return logprobs_BT, old_BT, mask_BT


def rows(values_BT: Tensor) -> list[list[float]]:
    return [row[:length] for row, length in zip(values_BT.tolist(), LENGTHS, strict=True)]


def total(name: str, tokens: Tokens, constants: Constants) -> tuple[float, Tensor]:
    """The loss of the step and its gradient by the log-probabilities."""
    logprobs_BT = tokens.logprobs_BT.clone().requires_grad_()
    loss_BT = LOSSES[name].per_token(tokens._replace(logprobs_BT=logprobs_BT), constants).loss_BT
    loss = (loss_BT * LOSSES[name].weights(tokens.mask_BT, constants.max_tokens)).sum()
    (gradient_BT,) = torch.autograd.grad(loss, logprobs_BT)
    return loss.item(), gradient_BT


@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_loss_and_gradient_are_those_of_the_formula_written_out(name: str, spread: float) -> None:
    constants = replace(LOSSES[name].constants, max_tokens=9)
    for seed in range(5):
        logprobs_BT, old_BT, mask_BT = step(spread, seed)
        tokens = Tokens(logprobs_BT, old_BT, torch.tensor(ADVANTAGES, dtype=torch.float64), mask_BT)
        loss, gradient_BT = total(name, tokens, constants)
        wanted = reference(name, rows(logprobs_BT), rows(old_BT), ADVANTAGES, constants)
        assert loss == pytest.approx(wanted.loss, rel=1e-6, abs=1e-7)
        for got, row in zip(rows(gradient_BT), wanted.gradient, strict=True):
            assert got == pytest.approx(row, rel=1e-6, abs=1e-7)
        assert gradient_BT[~mask_BT].abs().max() == 0.0


def test_every_loss_has_its_formula_written_out() -> None:
    assert set(LOSSES) == set(REFERENCES)


@pytest.mark.parametrize("case", TRL["cases"], ids=[case["name"] for case in TRL["cases"]])
def test_losses_gradients_and_clip_shares_are_those_of_trl(case: dict[str, Any]) -> None:
    """The numbers are TRL's own (see the file's `trl`), written by `bench/trainer_trl.py`."""
    from tests.trl_cases import ours

    loss, gradient_BT, shares = ours(case)
    assert loss == pytest.approx(case["loss"], abs=1e-5)
    assert gradient_BT == [pytest.approx(row, abs=1e-5) for row in case["gradient"]]
    assert shares == pytest.approx(case["shares"], abs=1e-6)


def marks(name: str, ratios: list[float], advantage: float, constants: Constants | None = None) -> TokenLoss:
    """What a loss says of one completion with these ratios."""
    old_BT = torch.full((1, len(ratios)), -3.0)
    logprobs_BT = old_BT + torch.tensor([ratios]).log()
    tokens = Tokens(logprobs_BT, old_BT, torch.tensor([advantage]), torch.ones(1, len(ratios), dtype=torch.bool))
    return LOSSES[name].per_token(tokens, constants or LOSSES[name].constants)


@pytest.mark.parametrize(
    ("name", "advantage", "low", "high"),
    [
        ("grpo", 1.0, [False] * 4, [False, False, True, True]),
        ("grpo", -1.0, [True, False, False, False], [False] * 4),
        ("dapo", 1.0, [False] * 4, [False, False, False, True]),
        ("gspo", 1.0, [False] * 4, [False] * 4),
        ("gspo", -1.0, [True] * 4, [False] * 4),
        ("cispo", -1.0, [False] * 4, [False] * 4),
        ("m2po", -1.0, [False] * 4, [False] * 4),
    ],
)
def test_a_bound_is_marked_where_it_applies(name: str, advantage: float, low: list[bool], high: list[bool]) -> None:
    out = marks(name, [0.5, 1.0, 1.25, 1.5], advantage)
    assert (out.low_BT.tolist(), out.high_BT.tolist()) == ([low], [high])


def test_cispo_marks_the_weights_that_it_caps() -> None:
    assert marks("cispo", [4.9, 5.1], 1.0).high_BT.tolist() == [[False, True]]


def test_the_dual_clip_bounds_what_a_negative_advantage_can_cost() -> None:
    constants = Constants(clip_low=0.2, clip_high=9.0, dual_clip=3.0)
    out = marks("grpo", [2.0, 4.0, 40.0], -0.5, constants)
    assert out.loss_BT.tolist() == [[pytest.approx(1.0), pytest.approx(1.5), pytest.approx(1.5)]]
    assert out.dual_BT.tolist() == [[False, True, True]]
    assert not marks("grpo", [40.0], 0.5, constants).dual_BT.any()


@pytest.mark.parametrize(
    ("veto", "ratios", "advantage", "removed"),
    [
        (Veto(), [1.0, 0.4, 1.0, 0.1], -1.0, [False, False, True, True]),
        (Veto(), [1.0, 0.4, 1.0, 0.1], 1.0, [False] * 4),
        (Veto(), [1.0, 0.4, 1.0, 0.1], 0.0, [False] * 4),
        (Veto(), [0.6, 0.6, 0.6, 9.0], -1.0, [False] * 4),
        (Veto(inclusive=True), [1.0, 0.4, 1.0, 1.0], -1.0, [False, True, True, True]),
        (Veto(threshold=0.3), [1.0, 0.4, 1.0, 0.1], -1.0, [False] * 4),
        (Veto(trigger="prefix_product"), [0.6, 0.6, 1.0, 1.0], -1.0, [False, False, True, True]),
        (Veto(trigger="prefix_mean"), [0.6, 0.6, 0.2, 1.0], -1.0, [False, False, False, True]),
        (Veto(direction="above"), [0.1, 2.5, 1.0, 1.0], -1.0, [False, False, True, True]),
        (Veto(direction="both"), [0.1, 2.5, 1.0, 1.0], -1.0, [False, True, True, True]),
    ],
)
def test_the_veto_removes_what_follows_the_first_token_off_support(
    veto: Veto, ratios: list[float], advantage: float, removed: list[bool]
) -> None:
    mask_BT = torch.ones(1, 4, dtype=torch.bool)
    assert vetoed_tokens(torch.tensor([ratios]).log(), torch.tensor([advantage]), mask_BT, veto).tolist() == [removed]


def test_the_veto_removes_force_and_leaves_the_denominator() -> None:
    logprobs_BT, old_BT, mask_BT = step(1.0, 3)
    tokens = Tokens(logprobs_BT, old_BT, torch.tensor(ADVANTAGES, dtype=torch.float64), mask_BT)
    constants = LOSSES["mu_grpo"].constants
    out = LOSSES["mu_grpo"].per_token(tokens, constants)
    free = LOSSES["mu_grpo"].per_token(tokens, replace(constants, veto=Veto(threshold=1e-9)))
    assert out.vetoed_BT.any()
    assert torch.equal(out.loss_BT[~out.vetoed_BT], free.loss_BT[~out.vetoed_BT])
    assert not (out.vetoed_BT & (out.low_BT | out.high_BT | out.dual_BT)).any()
    assert LOSSES["mu_grpo"].weights(mask_BT, 1)[mask_BT].tolist() == [pytest.approx(1 / sum(LENGTHS))] * sum(LENGTHS)


@given(st.lists(st.floats(-3, 3), max_size=12), st.floats(0.001, 2.0))
def test_the_second_moment_mask_removes_the_fewest_largest_tokens(log_ratios: list[float], limit: float) -> None:
    keep = second_moment_mask(torch.tensor(log_ratios, dtype=torch.float64), limit).tolist()
    left = sorted(x * x for x, kept in zip(log_ratios, keep, strict=True) if kept)
    squares = sorted(x * x for x in log_ratios)
    assert left == squares[: len(left)]
    assert sum(left) <= limit * len(left) + 1e-9
    if len(left) < len(squares):
        assert sum(squares[: len(left) + 1]) > limit * (len(left) + 1) - 1e-9


@pytest.mark.parametrize(
    ("correction", "weights"),
    [
        (Correction("truncate", "token", 0.0, 2.0), [[0.5, 1.0, 2.0]]),
        (Correction("truncate", "token", 0.8, 2.0), [[0.8, 1.0, 2.0]]),
        (Correction("mask", "token", 0.4, 5.0), [[0.5, 1.0, 4.0]]),
        (Correction("mask", "token", 0.6, 3.0), [[0.0, 1.0, 0.0]]),
        (Correction("truncate", "sequence", 0.0, 3.0), [[2.0] * 3]),
        (Correction("truncate", "sequence", 0.0, 1.5), [[1.5] * 3]),
        (Correction("mask", "sequence", 0.0, 1.5), [[0.0] * 3]),
    ],
)
def test_the_correction_keeps_importance_weights_in_bounds(correction: Correction, weights: list[list[float]]) -> None:
    behaviour_BT = torch.tensor([[-1.0, -2.0, -3.0, -7.0]])
    old_BT = behaviour_BT + torch.tensor([[0.5, 1.0, 4.0, 100.0]]).log()
    mask_BT = torch.tensor([[True, True, True, False]])
    got = correction_weights(old_BT, behaviour_BT, mask_BT, correction)[:, :3].tolist()
    assert got == [pytest.approx(row) for row in weights]


@pytest.mark.parametrize(
    ("policy", "other", "value", "gradient"),
    [
        (0.5, 0.5, 0.0, 0.0),
        (0.5, 0.25, math.log(2.0) - 0.5, 0.5),
        (0.25, 0.5, 1.0 - math.log(2.0), -1.0),
    ],
)
def test_k3_is_the_value_of_its_formula(policy: float, other: float, value: float, gradient: float) -> None:
    logprob_BT = torch.tensor([[math.log(policy)]], dtype=torch.float64, requires_grad=True)
    mask_BT = torch.ones(1, 1, dtype=torch.bool)
    out = k3(logprob_BT, torch.tensor([[math.log(other)]], dtype=torch.float64), mask_BT)
    out.sum().backward()
    assert logprob_BT.grad is not None
    assert (out.item(), logprob_BT.grad.item()) == (pytest.approx(value), pytest.approx(gradient))


def test_the_unbiased_divergence_has_the_value_and_gradient_of_the_true_one_whoever_sampled() -> None:
    generator = torch.Generator().manual_seed(3)
    parts = [torch.randn(5, generator=generator, dtype=torch.float64) for _ in range(3)]
    scores_V = parts[0].requires_grad_()
    logp_V, behaviour_V, reference_V = scores_V.log_softmax(0), parts[1].log_softmax(0), parts[2].log_softmax(0)
    exact = (logp_V.exp() * (logp_V - reference_V)).sum()
    everything = torch.ones(5, 1, dtype=torch.bool)
    each_V = unbiased_k3(logp_V[:, None], reference_V[:, None], behaviour_V[:, None], everything)[:, 0]
    expected = (behaviour_V.exp() * each_V).sum()
    (wanted,) = torch.autograd.grad(exact, scores_V, retain_graph=True)
    (got,) = torch.autograd.grad(expected, scores_V)
    assert expected.item() == pytest.approx(exact.item())
    assert got.tolist() == pytest.approx(wanted.tolist())


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_what_stands_under_the_mask_reaches_neither_loss_nor_gradient(name: str, poison: float) -> None:
    logprobs_BT = torch.tensor([[-1.0, poison], [-2.0, -1.5]], requires_grad=True)
    mask_BT = torch.tensor([[True, False], [True, True]])
    other_BT = torch.tensor([[-1.0, poison], [-2.0, -1.5]])
    tokens = Tokens(logprobs_BT, other_BT, torch.tensor([1.0, -1.0]), mask_BT)
    out = LOSSES[name].per_token(tokens, LOSSES[name].constants)
    (
        out.loss_BT + k3(logprobs_BT, other_BT, mask_BT) + unbiased_k3(logprobs_BT, other_BT, other_BT, mask_BT)
    ).sum().backward()
    assert logprobs_BT.grad is not None
    assert out.loss_BT[0, 1] == 0.0
    assert logprobs_BT.grad[0, 1] == 0.0
    assert torch.isfinite(logprobs_BT.grad).all()
    assert not any(mark[0, 1] for mark in out[1:])


@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_an_enormous_or_vanishing_ratio_stays_finite(name: str, advantage: float) -> None:
    for other in (-5000.0, 0.0, -math.inf):
        logprobs_BT = torch.tensor([[-1000.0 if other == 0.0 else 0.0]], requires_grad=True)
        mask_BT = torch.ones(1, 1, dtype=torch.bool)
        tokens = Tokens(logprobs_BT, torch.tensor([[other]]), torch.tensor([advantage]), mask_BT)
        out = LOSSES[name].per_token(tokens, LOSSES[name].constants)
        out.loss_BT.sum().backward()
        assert math.isfinite(out.loss_BT.item())
        assert logprobs_BT.grad is not None
        assert math.isfinite(logprobs_BT.grad.item())


def test_weights_are_the_mean_over_completions_of_the_mean_over_tokens() -> None:
    mask_BT = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]]).bool()
    weights_BT = sequence_mean_weights(mask_BT, 4)
    assert weights_BT.tolist() == [[0.125] * 4, [0.5, 0.0, 0.0, 0.0], [0.0] * 4]


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_weights_of_nothing_are_nothing(name: str) -> None:
    assert LOSSES[name].weights(torch.zeros(2, 3, dtype=torch.bool), 5).sum().item() == 0.0
    assert LOSSES[name].weights(torch.zeros(0, 1, dtype=torch.bool), 5).shape == (0, 1)


def test_the_configuration_overrides_a_loss_s_own_constants_one_by_one() -> None:
    own = constants_of(GrpoSection(steps=1, loss="mu_grpo", max_new_tokens=7))
    assert own == replace(LOSSES["mu_grpo"].constants, max_tokens=7)
    section = GrpoSection(
        steps=1,
        loss="mu_grpo",
        clip_high=9.0,
        dual_clip=0,
        veto=VetoSection(threshold=0.4, trigger="prefix_mean", direction="both", inclusive=True),
        correction=CorrectionSection(mode="truncate"),
    )
    changed = constants_of(section)
    assert (changed.clip_low, changed.clip_high, changed.dual_clip) == (0.5, 9.0, 0.0)
    assert changed.veto == Veto(0.4, "prefix_mean", "both", True)
    assert constants_of(GrpoSection(steps=1, loss="dr_grpo")).advantage == "mean"
    assert constants_of(GrpoSection(steps=1, loss="dr_grpo", advantage="std")).advantage == "std"
