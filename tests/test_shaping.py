"""Length is punished before the mean is taken, and each loss has its own way to scale an advantage."""

from __future__ import annotations

from typing import Any

import pytest

from veredicto_trainer.config import GrpoSection
from veredicto_trainer.rollouts import Completion, Group, Question, Rollout, Verdict
from veredicto_trainer.shaping import advantages_of, learning_rewards, overlong_penalty


def group(*rollouts: tuple[float | None, int]) -> Group:
    """A group of completions with these rewards and lengths."""
    made = [
        Rollout(f"1.0.{i}", Completion((5,) * length, (-1.0,) * length, "stop", 0), "w1", Verdict(reward, None, None))
        for i, (reward, length) in enumerate(rollouts)
    ]
    return Group("0", Question("words/train/1", None, "w0", (4,)), tuple(made))


def section(**fields: Any) -> GrpoSection:
    return GrpoSection.model_validate({"steps": 1, "max_new_tokens": 20, **fields})


@pytest.mark.parametrize(("length", "penalty"), [(0, 0.0), (16, 0.0), (17, 0.25), (18, 0.5), (20, 1.0), (21, 1.0)])
def test_the_punishment_rises_over_the_last_part_of_the_room(length: int, penalty: float) -> None:
    assert overlong_penalty(length, limit=20, buffer=0.2) == pytest.approx(penalty)


def test_punishment_changes_what_is_learnt_and_never_the_record() -> None:
    long = group((1.0, 20), (1.0, 4), (0.0, 18), (None, 20))
    assert learning_rewards(long, section(truncated="punish")) == pytest.approx((0.0, 1.0, -0.5, None))
    assert learning_rewards(long, section()) == long.rewards == (1.0, 1.0, 0.0, None)
    assert advantages_of(group((1.0, 20), (1.0, 4)), section()).state == "equal"
    punished = advantages_of(group((1.0, 20), (1.0, 4)), section(truncated="punish", advantage="mean"))
    assert (punished.state, punished.values) == ("mixed", pytest.approx((-0.5, 0.5)))


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ({"loss": "grpo"}, 0.5**0.5),
        ({"loss": "dr_grpo"}, 0.5),
        ({"loss": "dr_grpo", "advantage": "std"}, 0.5**0.5),
        ({"loss": "mu_grpo", "advantage": "mean"}, 0.5),
        ({"loss": "mu_grpo", "std_floor": 10.0}, 0.05),
    ],
)
def test_each_loss_scales_advantages_its_own_way_unless_told(fields: dict[str, Any], first: float) -> None:
    assert advantages_of(group((1.0, 2), (0.0, 2)), section(**fields)).values == pytest.approx((first, -first))
