"""Updates: any split into micro-batches gives the same gradient, and what has no signal changes nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.tiny_policy import tiny_policy
from veredicto_trainer.config import GrpoSection
from veredicto_trainer.learner import Learner, TrainingSample
from veredicto_trainer.policy import Policy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_policy(tmp_path_factory.mktemp("policy"))


def samples(policy: Policy, *, drift: float = 0.0) -> list[TrainingSample]:
    """Completions of different lengths with the policy's own log-probabilities, moved by `drift`."""
    prompts = [(4, 5), (6, 7, 8), (4, 9, 5, 6), (10, 11)] * 2
    completions = [(5, 1), (6, 7, 8, 9, 10), (4,), (1,), (5, 6, 7, 1), (8, 1), (9, 9, 9), (4, 4, 1)]
    advantages = [1.0, -0.5, 0.25, -1.5, 0.0, 0.75, -0.25, 2.0]
    with torch.no_grad():
        logprobs_BT = policy.logprobs(prompts, completions).logprobs_BT
    return [
        TrainingSample(p, c, tuple(x + drift * (i - 3) for x in row[: len(c)]), a)
        for i, (p, c, row, a) in enumerate(zip(prompts, completions, logprobs_BT.tolist(), advantages, strict=True))
    ]


def gradients(folder: Path, config: GrpoSection, order: list[int] | None = None) -> list[torch.Tensor]:
    """The gradient of one update, taken from AdamW's first moment after it."""
    policy = Policy.load(folder)
    reference = Policy.load(folder) if config.kl > 0 else None
    if reference is not None:
        torch.manual_seed(0)
        for parameter in reference.model.parameters():
            parameter.data.add_(0.05 * torch.randn_like(parameter))
    learner = Learner(policy, config, reference)
    batch = samples(policy, drift=0.1)
    learner.update([batch[i] for i in order or range(len(batch))])
    return [learner.optimiser.state[p]["exp_avg"] / (1 - config.adam_beta1) for p in learner.parameters]


@pytest.mark.parametrize("kl", [0.0, 0.1])
@pytest.mark.parametrize("micro_batch", [1, 2, 3])
def test_micro_batches_of_any_size_and_order_give_the_gradient_of_one_batch(
    folder: Path, kl: float, micro_batch: int
) -> None:
    config = GrpoSection(steps=1, kl=kl, max_grad_norm=1e9)
    whole = gradients(folder, config)
    parts = gradients(folder, config.model_copy(update={"micro_batch": micro_batch}), [5, 0, 7, 2, 4, 1, 6, 3])
    assert max(float(g.abs().max()) for g in whole) > 1e-3
    for a, b in zip(whole, parts, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_the_gradient_is_that_of_the_formula_written_out(folder: Path) -> None:
    config = GrpoSection(steps=1, max_grad_norm=1e9, clip_low=0.2, clip_high=0.2)
    policy = Policy.load(folder)
    batch = samples(policy, drift=0.1)
    total = torch.zeros(())
    for sample in batch:
        ids = torch.tensor([[*sample.prompt_ids, *sample.token_ids]])
        logp = torch.log_softmax(policy.model(ids).logits[0], dim=-1)
        terms = []
        for t, token in enumerate(sample.token_ids):
            ratio = torch.exp(logp[len(sample.prompt_ids) + t - 1, token] - sample.behaviour_logprobs[t])
            a = torch.tensor(sample.advantage)
            terms.append(torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a))
        total = total - torch.stack(terms).mean() / len(batch)
    expected = torch.autograd.grad(total, list(policy.model.parameters()))
    for got, wanted in zip(gradients(folder, config), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-6)


def test_on_policy_the_ratio_is_one_and_the_loss_is_minus_the_mean_advantage(folder: Path) -> None:
    policy = Policy.load(folder)
    batch = samples(policy)
    stats = Learner(policy, GrpoSection(steps=1)).update(batch)
    assert (stats.ratio_min, stats.ratio_max) == (pytest.approx(1.0, abs=1e-5), pytest.approx(1.0, abs=1e-5))
    assert stats.loss == pytest.approx(-sum(s.advantage for s in batch) / len(batch), abs=1e-5)
    assert stats.grad_norm > 0
    assert stats.applied
    assert stats.logprob_gap_max < 1e-5
    assert stats.num_tokens == sum(len(s.token_ids) for s in batch)
    assert stats.num_signal_tokens == stats.num_tokens - 4


def test_an_update_without_signal_changes_no_weight_and_no_optimiser_state(folder: Path) -> None:
    policy = Policy.load(folder)
    learner = Learner(policy, GrpoSection(steps=1, weight_decay=0.5))
    before = policy.weights_digest()
    for batch in ([], [replace(s, advantage=0.0) for s in samples(policy)]):
        stats = learner.update(batch)
        assert not stats.applied
        assert (stats.loss, stats.grad_norm, stats.kl) == (0.0, 0.0, 0.0)
    assert policy.weights_digest() == before
    assert policy.version == 0
    assert not learner.optimiser.state


def test_a_gradient_that_is_not_finite_is_skipped_and_said(folder: Path) -> None:
    policy = Policy.load(folder)
    learner = Learner(policy, GrpoSection(steps=1))
    before = policy.weights_digest()
    batch = samples(policy)
    stats = learner.update([replace(batch[0], advantage=math.nan), *batch[1:]])
    assert not stats.applied
    assert not math.isfinite(stats.grad_norm)
    assert policy.weights_digest() == before
    assert learner.update(batch).applied


def test_positive_advantage_makes_a_completion_likelier_and_negative_less(folder: Path) -> None:
    policy = Policy.load(folder)
    batch = [replace(s, advantage=a) for s, a in zip(samples(policy)[:2], (1.0, -1.0), strict=True)]
    learner = Learner(policy, GrpoSection(steps=9, lr=1e-3, lr_warmup_updates=0))
    for _ in range(3):
        learner.update(batch)
    with torch.no_grad():
        now_BT = policy.logprobs([s.prompt_ids for s in batch], [s.token_ids for s in batch]).logprobs_BT
    assert float(now_BT[0].sum()) > sum(batch[0].behaviour_logprobs)
    assert float(now_BT[1].sum()) < sum(batch[1].behaviour_logprobs)


def test_the_learning_rate_rises_over_the_warm_up_and_stays(folder: Path) -> None:
    learner = Learner(Policy.load(folder), GrpoSection(steps=1, lr=1.0, lr_warmup_updates=3))
    assert [learner.learning_rate(i) for i in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_a_reference_is_wanted_exactly_with_a_divergence(folder: Path) -> None:
    policy = Policy.load(folder)
    with pytest.raises(ValueError, match="reference"):
        Learner(policy, GrpoSection(steps=1, kl=0.1))
    with pytest.raises(ValueError, match="reference"):
        Learner(policy, GrpoSection(steps=1), Policy.load(folder))
