"""What runs inside vLLM's worker: weights read from a folder, in such a way that a tied output layer follows.

vLLM finds `VeredictoWorker` by `worker_extension_cls` and `FileTransfer` by the entry point `vllm.general_plugins`.
On a CPU vLLM packs each matrix for oneDNN when it is loaded; a tied output layer is packed apart from the embedding
and is skipped on a reload, so it must be packed again or it silently keeps the old weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor, nn
from vllm.distributed.weight_transfer.base import (
    WeightTransferEngine,
    WeightTransferInitInfo,
    WeightTransferUpdateInfo,
)
from vllm.distributed.weight_transfer.factory import WeightTransferEngineFactory
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload, initialize_layerwise_reload

BACKEND = "veredicto-file"


class VeredictoWorker:
    """Mixed into vLLM's worker class: methods called through `collective_rpc`."""

    model_runner: Any

    def veredicto_reload(self, folder: str) -> None:
        """Read every tensor of a folder of safetensors into the running model."""
        self.model_runner.reload_weights(weights_iterator=tensors(Path(folder)))
        pack_tied_head(self.model_runner.get_model())


@dataclass
class FileInit(WeightTransferInitInfo):  # type: ignore[misc] # vllm is no dependency
    """Nothing has to be agreed on beforehand."""


@dataclass
class FileUpdate(WeightTransferUpdateInfo):  # type: ignore[misc] # vllm is no dependency
    """Where the weights lie."""

    folder: str


class FileTransfer(WeightTransferEngine[FileInit, FileUpdate]):  # type: ignore[misc] # vllm is no dependency
    """vLLM's weight-transfer protocol over a shared folder: works without NCCL, and on a CPU."""

    init_info_cls = FileInit
    update_info_cls = FileUpdate

    def init_transfer_engine(self, init_info: FileInit) -> None:
        """Nothing to open."""

    def start_weight_update(self) -> None:
        """Make the model ready to take weights in the form of a checkpoint."""
        initialize_layerwise_reload(self.model)

    def update_weights(self, update_info: dict[str, Any]) -> None:
        """Read the folder; the wait for an accelerator that vLLM adds here fails where there is none."""
        self.receive_weights(self.parse_update_info(update_info))

    def receive_weights(self, update_info: FileUpdate) -> None:
        """Read every tensor of the folder."""
        self.model.load_weights(tensors(Path(update_info.folder)))

    def finish_weight_update(self) -> None:
        """Lay the weights out as the kernels want them."""
        finalize_layerwise_reload(self.model, self.model_config)
        pack_tied_head(self.model)

    def shutdown(self) -> None:
        """Nothing to close."""


def register() -> None:
    """Called by vLLM in each of its processes."""
    if BACKEND not in WeightTransferEngineFactory._registry:  # a process may load its plugins twice
        WeightTransferEngineFactory.register_engine(BACKEND, FileTransfer)


def tensors(folder: Path) -> Iterator[tuple[str, Tensor]]:
    """Name and value of every tensor in a folder's safetensors files, one at a time.

    Raises:
        FileNotFoundError: the folder holds none, or is not visible from here.
    """
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise FileNotFoundError(f"{folder} holds no safetensors here; vLLM and the trainer must share this folder")
    for file in files:
        with safe_open(file, framework="pt") as weights:
            for name in weights.keys():  # noqa: SIM118 - not a mapping
                yield name, weights.get_tensor(name)


def pack_tied_head(model: nn.Module) -> None:
    """Pack the output layer again where it shares the embedding's weights on a CPU."""
    config = getattr(model, "config", None)
    if not getattr(config, "tie_word_embeddings", False):
        return
    head, embedding = getattr(model, "lm_head", None), getattr(getattr(model, "model", None), "embed_tokens", None)
    if head is None or embedding is None or embedding.weight.device.type != "cpu":
        return  # on an accelerator both are one tensor
    head.tie_weights(embedding)
    head.quant_method.process_weights_after_loading(head)
