"""The part of the configuration that says how completions become a gradient: the loss, its constants, corrections."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from veredicto_trainer.section import Section, Share

LossName = Literal["grpo", "dr_grpo", "dapo", "gspo", "cispo", "mu_grpo", "m2po"]


class VetoSection(Section):
    """`[grpo.veto]`: the negative-advantage veto of `mu_grpo`."""

    threshold: Annotated[float, Field(gt=0, le=1)] = 0.5
    """A token is off support when its ratio is below this (or above its inverse, see `direction`)."""
    trigger: Literal["token", "prefix_product", "prefix_mean"] = "token"
    """What is compared: the token's own ratio, the product over its prefix, or the prefix's geometric mean."""
    direction: Literal["below", "above", "both"] = "below"
    """On which side of the threshold a completion has left the support."""
    inclusive: bool = False
    """Whether the off-support token itself is removed too; only what follows it otherwise."""


class CorrectionSection(Section):
    """`[grpo.correction]`: importance sampling against the difference between the engine and the trainer."""

    mode: Literal["none", "truncate", "mask"] = "none"
    """`truncate` cuts the weights to the bounds, `mask` drops tokens outside; `none` takes ratios to the engine's."""
    level: Literal["token", "sequence"] = "token"
    """Whether a weight is a token's ratio or the product over its completion."""
    low: Annotated[float, Field(ge=0)] = 0.0
    """Lower bound of the weights."""
    high: Annotated[float, Field(gt=0)] = 2.0
    """Upper bound of the weights."""

    @model_validator(mode="after")
    def _ordered(self) -> CorrectionSection:
        if self.low > self.high:
            raise ValueError("`low` is above `high`")
        return self


class LossFields(Section):
    """The fields of `[grpo]` that make the loss; null means the loss's own constant."""

    loss: LossName = "grpo"
    """Name in the table of losses."""
    clip_low: Share | None = None
    """The ratio is bounded below at one minus this."""
    clip_high: Annotated[float, Field(ge=0)] | None = None
    """The ratio is bounded above at one plus this."""
    dual_clip: float | None = None
    """A token with a negative advantage loses at most this many times it (above 1); 0 for no such bound."""
    m2_limit: Annotated[float, Field(gt=0)] | None = None
    """Mask the tokens with the largest squared log-ratios until their mean is at most this."""
    veto: VetoSection = VetoSection()
    """The negative-advantage veto of `mu_grpo`."""
    correction: CorrectionSection = CorrectionSection()
    """Importance sampling between engine and trainer."""
    kl: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the k3 divergence from the policy after the warm start; 0 loads no reference."""
    kl_unbiased: bool = True
    """Multiply the divergence by the ratio to the sampling weights, which makes its value and gradient unbiased."""
    advantage: Literal["std", "mean"] | None = None
    """`std` divides by the group's standard deviation, `mean` only subtracts its mean."""
    std_floor: Annotated[float, Field(gt=0)] = 1e-3
    """The least standard deviation to divide by."""
    truncated: Literal["score", "mask", "punish"] = "score"
    """Cut completions: trained on with their reward, left out of the loss (not of the group's mean), or punished."""
    overlong_buffer: Annotated[float, Field(gt=0, le=1)] = 0.2
    """With `punish`: share of `max_new_tokens` over whose length up to 1 is taken off the reward, linearly."""

    @model_validator(mode="after")
    def _dual_clip_is_above_one(self) -> LossFields:
        if self.dual_clip and self.dual_clip <= 1:
            raise ValueError("`dual_clip` is 0 (none) or above 1")
        return self

    def overrides(self) -> dict[str, Any]:
        """The constants that the file sets, by their names in `losses.Constants`."""
        named = {name: getattr(self, name) for name in ("clip_low", "clip_high", "dual_clip", "m2_limit", "advantage")}
        return {name: value for name, value in named.items() if value is not None}
