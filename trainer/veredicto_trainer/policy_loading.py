"""Policies as a configuration wants them: from a folder with a whole model, or from one with an adapter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from veredicto_trainer import adapters
from veredicto_trainer.errors import PolicyFault
from veredicto_trainer.policy import Policy, TokenLogprobs
from veredicto_trainer.policy_config import PolicySection


def load_policy(section: PolicySection, folder: Path, *, base: Path | None = None) -> Policy:
    """The policy in a folder.

    Args:
        section: precision, device and the rest.
        folder: holds a whole model, or an adapter.
        base: the model that an adapter belongs to; None for the one that the adapter names.

    Raises:
        PolicyFault: the folder, or the adapter's base, cannot be loaded.
    """
    if not (folder / adapters.CONFIG).is_file():
        return _load(section, folder)
    policy = _load(section, base or _base_of(folder))
    policy.adapter = adapters.read(policy.model, folder)
    return policy


def with_adapter(policy: Policy, section: PolicySection, *, seed: int, base: Path) -> Policy:
    """The policy with a new adapter if the configuration wants one; the adapter starts without effect.

    Args:
        policy: changed in place.
        section: says whether, and of what size.
        seed: fixes the adapter's random half.
        base: folder of the policy's own weights, written into a saved adapter.
    """
    if section.lora is not None:
        policy.adapter = adapters.attach(policy.model, section.lora, seed=seed, base=str(base.resolve()))
    return policy


def save_whole(policy: Policy, folder: Path) -> None:
    """Write a plain model that does what the policy does, an adapter merged into its weights, and the tokenizer."""
    if policy.adapter is None:
        policy.save(folder)
        return
    with adapters.merged(policy.adapter) as weights:
        policy.model.save_pretrained(folder, state_dict=weights)
    policy.tokenizer.save_pretrained(folder)


class WithoutAdapter:
    """The frozen weights under an adapter, as the reference of a divergence: no second copy of them is needed."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def logprobs(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> TokenLogprobs:
        """See `Policy.logprobs`."""
        with self._policy.adapter.disable_adapter():
            return self._policy.logprobs(prompts, completions)


def _load(section: PolicySection, folder: Path) -> Policy:
    return Policy.load(
        folder,
        prompt_format=section.prompt_format,
        precision=section.precision,
        device=section.device,
        frozen=section.lora is not None,
        gradient_checkpointing=section.gradient_checkpointing,
        logits_mb=section.logits_mb,
    )


def _base_of(folder: Path) -> Path:
    try:
        body = json.loads((folder / adapters.CONFIG).read_text(encoding="utf-8"))
        return Path(body["base_model_name_or_path"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PolicyFault(f"{folder / adapters.CONFIG} names no base model ({error})") from error
