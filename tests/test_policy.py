"""The policy: log-probabilities in chunks, adapters, precision, recomputed blocks, and masks that ask no token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM

from tests.tiny_policy import tiny_policy
from veredicto_trainer.checkpoints import Checkpoints, Position
from veredicto_trainer.config import GrpoSection
from veredicto_trainer.engines.engine import Request, Sampling
from veredicto_trainer.engines.hf import HfEngine
from veredicto_trainer.errors import CheckpointFault, PolicyFault
from veredicto_trainer.learner import Learner, TrainingSample
from veredicto_trainer.policy import Policy
from veredicto_trainer.policy_config import LoraSection, PolicySection
from veredicto_trainer.policy_loading import WithoutAdapter, load_policy, save_whole, with_adapter
from veredicto_trainer.token_logprobs import chunk_positions, output_head

PROMPTS = [(4, 5), (6, 7, 8), (4,), (10, 11)]
COMPLETIONS: list[tuple[int, ...]] = [(5, 1), (6, 7, 8, 9, 10), (4, 1, 1), ()]
NUM_TOKENS = 10
HIDDEN = 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_policy(tmp_path_factory.mktemp("policy"))


def section(folder: Path, **fields: Any) -> PolicySection:
    return PolicySection.model_validate({"path": folder, **fields})


def gradients(policy: Policy) -> tuple[Tensor, list[Tensor]]:
    out = policy.logprobs(PROMPTS, COMPLETIONS)
    weights_BT = torch.linspace(-1, 1, out.logprobs_BT.numel()).reshape(out.logprobs_BT.shape)
    trained = [p for p in policy.model.parameters() if p.requires_grad]
    return out.logprobs_BT.detach(), list(torch.autograd.grad((out.logprobs_BT * weights_BT).sum(), trained))


@pytest.mark.parametrize("chunk", [1, 3, 4, 9])
def test_chunks_give_the_log_probabilities_and_gradients_of_one_piece(folder: Path, chunk: int) -> None:
    policy = Policy.load(folder)
    whole_BT, whole = gradients(policy)
    entropy_BT = policy.logprobs(PROMPTS, COMPLETIONS).entropy_BT
    policy.chunk = chunk
    parts_BT, parts = gradients(policy)
    torch.testing.assert_close(parts_BT, whole_BT, rtol=0, atol=1e-6)
    torch.testing.assert_close(policy.logprobs(PROMPTS, COMPLETIONS).entropy_BT, entropy_BT, rtol=0, atol=1e-6)
    for a, b in zip(parts, whole, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)


def test_equal_completions_are_computed_once_and_each_gets_its_gradient(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Policy.load(folder)
    rows = (2, 0, 2, 1, 2)  # the first, third and fifth are equal; the prompt of the others is another
    prompts, completions = [PROMPTS[i] for i in rows], [COMPLETIONS[i] for i in rows]
    weights_BT = torch.linspace(-1, 1, len(rows) * 5).reshape(len(rows), 5)
    out = policy.logprobs(prompts, completions)
    (out.logprobs_BT * weights_BT).sum().backward()
    together = [p.grad.clone() for p in policy.model.parameters()]
    policy.model.zero_grad()
    for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        alone = policy.logprobs([prompt], [completion])
        width = alone.logprobs_BT.shape[1]
        torch.testing.assert_close(out.logprobs_BT[row, :width], alone.logprobs_BT[0], rtol=0, atol=1e-6)
        assert out.mask_BT[row].sum() == len(completion)
        (alone.logprobs_BT * weights_BT[row, :width]).sum().backward()
    for a, p in zip(together, policy.model.parameters(), strict=True):
        torch.testing.assert_close(a, p.grad, rtol=0, atol=1e-5)
    computed: list[int] = []
    whole = policy.model.base_model.forward
    monkeypatch.setattr(
        policy.model.base_model, "forward", lambda ids, **more: computed.append(len(ids)) or whole(ids, **more)
    )
    policy.logprobs(prompts, completions)
    assert computed == [3]


def test_log_probabilities_are_those_of_the_model_itself(folder: Path) -> None:
    policy = Policy.load(folder)
    out = policy.logprobs(PROMPTS, COMPLETIONS)
    assert out.mask_BT.sum(dim=1).tolist() == [2, 5, 3, 0]
    for row, (prompt, completion) in enumerate(zip(PROMPTS, COMPLETIONS, strict=True)):
        logp_SV = policy.model(torch.tensor([[*prompt, *completion]])).logits[0].log_softmax(-1)
        for t, token in enumerate(completion):
            assert out.logprobs_BT[row, t].item() == pytest.approx(logp_SV[len(prompt) + t - 1, token].item(), abs=1e-6)


class Widest(TorchDispatchMode):
    """Remembers the most rows that any tensor with the vocabulary as an axis has had, weights apart."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.rows = 0
        self._vocabulary = vocabulary

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, Tensor) and self._vocabulary in tensor.shape and HIDDEN not in tensor.shape:
                self.rows = max(self.rows, tensor.numel() // self._vocabulary)
        return out


@pytest.mark.parametrize(("chunk", "rows"), [(100, NUM_TOKENS), (3, 3), (1, 1)])
def test_no_more_than_a_chunk_of_the_vocabulary_exists_at_once(folder: Path, chunk: int, rows: int) -> None:
    policy = Policy.load(folder)
    policy.chunk = chunk
    vocabulary = policy.model.config.vocab_size
    assert vocabulary not in (HIDDEN, 64, 16, len(PROMPTS), NUM_TOKENS)
    with Widest(vocabulary) as seen:
        gradients(policy)
    assert seen.rows == rows


def test_a_chunk_is_what_fits_into_the_setting() -> None:
    assert chunk_positions(256, 151_936) == 441
    assert chunk_positions(1, 10**9) == 1


def test_an_architecture_that_changes_its_logits_is_computed_as_it_does_or_refused(folder: Path) -> None:
    policy = Policy.load(folder)
    hidden_NH = torch.ones(2, HIDDEN)
    plain_NV = output_head(policy.model)(hidden_NH)
    policy.model.config.final_logit_softcapping = 0.05
    assert output_head(policy.model)(hidden_NH).abs().max() <= 0.05
    policy.model.config.final_logit_softcapping = None
    policy.model.config.logits_scaling = 4.0
    torch.testing.assert_close(output_head(policy.model)(hidden_NH), plain_NV / 4)
    with pytest.raises(PolicyFault, match="changes its logits in a way that this trainer does not know"):
        Policy(policy.model, policy.tokenizer).check_head()  # the configuration says so, the model does not do it


def saved_bytes(policy: Policy) -> int:
    """Bytes that the forward pass keeps for the backward pass."""
    kept = 0

    def pack(tensor: Tensor) -> Tensor:
        nonlocal kept
        kept += tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        policy.logprobs([(4, 5) * 8] * 4, [(5, 6) * 4] * 4)
    return kept


def test_recomputed_blocks_keep_less_and_change_no_gradient(folder: Path) -> None:
    plain, recomputing = Policy.load(folder), Policy.load(folder, gradient_checkpointing=True)
    plain_BT, wanted = gradients(plain)
    got_BT, got = gradients(recomputing)
    torch.testing.assert_close(got_BT, plain_BT, rtol=0, atol=1e-6)
    for a, b in zip(got, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)
    assert saved_bytes(recomputing) < saved_bytes(plain) / 2
    request = Request((4, 5), (1, 2))
    assert HfEngine(recomputing).generate([request], Sampling(5)) == HfEngine(plain).generate([request], Sampling(5))


def test_masks_ask_lengths_and_never_tokens(tmp_path: Path) -> None:
    """Padding that equals the end token: the end is trained, the padding is not; ends inside do not cut."""
    same = Policy.load(tiny_policy(tmp_path, pad_is_eos=True, eos=[1, 2]))
    assert (same.pad_id, same.eos_ids) == (1, (1, 2))
    out = same.logprobs([(4, 5), (1, 4)], [(5, 1), (1, 2, 1, 6, 1)])
    assert out.mask_BT.tolist() == [[True, True, False, False, False], [True] * 5]
    assert (out.logprobs_BT != 0).tolist() == out.mask_BT.tolist()


def adapted(folder: Path, **fields: Any) -> tuple[Policy, PolicySection]:
    chosen = section(folder, lora={"rank": 4, "alpha": 8}, **fields)
    return with_adapter(load_policy(chosen, folder), chosen, seed=3, base=folder), chosen


def moved(policy: Policy, num: int = 3, **fields: Any) -> Learner:
    """The policy after a few updates."""
    learner = Learner(policy, GrpoSection(steps=1, lr=1e-2, lr_warmup_updates=0, **fields))
    push(learner, policy, num)
    return learner


def push(learner: Learner, policy: Policy, num: int) -> None:
    for _ in range(num):
        with torch.no_grad():
            logprobs_BT = policy.logprobs(PROMPTS, COMPLETIONS).logprobs_BT
        rows = zip(PROMPTS, COMPLETIONS, logprobs_BT.tolist(), (1.0, -1.0, 0.5, 0.3), strict=True)
        assert learner.update([TrainingSample(p, c, tuple(row[: len(c)]), a) for p, c, row, a in rows]).applied


def test_a_new_adapter_changes_nothing_and_alone_learns(folder: Path) -> None:
    plain = Policy.load(folder)
    policy, _ = adapted(folder)
    frozen = {name: p.clone() for name, p in policy.model.named_parameters() if not p.requires_grad}
    torch.testing.assert_close(gradients(policy)[0], gradients(plain)[0], rtol=0, atol=0)
    trained = [name for name, p in policy.model.named_parameters() if p.requires_grad]
    assert trained
    assert all(".lora_" in name for name in trained)
    assert sum(p.numel() for p in policy.model.parameters() if p.requires_grad) < sum(
        p.numel() for p in frozen.values()
    )
    moved(policy)
    assert all(torch.equal(p, frozen[name]) for name, p in policy.model.named_parameters() if name in frozen)
    assert not torch.equal(gradients(policy)[0], gradients(plain)[0])
    again, _ = adapted(folder)
    other = with_adapter(load_policy(section(folder), folder), section(folder, lora={"rank": 4}), seed=4, base=folder)
    assert again.weights_digest() == adapted(folder)[0].weights_digest() != other.weights_digest()


def test_the_weights_under_an_adapter_are_its_reference(folder: Path) -> None:
    policy, _ = adapted(folder)
    reference = WithoutAdapter(policy)
    before_BT = reference.logprobs(PROMPTS, COMPLETIONS).logprobs_BT
    learner = Learner(policy, GrpoSection(steps=1, lr=1e-2, lr_warmup_updates=0, kl=0.1), reference)
    push(learner, policy, 3)
    torch.testing.assert_close(reference.logprobs(PROMPTS, COMPLETIONS).logprobs_BT, before_BT, rtol=0, atol=0)
    assert not torch.equal(policy.logprobs(PROMPTS, COMPLETIONS).logprobs_BT, before_BT)
    assert any(p.requires_grad for p in policy.model.parameters())


def test_an_adapter_is_saved_alone_and_resumes_to_the_same_weights(folder: Path, tmp_path: Path) -> None:
    policy, chosen = adapted(folder)
    learner = moved(policy, 2)
    checkpoints = Checkpoints(tmp_path / "checkpoints", config_digest="sha256:c", keep=2)
    written = checkpoints.write(policy, learner.optimiser, Position(2, 2, 1, 1.0, 1.0))
    assert not (written / "model.safetensors").exists()
    assert (written / "adapter_model.safetensors").stat().st_size < (folder / "model.safetensors").stat().st_size
    push(learner, policy, 2)
    latest = checkpoints.latest()
    assert latest is not None
    resumed = load_policy(chosen, latest.folder)
    rest = Learner(resumed, GrpoSection(steps=1, lr=1e-2, lr_warmup_updates=0))
    checkpoints.restore(latest, resumed, rest.optimiser)
    push(rest, resumed, 2)
    assert resumed.weights_digest() == policy.weights_digest()
    assert resumed.version == policy.version == 4


def test_a_merged_policy_is_a_plain_model_that_does_the_same(folder: Path, tmp_path: Path) -> None:
    policy, _ = adapted(folder)
    moved(policy)
    digest, logprobs_BT = policy.weights_digest(), policy.logprobs(PROMPTS, COMPLETIONS).logprobs_BT.detach()
    save_whole(policy, tmp_path / "whole")
    assert policy.weights_digest() == digest
    torch.testing.assert_close(policy.logprobs(PROMPTS, COMPLETIONS).logprobs_BT, logprobs_BT, rtol=0, atol=0)
    plain = Policy.load(tmp_path / "whole")
    assert plain.adapter is None
    torch.testing.assert_close(plain.logprobs(PROMPTS, COMPLETIONS).logprobs_BT, logprobs_BT, rtol=0, atol=1e-5)
    names = set(AutoModelForCausalLM.from_pretrained(folder).state_dict())
    assert set(plain.model.state_dict()) == names


def test_an_adapter_that_fits_no_layer_or_has_no_base_is_refused(folder: Path, tmp_path: Path) -> None:
    wrong = section(folder, lora={"layers": ["nothing"]})
    with pytest.raises(PolicyFault, match=r"correct policy\.lora\.layers"):
        with_adapter(load_policy(wrong, folder), wrong, seed=0, base=folder)
    policy, chosen = adapted(folder)
    policy.save(tmp_path / "adapter")
    with pytest.raises(PolicyFault, match=r"holds no config\.json"):
        load_policy(chosen, tmp_path / "adapter", base=tmp_path / "gone")
    (tmp_path / "adapter" / "adapter_config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PolicyFault, match="names no base model"):
        load_policy(chosen, tmp_path / "adapter")
    assert LoraSection().layers == ()


@pytest.mark.parametrize(
    ("fields", "stored"), [({}, torch.float32), ({"lora": {"rank": 4}}, torch.bfloat16)], ids=["weights", "adapter"]
)
def test_bf16_products_keep_weights_that_learn_in_fp32(
    folder: Path, tmp_path: Path, fields: dict[str, Any], stored: torch.dtype
) -> None:
    chosen = section(folder, precision="bfloat16", **fields)
    policy = with_adapter(load_policy(chosen, folder), chosen, seed=1, base=folder)
    assert {p.dtype for p in policy.model.parameters() if p.requires_grad} == {torch.float32}
    assert {p.dtype for p in policy.model.parameters() if not p.requires_grad} <= {stored}
    assert policy.model(torch.tensor([[4, 5]])).logits.dtype == torch.bfloat16
    out = policy.logprobs(PROMPTS, COMPLETIONS)
    assert out.logprobs_BT.dtype == out.entropy_BT.dtype == torch.float32
    exact_BT = Policy.load(folder).logprobs(PROMPTS, COMPLETIONS).logprobs_BT
    assert 0 < (out.logprobs_BT - exact_BT).abs().max() < 0.05
    (completions,) = HfEngine(policy).generate([Request((4, 5), (1, 2, 3))], Sampling(6))
    again_BT = policy.logprobs([(4, 5)] * 3, [c.token_ids for c in completions]).logprobs_BT
    for completion, row in zip(completions, again_BT.tolist(), strict=True):
        assert row[: len(completion.token_ids)] == pytest.approx(completion.logprobs, abs=0.02)
    learner = moved(policy, 1)
    moments = [state["exp_avg"].dtype for state in learner.optimiser.state.values()]
    assert set(moments) == {torch.float32}
    digest = policy.weights_digest()
    policy.save(tmp_path / "saved")
    assert load_policy(chosen, tmp_path / "saved").weights_digest() == digest


def test_a_small_learning_rate_moves_fp32_weights_and_would_not_move_bf16_ones(folder: Path) -> None:
    policy = load_policy(section(folder, precision="bfloat16"), folder)
    before = [p.detach().clone() for p in policy.model.parameters()]
    learner = Learner(policy, GrpoSection(steps=1, lr=1e-6, lr_warmup_updates=0))
    push(learner, policy, 1)
    after = list(policy.model.parameters())
    assert any(not torch.equal(a, b) for a, b in zip(after, before, strict=True))
    matrices = [(a.detach(), b) for a, b in zip(after, before, strict=True) if a.dim() == 2]
    stuck = sum(int((a.bfloat16() == b.bfloat16()).sum()) for a, b in matrices)
    assert stuck > 0.9 * sum(b.numel() for _, b in matrices)


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_never_written(folder: Path, tmp_path: Path, poison: float) -> None:
    policy = Policy.load(folder)
    checkpoints = Checkpoints(tmp_path / "checkpoints", config_digest="sha256:c", keep=2)
    learner = moved(policy, 1)
    checkpoints.write(policy, learner.optimiser, Position(1, 1, 1, 1.0, 1.0))
    with torch.no_grad():
        next(iter(policy.model.parameters()))[0, 0] = poison
    with pytest.raises(CheckpointFault, match="not finite"):
        checkpoints.write(policy, learner.optimiser, Position(2, 2, 1, 1.0, 1.0))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["step-000001"]
