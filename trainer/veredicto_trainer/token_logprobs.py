"""Log-probabilities of chosen tokens from hidden states, a chunk of positions at a time.

The output layer makes a row of the whole vocabulary for every position; for 150,000 words and a batch of long
completions these rows are most of the memory of training. So no more than a chunk of them exists at once: forward,
each chunk is reduced to one number per position; backward, it is computed again.
Shapes: N positions, H hidden width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Head = Callable[[Tensor], Tensor]
"""hidden_NH -> logits_NV."""

BYTES_PER_LOGIT = 4


def chunk_positions(limit_mb: int, vocabulary: int) -> int:
    """How many positions' logits, in fp32, fit into so many megabytes; at least one."""
    return max(1, limit_mb * 2**20 // (BYTES_PER_LOGIT * vocabulary))


def token_logprobs(hidden_NH: Tensor, ids_N: Tensor, head: Head, chunk: int) -> tuple[Tensor, Tensor]:
    """Natural log-probability of each chosen token, with gradient, and each distribution's entropy, without.

    Args:
        hidden_NH: last hidden states of the positions before the chosen tokens.
        ids_N: the chosen tokens.
        head: the model's output layer.
        chunk: positions whose logits may exist at once.
    """
    if len(ids_N) <= chunk:  # one chunk need not be computed twice
        return _chunk(hidden_NH, ids_N, head)
    again = torch.is_grad_enabled()
    parts = [
        checkpoint(_chunk, hidden_CH, ids_C, head, use_reentrant=False) if again else _chunk(hidden_CH, ids_C, head)
        for hidden_CH, ids_C in zip(torch.split(hidden_NH, chunk), torch.split(ids_N, chunk), strict=True)
    ]
    return torch.cat([logprobs for logprobs, _ in parts]), torch.cat([entropy for _, entropy in parts])


def _chunk(hidden_NH: Tensor, ids_N: Tensor, head: Head) -> tuple[Tensor, Tensor]:
    logp_NV = torch.log_softmax(head(hidden_NH).float(), dim=-1)
    seen_NV = logp_NV.detach()
    return logp_NV.gather(1, ids_N[:, None]).squeeze(1), -(seen_NV.exp() * seen_NV).sum(-1)


def output_head(model: Any) -> Head:
    """The output layer of a transformers causal language model, with what its configuration does to logits."""
    layer, config = model.get_output_embeddings(), model.config.get_text_config()
    scale = (getattr(config, "logit_scale", None) or 1.0) / (getattr(config, "logits_scaling", None) or 1.0)
    cap = getattr(config, "final_logit_softcapping", None)

    def head(hidden_NH: Tensor) -> Tensor:
        logits_NV: Tensor = layer(hidden_NH)
        if scale != 1.0:
            logits_NV = logits_NV * scale
        return logits_NV if cap is None else cap * torch.tanh(logits_NV / cap)

    return head
