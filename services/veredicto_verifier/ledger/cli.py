"""`veredicto audit`: look into a ledger, verify its chain, score it again, remove a text from beside it."""

from __future__ import annotations

import asyncio
import importlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from veredicto_verifier.errors import LedgerFault, NotFound, ServiceError
from veredicto_verifier.ledger import tables
from veredicto_verifier.ledger.reading import LedgerReader
from veredicto_verifier.ledger.redaction import redact as redact_texts
from veredicto_verifier.ledger.replay import Replay
from veredicto_verifier.ledger.replay import replay as replay_records
from veredicto_verifier.ledger.segments import lines_folder
from veredicto_verifier.ledger.verification import verify as verify_ledger

FAULT, USAGE = 1, 2

audit_app = typer.Typer(
    help="Look into the ledger of verdicts, verify it, replay it.", no_args_is_help=True, add_completion=False
)

DataDir = Annotated[Path, typer.Option("--data-dir", envvar="VEREDICTO_DATA_DIR", help="The service's data directory.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


@audit_app.command()
def runs(data_dir: DataDir, as_json: AsJson = False) -> None:
    """List the runs, the most recently active first."""
    with _faults_as_exit():
        rows = LedgerReader(_existing(data_dir)).runs()
    _show([asdict(row) for row in rows], as_json, lambda: tables.runs(rows))


@audit_app.command()
def summary(run: str, data_dir: DataDir, as_json: AsJson = False) -> None:
    """Tell one run in figures: reward per step, outcomes, codes, categories, flags."""
    with _faults_as_exit():
        found = LedgerReader(_existing(data_dir)).summary(run)
    _show(asdict(found), as_json, lambda: tables.summary(found))


@audit_app.command()
def show(record: str, data_dir: DataDir, as_json: AsJson = False) -> None:
    """Show one record with its prompt, completion, answer and reasons (never its task)."""
    with _faults_as_exit():
        detail = LedgerReader(_existing(data_dir)).record(record)
    _show(asdict(detail), as_json, lambda: tables.detail(detail))


@audit_app.command()
def verify(
    data_dir: DataDir,
    head: Annotated[
        str | None, typer.Option(help="A record id that you hold; the ledger must still contain it.")
    ] = None,
    texts: Annotated[bool, typer.Option(help="Also read every stored text.")] = True,
    as_json: AsJson = False,
) -> None:
    """Walk every chain; exit 1 if anything was altered, moved, cut or lost."""
    with _faults_as_exit(), _progress(as_json) as bar:
        task = bar.add_task("verify", total=None)
        found = verify_ledger(
            _existing(data_dir),
            head=head,
            with_texts=texts,
            progress=lambda what, done, total: bar.update(task, description=what, completed=done, total=total),
        )
    _show({**asdict(found), "holds": found.holds}, as_json, lambda: tables.verification(found, head))
    if not found.holds:
        raise typer.Exit(FAULT)


@audit_app.command()
def replay(
    data_dir: DataDir,
    run: Annotated[str | None, typer.Option(help="Only this run.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="At most so many records, drawn by --seed.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed draws another sample.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: one per core.")] = None,
    as_json: AsJson = False,
) -> None:
    """Score recorded items again; exit 1 if the same verifier now says something else."""
    with _faults_as_exit(), _progress(as_json) as bar:
        found = asyncio.run(_replay(_existing(data_dir), run, sample, seed, workers, bar))
    summary = {**asdict(found), "records": found.records, "holds": found.holds}
    _show(summary, as_json, lambda: tables.replay(found))
    if not found.holds:
        raise typer.Exit(FAULT)


@audit_app.command()
def redact(
    what: Annotated[str, typer.Argument(metavar="DIGEST|RECORD")],
    data_dir: DataDir,
    as_json: AsJson = False,
) -> None:
    """Remove a text, or a record's prompt, completion, answer and reasons. Cannot be undone."""
    with _faults_as_exit():
        found = redact_texts(_existing(data_dir), what)
    _show(asdict(found), as_json, lambda: tables.redaction(found))


async def _replay(
    folder: Path, run: str | None, sample: int | None, seed: int, workers: int | None, bar: Progress
) -> Replay:
    # Imported here and by name: the scorer stands above the ledger, and the other commands must not load verifiers.
    rescoring = importlib.import_module("veredicto_verifier.rescoring")
    task = bar.add_task("replay", total=None)
    async with rescoring.rescorer(workers=workers) as rescore:
        return await replay_records(
            folder,
            rescore,
            run=run,
            sample=sample,
            seed=seed,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )


def _existing(data_dir: Path) -> Path:
    if not lines_folder(data_dir).is_dir():
        raise NotFound(f"{data_dir} holds no ledger; give the --data-dir that the service was started with")
    return data_dir


def _show(data: Any, as_json: bool, as_table: Any) -> None:
    if as_json:
        typer.echo(json.dumps(data, ensure_ascii=False, indent=2, default=str))
    else:
        console = Console()
        for part in as_table():
            console.print(part)


@contextmanager
def _faults_as_exit() -> Iterator[None]:
    """What is wrong goes to stderr in one sentence; a fault of the ledger exits 1, a wrong argument 2."""
    try:
        yield
    except (LedgerFault, sqlite3.Error, OSError) as fault:
        typer.echo(f"ledger fault: {fault}", err=True)
        raise typer.Exit(FAULT) from fault
    except ServiceError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(USAGE) from error


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True) as bar:
        yield bar
