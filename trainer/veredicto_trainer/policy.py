"""The policy: a causal language model and its tokenizer, loaded from and saved to a Hugging Face folder.

Shapes: B completions, S positions (prompt and completion, padded on the right), T completion tokens, V vocabulary.
Masks come from lengths, never from token values: an end-of-sequence token that equals the padding token is trained.
"""

# ruff: noqa: N815 - fields that hold tensors carry their shape
from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.modeling_layers import GradientCheckpointingLayer

from veredicto_proto.messages import ChatMessage
from veredicto_trainer.errors import PolicyFault
from veredicto_trainer.token_logprobs import chunk_positions, output_head, token_logprobs

PromptFormat = Literal["auto", "plain", "chat"]
Precision = Literal["float32", "bfloat16"]
LOGITS_MB = 256
"""Megabytes of fp32 logits that exist at once, where the configuration says nothing."""


class TokenLogprobs(NamedTuple):
    """What a forward pass says of the completions' tokens."""

    logprobs_BT: Tensor
    """Natural log-probabilities; 0 where there is no token."""
    mask_BT: Tensor
    """True where there is a token."""
    entropy_BT: Tensor
    """Entropy in nats of each next-token distribution, without gradient; 0 where there is no token."""


class Policy:
    """A causal language model with its tokenizer.

    Args:
        model: a transformers causal language model.
        tokenizer: its tokenizer.
        prompt_format: how prompts become text.
        precision: of matrix products; the log-probabilities are fp32 in any case.
        logits_mb: megabytes of fp32 logits that may exist at once.

    Example:
        policy = Policy.load(Path("models/tiny"))
        prompt = policy.encode_prompt("how many clients?")
        answer = policy.encode_completion("SELECT COUNT(*) FROM clients")
        logprobs_BT, mask_BT, _ = policy.logprobs([prompt], [answer])
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        prompt_format: PromptFormat = "auto",
        precision: Precision = "float32",
        logits_mb: int = LOGITS_MB,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.version = 0
        """Updates done so far."""
        self.adapter: Any = None
        """The peft model around `model` when an adapter learns instead of the weights; see `adapters.py`."""
        self.precision = precision
        self.chunk = chunk_positions(logits_mb, model.get_output_embeddings().weight.shape[0])
        """Positions whose logits may exist at once."""
        self.chat = _renders_chat(tokenizer, prompt_format)
        self.eos_ids = _eos_ids(model, tokenizer)
        self.pad_id = _pad_id(tokenizer, self.eos_ids)
        self.context = int(model.config.max_position_embeddings)
        """Positions that prompt and completion share."""
        self._head = output_head(model)
        if precision != "float32":  # whoever calls the model, an engine too, gets the same precision
            model.forward = self.autocast()(model.forward)

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        prompt_format: PromptFormat = "auto",
        precision: Precision = "float32",
        device: str = "cpu",
        frozen: bool = False,
        gradient_checkpointing: bool = False,
        logits_mb: int = LOGITS_MB,
    ) -> Policy:
        """Load model and tokenizer from a local folder; nothing is fetched.

        Args:
            folder: in Hugging Face format.
            prompt_format: see `PolicySection`.
            precision: see `PolicySection`.
            device: where the weights go.
            frozen: whether the weights will not learn; then `bfloat16` stores them so too. Weights that learn stay in
                fp32, since bf16 has no room for the change that a usual learning rate makes.
            gradient_checkpointing: compute each block again in the backward pass.
            logits_mb: see `PolicySection`.

        Raises:
            PolicyFault: the folder does not hold a model and tokenizer that transformers can load.
        """
        if not (folder / "config.json").is_file():
            raise PolicyFault(f"{folder} holds no config.json; give a folder in Hugging Face format as policy.path")
        if device == "cuda" and not torch.cuda.is_available():
            raise PolicyFault("policy.device is `cuda` but torch finds no such device here; use `cpu`")
        dtype = torch.bfloat16 if frozen and precision == "bfloat16" else torch.float32
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True)
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:  # the third: weights of another size
            raise PolicyFault(f"transformers cannot load {folder}: {' '.join(str(error).split())[:300]}") from error
        model.train(False)  # no dropout: the log-probabilities of learning are those of sampling
        if gradient_checkpointing:
            _recompute_blocks(model)
        policy = cls(model.to(device), tokenizer, prompt_format=prompt_format, precision=precision, logits_mb=logits_mb)
        policy.check_head()
        return policy

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        device: torch.device = self.model.device
        return device

    def encode_prompt(self, prompt: str | Sequence[ChatMessage]) -> tuple[int, ...]:
        """The token ids that a prompt is rendered to."""
        if self.chat:
            messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else _as_dicts(prompt)
            text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
            return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        text = prompt if isinstance(prompt, str) else "\n".join(message.content or "" for message in prompt)
        return tuple(self.tokenizer(text)["input_ids"])

    def encode_completion(self, text: str) -> tuple[int, ...]:
        """The token ids of a completion to imitate, ended by an end-of-sequence token."""
        return (*self.tokenizer(text, add_special_tokens=False)["input_ids"], self.eos_ids[0])

    def decode(self, token_ids: Sequence[int]) -> str:
        """The text of a completion, without special tokens."""
        text: str = self.tokenizer.decode(list(token_ids), skip_special_tokens=True)
        return text

    def logprobs(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> TokenLogprobs:
        """Log-probabilities of the completions' tokens in one forward pass, with gradient where it is enabled.

        Equal completions of equal prompts are computed once, and each gets its share of the gradient: of a policy's
        short answers many are the same.

        Args:
            prompts: [B] token ids of each prompt, at least one each.
            completions: [B] token ids of each completion; may be empty.
        """
        rows = [(tuple(prompt), tuple(completion)) for prompt, completion in zip(prompts, completions, strict=True)]
        unique = {row: index for index, row in enumerate(dict.fromkeys(rows))}
        out = self._logprobs([prompt for prompt, _ in unique], [completion for _, completion in unique])
        if len(unique) == len(rows):
            return out
        which_B = torch.tensor([unique[row] for row in rows], device=self.device)
        return TokenLogprobs(*(values_BT[which_B] for values_BT in out))

    def _logprobs(self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]) -> TokenLogprobs:
        lengths_B = torch.tensor([len(ids) for ids in completions])
        starts_B = torch.tensor([len(ids) for ids in prompts])
        ids_BS = _pad_right([[*p, *c] for p, c in zip(prompts, completions, strict=True)], self.pad_id)
        mask_BT = torch.arange(max(int(lengths_B.max()), 1))[None, :] < lengths_B[:, None]
        row_N, token_N = mask_BT.nonzero(as_tuple=True)
        position_N = starts_B[row_N] + token_N
        chosen_N = ids_BS[row_N, position_N].to(self.device)
        with self.autocast():
            # Padding stands on the right of every real token, so causal attention never sees it and needs no mask.
            hidden_BSH = self.model.base_model(ids_BS.to(self.device), use_cache=False).last_hidden_state
            hidden_NH = hidden_BSH[row_N.to(self.device), (position_N - 1).to(self.device)]
            logprobs_N, entropy_N = token_logprobs(hidden_NH, chosen_N, self._head, self.chunk)
        mask_BT = mask_BT.to(self.device)
        return TokenLogprobs(_scatter(logprobs_N, mask_BT), mask_BT, _scatter(entropy_N, mask_BT))

    def autocast(self) -> Any:
        """The context in which the model is called: matrix products in the configured precision."""
        if self.precision == "float32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def check_head(self) -> None:
        """Make sure that hidden states and output layer give the logits that the model itself gives.

        Raises:
            PolicyFault: the architecture does something else to its logits, they are no numbers, or the model
                does not know the tokens that pad or end.
        """
        known = self.model.get_input_embeddings().weight.shape[0]
        if (highest := max(self.pad_id, *self.eos_ids)) >= known:
            raise PolicyFault(
                f"token {highest} pads or ends completions but the model knows only {known} tokens; "
                "correct the tokenizer's files and generation_config.json"
            )
        ids_BS = torch.tensor([[self.eos_ids[0], self.pad_id]], device=self.device)
        with torch.inference_mode(), self.autocast():
            whole = self.model(ids_BS, use_cache=False).logits.float()
            ours = self._head(self.model.base_model(ids_BS, use_cache=False).last_hidden_state).float()
        if not bool(torch.isfinite(whole).all()):
            raise PolicyFault("the policy's logits are not finite: its weights are broken; take another folder")
        if not torch.allclose(whole, ours, rtol=1e-3, atol=1e-3):
            raise PolicyFault(
                f"{type(self.model).__name__} changes its logits in a way that this trainer does not know; "
                "add it to token_logprobs.output_head"
            )

    def save(self, folder: Path) -> None:
        """Write what learns (all weights, or the adapter) and the tokenizer in Hugging Face format."""
        if self.adapter is None:
            self.model.save_pretrained(folder)
        else:
            self.adapter.save_pretrained(folder, save_embedding_layers=False)
            (folder / "README.md").unlink(missing_ok=True)  # a form about the model that nobody filled in
        self.tokenizer.save_pretrained(folder)

    def weights_digest(self) -> str:
        """SHA-256 over every tensor's name and bytes, as `sha256:…`."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.model.state_dict().items()):
            raw = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
            digest.update(name.encode() + b"\0" + raw.numpy().tobytes())
        return "sha256:" + digest.hexdigest()


def _recompute_blocks(model: Any) -> None:
    """Turn gradient checkpointing on; only the blocks themselves count as in training, so that dropout stays off."""
    model.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})
    for block in model.modules():
        if isinstance(block, GradientCheckpointingLayer):
            block.training = True


def _renders_chat(tokenizer: Any, prompt_format: PromptFormat) -> bool:
    has_template = bool(getattr(tokenizer, "chat_template", None))
    if prompt_format == "chat" and not has_template:
        raise PolicyFault(
            "policy.prompt_format is `chat` but the tokenizer has no chat template; use `plain` or `auto`"
        )
    return has_template if prompt_format == "auto" else prompt_format == "chat"


def _eos_ids(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Every id that ends a completion, the tokenizer's first: Phi, Gemma and Qwen have several."""
    configured = model.generation_config.eos_token_id
    several = configured if isinstance(configured, list) else [configured]
    ids = tuple(dict.fromkeys(i for i in (tokenizer.eos_token_id, *several) if i is not None))
    if not ids:
        raise PolicyFault("neither the tokenizer nor the generation config names an end-of-sequence token; set one")
    return ids


def _pad_id(tokenizer: Any, eos_ids: tuple[int, ...]) -> int:
    return eos_ids[0] if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)


def _as_dicts(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    return [message.model_dump(exclude_none=True) for message in messages]


def _pad_right(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[pad_id] * (width - len(row))] for row in rows])


def _scatter(values_N: Tensor, mask_BT: Tensor) -> Tensor:
    return torch.zeros(mask_BT.shape, dtype=values_N.dtype, device=values_N.device).masked_scatter(mask_BT, values_N)
