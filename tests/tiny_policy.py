"""A policy of about 10,000 parameters over the words of `reward_server.py`, for the trainer's tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.reward_server import WORDS


def tiny_policy(
    folder: Path,
    *,
    eos: list[int] | None = None,
    pad_is_eos: bool = False,
    tied: bool = True,
    seed: int = 1,
    vocabulary: Sequence[str] = WORDS,
) -> Path:
    """A one-layer Llama of about 10,000 parameters over some words, in Hugging Face format."""
    special = ["<unk>", "<eos>", "<end>"] + ([] if pad_is_eos else ["<pad>"])
    words = {word: index for index, word in enumerate([*special, *vocabulary])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        eos_token="<eos>",
        pad_token="<eos>" if pad_is_eos else "<pad>",
        additional_special_tokens=["<end>"],
    )
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=32,
        eos_token_id=eos or [1],
        pad_token_id=1 if pad_is_eos else 3,
        bos_token_id=None,
        tie_word_embeddings=tied,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    wrapped.save_pretrained(folder)
    return folder
