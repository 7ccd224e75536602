"""One run of TRL's GRPOTrainer in a process of its own: `python -m bench.trainer_trl_run FOLDER`, for trainer_runs.py.

As favourable to TRL as its options allow on a CPU: fp32, no gradient checkpointing, no reference model (beta 0), all
completions of a step generated and learnt from in one batch, no probabilities computed twice, nothing saved, our
optimiser, schedule and loss, and one request a step to the same service.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from veredicto_proto.client import Client
from veredicto_proto.messages import Item, Task
from veredicto_trainer.config import GrpoSection, TrainerConfig
from veredicto_trainer.policy_loading import load_policy
from veredicto_trainer.tasks import as_questions, fetch_tasks


class Marks(TrainerCallback):  # type: ignore[misc]
    """Notes the clocks at the start of each step and at the end of the last."""

    def __init__(self) -> None:
        self.marks: list[list[float]] = []

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        self.marks.append([time.perf_counter(), time.process_time()])

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self.on_step_begin()


class ServiceReward:
    """TRL's reward function: every completion of a step in one request."""

    __name__ = "veredicto"

    def __init__(self, client: Client, run: str) -> None:
        self._client = client
        self._run = run
        self.seconds: list[float] = []

    def __call__(self, prompts: list[str], completions: list[str], ref: list[str], **kwargs: Any) -> list[float | None]:
        began = time.perf_counter()
        items = [
            Item(completion=completion, prompt=prompt, task=Task(ref=each))
            for prompt, completion, each in zip(prompts, completions, ref, strict=True)
        ]
        results = self._client.score(items, run=self._run, step=len(self.seconds) + 1)
        self.seconds.append(time.perf_counter() - began)
        return [result.reward for result in results]


def trl_config(config: TrainerConfig) -> GRPOConfig:
    grpo = config.grpo
    return GRPOConfig(
        output_dir=str(config.output / "trl"),
        use_cpu=True,
        bf16=False,
        fp16=False,
        gradient_checkpointing=False,
        seed=config.seed,
        max_steps=grpo.steps,
        per_device_train_batch_size=grpo.prompts_per_step * grpo.group_size,
        gradient_accumulation_steps=1,
        steps_per_generation=1,
        num_iterations=grpo.updates_per_batch,
        num_generations=grpo.group_size,
        max_completion_length=grpo.max_new_tokens,
        temperature=1.0,
        top_p=1.0,
        top_k=0,
        beta=0.0,
        loss_type="grpo",
        epsilon=0.2,
        scale_rewards="group",
        max_grad_norm=grpo.max_grad_norm,
        save_strategy="no",
        logging_steps=1,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )


def optimisers(model: Any, grpo: GrpoSection) -> tuple[Any, Any]:
    """AdamW and the schedule, as `Learner` has them."""
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=grpo.lr, betas=(grpo.adam_beta1, grpo.adam_beta2), weight_decay=grpo.weight_decay
    )
    rise = grpo.lr_warmup_updates + 1
    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, lambda update: min(1.0, (update + 1) / rise))


def main(folder: Path) -> None:
    config = TrainerConfig.model_validate(json.loads((folder / "config.json").read_text())["config"])
    torch.set_num_threads(config.threads)
    policy = load_policy(config.policy, folder / "start")
    policy.tokenizer.padding_side = "left"
    marks = Marks()
    with Client(config.service.url) as client:
        tasks = fetch_tasks(client, config.tasks, None)
        questions = as_questions(tasks.train, tasks.digest, policy, max_new_tokens=config.grpo.max_new_tokens)
        reward = ServiceReward(client, f"{config.run}-trl")
        trainer = GRPOTrainer(
            model=policy.model,
            reward_funcs=[reward],
            args=trl_config(config),
            train_dataset=Dataset.from_list([{"prompt": q.prompt, "ref": q.ref} for q in questions]),
            processing_class=policy.tokenizer,
            callbacks=[marks],
            optimizers=optimisers(policy.model, config.grpo),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    policy.model.save_pretrained(folder / "policy")
    policy.tokenizer.save_pretrained(folder / "policy")
    steps = [row for row in trainer.state.log_history if "reward" in row]
    body = {
        "marks": marks.marks,
        "rewards": [row["reward"] for row in steps],
        "reward_s": reward.seconds,
        "tokens": [
            row["completions/mean_length"] * config.grpo.prompts_per_step * config.grpo.group_size for row in steps
        ],
    }
    (folder / "bench.json").write_text(json.dumps(body))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
