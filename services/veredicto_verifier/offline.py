"""Scoring without a server: `veredicto score FILE`, and re-scoring for `veredicto audit replay`."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from veredicto_verifier import answers
from veredicto_verifier.answer_files import task_for
from veredicto_verifier.envelope import Header, ParsedItem, parse_item
from veredicto_verifier.errors import TaskFault
from veredicto_verifier.ledger.writer import LedgerWriter
from veredicto_verifier.service import VERSION, load_shelf, scoring, stamp_verifiers
from veredicto_verifier.settings import Settings


async def score_file(
    file: Path, *, spec: Path | None, verifier: str | None = None, data_dir: Path | None, packs: Sequence[Path]
) -> list[dict[str, Any]]:
    """Results for the items of a JSONL file, or for one answer file judged by the task in `spec`.

    With `verifier` the answer file is judged by that verifier, and `spec` holds its spec alone (none: every default);
    an invoice in XML is judged by `cfdi` without it.

    `record` is null without a data folder. The request id names the file.
    """
    settings = Settings(packs=tuple(packs))
    items = _items(file, spec, verifier, settings.max_completion_bytes)
    stamps, key = stamp_verifiers(), secrets.token_bytes(16)
    async with AsyncExitStack() as stack:
        folder = data_dir or Path(stack.enter_context(TemporaryDirectory()))
        shelf = load_shelf(settings.packs, folder)
        scheduler, scorer = await stack.enter_async_context(scoring(settings, shelf))
        await scheduler.start(scorer.lanes(items))
        scored = []
        for start in range(0, len(items), settings.max_items):
            scored += await asyncio.gather(*await scorer.submit(items[start : start + settings.max_items]))
        records: Sequence[str | None] = [None] * len(scored)
        if data_dir is not None:
            ledger = LedgerWriter(data_dir, verifiers=stamps, service_version=VERSION)
            stack.callback(ledger.close)
            header = Header(run=file.name[:256])
            records = await ledger.append([answers.entry(one, header, f"file_{file.name}"[:64]) for one in scored])
    results = [answers.result(one, record, stamps, key) for one, record in zip(scored, records, strict=True)]
    plain: list[dict[str, Any]] = orjson.loads(orjson.dumps(results))
    return plain


def _items(file: Path, spec: Path | None, verifier: str | None, limit: int) -> list[ParsedItem]:
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    try:
        task = task_for(text, spec, verifier)
    except TaskFault as fault:
        return [ParsedItem(id=file.name[:256], fault=fault)]
    if task is not None:
        return [parse_item({"id": file.name[:256], "completion": text, "task": task}, max_completion_bytes=limit)]
    lines = enumerate(text.split("\n"), 1)  # not splitlines: U+2028 may stand in a JSON string
    return [_item(number, line, limit) for number, line in lines if line.strip()]


def _item(number: int, line: str, limit: int) -> ParsedItem:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError) as error:
        return ParsedItem(fault=TaskFault("task.malformed", f"line {number} is not JSON: {str(error)[:200]}"))
    return parse_item(raw, max_completion_bytes=limit)
