"""Our loss on the tensors that TRL's was computed on, so that the suite and the bench compare in one way."""

from __future__ import annotations

from typing import Any

import torch

from veredicto_trainer.config import GrpoSection
from veredicto_trainer.losses import LOSSES, Tokens, constants_of
from veredicto_trainer.ratios import Correction, correction_weights, k3, unbiased_k3

Case = dict[str, Any]


def ours(case: Case) -> tuple[float, list[list[float]], dict[str, float]]:
    """Loss, gradient by the log-probabilities, and shares of clipped tokens, of one case."""
    config = GrpoSection.model_validate({"steps": 1, **case["ours"]})
    constants, loss = constants_of(config), LOSSES[config.loss]
    logprobs_BT = torch.tensor(case["logprobs"], requires_grad=True)
    old_BT = torch.tensor(case["old"])
    mask_BT = torch.tensor(case["mask"]).bool()
    out = loss.per_token(Tokens(logprobs_BT, old_BT, torch.tensor(case["advantages"]), mask_BT), constants)
    loss_BT = out.loss_BT
    if config.correction.mode != "none":
        correction = Correction(**config.correction.model_dump())
        loss_BT = loss_BT * correction_weights(old_BT, torch.tensor(case["engine"]), mask_BT, correction)
    if config.kl:
        reference_BT = torch.tensor(case["reference"])
        unbiased = config.kl_unbiased
        kl_BT = (
            unbiased_k3(logprobs_BT, reference_BT, old_BT, mask_BT)
            if unbiased
            else k3(logprobs_BT, reference_BT, mask_BT)
        )
        loss_BT = loss_BT + config.kl * kl_BT
    total = (loss_BT * loss.weights(mask_BT, constants.max_tokens)).sum()
    (gradient_BT,) = torch.autograd.grad(total, logprobs_BT)
    num_tokens = float(mask_BT.sum())
    shares = {"low": float(out.low_BT.sum()) / num_tokens, "high": float(out.high_BT.sum()) / num_tokens}
    return total.item(), gradient_BT.tolist(), shares if case["shares"] else {}
