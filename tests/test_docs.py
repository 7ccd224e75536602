"""The docs name every setting, route, error code and metric; the contract document is what the code says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.serving import environment
from veredicto_proto.messages import ERROR_CODES
from veredicto_verifier.metrics import Metrics
from veredicto_verifier.openapi import document
from veredicto_verifier.settings import Settings

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")


def missing(words: list[str]) -> list[str]:
    return [word for word in words if f"`{word}`" not in PAGE]


def test_every_setting_has_its_line() -> None:
    assert missing(list(Settings.model_fields)) == []


def test_every_error_code_has_its_line() -> None:
    assert missing(list(ERROR_CODES)) == []


def test_every_metric_has_its_line() -> None:
    suffixes = {"counter": "_total", "gauge": "", "histogram": ""}
    names = [metric.name + suffixes[metric.type] for metric in Metrics().registry.collect()]
    assert missing(names) == []


def test_every_route_has_its_line() -> None:
    paths = json.loads(document())["paths"]
    assert missing([f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]) == []


def test_the_contract_document_is_what_the_code_says() -> None:
    written = (ROOT / "proto" / "openapi.json").read_text(encoding="utf-8")
    assert written == document(), "run `make openapi`"


def test_the_service_never_loads_torch() -> None:
    code = "import sys, veredicto_verifier.__main__, veredicto_verifier.worker_loop; print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_no_module_is_longer_than_its_limit() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for folder in ("proto", "services", "trainer")
        for path in (ROOT / folder).rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 320
    }
    assert long == {}
