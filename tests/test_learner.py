"""Updates: any split into micro-batches gives the same gradient, and what has no signal changes nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny_policy import tiny_policy
from veredicto_trainer.config import GrpoSection
from veredicto_trainer.errors import DivergenceFault
from veredicto_trainer.learner import Learner, TrainingSample
from veredicto_trainer.loss_metrics import loss_metrics
from veredicto_trainer.losses import LOSSES
from veredicto_trainer.metrics import length_metrics
from veredicto_trainer.policy import Policy
from veredicto_trainer.rollouts import Completion, Finish, Group, Question, Rollout, Verdict


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


def wobbled(sample: TrainingSample, recomputed: bool) -> TrainingSample:
    """The sample with a ratio of its own for every token, so that no two stand at the same place in an order."""
    sampled = tuple(x + 0.017 * t * t for t, x in enumerate(sample.behaviour_logprobs))
    old = tuple(x + 0.05 * (-1) ** t for t, x in enumerate(sampled)) if recomputed else None
    return replace(sample, behaviour_logprobs=sampled, old_logprobs=old)


def gradients(folder: Path, config: GrpoSection, order: list[int] | None = None) -> list[torch.Tensor]:
    """The gradient of one update, taken from AdamW's first moment after it."""
    policy = Policy.load(folder)
    reference = Policy.load(folder) if config.kl > 0 else None
    if reference is not None:
        torch.manual_seed(0)
        for parameter in reference.model.parameters():
            parameter.data.add_(0.05 * torch.randn_like(parameter))
    learner = Learner(policy, config, reference)
    batch = [wobbled(sample, config.correction.mode != "none") for sample in samples(policy, drift=0.1)]
    learner.update([batch[i] for i in order or range(len(batch))])
    return [learner.optimiser.state[p]["exp_avg"] / (1 - config.adam_beta1) for p in learner.parameters]


VARIANTS: list[dict[str, Any]] = [
    *({"loss": name} for name in LOSSES),
    {"kl": 0.1},
    {"kl": 0.1, "kl_unbiased": False},
    {"loss": "mu_grpo", "kl": 0.1, "veto": {"threshold": 0.95}},
    {"loss": "dapo", "m2_limit": 0.02},
    {"loss": "dapo", "correction": {"mode": "truncate", "high": 1.1}},
    {"loss": "gspo", "correction": {"mode": "mask", "level": "sequence", "low": 0.8, "high": 1.2}},
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: "-".join(map(str, variant.values())))
def test_micro_batches_of_any_size_and_order_give_the_gradient_of_one_batch(
    folder: Path, variant: dict[str, Any]
) -> None:
    config = GrpoSection.model_validate({"steps": 1, "max_grad_norm": 1e9, **variant})
    whole = gradients(folder, config)
    assert max(float(g.abs().max()) for g in whole) > 1e-3
    for micro_batch in (1, 2, 3):
        for order in ([5, 0, 7, 2, 4, 1, 6, 3], [7, 6, 5, 4, 3, 2, 1, 0]):
            parts = gradients(folder, config.model_copy(update={"micro_batch": micro_batch}), order)
            for a, b in zip(whole, parts, strict=True):
                torch.testing.assert_close(a, b, rtol=0, atol=1e-6)


def test_the_gradient_is_that_of_the_formula_written_out(folder: Path) -> None:
    config = GrpoSection(steps=1, max_grad_norm=1e9, clip_low=0.2, clip_high=0.2)
    policy = Policy.load(folder)
    batch = [wobbled(sample, False) for sample in samples(policy, drift=0.1)]
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


def poisoned(batch: list[TrainingSample]) -> list[TrainingSample]:
    return [replace(batch[0], advantage=math.nan), *batch[1:]]


def test_a_gradient_that_is_not_finite_is_skipped_and_said(folder: Path) -> None:
    policy = Policy.load(folder)
    learner = Learner(policy, GrpoSection(steps=1))
    before = policy.weights_digest()
    stats = learner.update(poisoned(samples(policy)))
    assert not stats.applied
    assert not math.isfinite(stats.grad_norm)
    assert (policy.weights_digest(), policy.version) == (before, 0)
    assert not learner.optimiser.state
    assert learner.update(samples(policy)).applied


def test_gradients_that_stay_not_finite_stop_the_run_with_the_weights_whole(folder: Path) -> None:
    policy = Policy.load(folder)
    learner = Learner(policy, GrpoSection(steps=1, max_bad_updates=2))
    batch = samples(policy)
    learner.update(poisoned(batch))
    learner.update(batch)
    learner.update(poisoned(batch))
    before = policy.weights_digest()
    with pytest.raises(DivergenceFault, match=r"2 times in a row; the weights are those of update 1: lower grpo\.lr"):
        learner.update(poisoned(batch))
    assert policy.weights_digest() == before


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_engine_that_gives_no_number_cannot_harm_the_weights(folder: Path, value: float) -> None:
    policy = Policy.load(folder)
    batch = samples(policy)
    learner = Learner(policy, GrpoSection(steps=1))
    broken = replace(batch[1], behaviour_logprobs=(value, *batch[1].behaviour_logprobs[1:]))
    learner.update([batch[0], broken, *batch[2:]])
    assert all(bool(torch.isfinite(p).all()) for p in policy.model.parameters())


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_an_empty_completion_takes_no_part_in_gradient_or_mean(folder: Path, loss: str) -> None:
    policy = Policy.load(folder)
    config = GrpoSection(steps=1, loss=loss)  # type: ignore[arg-type]
    empty = TrainingSample((4, 5), (), (), 1.0)
    batch = samples(policy)
    stats = Learner(policy, config).update([*batch, empty])
    alone = Learner(Policy.load(folder), config).update(batch)
    assert stats.samples[-1] is None
    assert stats.applied
    scale = 8 / 9 if loss == "dr_grpo" else 1.0  # its divisor counts completions, as published
    assert stats.loss == pytest.approx(alone.loss * scale, abs=1e-5)
    nothing = Learner(policy, config).update([empty, empty])
    assert (nothing.applied, nothing.loss, nothing.num_tokens) == (False, 0.0, 0)


def test_statistics_are_those_of_the_tokens(folder: Path) -> None:
    policy = Policy.load(folder)
    batch = samples(policy, drift=0.1)
    stats = Learner(policy, GrpoSection(steps=1, micro_batch=3, clip_low=0.1, clip_high=0.1)).update(batch)
    drifts = [0.1 * (i - 3) for i in range(len(batch))]
    assert [s is None for s in stats.samples] == [sample.advantage == 0.0 for sample in batch]
    seen = [(s, x, a.advantage) for s, x, a in zip(stats.samples, drifts, batch, strict=True) if s is not None]
    for s, drift, advantage in seen:
        ratio = math.exp(-drift)
        assert s.ratio_min == pytest.approx(ratio, abs=1e-5)
        assert s.ratio == pytest.approx(ratio * s.num_tokens, abs=1e-4)
        assert s.gap_max == pytest.approx(abs(drift), abs=1e-5)
        assert s.mismatch == pytest.approx(s.num_tokens * (ratio - 1 + drift), abs=1e-4)
        assert s.clipped_low == (s.num_tokens if ratio < 0.9 and advantage < 0 else 0)
        assert s.clipped_high == (s.num_tokens if ratio > 1.1 and advantage > 0 else 0)
    tokens = sum(s.num_tokens for s, _, _ in seen)
    ratios = [math.exp(-x) for s, x, _ in seen for _ in range(s.num_tokens)]
    assert stats.ratio_mean == pytest.approx(sum(ratios) / tokens, abs=1e-5)
    assert stats.effective_share == pytest.approx(sum(ratios) ** 2 / (tokens * sum(r * r for r in ratios)), abs=1e-5)
    assert stats.mismatch_kl_mean == pytest.approx(sum(r - 1 - math.log(r) for r in ratios) / tokens, abs=1e-5)
    assert stats.clipped_high == pytest.approx(sum(s.clipped_high for s, _, _ in seen) / tokens)
    assert (stats.clipped_high_max, stats.clipped_low_min) == (1.0, 0.0)


def test_vetoes_masks_and_corrections_are_counted(folder: Path) -> None:
    policy = Policy.load(folder)
    batch = samples(policy)
    stale = replace(
        batch[1],
        behaviour_logprobs=tuple(x + (2.0 if t == 1 else 0.0) for t, x in enumerate(batch[1].behaviour_logprobs)),
    )
    batch = [batch[0], stale, *batch[2:]]
    stats = Learner(policy, GrpoSection(steps=1, loss="mu_grpo")).update(batch)
    assert stats.samples[1] is not None
    assert (stats.samples[1].vetoed, stats.samples[1].trigger) == (3, 2)
    assert stats.veto_sequences == pytest.approx(1 / 7)
    assert stats.veto_tokens == pytest.approx(3 / stats.num_signal_tokens)
    assert stats.veto_position == 2.0
    masked = Learner(Policy.load(folder), GrpoSection(steps=1, loss="m2po")).update(batch)
    assert [s.masked for s in masked.samples if s is not None] == [0, 1, 0, 0, 0, 0, 0]
    assert masked.masked == pytest.approx(1 / masked.num_signal_tokens)
    section = {"steps": 1, "correction": {"mode": "mask", "low": 0.5, "high": 2.0}}
    learner = Learner(Policy.load(folder), GrpoSection.model_validate(section))
    corrected = learner.update(learner.anchored(batch))
    assert corrected.masked == pytest.approx(1 / corrected.num_signal_tokens)
    assert (corrected.weight_min, corrected.weight_max) == (0.0, pytest.approx(1.0, abs=1e-4))
    names = loss_metrics([stats, masked, corrected])
    assert names["veto/token_frac"] == pytest.approx(stats.veto_tokens / 3)
    assert names["is_masked"] == pytest.approx((masked.masked + corrected.masked) / 3)
    assert names["sampling/importance_sampling_ratio/min"] == 0.0
    assert names["veto/trigger_pos_mean"] == 2.0, "the mean over the updates that vetoed something"
    assert "veto/trigger_pos_mean" not in loss_metrics([masked])


def test_lengths_of_ended_completions_are_left_out_where_none_ended() -> None:
    def lengths(*finishes: Finish) -> dict[str, float]:
        completions = [Completion((5,) * (n + 1), (-1.0,) * (n + 1), f, 0) for n, f in enumerate(finishes)]
        rollouts = [Rollout(str(n), c, "", Verdict(0.0, False, None)) for n, c in enumerate(completions)]
        return length_metrics([Group("0", Question("p/t/1", None, "q", (4,)), tuple(rollouts))])

    assert lengths("length", "stop")["completions/mean_terminated_length"] == 2.0
    cut = lengths("length", "length")
    assert cut["completions/clipped_ratio"] == 1.0
    assert not [name for name in cut if "terminated" in name]


def test_a_correction_takes_the_ratio_to_the_weights_before_the_first_update(folder: Path) -> None:
    policy = Policy.load(folder)
    plain = Learner(policy, GrpoSection(steps=1))
    batch = samples(policy, drift=0.2)
    assert plain.anchored(batch) == batch
    section = {"steps": 1, "micro_batch": 3, "max_grad_norm": 1e9, "correction": {"mode": "truncate", "high": 1.2}}
    learner = Learner(policy, GrpoSection.model_validate(section))
    anchored = learner.anchored(batch)
    for sample, exact in zip(anchored, samples(policy), strict=True):
        assert sample.old_logprobs == pytest.approx(exact.behaviour_logprobs, abs=1e-6)
    stats = learner.update(anchored)
    assert (stats.clipped_low, stats.clipped_high) == (0.0, 0.0)
    expected = sum(-s.advantage * min(math.exp(-0.2 * (i - 3)), 1.2) for i, s in enumerate(batch)) / len(batch)
    assert stats.loss == pytest.approx(expected, abs=1e-5)


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
