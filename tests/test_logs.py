"""Logs go to whatever standard error is when a line is written."""

from __future__ import annotations

import subprocess
import sys

from tests.serving import environment

PROGRAM = """
import io, sys
import structlog
from veredicto_verifier import logs
kept, sys.stderr = sys.stderr, io.StringIO()
logs.configure("warning")
log = structlog.get_logger()
log.warning("first")
sys.stderr.close()
sys.stderr = kept
log.warning("second")
"""


def test_a_command_whose_standard_error_was_taken_away_does_not_break_the_next_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment(), capture_output=True, text=True, timeout=100, check=True
    )
    assert '"event": "second"' in done.stderr
    assert "first" not in done.stderr
