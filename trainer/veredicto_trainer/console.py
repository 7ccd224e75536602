"""What a person sees while a run goes on: a live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from veredicto_trainer.metrics import Metrics

PLAIN_EVERY = 5
"""Steps between lines where the output is not a terminal."""


class StepView:
    """Shows the steps of a run; use it as a context.

    Args:
        console: where to.
        total: steps of the whole run.
        done: steps that a resumed run has behind it.
    """

    def __init__(self, console: Console, *, total: int, done: int = 0) -> None:
        self._console = console
        self._total = total
        self._alarm: str | None = None
        self._progress = Progress(
            TextColumn("[bold]step"),
            MofNCompleteColumn(),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            TextColumn("eta"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=total, completed=done, text="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def show(self, step: int, metrics: Metrics, alarm: str | None = None) -> None:
        """Show a step that is done, and the alarm when it changes."""
        text = step_text(metrics)
        if alarm is not None and self._alarm is None:
            self._console.print(f"[bold red]alarm[/bold red] {alarm}", highlight=False)
        self._alarm = alarm
        self._progress.update(self._task, completed=step, text=text)
        if not self._console.is_terminal and (step % PLAIN_EVERY == 0 or step in (1, self._total)):
            self._console.print(f"step {step}/{self._total}  {text}", highlight=False)


def step_text(metrics: Metrics) -> str:
    """One line on a step. The loss is not in it: on-policy its value is near zero however well learning goes."""
    parts = [
        f"reward {metrics['reward']:.3f}",
        f"signal {1.0 - metrics['frac_reward_zero_std']:.0%}",
        f"age {metrics['off_policy/max']:.0f}",
        f"entropy {metrics['entropy']:.2f}",
        f"grad {metrics['grad_norm']:.2f}",
        f"{metrics['generation_tok_per_s']:.0f} tok/s",
        f"{metrics['step_time']:.2f} s",
    ]
    if metrics["samples/unscorable"]:
        parts.append(f"[red]unscorable {metrics['samples/unscorable']:.0f}[/red]")
    if metrics["groups/void"]:
        parts.append(f"[red]void {metrics['groups/void']:.0f}[/red]")
    return "  ".join(parts)
