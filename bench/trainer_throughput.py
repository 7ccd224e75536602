"""Throughput against TRL's GRPOTrainer: same start, questions, group size, lengths, updates and service, in turns."""

from __future__ import annotations

from statistics import fmean, stdev

from rich.table import Table

from bench.figures import Figure
from bench.trainer_runs import TABLES, Bench, Ran
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.evaluate import Examination
from veredicto_trainer.intervals import paired_difference

Pair = tuple[TrainerConfig, Ran, Ran]


def throughput(bench: Bench, *, seeds: int, steps: int, trl: str) -> list[Figure]:
    """Ratios of completions per second, and rewards after equal updates.

    Args:
        bench: with the service.
        seeds: number of pairs of runs.
        steps: updates of each.
        trl: the Python that has TRL; it runs both, so that interpreter and libraries are the same.
    """
    pairs = [_pair(bench, seed, steps, trl) for seed in range(1, seeds + 1)]
    exams = [
        (bench.examined(config, ours.folder / "policy"), bench.examined(config, theirs.folder / "policy"))
        for config, ours, theirs in pairs
    ]
    _table(pairs, exams)
    _spread(exams)
    low, high = paired_difference(
        [right for _, theirs in exams for right in _sampled(theirs)],
        [right for ours, _ in exams for right in _sampled(ours)],
    )
    ours, theirs = (fmean(ran.last_rewards for ran in runs) for runs in _columns(pairs))
    return [
        Figure("completions_per_s_over_trl", _ratio(pairs, clock=0), "at least", 1.2),
        Figure("completions_per_s_over_trl_without_rewards", _ratio(pairs, clock=0, bare=True), "at least", 1.2),
        Figure("completions_per_cpu_s_over_trl", _ratio(pairs, clock=1), "at least", 1.2),
        Figure("sampled_accuracy_minus_trl_upper_end", high, "at least", 0.0),
        Figure("sampled_accuracy_minus_trl_lower_end", low, "at least", -0.1),
        Figure("last_rewards_over_trl", ours / theirs, "at least", 1.0),
    ]


def _pair(bench: Bench, seed: int, steps: int, trl: str) -> Pair:
    grpo = {"steps": steps}
    ours = bench.config(f"ours-{seed}", seed, grpo=grpo)
    theirs = bench.config(f"trl-{seed}", seed, grpo=grpo)
    return (
        ours,
        bench.run(ours, "trainer_ours_run", python=trl),
        bench.run(theirs, "trainer_trl_run", python=trl),
    )


def _ratio(pairs: list[Pair], *, clock: int, bare: bool = False) -> float:
    """Ours over theirs, the mean over seeds."""
    return fmean(
        ours.per_s(1, clock=clock, without_rewards=bare) / theirs.per_s(1, clock=clock, without_rewards=bare)
        for _, ours, theirs in pairs
    )


def _columns(pairs: list[Pair]) -> tuple[list[Ran], list[Ran]]:
    return [ours for _, ours, _ in pairs], [theirs for _, _, theirs in pairs]


def _sampled(exam: Examination) -> list[bool]:
    return [bool(answer.sampled[0]) for answer in exam.answers]


def _spread(exams: list[tuple[Examination, Examination]]) -> None:
    """How far runs of one trainer lie apart, which an interval over the questions of these runs does not count."""
    ours, theirs = ([exam.sampled.share for exam in column] for column in zip(*exams, strict=True))
    gaps = ", ".join(f"{our - their:+.3f}" for our, their in zip(ours, theirs, strict=True))
    spread = f"; deviation of our runs {stdev(ours):.3f}, of TRL's {stdev(theirs):.3f}" if len(exams) > 1 else ""
    print(f"sampled accuracy, ours less TRL's, seed by seed: {gaps}{spread}")


def _table(pairs: list[Pair], exams: list[tuple[Examination, Examination]]) -> None:
    titles = ("seed", "trainer", "completions/s", "without rewards", "per CPU s", "tokens each")
    table = Table(*titles, "last 10 rewards", "sampled", "greedy", title="throughput", caption=_caption(pairs))
    for (config, *runs), both in zip(pairs, exams, strict=True):
        count = config.grpo.prompts_per_step * config.grpo.group_size
        for name, ran, exam in zip(("ours", "TRL"), runs, both, strict=True):
            speeds = (
                ran.per_s(count, clock=0),
                ran.per_s(count, clock=0, without_rewards=True),
                ran.per_s(count, clock=1),
            )
            rest = (fmean(ran.tokens) / count, ran.last_rewards, exam.sampled.share, exam.greedy.share)
            table.add_row(str(config.seed), name, *(f"{v:.1f}" for v in speeds), *(f"{v:.3f}" for v in rest))
    TABLES.print(table)


def _caption(pairs: list[Pair]) -> str:
    grpo = pairs[0][0].grpo
    return (
        f"{grpo.steps} updates, {grpo.prompts_per_step} questions x {grpo.group_size}, "
        f"at most {grpo.max_new_tokens} tokens, lr {grpo.lr:g}; the first step is not timed"
    )
