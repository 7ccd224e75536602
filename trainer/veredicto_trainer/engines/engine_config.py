"""The part of the configuration that says what samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from veredicto_trainer.section import Positive, Section

WHERE: set[str] = {"url", "folder", "concurrency", "timeout_s", "options"}
"""What may differ between a run and its resumption: it moves the engine, and `options` its size."""


class EngineSection(Section):
    """`[engine]`: what samples completions."""

    kind: Literal["hf", "vllm", "vllm_server"] = "hf"
    """`hf` samples in this process from the very weights that learn; `vllm` runs vLLM in this process; `vllm_server`
    uses a running `vllm serve`."""
    sync: Literal["reload", "transfer", "lora"] = "reload"
    """How vLLM gets new weights: a folder that it reads, its weight-transfer API, or an adapter of that version."""
    url: str = "http://127.0.0.1:8000"
    """Address of the server, without `/v1`."""
    model: str = "policy"
    """Name under which the server serves the weights."""
    folder: Path | None = None
    """Where weights are written for vLLM; null means `weights/` in the output folder. A server must see this path."""
    tolerance: Annotated[float, Field(gt=0)] = 1e-3
    """Largest distance of log-probabilities between vLLM and the policy, in nats, on the probe after each update."""
    concurrency: Positive = 64
    """Requests in flight at once to a server."""
    timeout_s: Annotated[float, Field(gt=0)] = 600.0
    """Seconds to wait for one answer of a server."""
    options: dict[str, bool | int | float | str] = {}  # noqa: RUF012 - pydantic copies it
    """Further arguments of `vllm.LLM`, for `vllm`: `dtype`, `max_model_len`, `gpu_memory_utilization` and others."""

    @model_validator(mode="after")
    def _options_have_a_taker(self) -> EngineSection:
        if self.options and self.kind != "vllm":
            raise ValueError("engine.options are for kind `vllm`; give a server its options when you start it")
        return self
