"""What every way of handing weights over must do, for one backend after another."""

from __future__ import annotations

from pathlib import Path

import torch

from tests_vllm.models import change
from veredicto_trainer.engines.engine import Request, Sampling
from veredicto_trainer.engines.vllm_engine import Backend, VllmEngine
from veredicto_trainer.policy import Policy
from veredicto_trainer.rollouts import Completion

TOLERANCE = 1e-4
REQUESTS = (Request((4, 5, 6, 7), (1, 2, 3, 4)), Request((5, 9), (2**63 + 5, 9, 10)))
ROOM = 12


def follows(backend: Backend, policy: Policy, folder: Path) -> list[list[tuple[Completion, ...]]]:
    """Publish, sample, update twice, and hold every log-probability against the policy's own forward pass.

    Returns what was sampled under each version.
    """
    engine = VllmEngine(backend, folder, tolerance=TOLERANCE)
    sampled = []
    for version in range(3):
        if version:
            change(policy)
        proof = engine.publish(policy)
        assert proof.version == policy.version == version
        assert proof.logprob_gap <= TOLERANCE
        sampled.append(engine.generate(REQUESTS, Sampling(ROOM)))
        gap = max(
            distance(policy, sampled[-1]), distance(policy, engine.generate(REQUESTS, Sampling(ROOM, greedy=True)))
        )
        assert gap <= TOLERANCE, f"version {version}: {gap}"
        assert engine.generate(REQUESTS, Sampling(ROOM)) == sampled[-1], "a seed must give the same tokens again"
        assert distance_to_previous(policy, sampled, version) > 0.01, "the update is too small to be seen"
        ends_as_said(policy, sampled[-1])
    return sampled


def distance(policy: Policy, answers: list[tuple[Completion, ...]]) -> float:
    """Largest distance of log-probabilities between the engine and the policy, in nats."""
    gaps = [0.0]
    for request, completions in zip(REQUESTS, answers, strict=True):
        for completion in completions:
            with torch.inference_mode():
                ours_BT = policy.logprobs([request.prompt_ids], [completion.token_ids])[0]
            gaps.append(float((ours_BT[0] - torch.tensor(completion.logprobs)).abs().max()))
    return max(gaps)


def distance_to_previous(policy: Policy, sampled: list[list[tuple[Completion, ...]]], version: int) -> float:
    """How far the policy now is from what was sampled before the last update; infinite for the first."""
    return distance(policy, sampled[version - 1]) if version else float("inf")


def ends_as_said(policy: Policy, answers: list[tuple[Completion, ...]]) -> None:
    """`stop` is an end-of-sequence token, the only one and the last; `length` is a full completion without one."""
    for completion in (completion for completions in answers for completion in completions):
        ended = [token in policy.eos_ids for token in completion.token_ids]
        assert not any(ended[:-1])
        assert ended[-1] == (completion.finish == "stop")
        assert completion.finish == "stop" or len(completion.token_ids) == ROOM
