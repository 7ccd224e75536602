"""vLLM behind HTTP: the OpenAI completions route with token ids, and the routes that change its weights.

The server must run with `VLLM_SERVER_DEV_MODE=1`, without which it has no routes for weights; those routes load any
folder that they are told, so it must listen on a private network only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import httpx

from veredicto_trainer.engines.engine import Request, Sampling
from veredicto_trainer.engines.vllm_engine import Sample, Sync
from veredicto_trainer.errors import EngineFault


class VllmServer:
    """A backend that is a running `vllm serve`.

    Args:
        url: its address, without `/v1`.
        model: the name that it serves the weights under.
        sync: how weights are handed over.
        concurrency: requests in flight at once.
        timeout_s: seconds to wait for one answer.
    """

    def __init__(
        self, url: str, model: str, *, sync: Sync = "reload", concurrency: int = 64, timeout_s: float = 600.0
    ) -> None:
        self._url = url.rstrip("/")
        self.takes_adapters = sync == "lora"
        self._model = model
        self._sync = sync
        self._served = model
        self._concurrency = concurrency
        limits = httpx.Limits(max_connections=concurrency)
        self._http = httpx.Client(base_url=self._url, timeout=timeout_s, limits=limits, trust_env=False)
        self._ready_to_transfer = False

    def load(self, folder: Path, version: str) -> None:
        """Hand the weights over while nothing is sampled, then forget every cached prefix."""
        self._ask("POST", "/pause?mode=wait")
        if self._sync == "lora":
            self._switch_adapter(folder, version)
        elif self._sync == "reload":
            body = {"method": "veredicto_reload", "args": [str(folder)]}
            self._ask("POST", "/collective_rpc", body)
        else:
            self._transfer(folder)
        self._ask("POST", "/update_weight_version", {"new_version": version})
        self._ask("POST", "/reset_prefix_cache")
        self._ask("POST", "/resume")

    def version(self) -> str:
        """The version that the server was told after its weights were in place."""
        return str(self._ask("GET", "/weight_info").json()["weight_version"])

    def prompt_logprobs(self, token_ids: Sequence[int]) -> tuple[float, ...]:
        """Log-probability of every token but the first. [num_tokens - 1]"""
        body = {"prompt": list(token_ids), "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0}
        positions = self._complete(body)["prompt_logprobs"]
        pairs = zip(token_ids[1:], positions[1:], strict=True)
        return tuple(float(position[str(token)]["logprob"]) for token, position in pairs)

    def sample(self, requests: Sequence[Request], sampling: Sampling, eos_ids: Sequence[int]) -> Iterator[Sample]:
        """One sample per seed of each request, in the order in which they end.

        Every seed is a request of its own: vLLM would derive the seeds of `n` completions from a single one.
        """
        with ThreadPoolExecutor(self._concurrency) as pool:
            pending = [
                pool.submit(self._one, request.prompt_ids, seed, sampling, eos_ids, index, slot)
                for index, request in enumerate(requests)
                for slot, seed in enumerate(request.seeds)
            ]
            try:
                for future in as_completed(pending):
                    yield future.result()
            finally:
                for future in pending:
                    future.cancel()

    def _one(
        self,
        prompt_ids: Sequence[int],
        seed: int,
        sampling: Sampling,
        eos_ids: Sequence[int],
        request: int,
        slot: int,
    ) -> Sample:
        body = {
            "prompt": list(prompt_ids),
            "max_tokens": sampling.max_new_tokens,
            "temperature": 0.0 if sampling.greedy else 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "seed": seed,
            "logprobs": 0,
            "return_token_ids": True,
            "stop_token_ids": list(eos_ids),
        }
        choice = self._complete(body)
        ids, logprobs = choice["token_ids"], choice["logprobs"]["token_logprobs"]
        if choice["finish_reason"] not in ("stop", "length") or len(ids) != len(logprobs):
            raise EngineFault(
                f"vLLM at {self._url} ended a completion with {choice['finish_reason']!r}, {len(ids)} tokens and "
                f"{len(logprobs)} log-probabilities; look at its log"
            )
        return Sample(request, slot, tuple(ids), tuple(map(float, logprobs)), choice["finish_reason"])

    def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._ask("POST", "/v1/completions", {"model": self._served, **body}).json()
        choice: dict[str, Any] = answer["choices"][0]
        return choice

    def _transfer(self, folder: Path) -> None:
        if not self._ready_to_transfer:
            self._ask("POST", "/init_weight_transfer_engine", {"init_info": {}})
            self._ready_to_transfer = True
        self._ask("POST", "/start_weight_update")
        self._ask("POST", "/update_weights", {"update_info": {"folder": str(folder)}})
        self._ask("POST", "/finish_weight_update")

    def _switch_adapter(self, folder: Path, version: str) -> None:
        if self._served != self._model:
            self._ask("POST", "/v1/unload_lora_adapter", {"lora_name": self._served})
            self._served = self._model
        self._ask("POST", "/v1/load_lora_adapter", {"lora_name": version, "lora_path": str(folder)})
        self._served = version

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        try:
            answer = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise EngineFault(
                f"vLLM at {self._url} does not answer {path} ({type(error).__name__}: {str(error)[:200]}); "
                "start it, or mend engine.url; the run can be resumed"
            ) from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise EngineFault(
                f"vLLM at {self._url} has no {path.partition('?')[0]}; start it with VLLM_SERVER_DEV_MODE=1 and, for "
                "engine.sync `lora`, VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
            )
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            raise EngineFault(f"vLLM at {self._url} answered {path} with {answer.status_code}: {answer.text[:300]}")
        return answer
