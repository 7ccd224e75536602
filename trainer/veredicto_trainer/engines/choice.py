"""The table of rollout engines, by the name that a configuration gives them."""

from __future__ import annotations

from collections.abc import Callable

from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.engines.engine import Engine
from veredicto_trainer.engines.hf import HfEngine
from veredicto_trainer.engines.vllm_engine import VllmEngine
from veredicto_trainer.engines.vllm_local import LocalVllm
from veredicto_trainer.engines.vllm_server import VllmServer
from veredicto_trainer.policy import Policy


def configured_engine(config: TrainerConfig, policy: Policy) -> Engine:
    """The engine that a configuration asks for; vLLM starts when the first weights are published to it."""
    return ENGINES[config.engine.kind](config, policy)


def _hf(config: TrainerConfig, policy: Policy) -> Engine:
    return HfEngine(policy, batch_size=config.grpo.generation_batch)


def _vllm(config: TrainerConfig, policy: Policy) -> Engine:
    engine = config.engine
    base = config.output / "start" if engine.sync == "lora" else None
    options = dict(engine.options)
    if engine.sync == "lora" and config.policy.lora is not None:
        options.setdefault("max_lora_rank", config.policy.lora.rank)
    return _proven(config, LocalVllm(sync=engine.sync, base=base, options=options))


def _vllm_server(config: TrainerConfig, policy: Policy) -> Engine:
    engine = config.engine
    server = VllmServer(
        engine.url, engine.model, sync=engine.sync, concurrency=engine.concurrency, timeout_s=engine.timeout_s
    )
    return _proven(config, server)


def _proven(config: TrainerConfig, backend: LocalVllm | VllmServer) -> Engine:
    folder = config.engine.folder or config.output / "weights"
    return VllmEngine(backend, folder.resolve(), tolerance=config.engine.tolerance)


ENGINES: dict[str, Callable[[TrainerConfig, Policy], Engine]] = {
    "hf": _hf,
    "vllm": _vllm,
    "vllm_server": _vllm_server,
}
