"""A policy of SmolLM2-135M's shape with random weights, for timing a step where its trained weights are not at hand."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from veredicto_trainer.checkpoints import write_folder
from veredicto_trainer.scratch import word_tokenizer

VOCABULARY = 49152
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 8192,
    "rope_theta": 100000.0,
    "tie_word_embeddings": True,
}
"""As config.json of HuggingFaceTB/SmolLM2-135M-Instruct has it."""

TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }} : {{ message['content'] }} ; {% endfor %}"
    "{% if add_generation_prompt %}assistant : {% endif %}"
)


def random_smollm2(folder: Path) -> Path:
    """Write the policy, unless it is there: 134.5 million weights (0.5 GB), a word for each id, a chat template."""
    if not folder.exists():
        write_folder(folder, _save)
    return folder


def _save(folder: Path) -> None:
    tokenizer = word_tokenizer([" ".join(f"w{number}" for number in range(VOCABULARY - 4))])  # 4 special ones
    tokenizer.chat_template = TEMPLATE
    ids = {"pad_token_id": tokenizer.pad_token_id, "bos_token_id": tokenizer.bos_token_id}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = LlamaForCausalLM(LlamaConfig(**SHAPE, **ids, eos_token_id=tokenizer.eos_token_id))
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
