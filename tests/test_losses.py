"""The clipped loss, its weights and the k3 divergence against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from veredicto_trainer.losses import LOSSES, clipped_surrogate, k3, sequence_mean_weights


def one(ratio: float, advantage: float, *, low: float = 0.2, high: float = 0.28) -> tuple[float, float, bool, bool]:
    """Loss, gradient by the log-probability, and the clip marks of a single token."""
    logprob_BT = torch.tensor([[math.log(ratio)]], dtype=torch.float64, requires_grad=True)
    mask_BT = torch.ones(1, 1, dtype=torch.bool)
    out = clipped_surrogate(logprob_BT, torch.zeros(1, 1), torch.tensor([advantage]), mask_BT, low, high)
    out.loss_BT.sum().backward()
    assert logprob_BT.grad is not None
    return out.loss_BT.item(), logprob_BT.grad.item(), bool(out.clipped_low_BT), bool(out.clipped_high_BT)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient", "low", "high"),
    [
        (1.0, 2.0, -2.0, -2.0, False, False),
        (1.1, 2.0, -2.2, -2.2, False, False),
        (1.5, 2.0, -2.56, 0.0, False, True),
        (0.5, 2.0, -1.0, -1.0, False, False),
        (0.9, -1.0, 0.9, 0.9, False, False),
        (0.5, -1.0, 0.8, 0.0, True, False),
        (1.5, -1.0, 1.5, 1.5, False, False),
        (1.0, 0.0, 0.0, 0.0, False, False),
    ],
)
def test_the_clipped_loss_is_pessimistic(
    ratio: float, advantage: float, loss: float, gradient: float, low: bool, high: bool
) -> None:
    got = one(ratio, advantage)
    assert got[:2] == (pytest.approx(loss, abs=1e-6), pytest.approx(gradient, abs=1e-6))
    assert got[2:] == (low, high)


def test_weights_are_the_mean_over_completions_of_the_mean_over_tokens() -> None:
    mask_BT = torch.tensor([[1, 1, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]]).bool()
    weights_BT = sequence_mean_weights(mask_BT)
    assert weights_BT.tolist() == [[0.125] * 4, [0.5, 0.0, 0.0, 0.0], [0.0] * 4]
    assert weights_BT.sum().item() == pytest.approx(1.0)
    assert sequence_mean_weights(torch.zeros(2, 3, dtype=torch.bool)).sum().item() == 0.0


@pytest.mark.parametrize(
    ("policy", "reference", "value", "gradient"),
    [
        (0.5, 0.5, 0.0, 0.0),
        (0.5, 0.25, math.log(2.0) - 0.5, 0.5),
        (0.25, 0.5, 1.0 - math.log(2.0), -1.0),
    ],
)
def test_k3_is_the_value_of_its_formula(policy: float, reference: float, value: float, gradient: float) -> None:
    logprob_BT = torch.tensor([[math.log(policy)]], dtype=torch.float64, requires_grad=True)
    mask_BT = torch.ones(1, 1, dtype=torch.bool)
    out = k3(logprob_BT, torch.tensor([[math.log(reference)]], dtype=torch.float64), mask_BT)
    out.sum().backward()
    assert logprob_BT.grad is not None
    assert (out.item(), logprob_BT.grad.item()) == (pytest.approx(value), pytest.approx(gradient))


@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_what_stands_under_the_mask_reaches_neither_loss_nor_gradient(poison: float) -> None:
    logprobs_BT = torch.tensor([[-1.0, poison]], requires_grad=True)
    mask_BT = torch.tensor([[True, False]])
    other_BT: Tensor = torch.tensor([[-1.0, poison]])
    out = clipped_surrogate(logprobs_BT, other_BT, torch.tensor([1.0]), mask_BT, 0.2, 0.2)
    (out.loss_BT + k3(logprobs_BT, other_BT, mask_BT)).sum().backward()
    assert logprobs_BT.grad is not None
    assert out.loss_BT.tolist() == [[-1.0, 0.0]]
    assert out.ratio_BT.tolist() == [[1.0, 1.0]]
    assert logprobs_BT.grad.tolist() == [[-1.0, 0.0]]


def test_an_enormous_ratio_stays_finite() -> None:
    logprobs_BT = torch.tensor([[0.0]], requires_grad=True)
    mask_BT = torch.ones(1, 1, dtype=torch.bool)
    out = clipped_surrogate(logprobs_BT, torch.tensor([[-5000.0]]), torch.tensor([-1.0]), mask_BT, 0.2, 0.2)
    assert math.isfinite(out.loss_BT.item())


def test_the_table_of_losses_names_grpo() -> None:
    assert LOSSES["grpo"].per_token is clipped_surrogate
    assert LOSSES["grpo"].weights is sequence_mean_weights
