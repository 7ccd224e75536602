"""The program `veredicto`: serve, score, audit, pack, cfdi, verifiers, keys."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Annotated, Any

import typer
import uvicorn
from rich.console import Console
from rich.table import Table

from veredicto_verifier import logs
from veredicto_verifier.app import create_app
from veredicto_verifier.cfdi_cli import cfdi_app
from veredicto_verifier.keys import Keys
from veredicto_verifier.ledger.cli import audit_app
from veredicto_verifier.offline import score_file
from veredicto_verifier.packs.cli import pack_app
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.service import stamp_verifiers
from veredicto_verifier.settings import Settings
from veredicto_verifier.third_party import admit

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Verdicts for RL with verifiable rewards.")
keys_app = typer.Typer(no_args_is_help=True, help="API keys; without any, the service is open.")
app.add_typer(audit_app, name="audit", help="Question the ledger.")
app.add_typer(pack_app, name="pack", help="List, check and make packs of tasks.")
app.add_typer(keys_app, name="keys")
app.add_typer(cfdi_app, name="cfdi")

DataDir = Annotated[Path, typer.Option("--data-dir", help="Folder of the ledger, the pack cache and the keys.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
INVALID, INFRA = 1, 3
"""Exit codes of `score`: a task is invalid; we failed on an item, and trying again may help (2 is a wrong call)."""
KEEP_ALIVE_SECONDS = 75
"""Longer than the keep-alive of the usual clients, so that they never write into a closing connection."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one.")] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", help="Ledger, pack cache and keys.")] = None,
    packs: Annotated[list[Path] | None, typer.Option(help="A pack folder to serve; may be repeated.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes of the heavy lanes.")] = None,
) -> None:
    """Serve `POST /score` and the audit until stopped."""
    given: dict[str, Any] = {
        "host": host,
        "port": port,
        "data_dir": data_dir,
        "packs": packs or None,
        "workers": workers,
    }
    settings = Settings(**{name: value for name, value in given.items() if value is not None})
    logs.configure(settings.log_level)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.create_server((settings.host, settings.port), family=family)
    # Accepted sockets inherit it; without it an answer's last packet waits 40 ms for the client's delayed ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    address = f"http://{settings.host}:{listener.getsockname()[1]}"
    typer.echo(f"veredicto listens on {address} (dashboard /, API /docs), data in {settings.data_dir}", err=True)
    config = uvicorn.Config(
        create_app(settings),
        log_level="warning",
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    uvicorn.Server(config).run(sockets=[listener])


@app.command()
def score(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Items, one JSON a line; or an answer.")],
    spec: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help='A task `{"verifier", "spec"}` for an answer file.'),
    ] = None,
    verifier: Annotated[str | None, typer.Option(help="Judge an answer file by it; --spec is then its spec.")] = None,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", help="Record the verdicts here.")] = None,
    packs: Annotated[list[Path] | None, typer.Option(help="A pack folder; may be repeated.")] = None,
) -> None:
    """Score a file without a server: items in, results out, one JSON object a line.

    An invoice in XML is judged by `cfdi`, with its request or spec in --spec. Exits 0 when every item was scored,
    whatever its reward; 1 when a task is invalid; 3 when we failed on an item.
    """
    logs.configure("warning")
    if data_dir is None:
        typer.echo("no --data-dir: nothing is recorded and `record` is null", err=True)
    scored = score_file(file, spec=spec, verifier=verifier, data_dir=data_dir, packs=tuple(packs or ()))
    results = asyncio.run(scored)
    for result in results:
        typer.echo(json.dumps(result, ensure_ascii=False))
    outcomes = {result["outcome"] for result in results}
    if outcomes - {"scored"}:
        raise typer.Exit(INVALID if "invalid_task" in outcomes else INFRA)


@app.command()
def verifiers(as_json: AsJson = False) -> None:
    """List the verifiers with version and digest."""
    stamps = stamp_verifiers()
    if as_json:
        typer.echo(json.dumps(list(stamps.values())))
        return
    table = Table("name", "version", "lane", "digest")
    for name, stamp in stamps.items():
        table.add_row(name, stamp["version"], VERIFIERS[name].lane, stamp["digest"][:23])
    Console().print(table)


@keys_app.command("create")
def create_key(name: str, data_dir: DataDir) -> None:
    """Make a key; its secret is printed once and kept nowhere."""
    try:
        typer.echo(Keys(data_dir).create(name))
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


@keys_app.command("list")
def list_keys(data_dir: DataDir) -> None:
    """Names of the keys."""
    for name in Keys(data_dir).all():
        typer.echo(name)


@keys_app.command("revoke")
def revoke_key(name: str, data_dir: DataDir) -> None:
    """Forget a key."""
    if not Keys(data_dir).revoke(name):
        typer.echo(f"no key is named {name}; `veredicto keys list` shows them", err=True)
        raise typer.Exit(1)
    if not Keys(data_dir).all():
        typer.echo(f"no key is left, so every request is refused; delete {data_dir}/keys.json to open the service")


def main() -> Any:
    """Entry point of the console script."""
    admit(VERIFIERS)
    return app()


if __name__ == "__main__":
    main()
