"""The vLLM rollout engine: hands weights over as files, proves that they arrived, and samples token ids from them.

Where vLLM runs is the business of a `Backend`: in this process (`vllm_local`) or behind HTTP (`vllm_server`).
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import torch

from veredicto_trainer.engines.engine import Request, Sampling, SyncProof
from veredicto_trainer.policy import Policy
from veredicto_trainer.policy_loading import save_whole
from veredicto_trainer.rollouts import Completion, Finish

Sync = Literal["reload", "transfer", "lora"]
"""How weights are handed over: a folder that is read again, vLLM's weight-transfer API, or an adapter per version."""

PROBE_TOKENS = 16
_INT63 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Sample:
    """What a backend answers for one seed of one request."""

    request: int
    """Index of the request."""
    seed: int
    """Index of the seed within the request."""
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Natural log-probability of each token, after temperature and masks. [num_tokens]"""
    finish: Finish


class Backend(Protocol):
    """A vLLM somewhere."""

    takes_adapters: bool
    """Whether it wants the adapter alone, its base already there; otherwise a whole model."""

    def load(self, folder: Path, version: str) -> None:
        """Take over the weights in a folder, forget every cached prefix, and answer to this version from now on."""
        ...

    def version(self) -> str:
        """The version that vLLM itself says it has."""
        ...

    def prompt_logprobs(self, token_ids: Sequence[int]) -> tuple[float, ...]:
        """Log-probability of every token but the first, given those before it. [num_tokens - 1]"""
        ...

    def sample(self, requests: Sequence[Request], sampling: Sampling, eos_ids: Sequence[int]) -> Iterator[Sample]:
        """One sample per seed of each request, in the order in which they end."""
        ...


class VllmEngine:
    """Samples from the weights that were published last, wherever vLLM runs.

    Args:
        backend: where vLLM runs.
        folder: where weights are written for it; a server on another machine must see the same path.
        tolerance: largest distance of log-probabilities, in nats, between vLLM and the policy that counts as equal;
            rounding in fp32 stays below 1e-4.
    """

    def __init__(self, backend: Backend, folder: Path, *, tolerance: float = 1e-3) -> None:
        self._backend = backend
        self._folder = folder
        self._tolerance = tolerance
        self._published: SyncProof | None = None
        self._eos_ids: tuple[int, ...] = ()
        self._context = 0

    def publish(self, policy: Policy) -> SyncProof:
        """Write the weights, have vLLM load them, and compare log-probabilities on a fixed probe.

        Raises:
            SyncFault: vLLM has other weights than those that it was given; nothing is sampled from it.
            EngineFault: vLLM cannot be reached or refused the weights.
        """
        self._published = None  # whatever happens below, old weights are not sampled from under a new version
        started = time.monotonic()
        folder = self._folder / f"version-{policy.version}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if self._backend.takes_adapters:
            policy.save(folder)
        else:
            save_whole(policy, folder)
        self._backend.load(folder, folder.name)
        gap = self._gap(policy)
        label = self._backend.version().removeprefix("version-")
        held = int(label) if label.isdecimal() else -1
        proof = SyncProof(held, gap, self._tolerance, time.monotonic() - started)
        proof.demand(policy.version)
        self._published = proof
        self._eos_ids, self._context = policy.eos_ids, policy.context
        for old in self._folder.glob("version-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
        return proof

    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, tuple[Completion, ...]]]:
        """Each request's index with its completions, one per seed, as soon as the last of them has ended."""
        if self._published is None:
            raise RuntimeError("publish a policy before sampling: the engine holds no proven weights")
        version = self._published.version
        waiting = {index: len(request.seeds) for index, request in enumerate(requests)}
        slots: dict[int, dict[int, Completion]] = {index: {} for index in waiting}
        for sample in self._backend.sample([_in_range(request) for request in requests], sampling, self._eos_ids):
            completion = Completion(sample.token_ids, sample.logprobs, sample.finish, version)
            slots[sample.request][sample.seed] = completion
            waiting[sample.request] -= 1
            if waiting[sample.request] == 0:
                done = slots.pop(sample.request)
                yield sample.request, tuple(done[seed] for seed in sorted(done))

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[tuple[Completion, ...]]:
        """The same, in the order of the requests."""
        answers = dict(self.stream(requests, sampling))
        return [answers[index] for index in range(len(requests))]

    def _gap(self, policy: Policy) -> float:
        probe = probe_ids(policy.model.config.vocab_size)
        with torch.inference_mode():
            ours_BT = policy.logprobs([probe[:1]], [probe[1:]])[0]
        theirs_T = torch.tensor(self._backend.prompt_logprobs(probe))
        return float((ours_BT[0].float().cpu() - theirs_T).abs().max())


def probe_ids(vocabulary: int) -> tuple[int, ...]:
    """Token ids spread over the whole vocabulary, the same for every version of the weights."""
    step = max(1, vocabulary // PROBE_TOKENS)
    return tuple((3 + index * step) % vocabulary for index in range(PROBE_TOKENS))


def _in_range(request: Request) -> Request:
    # vLLM takes signed 64-bit seeds.
    return Request(request.prompt_ids, tuple(seed & _INT63 for seed in request.seeds))
