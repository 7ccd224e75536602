"""Small Llamas that vLLM's kernels for a CPU can run, and how to change their weights."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.reward_server import WORDS
from veredicto_trainer.policy import Policy


def small_llama(folder: Path, *, tied: bool) -> Policy:
    """Two layers with heads of 32, over the words of `reward_server.py`; large weights, so that updates show."""
    words = {word: index for index, word in enumerate(["<unk>", "<eos>", "<end>", "<pad>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        eos_token="<eos>",
        pad_token="<pad>",
        additional_special_tokens=["<end>"],
    )
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.3,
        eos_token_id=[1, 2],
        pad_token_id=3,
        bos_token_id=None,
        tie_word_embeddings=tied,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return Policy.load(folder)


def change(policy: Policy, seed: int = 7) -> None:
    """Move every weight that learns, as an update would, and count the update."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in (one for one in policy.model.parameters() if one.requires_grad):
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    policy.version += 1
