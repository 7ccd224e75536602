"""vLLM over HTTP: the same proofs, the same tokens as in process, and faults that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests_vllm.checking import follows
from tests_vllm.models import small_llama
from tests_vllm.serving import vllm_serving
from veredicto_trainer.engines.vllm_engine import Sync, VllmEngine
from veredicto_trainer.engines.vllm_server import VllmServer
from veredicto_trainer.errors import EngineFault
from veredicto_trainer.policy_config import LoraSection, PolicySection
from veredicto_trainer.policy_loading import with_adapter

TRANSFER = ("--weight-transfer-config", '{"backend":"veredicto-file"}')


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, bool]]:
    folder = tmp_path_factory.mktemp("served")
    small_llama(folder / "model", tied=request.param)
    with vllm_serving(folder / "model", folder / "log", *TRANSFER) as url:
        yield url, request.param


@pytest.mark.parametrize("sync", ["reload", "transfer"])
def test_log_probabilities_are_those_of_the_policy_before_and_after_updates(
    served: tuple[str, bool], sync: Sync, tmp_path: Path
) -> None:
    url, tied = served
    policy = small_llama(tmp_path / "model", tied=tied)
    sampled = follows(VllmServer(url, "policy", sync=sync, concurrency=8), policy, tmp_path / "weights")
    assert len(sampled) == 3


def test_an_adapter_of_each_version_is_followed(tmp_path: Path) -> None:
    base = tmp_path / "model"
    section = PolicySection(path=base, lora=LoraSection(rank=8, alpha=16))
    policy = with_adapter(small_llama(base, tied=True), section, seed=1, base=base)
    with vllm_serving(base, tmp_path / "log", "--enable-lora", "--max-lora-rank", "8") as url:
        follows(VllmServer(url, "policy", sync="lora", concurrency=8), policy, tmp_path / "weights")


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    engine = VllmEngine(VllmServer("http://127.0.0.1:9", "policy", timeout_s=5), tmp_path / "weights")
    with pytest.raises(EngineFault, match=r"127\.0\.0\.1:9 does not answer .*start it"):
        engine.publish(small_llama(tmp_path / "model", tied=True))
