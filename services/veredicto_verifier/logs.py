"""Structured logs: one JSON object a line on standard error. No completions, no gold, no keys."""

from __future__ import annotations

import io
import logging
import sys
from typing import TextIO, cast

import structlog


class _StandardError(io.TextIOBase):
    """Whatever standard error is when a line is written: whoever runs a command in its own process may replace it."""

    def write(self, text: str, /) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def configure(level: str) -> None:
    """Set up logging for this process; called once, from `__main__`."""
    number = logging.getLevelNamesMapping()[level.upper()]
    errors = _StandardError()
    logging.basicConfig(stream=errors, level=number, format="%(message)s")
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=cast(TextIO, errors)),
        cache_logger_on_first_use=True,
    )
