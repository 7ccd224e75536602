"""Settings of the service: read once in `__main__`, frozen, passed down as plain values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Every setting is an environment variable `VEREDICTO_<NAME>`; flags of `veredicto serve` win."""

    model_config = SettingsConfigDict(
        env_prefix="VEREDICTO_", frozen=True, extra="forbid", use_attribute_docstrings=True
    )

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """Port to listen on; 0 takes a free one and prints it."""
    data_dir: Path = Path("veredicto-data")
    """Folder of the ledger, the texts beside it and the pack cache; created if missing. Local disk."""
    packs: tuple[Path, ...] = ()
    """Pack folders to serve beside the built-in ones."""
    workers: Annotated[int, Field(ge=1, le=256)] = os.cpu_count() or 1
    """Worker processes of the sql and python lanes; the light and xml lanes get half, at least one."""
    max_queued: Annotated[int, Field(ge=1)] = 16_384
    """Items waiting or running; a request that would pass it gets 503 before any work."""
    max_items: Annotated[int, Field(ge=1)] = 4_096
    """Items in one request."""
    max_body_bytes: Annotated[int, Field(ge=1_024)] = 32 * 1024 * 1024
    """Bytes of one request body, after decompression."""
    max_completion_bytes: Annotated[int, Field(ge=1)] = 1024 * 1024
    """Bytes of one completion; a longer one is scored 0 with `completion.too_large`."""
    cache_size: Annotated[int, Field(ge=0)] = 65_536
    """Verdicts kept in memory for the same task and completion; 0 turns the cache off."""
    log_level: str = "info"
    """debug, info, warning or error."""
    canaries: Path | None = None
    """A JSON file of Python programs that must fail, run beside the built-in ones; see docs/verifiers/python.md."""
    allow_degraded: bool = False
    """Run untrusted code even where Landlock or seccomp is missing. For trying only."""
