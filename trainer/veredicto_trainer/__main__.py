"""The program `veredicto-train`: run a configuration, examine a policy, print a run's report."""

from __future__ import annotations

import json
import logging
import os
import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from veredicto_proto.client import Client
from veredicto_proto.client_errors import ClientError
from veredicto_trainer.config import TrainerConfig, checked, load_config
from veredicto_trainer.errors import Collapse, ConfigFault, TrainerError
from veredicto_trainer.identity import set_aside
from veredicto_trainer.lock import sole_trainer

STOPPED = 3
"""Exit status of a run that was asked to stop and can be resumed."""
COLLAPSED = 4
"""Exit status of a run that the collapse alarm stopped."""

ENVIRONMENT = {
    "OMP_WAIT_POLICY": "passive",  # spinning threads cost three times the CPU on a shared machine
    "GOMP_SPINCOUNT": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",  # nothing leaves the network
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # repeatable matrix products on a GPU
}

program = typer.Typer(help="Train a policy with GRPO on rewards from a Veredicto service.", no_args_is_help=True)


@program.command()
def run(
    config: Annotated[Path, typer.Argument(help="TOML file; docs/trainer.md explains its fields.")],
    url: Annotated[str | None, typer.Option(help="Address of the service, instead of service.url.")] = None,
    output: Annotated[Path | None, typer.Option(help="Folder of the run, instead of output.")] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of seed.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Rename an existing output folder and start anew.")] = False,
) -> None:
    """Train; a run that was interrupted goes on from its last checkpoint."""
    console = Console()
    settings = _overridden(load_config(config), url=url, output=output, seed=seed)
    if fresh and settings.output.exists():
        with sole_trainer(settings.output):
            moved = set_aside(settings.output)
        console.print(f"the run that was in {settings.output} is now in {moved}", highlight=False)
    stop = _StopSignal()
    from veredicto_trainer.loop import train  # torch is loaded only now, under ENVIRONMENT
    from veredicto_trainer.report import print_report, write_report

    _quiet()
    with sole_trainer(settings.output), _client(settings) as client:
        outcome = train(settings, client, console, should_stop=stop.asked)
        stop.dismiss()
        if outcome.after is None:
            console.print(f"stopped after step {outcome.position.step}; the same command resumes", highlight=False)
            raise typer.Exit(STOPPED)
        write_report(settings.output, outcome, client)
    print_report(settings.output, console)


@program.command("eval")
def evaluate(
    config: Annotated[Path, typer.Argument(help="TOML file of the run.")],
    policy: Annotated[
        Path | None, typer.Option(help="Folder in Hugging Face format; the run's own by default.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Address of the service, instead of service.url.")] = None,
    base: Annotated[Path | None, typer.Option(help="Another policy to compare with, on the same questions.")] = None,
    shots: Annotated[str, typer.Option(help="Numbers of examples before each question, for example 0,2,8.")] = "0",
    samples: Annotated[
        int | None, typer.Option(min=0, help="Sampled answers per question, instead of eval.samples.")
    ] = None,
    result: Annotated[Path | None, typer.Option("--json", help="Write the report and every answer here.")] = None,
    page: Annotated[Path | None, typer.Option("--markdown", help="Write the report as a page here.")] = None,
) -> None:
    """Examine a policy on the test questions: greedy, pass@k, majority, by prompt shape, against a base policy."""
    settings = _overridden(load_config(config), url=url, output=None, seed=None)
    from veredicto_trainer.checkpoints import write_json
    from veredicto_trainer.evaluation import evaluate as examine_all
    from veredicto_trainer.evaluation import markdown

    _quiet()
    counts = _counts(shots)
    console = Console()
    with _client(settings) as client:
        report = examine_all(
            settings,
            client,
            policy or settings.output / "policy",
            base=base,
            shots=counts,
            samples=samples,
            progress=lambda text: console.print(text, highlight=False, markup=False),
        )
    text = markdown(report)
    console.print(text, highlight=False, markup=False, soft_wrap=True)
    if result is not None:
        write_json(result, report)
    if page is not None:
        page.write_text(text, encoding="utf-8")


@program.command()
def report(output: Annotated[Path, typer.Argument(help="Folder of a finished run.")]) -> None:
    """Print a finished run's learning curve and figures."""
    from veredicto_trainer.report import print_report

    print_report(output, Console())


@program.command()
def show(
    output: Annotated[Path, typer.Argument(help="Folder of a run.")],
    update: Annotated[int, typer.Option(help="Number of a policy update, from 1.")],
    as_json: Annotated[bool, typer.Option("--json", help="Every completion, its text and its record too.")] = False,
) -> None:
    """Say what an update was trained on."""
    from veredicto_trainer.show import print_groups, trained_on

    groups = trained_on(output, update)
    if as_json:
        typer.echo(json.dumps(groups, indent=1))
    else:
        print_groups(groups, update, Console())


@program.command()
def replay(
    output: Annotated[Path, typer.Argument(help="Folder of a run.")],
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="table.field=value, for example grpo.loss=dr_grpo; repeatable.")
    ] = None,
    target: Annotated[Path | None, typer.Option(help="Folder for the policy and its metrics.")] = None,
) -> None:
    """Learn again from what a run recorded, without engine and service; with --set, under another loss."""
    from veredicto_trainer.replay import replay as learn_again

    _quiet()
    console = Console()
    result = learn_again(
        output,
        changes or (),
        target=target,
        progress=lambda step, m: console.print(
            f"step {step}  reward {m['reward']:.3f}  loss {m['loss']:+.4f}  grad {m['grad_norm']:.2f}", highlight=False
        ),
    )
    console.print(f"weights {result.weights} after {result.updates} updates", highlight=False)
    if result.expected is not None:
        same = result.weights == result.expected
        console.print("the run ended with the same weights" if same else f"the run ended with {result.expected}")
        if not same:
            raise typer.Exit(1)


def main() -> None:
    """Run the program; errors of ours end it with one line and status 1."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    try:
        program()
    except (TrainerError, ClientError) as error:
        typer.echo(f"veredicto-train: {error}", err=True)
        raise SystemExit(COLLAPSED if isinstance(error, Collapse) else 1) from error
    except OSError as error:  # of a file that no part of ours expects to fail: a read-only folder, a full disk
        typer.echo(f"veredicto-train: {error}; mend that, then the same command goes on", err=True)
        raise SystemExit(1) from error


def _quiet() -> None:
    """Turn off transformers' bars for loading files, which would break into the run's own view."""
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()


class _StopSignal:
    """Remembers a SIGTERM, so that a run can write a checkpoint and end in good order.

    Until a run asks for it, and after it, nothing needs such an end: the signal then ends the program at once.
    """

    def __init__(self) -> None:
        self._received = False
        self._heeded = False
        signal.signal(signal.SIGTERM, self._receive)

    def asked(self) -> bool:
        self._heeded = True
        return self._received

    def dismiss(self) -> None:
        """The run has ended."""
        self._heeded = False

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._received = True
        if not self._heeded:
            raise SystemExit(STOPPED)


def _counts(text: str) -> list[int]:
    """Numbers from a list such as `0,2,8`.

    Raises:
        ConfigFault: it is something else.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ConfigFault(f"--shots {text!r} is not a list of numbers such as 0,2,8")
    return [int(part) for part in parts]


def _overridden(config: TrainerConfig, *, url: str | None, output: Path | None, seed: int | None) -> TrainerConfig:
    changes: dict[str, object] = {}
    if url is not None:
        changes["service"] = config.service.model_copy(update={"url": url})
    if output is not None:
        changes["output"] = output
    if seed is not None:
        changes["seed"] = seed
    return checked({name: getattr(config, name) for name in config.model_fields_set} | changes, "the command line")


def _client(config: TrainerConfig) -> Client:
    return Client(
        config.service.url,
        api_key=os.environ.get(config.service.api_key_env),
        timeout_s=config.service.timeout_s,
        patience_s=config.service.patience_s,
    )


if __name__ == "__main__":
    main()
