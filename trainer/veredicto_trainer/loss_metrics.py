"""What the updates of a step did to the loss, under the names that users of TRL, verl and prime-rl know."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from veredicto_trainer.update_stats import UpdateStats


def loss_metrics(updates: Sequence[UpdateStats]) -> dict[str, float]:
    """Means over a step's updates; least and greatest values over all of them."""

    def mean(value: Callable[[UpdateStats], float]) -> float:
        return sum(map(value, updates)) / len(updates)

    vetoed = [update.veto_position for update in updates if update.veto_sequences > 0]
    low, high = mean(lambda u: u.clipped_low), mean(lambda u: u.clipped_high)
    return {
        "clip_ratio/low_mean": low,
        "clip_ratio/low_min": min(update.clipped_low_min for update in updates),
        "clip_ratio/high_mean": high,
        "clip_ratio/high_max": max(update.clipped_high_max for update in updates),
        "clip_ratio/region_mean": low + high,
        "clip_ratio/dual_mean": mean(lambda u: u.clipped_dual),
        "veto/seq_frac": mean(lambda u: u.veto_sequences),
        "veto/token_frac": mean(lambda u: u.veto_tokens),
        **({"veto/trigger_pos_mean": sum(vetoed) / len(vetoed)} if vetoed else {}),
        "is_masked": mean(lambda u: u.masked),
        "sampling/importance_sampling_ratio/mean": mean(lambda u: u.weight_mean),
        "sampling/importance_sampling_ratio/min": min(update.weight_min for update in updates),
        "sampling/importance_sampling_ratio/max": max(update.weight_max for update in updates),
        "ratio/mean": mean(lambda u: u.ratio_mean),
        "ratio/min": min(update.ratio_min for update in updates),
        "ratio/max": max(update.ratio_max for update in updates),
        "mismatch_kl/all/mean": mean(lambda u: u.mismatch_kl_mean),
        "mismatch_kl/all/max": max(update.mismatch_kl_max for update in updates),
        "rollout_corr/rollout_is_eff_sample_size": mean(lambda u: u.effective_share),
        "kl": mean(lambda u: u.kl),
    }
