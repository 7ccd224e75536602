"""The part of the configuration that says what learns: the weights, their precision, and adapters."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import model_validator

from veredicto_trainer.section import Positive, Section


class ScratchSection(Section):
    """`[policy.scratch]`: a small Llama-architecture policy with its own tokenizer, built from nothing."""

    hidden: Positive = 128
    """Width of the residual stream."""
    layers: Positive = 3
    """Number of transformer blocks."""
    heads: Positive = 4
    """Attention heads; divides `hidden`."""


class LoraSection(Section):
    """`[policy.lora]`: train a low-rank adapter and freeze the weights."""

    rank: Positive = 16
    """Rank of the adapter's matrices."""
    alpha: Positive = 32
    """The adapter is scaled by this over `rank`."""
    layers: tuple[str, ...] = ()
    """Names of the linear layers that get one, such as `q_proj`; empty means all but the output layer."""


class PolicySection(Section):
    """`[policy]`: the weights to start from, either `path` or `scratch`."""

    path: Path | None = None
    """Folder in Hugging Face format (config, safetensors, tokenizer)."""
    scratch: ScratchSection | None = None
    """Build a new policy instead of loading one."""
    prompt_format: Literal["auto", "plain", "chat"] = "auto"
    """`chat` renders prompts by the chat template, `plain` joins their text; `auto` decides by the template."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of matrix products; with `bfloat16`, weights that learn stay in fp32 and frozen ones are kept in bf16."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the weights are."""
    gradient_checkpointing: bool = False
    """Compute each block again in the backward pass: less memory, about a third more time."""
    logits_mb: Positive = 256
    """Megabytes of fp32 logits that exist at once; completion positions are done in chunks of that size."""
    lora: LoraSection | None = None
    """Train an adapter instead of all weights."""

    @model_validator(mode="after")
    def _one_source(self) -> PolicySection:
        if (self.path is None) == (self.scratch is None):
            raise ValueError("give either `path` or `[policy.scratch]`")
        return self
