"""`veredicto pack`: list, show, check, make and export packs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from veredicto_verifier.errors import PackFault, TaskFault
from veredicto_verifier.packs.checking import check_pack
from veredicto_verifier.packs.exporting import export_folder, score_items
from veredicto_verifier.packs.lints import Finding, Tally
from veredicto_verifier.packs.loading import load_pack
from veredicto_verifier.packs.pack import Pack
from veredicto_verifier.packs.scaffold import scaffold, write_files
from veredicto_verifier.packs.shelf import Shelf, pack_info, task_info
from veredicto_verifier.packs.transpiling import transpile
from veredicto_verifier.registry import VERIFIERS

pack_app = typer.Typer(help="Packs: folders of tasks, fixtures and examples.", no_args_is_help=True)

Packs = Annotated[list[Path] | None, typer.Option("--packs", help="A pack or a folder of packs; may be repeated.")]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="As for `veredicto serve`; holds the built-in packs.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@pack_app.command("list")
def list_packs(packs: Packs = None, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """The built-in packs and those under --packs."""
    shelf = _shelf(packs or [], data_dir)
    if as_json:
        body = {"packs": [info.model_dump() for info in shelf.infos()], "faults": list(shelf.faults)}
        typer.echo(json.dumps(body, ensure_ascii=False))
        return
    table = Table("pack", "version", "language", "tasks", "refused", "digest")
    for info in shelf.infos():
        tasks = ", ".join(f"{count} {split}" for split, count in info.splits.items())
        table.add_row(info.name, info.version, info.language, tasks, str(info.refused), info.digest[:19] + "…")
    Console().print(table)
    for fault in shelf.faults:
        typer.echo(f"skipped: {fault}", err=True)


@pack_app.command("show")
def show(
    what: Annotated[str, typer.Argument(help="A pack's name or folder, or the ref of a task (pack/split/id).")],
    gold: Annotated[bool, typer.Option("--gold", help="Of a task, its spec too.")] = False,
    packs: Packs = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """What a pack holds, or one task."""
    try:
        body = (
            _show_task(what, packs or [], data_dir, gold) if _is_ref(what) else _show_pack(what, packs or [], data_dir)
        )
    except TaskFault as fault:
        _fail(fault.message)
    if as_json:
        typer.echo(json.dumps(body, ensure_ascii=False))
        return
    for field, value in body.items():
        typer.echo(f"{field}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")


@pack_app.command("check")
def check(
    what: Annotated[
        list[str] | None, typer.Argument(help="Names or folders of packs; all loaded ones if none.")
    ] = None,
    packs: Packs = None,
    data_dir: DataDir = None,
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the lints that run mutants of gold.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run every task's gold against itself and report errors and lints; exit status 1 if there are errors."""
    faults: tuple[str, ...] = ()
    if what:
        chosen = [_pack(one, packs or [], data_dir) for one in what]
    else:
        shelf = _shelf(packs or [], data_dir)
        chosen, faults = list(shelf.packs.values()), shelf.faults
    tallies: dict[str, Tally] = {pack.name: Counter() for pack in chosen}
    findings = {pack.name: _check_with_progress(pack, None if quick else tallies[pack.name]) for pack in chosen}
    if as_json:
        report = {name: [asdict(finding) for finding in found] for name, found in findings.items()}
        numbers = {name: dict(sorted(tally.items())) for name, tally in tallies.items() if tally}
        typer.echo(json.dumps({"findings": report, "faults": list(faults), "counted": numbers}, ensure_ascii=False))
    else:
        for pack in chosen:
            _print_tally(tallies[pack.name])
            _print_findings(pack, findings[pack.name])
        for fault in faults:
            typer.echo(f"error: {fault}")
    if faults or any(finding.level == "error" for found in findings.values() for finding in found):
        raise typer.Exit(1)


@pack_app.command("new")
def new(
    name: Annotated[str, typer.Argument(help="Name of the pack: lower-case letters, digits, - and _.")],
    questions: Annotated[Path, typer.Option("--questions", help="CSV or JSONL with `question` and `answer`.")],
    verifier: Annotated[str, typer.Option("--verifier", help="sql, math, json or python.")] = "sql",
    data: Annotated[list[Path] | None, typer.Option("--data", help="For sql: a CSV file per table.")] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Folder to make; the pack's name if not given.")] = None,
    language: Annotated[str, typer.Option("--language", help="Of the questions (en, es-MX).")] = "en",
    licence: Annotated[str, typer.Option("--licence", help="Who may use the pack.")] = "proprietary",
    as_json: AsJson = False,
) -> None:
    """Make a pack from a team's own data and questions, and check it."""
    folder = to or Path(name)
    try:
        files = scaffold(name, verifier, data=data or [], questions=questions, language=language, licence=licence)
        write_files(files, folder)
        pack = load_pack(folder, VERIFIERS)
    except PackFault as fault:
        _fail(str(fault))
    findings = _check_with_progress(pack)
    if as_json:
        found = [asdict(finding) for finding in findings]
        typer.echo(json.dumps({"folder": str(folder), "pack": pack_info(pack).model_dump(), "findings": found}))
    else:
        typer.echo(f"made {folder} with {len(files)} files")
        _print_findings(pack, findings)
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(1)


@pack_app.command("export")
def export(
    what: Annotated[str, typer.Argument(help="A pack's name or folder.")],
    to: Annotated[Path | None, typer.Option("--to", help="Copy the pack to this new folder, gold included.")] = None,
    split: Annotated[str | None, typer.Option("--split", help="Of the items; all splits if not given.")] = None,
    gold: Annotated[bool, typer.Option("--gold", help="Items with their specs instead of pinned refs.")] = False,
    packs: Packs = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Print a pack as score items without gold, one JSON line a task; or copy its folder with --to."""
    pack = _pack(what, packs or [], data_dir)
    if to is not None:
        try:
            export_folder(pack, to)
        except PackFault as fault:
            _fail(str(fault))
        typer.echo(json.dumps({"folder": str(to), "digest": pack.digest}) if as_json else f"{to}: {pack.digest}")
        return
    if split is not None and split not in pack.tasks:
        _fail(f"pack {pack.name} has no split {split!r}; it has {', '.join(pack.tasks)}")
    for line in score_items(pack, split, gold=gold):
        typer.echo(line)


@pack_app.command("transpile")
def transpile_pack(
    what: Annotated[str, typer.Argument(help="Name or folder of a pack with DuckDB tasks.")],
    to: Annotated[Path, typer.Option("--to", help="New folder of the SQLite pack; its name is the pack's.")],
    packs: Packs = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make an SQLite pack of the tasks whose translated gold gives the same in SQLite on every fixture."""
    try:
        fates = transpile(_pack(what, packs or [], data_dir), to.name, to)
    except PackFault as fault:
        _fail(str(fault))
    if as_json:
        typer.echo(json.dumps({"folder": str(to), "tasks": fates}))
        return
    typer.echo(f"{to}: " + ", ".join(f"{count} {fate}" for fate, count in fates.most_common()))


def _shelf(packs: Sequence[Path], data_dir: Path | None) -> Shelf:
    cache = Path(typer.get_app_dir("veredicto")) if data_dir is None else data_dir
    return Shelf.load(packs, cache=cache / "packs", verifiers=VERIFIERS)


def _pack(what: str, packs: Sequence[Path], data_dir: Path | None) -> Pack:
    """A pack by its folder or its name; ends the program if there is none."""
    try:
        if Path(what).is_dir():
            return load_pack(Path(what), VERIFIERS)
    except PackFault as fault:
        _fail(str(fault))
    shelf = _shelf(packs, data_dir)
    if what not in shelf.packs:
        skipped = "".join(f"\nskipped: {fault}" for fault in shelf.faults)
        _fail(f"no pack is named {what!r}; loaded: {', '.join(sorted(shelf.packs)) or 'none'}{skipped}")
    return shelf.packs[what]


def _is_ref(what: str) -> bool:
    return "/" in what and not Path(what).exists()


def _show_pack(what: str, packs: Sequence[Path], data_dir: Path | None) -> dict[str, Any]:
    pack = _pack(what, packs, data_dir)
    return pack_info(pack).model_dump() | {
        "description": pack.description,
        "fixtures": sorted(pack.fixtures),
        "examples": len(pack.examples),
        "demonstrations": len(pack.demonstrations),
        "folder": str(pack.folder),
    }


def _show_task(ref: str, packs: Sequence[Path], data_dir: Path | None, gold: bool) -> dict[str, Any]:
    task, pack = _shelf(packs, data_dir).find(ref)
    return task_info(pack, task).model_dump() | ({"spec": dict(task.spec)} if gold else {})


def _check_with_progress(pack: Pack, tally: Tally | None = None) -> list[Finding]:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task(pack.name, total=sum(map(len, pack.tasks.values())))
        return check_pack(pack, VERIFIERS, lambda: progress.advance(bar), tally)


def _print_findings(pack: Pack, findings: Sequence[Finding]) -> None:
    for finding in findings:
        typer.echo(f"{finding.level}: {pack.name}/{finding.where}: {finding.code}: {finding.message}")
    errors = sum(finding.level == "error" for finding in findings)
    count = sum(map(len, pack.tasks.values()))
    typer.echo(f"{pack.name}: {count} tasks, {errors} errors, {len(findings) - errors} lints")


def _print_tally(tally: Tally) -> None:
    """The mutants of a pack: how many count, how many pass although they are wrong, by kind."""
    counted = tally["mutants.counted"]
    if not counted:
        return
    table = Table("kind of mutant", "counted", "accepted")
    for name in sorted(name for name in tally if name.startswith("kind.") and name.endswith(".counted")):
        kind = name.removeprefix("kind.").removesuffix(".counted")
        table.add_row(kind, str(tally[name]), str(tally[f"kind.{kind}.accepted"]))
    Console().print(table)
    accepted, tasks = tally["mutants.accepted"], tally["tasks"]
    typer.echo(
        f"{counted} mutants counted ({counted / tasks:.1f} a task), {accepted} accepted "
        f"({100 * accepted / counted:.2f} %, at most {tally['mutants.most_accepted']} a task), "
        f"{tally['mutants.equivalent']} equivalent, {tally['mutants.invalid']} that do not run; "
        f"{tally['constants.accepted']} constants accepted"
    )


def _fail(message: str) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(2)
