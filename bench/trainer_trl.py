"""Compare every loss that TRL has too with TRL's own code on the same log-probabilities: value, gradient, clip shares.

`make bench-trainer` runs it where TRL is installed; with `--write` it writes TRL's numbers to
`tests/cases/trl_losses.json`, which the suite compares ours with.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import trl
from trl import GRPOTrainer

from bench.figures import Figure, publish
from tests.trl_cases import ours

CASES = Path(__file__).parent.parent / "tests" / "cases" / "trl_losses.json"
LENGTHS = (5, 8, 1, 3, 7, 2)
MAX_TOKENS = 9

DAPO = {"loss_type": "dapo", "high": 0.28}
TRUNCATE = {"mode": "truncate", "low": 0.5, "high": 2.0}
MASK = {"mode": "mask", "low": 0.5, "high": 2.0}
MASK_SEQUENCES = {"mode": "mask", "level": "sequence", "high": 3.0}

SETTINGS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("grpo", {}, {}),
    ("grpo, asymmetric", {"low": 0.1, "high": 0.4}, {"clip_low": 0.1, "clip_high": 0.4}),
    ("grpo, plain kl", {"beta": 0.1}, {"kl": 0.1, "kl_unbiased": False}),
    ("grpo, unbiased kl", {"beta": 0.1, "unbiased": True}, {"kl": 0.1}),
    ("dr_grpo", {"loss_type": "dr_grpo"}, {"loss": "dr_grpo"}),
    ("dapo", DAPO, {"loss": "dapo"}),
    ("dapo, unbiased kl", {**DAPO, "beta": 0.05, "unbiased": True}, {"loss": "dapo", "kl": 0.05}),
    ("gspo", {"level": "sequence", "low": 3e-4, "high": 4e-4}, {"loss": "gspo"}),
    ("cispo", {"loss_type": "cispo", "high": 5.0}, {"loss": "cispo"}),
    ("grpo, token_truncate", {"engine": ("token_truncate", 0.5, 2.0)}, {"correction": TRUNCATE}),
    ("dapo, token_mask", {**DAPO, "engine": ("token_mask", 0.5, 2.0)}, {"loss": "dapo", "correction": MASK}),
    (
        "dapo, sequence_mask",
        {**DAPO, "engine": ("sequence_mask", 0.0, 3.0)},
        {"loss": "dapo", "correction": MASK_SEQUENCES},
    ),
]
"""Name, TRL's settings, ours; what is left out is `grpo` with its usual constants."""


def tensors(seed: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    old = -rng.random((len(LENGTHS), max(LENGTHS))) * 2
    mask = np.arange(max(LENGTHS))[None, :] < np.array(LENGTHS)[:, None]
    return {
        "logprobs": (old + 0.5 * rng.normal(size=old.shape)).round(5).tolist(),
        "old": old.round(5).tolist(),
        "engine": (old + 0.4 * rng.normal(size=old.shape)).round(5).tolist(),
        "reference": (old + 0.5 * rng.normal(size=old.shape)).round(5).tolist(),
        "advantages": rng.normal(size=len(LENGTHS)).round(5).tolist(),
        "mask": mask.astype(int).tolist(),
    }


def engine_ratio(inputs: dict[str, Any], mode: str, low: float, high: float) -> torch.Tensor:
    """TRL's correction, which stands in its generation code: `_generate_and_score_completions`."""
    log_BT = (torch.tensor(inputs["old"]) - torch.tensor(inputs["engine"])) * torch.tensor(inputs["mask"])
    ratio = torch.exp(log_BT.sum(dim=-1, keepdim=True) if mode.startswith("sequence") else log_BT)
    if mode.endswith("truncate"):
        return ratio.clamp(min=low, max=high)
    return ratio.masked_fill((ratio < low) | (ratio > high), 0.0)


def theirs(inputs: dict[str, Any], settings: dict[str, Any]) -> tuple[float, list[list[float]], dict[str, float]]:
    """TRL's loss, its gradient by the log-probabilities and its clip shares: its own `_compute_loss`, given these."""
    logprobs_BT = torch.tensor(inputs["logprobs"], requires_grad=True)
    mask_BT = torch.tensor(inputs["mask"])
    metrics: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    trainer = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *a, **k: (logprobs_BT, torch.zeros_like(logprobs_BT), None),
        accelerator=SimpleNamespace(num_processes=1, reduce=lambda x, reduction: x, gather=lambda x: x),
        args=SimpleNamespace(
            use_bias_correction_kl=settings.get("unbiased", False), delta=None, steps_per_generation=1
        ),
        model=SimpleNamespace(training=True),
        loss_type=settings.get("loss_type", "grpo"),
        importance_sampling_level=settings.get("level", "token"),
        epsilon_low=settings.get("low", 0.2),
        epsilon_high=settings.get("high", 0.2),
        beta=settings.get("beta", 0.0),
        use_vllm="engine" in settings,
        vllm_importance_sampling_correction=True,
        max_completion_length=MAX_TOKENS,
        current_gradient_accumulation_steps=1,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        aux_loss_enabled=False,
        _entropy_bonus_enabled=False,
        _metrics=metrics,
    )
    batch = {
        "prompt_ids": torch.zeros(len(LENGTHS), 1),
        "prompt_mask": torch.ones(len(LENGTHS), 1),
        "completion_ids": torch.zeros_like(mask_BT),
        "completion_mask": mask_BT,
        "advantages": torch.tensor(inputs["advantages"]),
        "old_per_token_logps": torch.tensor(inputs["old"]),
        "ref_per_token_logps": torch.tensor(inputs["reference"]),
        "num_items_in_batch": mask_BT.sum(),
    }
    if "engine" in settings:
        batch["importance_sampling_ratio"] = engine_ratio(inputs, *settings["engine"])
    loss = GRPOTrainer._compute_loss(trainer, None, batch)
    (gradient_BT,) = torch.autograd.grad(loss, logprobs_BT)
    names = {"low": "clip_ratio/low_mean", "high": "clip_ratio/high_mean"}
    token_level = settings.get("level") != "sequence" and settings.get("loss_type") != "cispo"
    shares = {key: float(metrics["train"][name][0]) for key, name in names.items()} if token_level else {}
    return float(loss.detach()), gradient_BT.tolist(), shares


def main() -> None:
    cases, gaps = [], defaultdict(list)
    for seed, (name, settings, section) in enumerate(SETTINGS):
        inputs = tensors(seed)
        loss, gradient, shares = theirs(inputs, settings)
        case = {"name": name, "ours": {"max_new_tokens": MAX_TOKENS, **section}, **inputs}
        case |= {"loss": loss, "gradient": gradient, "shares": shares}
        our_loss, our_gradient, our_shares = ours(case)
        gaps["loss"].append(abs(our_loss - loss))
        gaps["gradient"].append(float(np.abs(np.array(our_gradient) - np.array(gradient)).max()))
        gaps["clip share"] += [abs(our_shares[key] - shares[key]) for key in shares]
        cases.append(case)
    if "--write" in sys.argv:
        CASES.write_text(
            json.dumps({"trl": trl.__version__, "cases": cases}, separators=(",", ":")) + "\n", encoding="utf-8"
        )
    publish(
        "trainer_trl",
        [Figure(f"max |{what} - TRL {trl.__version__}|", max(seen), "at most", 1e-5) for what, seen in gaps.items()],
    )


if __name__ == "__main__":
    main()
