"""vLLM in this process: the `LLM` class, started with the first weights that are published."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from veredicto_trainer.engines.engine import Request, Sampling
from veredicto_trainer.engines.vllm_engine import Sample, Sync
from veredicto_trainer.errors import EngineFault

EXTENSION = "veredicto_trainer.engines.vllm_worker.VeredictoWorker"


class LocalVllm:
    """A backend in this process.

    Args:
        sync: how weights are handed over.
        base: folder of the weights under the adapters, for `lora`; otherwise the first weights published start vLLM.
        options: further arguments of `vllm.LLM`, as `dtype`, `max_model_len` or `gpu_memory_utilization`.
    """

    def __init__(self, *, sync: Sync = "reload", base: Path | None = None, options: dict[str, Any]) -> None:
        self.takes_adapters = sync == "lora"
        self._sync = sync
        self._base = base
        self._options = options
        self._llm: Any = None
        self._adapter: Any = None
        self._ids = itertools.count()

    def load(self, folder: Path, version: str) -> None:
        """Start vLLM from the folder, or hand its weights to the one that runs."""
        fresh = self._llm is None
        if fresh:
            self._llm = self._start(folder if self._base is None else self._base)
        if self._sync == "lora":
            self._switch_adapter(folder, version)
        elif not fresh:
            self._hand_over(folder)
        self._llm.llm_engine.set_weight_version(version)
        self._llm.reset_prefix_cache()

    def version(self) -> str:
        """The version that vLLM's engine was told after its weights were in place."""
        return str(self._llm.llm_engine.get_weight_version())

    def prompt_logprobs(self, token_ids: Sequence[int]) -> tuple[float, ...]:
        """Log-probability of every token but the first. [num_tokens - 1]"""
        from vllm import SamplingParams

        params = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0, detokenize=False)
        prompt = {"prompt_token_ids": list(token_ids)}
        (output,) = self._llm.generate([prompt], params, lora_request=self._adapter, use_tqdm=False)
        pairs = zip(token_ids[1:], output.prompt_logprobs[1:], strict=True)
        return tuple(position[token].logprob for token, position in pairs)

    def sample(self, requests: Sequence[Request], sampling: Sampling, eos_ids: Sequence[int]) -> Iterator[Sample]:
        """One sample per seed of each request, in the order in which they end."""
        engine = self._llm.llm_engine
        owners: dict[str, tuple[int, int]] = {}
        for index, request in enumerate(requests):
            for slot, seed in enumerate(request.seeds):
                name = f"sample-{next(self._ids)}"
                owners[name] = (index, slot)
                params = _params(sampling, seed, eos_ids)
                prompt = {"prompt_token_ids": list(request.prompt_ids)}
                engine.add_request(name, prompt, params, lora_request=self._adapter)
        while engine.has_unfinished_requests():
            for output in engine.step():
                if output.finished:
                    yield _sample(output, *owners[output.request_id])

    def _start(self, folder: Path) -> Any:
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # the engine's core in this process too
        try:
            from vllm import LLM
        except ImportError as error:
            raise EngineFault(
                "engine.kind is `vllm` but vllm cannot be imported here; install it beside the trainer "
                "(docs/trainer.md, Engines), or use `hf` or `vllm_server`"
            ) from error
        options: dict[str, Any] = {"logprobs_mode": "processed_logprobs", "worker_extension_cls": EXTENSION}
        if self._sync == "transfer":
            options["weight_transfer_config"] = {"backend": "veredicto-file"}
        if self._sync == "lora":
            options |= {"enable_lora": True, "max_loras": 1}
        return LLM(model=str(folder), **(options | self._options))

    def _hand_over(self, folder: Path) -> None:
        if self._sync == "reload":
            self._llm.collective_rpc("veredicto_reload", args=(str(folder),))
            return
        self._llm.start_weight_update()
        self._llm.update_weights({"update_info": {"folder": str(folder)}})
        self._llm.finish_weight_update()

    def _switch_adapter(self, folder: Path, version: str) -> None:
        from vllm.lora.request import LoRARequest

        if self._adapter is not None:
            self._llm.llm_engine.remove_lora(self._adapter.lora_int_id)
        number = int(version.removeprefix("version-")) + 1  # an adapter's number must be positive
        self._adapter = LoRARequest(version, number, str(folder))


def _params(sampling: Sampling, seed: int, eos_ids: Sequence[int]) -> Any:
    """Temperature 1 over the whole vocabulary, so that log-probabilities are those of the learner; or greedy."""
    from vllm import SamplingParams

    return SamplingParams(
        max_tokens=sampling.max_new_tokens,
        temperature=0.0 if sampling.greedy else 1.0,
        top_p=1.0,
        seed=seed,
        logprobs=0,
        stop_token_ids=list(eos_ids),
        detokenize=False,
    )


def _sample(output: Any, request: int, slot: int) -> Sample:
    (completion,) = output.outputs
    ids = tuple(completion.token_ids)
    logprobs = tuple(position[token].logprob for token, position in zip(ids, completion.logprobs, strict=True))
    if completion.finish_reason not in ("stop", "length"):
        raise EngineFault(f"vLLM ended a completion with {completion.finish_reason!r}; look at its log above")
    return Sample(request, slot, ids, logprobs, completion.finish_reason)
