"""Build a small policy from nothing: a word-level tokenizer and a Llama-architecture model, in Hugging Face format.

transformers and vLLM load the folder as they load any Llama. The embeddings are not tied to the output layer: an engine
that repacks weights (vLLM on CPU) then has no second copy of them to forget.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

PAD, BOS, EOS, UNKNOWN = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIAL = (PAD, BOS, EOS, UNKNOWN)
"""Four different tokens, with ids 0 to 3."""

WORD = r"'(?:[^']|'')*'|[\p{L}_][\p{L}\p{N}_]*|\p{N}+(?:\.\p{N}+)?|<=|>=|<>|!=|\|\||::|\S"
"""A word: a quoted SQL string, a name, a number, an operator, or any other single character."""

CONTEXT = 256
"""Positions that prompt and completion share."""


def build(texts: Iterable[str], folder: Path, *, hidden: int, layers: int, heads: int, seed: int) -> None:
    """Write a new tokenizer, that knows exactly the words of `texts`, and a model with random weights.

    Args:
        texts: prompts and completions; a word that none of them holds becomes `<unk>`.
        folder: made if missing; files in it are overwritten.
        hidden: width of the residual stream; `hidden / heads` is the head size (vLLM takes 32, 64, 80, 96 …).
        layers: transformer blocks.
        heads: attention heads.
        seed: fixes the weights.

    Raises:
        ValueError: `heads` does not divide `hidden` into even heads, or `texts` holds no word.
    """
    if hidden % (2 * heads):
        raise ValueError(f"hidden={hidden} is not an even multiple of heads={heads}; choose for example 128 and 4")
    tokenizer = word_tokenizer(texts)
    model = _new_model(tokenizer, hidden=hidden, layers=layers, heads=heads, seed=seed)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


def word_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A tokenizer whose vocabulary is the words of `texts`, in order of first appearance.

    A prompt is encoded as `<bos> …`. Decoding joins words by one space, so `avg(x)` comes back as `avg ( x )`: SQL
    reads both alike, and quoted strings are one word each, so their inner spaces stay.
    """
    splitter = pre_tokenizers.Split(Regex(WORD), behavior="removed", invert=True)
    words: dict[str, None] = {}
    for text in texts:
        words.update((word, None) for word, _ in splitter.pre_tokenize_str(text))
    if not words:
        raise ValueError("the texts hold no word; give the prompts and completions that the policy will meet")
    vocabulary = {word: index for index, word in enumerate((*SPECIAL, *words))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = splitter
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A $B", special_tokens=[(BOS, vocabulary[BOS])]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        unk_token=UNKNOWN,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )


def _new_model(
    tokenizer: PreTrainedTokenizerFast, *, hidden: int, layers: int, heads: int, seed: int
) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=False,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)
