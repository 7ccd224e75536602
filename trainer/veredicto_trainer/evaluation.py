"""`veredicto-train eval`: one policy, or two on the same questions, under several prompt shapes, with intervals.

A policy that was trained under one shape of prompt may get worse under another, so each shape is examined by itself.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from veredicto_proto.client import Client
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.engines.hf import HfEngine
from veredicto_trainer.evaluate import Answer, Examination, examine
from veredicto_trainer.intervals import bootstrap_mean, paired_difference, wilson
from veredicto_trainer.policy import Policy
from veredicto_trainer.policy_loading import load_policy
from veredicto_trainer.rewards import Rewarder
from veredicto_trainer.tasks import TaskSet, as_questions, examples_of, fetch_tasks
from veredicto_trainer.voting import majority, mcnemar, pass_at_k, vote_class


@dataclass(frozen=True, slots=True)
class Shape:
    """A policy's examination, or two policies', with some number of examples before each question."""

    shots: int
    policy: Examination
    base: Examination | None


def evaluate(
    config: TrainerConfig,
    client: Client,
    policy: Path,
    *,
    base: Path | None = None,
    shots: Sequence[int] = (0,),
    samples: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Examine a policy under a configuration's `[eval]` section; returns the report.

    Args:
        config: whose test questions are asked.
        client: the verifier service; every answer is a record of a run of its own there.
        policy: folder in Hugging Face format.
        base: folder of another policy that answers the same questions with the same seeds.
        shots: numbers of the pack's examples to show before each question, each a shape of its own.
        samples: sampled answers per question; `eval.samples` by default.
        progress: told what is being done.

    Raises:
        TrainerError, ClientError: see `errors.py`.
    """
    torch.set_num_threads(config.threads)
    tasks = fetch_tasks(client, config.tasks, config.service.pins.get(config.tasks.pack))
    counted = config.eval.samples if samples is None else samples
    sat: dict[Path, dict[int, Examination]] = {}
    for folder in (policy, base):
        if folder is not None and folder not in sat:
            learnt = load_policy(config.policy, folder)
            sat[folder] = {}
            for count in shots:
                progress(f"{folder}: {count} examples, {counted} samples a question")
                sat[folder][count] = _examined(config, client, tasks, learnt, shots=count, samples=counted)
    shapes = [Shape(count, sat[policy][count], sat[base][count] if base is not None else None) for count in shots]
    return {
        "run": config.run,
        "pack": f"{tasks.pack}@{tasks.digest}",
        "policy": str(policy),
        "base": None if base is None else str(base),
        "samples": counted,
        "shapes": [shape_report(shape) for shape in shapes],
        "answers": {
            str(folder): {str(count): exam.to_json() for count, exam in exams.items()} for folder, exams in sat.items()
        },
    }


def shape_report(shape: Shape) -> dict[str, Any]:
    """The figures of one prompt shape."""
    body: dict[str, Any] = {"shots": shape.shots, "policy": figures(shape.policy)}
    if shape.base is not None:
        ours = {answer.ref: answer.greedy for answer in shape.policy.answers}  # each left out what does not fit it
        both = [(b.greedy, ours.get(b.ref)) for b in shape.base.answers]
        pairs = [(b, p) for b, p in both if b is not None and p is not None]
        before, after = [b for b, _ in pairs], [p for _, p in pairs]
        body["base"] = figures(shape.base)
        body["paired"] = {
            **asdict(mcnemar(before, after)),
            "questions": len(pairs),
            "difference": (sum(after) - sum(before)) / max(len(pairs), 1),
            "interval": paired_difference(before, after),
        }
    return body


def figures(examination: Examination) -> dict[str, Any]:
    """Everything that an examination says of one policy, with 95 % intervals."""
    answers = [each for each in examination.answers if any(value is not None for value in each.sampled)]
    fewest = min((_known(each) for each in answers), default=0)
    ks = [k for k in (1, 2, 4, 8, 16, 32, 64) if k <= fewest]
    body: dict[str, Any] = {
        "weights": examination.weights,
        "questions": len(examination.answers),
        "unscorable": sum(v is None for a in examination.answers for v in (a.greedy, *a.sampled)),
        "greedy": asdict(examination.greedy),
        "pass": {f"{k}": _mean([pass_at_k(_known(a), sum(map(bool, a.sampled)), k) for a in answers]) for k in ks},
        "categories": _categories(examination.answers),
    }
    if fewest > 1:
        body["majority"] = {"k": fewest, **_mean([majority(_votes(answer)) for answer in answers])}
    return body


def markdown(report: dict[str, Any]) -> str:
    """The report as a page."""
    lines = [
        f"# Evaluation of {report['run']}",
        "",
        f"Pack `{report['pack']}`. Policy `{report['policy']}`"
        + (f", base `{report['base']}`." if report["base"] else "."),
        "All intervals are 95 %: Wilson for greedy answers, bootstrap over questions for pass@k and majorities.",
        "",
        "| shots | who | greedy | pass@k | majority | questions |",
        "|---|---|---|---|---|---|",
    ]
    for shape in report["shapes"]:
        lines += [_row(shape["shots"], who, shape[who]) for who in ("policy", "base") if who in shape]
    if report["base"]:
        lines += ["", "| shots | greedy difference | gained | lost | McNemar p |", "|---|---|---|---|---|"]
        for shape in report["shapes"]:
            pair = shape["paired"]
            difference = _with(pair["difference"], pair["interval"], sign="+")
            lines.append(
                f"| {shape['shots']} | {difference} | {pair['gained']} | {pair['lost']} | {pair['p_value']:.3g} |"
            )
    lines += ["", "| shots | category | greedy | questions |", "|---|---|---|---|"]
    for shape in report["shapes"]:
        for each in shape["policy"]["categories"]:
            share = _with(each["share"], each["interval"])
            lines.append(f"| {shape['shots']} | {each['category']} | {share} | {each['count']} |")
    return "\n".join(lines) + "\n"


def _examined(
    config: TrainerConfig, client: Client, tasks: TaskSet, policy: Policy, *, shots: int, samples: int
) -> Examination:
    room = config.eval.max_new_tokens or config.grpo.max_new_tokens
    shown = examples_of(client, tasks.pack, shots)
    exam = as_questions(tasks.test, tasks.digest, policy, max_new_tokens=room, shots=shown)
    name = f"{config.run}-eval-{policy.weights_digest()[7:15]}-{shots}"
    with Rewarder(
        client,
        run=name,
        max_unscorable=config.grpo.max_unscorable,
        concurrency=config.service.concurrency,
    ) as rewarder:
        return examine(
            policy,
            HfEngine(policy, batch_size=config.grpo.generation_batch),
            rewarder,
            exam[: config.eval.questions],
            step=0,
            seed=config.seed,
            samples=samples,
            max_new_tokens=room,
            executes_check=config.eval.executes_check,
        )


def _known(answer: Answer) -> int:
    return sum(value is not None for value in answer.sampled)


def _votes(answer: Answer) -> list[str | None]:
    said = answer.classes or (None,) * len(answer.taken)  # none in an examination that an older service judged
    each = zip(answer.taken, answer.sampled, said, strict=True)
    return [vote_class(text, passed=passed, said=name) for text, passed, name in each if passed is not None]


def _mean(values: Sequence[float]) -> dict[str, Any]:
    return {"share": statistics.fmean(values) if values else 0.0, "interval": bootstrap_mean(values)}


def _categories(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    known: dict[str, list[bool]] = {}
    for answer in answers:
        if answer.greedy is not None:
            known.setdefault(answer.category or "(none)", []).append(answer.greedy)
    return [
        {"category": name, "count": len(v), "share": sum(v) / len(v), "interval": wilson(sum(v) / len(v), len(v))}
        for name, v in sorted(known.items())
    ]


def _row(shots: int, who: str, figure: dict[str, Any]) -> str:
    passes = ", ".join(f"{k}: {_with(v['share'], v['interval'])}" for k, v in figure["pass"].items())
    vote = figure.get("majority")
    voted = f"{_with(vote['share'], vote['interval'])} (k = {vote['k']})" if vote else ""
    greedy = _with(figure["greedy"]["share"], figure["greedy"]["interval"])
    return f"| {shots} | {who} | {greedy} | {passes} | {voted} | {figure['questions']} |"


def _with(share: float, interval: Sequence[float], *, sign: str = "") -> str:
    return f"{share:{sign}.3f} [{interval[0]:{sign}.3f}, {interval[1]:{sign}.3f}]"
