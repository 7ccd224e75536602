"""Low-rank adapters (LoRA): a few trained matrices beside frozen weights, by the peft library.

The adapter lives inside the model's own layers, so sampling, scoring and saving need not know of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model

from veredicto_trainer.errors import PolicyFault
from veredicto_trainer.policy_config import LoraSection

CONFIG = "adapter_config.json"
"""The file that tells a folder with an adapter from one with a whole model."""


def attach(model: Any, lora: LoraSection, *, seed: int, base: str) -> PeftModel:
    """A new adapter, that changes nothing yet, in a model whose own weights are frozen from now on.

    Args:
        model: a transformers causal language model.
        lora: rank, scale and layers.
        seed: fixes the adapter's random half.
        base: written into a saved adapter as the model that it belongs to.

    Raises:
        PolicyFault: the model has no layer of these names.
    """
    layers = list(lora.layers) if lora.layers else "all-linear"
    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules=layers, lora_dropout=0.0, bias="none", task_type="CAUSAL_LM"
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            with _quiet():
                adapter = get_peft_model(model, config)
        except ValueError as error:
            raise PolicyFault(f"the adapter does not fit: {str(error)[:300]}; correct policy.lora.layers") from error
    adapter.peft_config["default"].base_model_name_or_path = base
    adapter.train(False)
    return adapter


def read(model: Any, folder: Path) -> PeftModel:
    """The adapter that `save` wrote to a folder, in its model, ready to be trained on.

    Raises:
        PolicyFault: the folder's adapter does not fit the model.
    """
    try:
        with _quiet():
            adapter = PeftModel.from_pretrained(model, str(folder), is_trainable=True)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise PolicyFault(f"peft cannot load the adapter in {folder}: {str(error)[:300]}") from error
    adapter.train(False)
    return adapter


@contextmanager
def merged(adapter: PeftModel) -> Iterator[dict[str, torch.Tensor]]:
    """The weights of a plain model that does what model and adapter do, under the plain model's names.

    The adapter is added in place and the frozen weights are put back exactly afterwards, not by subtraction, which
    would leave rounding behind.
    """
    kept = {name: p.detach().clone() for name, p in adapter.named_parameters() if name.endswith("base_layer.weight")}
    adapter.merge_adapter()
    try:
        state = adapter.get_base_model().state_dict()
        yield {name.replace(".base_layer", ""): tensor for name, tensor in state.items() if ".lora_" not in name}
    finally:
        adapter.unmerge_adapter()
        with torch.no_grad():
            for name, parameter in adapter.named_parameters():
                if name in kept:
                    parameter.copy_(kept[name])


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warning about a name of transformers that peft 0.21 still reads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing`", category=FutureWarning)
        yield
