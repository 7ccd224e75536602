"""vLLM in this process: log-probabilities before and after updates, tied and untied, and a head left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from tests_vllm.checking import REQUESTS, TOLERANCE, follows
from tests_vllm.models import change, small_llama
from veredicto_trainer.engines.engine import Sampling
from veredicto_trainer.engines.vllm_engine import Sync, VllmEngine
from veredicto_trainer.engines.vllm_local import LocalVllm
from veredicto_trainer.errors import SyncFault
from veredicto_trainer.policy_config import LoraSection, PolicySection
from veredicto_trainer.policy_loading import with_adapter

OPTIONS: dict[str, Any] = {
    "dtype": "float32",
    "enforce_eager": True,
    "max_model_len": 64,
    "distributed_executor_backend": "uni",
}


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("sync", ["reload", "transfer"])
def test_log_probabilities_are_those_of_the_policy_before_and_after_updates(
    sync: Sync, tied: bool, tmp_path: Path
) -> None:
    policy = small_llama(tmp_path / "model", tied=tied)
    follows(LocalVllm(sync=sync, options=OPTIONS), policy, tmp_path / "weights")


def test_an_adapter_of_each_version_is_followed(tmp_path: Path) -> None:
    base = tmp_path / "model"
    section = PolicySection(path=base, lora=LoraSection(rank=8, alpha=16))
    policy = with_adapter(small_llama(base, tied=True), section, seed=1, base=base)
    follows(LocalVllm(sync="lora", base=base, options=OPTIONS | {"max_lora_rank": 8}), policy, tmp_path / "weights")


class OwnReload(LocalVllm):
    """vLLM's own reload, which leaves a tied output layer behind on a CPU."""

    def _hand_over(self, folder: Path) -> None:
        self._llm.collective_rpc("reload_weights", kwargs={"weights_path": str(folder)})


def test_a_head_left_behind_is_noticed_and_nothing_is_sampled(tmp_path: Path) -> None:
    policy = small_llama(tmp_path / "model", tied=True)
    engine = VllmEngine(OwnReload(options=OPTIONS), tmp_path / "weights", tolerance=TOLERANCE)
    engine.publish(policy)
    change(policy)
    with pytest.raises(SyncFault, match="differ by"):
        engine.publish(policy)
    with pytest.raises(RuntimeError, match="no proven weights"):
        engine.generate(REQUESTS, Sampling(4))


def test_every_way_of_handing_over_is_tried_here() -> None:
    assert set(get_args(Sync)) == {"reload", "transfer", "lora"}
