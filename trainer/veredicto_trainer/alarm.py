"""The collapse alarm: a run whose groups no longer carry a signal says so, with the cause, and may stop.

A group teaches only where its rewards differ. Dead steps in a row raise the alarm; live steps in a row take it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from veredicto_trainer.config import AlarmSection
from veredicto_trainer.errors import Collapse

State = Literal["ok", "warn", "halt"]
Cause = Literal["all_fail", "all_pass", "duplicates", "constant_reward", "unscorable"]

ADVICE: dict[Cause, str] = {
    "all_fail": "the questions are too hard for the policy: start with easier ones, warm it up, or lower grpo.lr",
    "all_pass": "the questions are solved: take harder ones",
    "duplicates": "the policy writes the same completion again and again: lower grpo.lr or add grpo.kl",
    "constant_reward": "different completions get the same reward, neither 0 nor 1: look into the verifier's spec",
    "unscorable": "the service cannot judge the completions: look into its error codes in rollouts.jsonl",
}
"""What to do about each cause."""


class Alarm:
    """Watches the metrics of each step.

    Args:
        config: the `[alarm]` section.
    """

    def __init__(self, config: AlarmSection) -> None:
        self._config = config
        self._dead = 0
        self._live = 0
        self.state: State = "ok"
        self.cause: Cause | None = None

    def heed(self, metrics: Mapping[str, Any]) -> str | None:
        """Take in a step; returns what to tell a person when the alarm is up."""
        alive = 1.0 - metrics["frac_reward_zero_std"] if metrics["groups/void"] < metrics["groups/all"] else 0.0
        if alive > self._config.signal_share:
            self._live += 1
            self._dead = 0
            if self._live >= self._config.warn_after:
                self.state, self.cause = "ok", None
        else:
            self._dead += 1
            self._live = 0
            self._raise(_cause(metrics))
        return None if self.cause is None else f"{self.cause} for {self._dead} steps: {ADVICE[self.cause]}"

    def demand(self) -> None:
        """Refuse to go on with a run that has collapsed.

        Raises:
            Collapse: it has.
        """
        if self.state == "halt":
            assert self.cause is not None
            raise Collapse(
                f"no signal for {self._dead} steps ({self.cause}): {ADVICE[self.cause]}; "
                "alarm.halt_after = 0 goes on all the same"
            )

    def _raise(self, cause: Cause) -> None:
        if self._dead >= self._config.warn_after:
            self.state, self.cause = "warn", cause
        if self._config.halt_after and self._dead >= self._config.halt_after and cause != "all_pass":
            self.state, self.cause = "halt", cause


def _cause(metrics: Mapping[str, Any]) -> Cause:
    """The cause that the most groups share."""
    counts: dict[Cause, float] = {
        "unscorable": metrics["groups/void"],
        "duplicates": metrics["groups/duplicates"],
        "all_fail": metrics["groups/all_fail"],
        "all_pass": metrics["groups/all_pass"],
        "constant_reward": metrics["groups/constant"],
    }
    return max(counts, key=lambda cause: counts[cause])
