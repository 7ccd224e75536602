"""The compose file keeps its promises on paper (`make compose-test` proves them), and the gateway carries bytes."""

from __future__ import annotations

import http.client
import http.server
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert int(service["user"]) > 0
    assert service["pids_limit"] > 0
    assert service["mem_limit"]
    assert not {"privileged", "cap_add", "pid", "ipc", "network_mode", "devices"} & set(service)
    assert not any("docker.sock" in volume for volume in service.get("volumes", []))


def test_only_the_gateway_stands_in_a_network_with_a_way_out() -> None:
    inside = COMPOSE["networks"]["inside"]
    assert inside["internal"] is True
    assert inside["driver_opts"]["com.docker.network.bridge.inhibit_ipv4"] == "true"
    assert [name for name, service in SERVICES.items() if service["networks"] != ["inside"]] == ["gateway"]
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["gateway"]
    assert SERVICES["gateway"]["ports"] == ["${VEREDICTO_PUBLISH:-127.0.0.1:8080}:8080"]


def test_the_page_names_every_variable_of_the_compose_file() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    assert [name for name in set(re.findall(r"\$\{(\w+)", text)) if f"`{name}`" not in page] == []


def test_only_the_exec_stage_installs_node_and_the_default_stage_is_without_it() -> None:
    text = (ROOT / "Dockerfile.verifier").read_text(encoding="utf-8")
    stages = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]
    with_node = [stage.split("\n")[0] for stage in stages if "nodejs" in stage]
    assert with_node == ["verifier AS verifier-exec"]
    assert stages[-1].strip() == "verifier"
    assert SERVICES["verifier"]["build"]["target"] == "${VEREDICTO_VERIFIER_TARGET:-verifier}"
    users = [re.findall(r"^USER (\S+)", stage, flags=re.MULTILINE) for stage in stages[2:]]
    assert [found[-1] for found in users if found] == ["10001", "10001"]


def test_the_page_names_every_build_argument_and_stage_of_the_verifier() -> None:
    text = (ROOT / "Dockerfile.verifier").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    names = {*re.findall(r"^ARG (\w+)", text, flags=re.MULTILINE), "verifier", "verifier-exec"}
    assert [name for name in names if name not in page] == []


def test_the_requirements_of_the_verifier_hold_no_torch() -> None:
    command = [sys.executable, str(ROOT / "deploy" / "requirements.py"), str(ROOT / "pyproject.toml"), "verifier"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert {"pydantic", "duckdb", "fastapi"} <= set(lines)
    assert not {"torch", "transformers"} & set(lines)


class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def echoing() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def gateway(target: int) -> Iterator[int]:
    port = free_port()
    command = [sys.executable, str(ROOT / "deploy" / "gateway.py"), str(port), "127.0.0.1", str(target)]
    with subprocess.Popen(command) as process:
        try:
            for _ in range(300):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield port
        finally:
            process.terminate()
            assert process.wait(20) == 0


def test_the_gateway_carries_bytes_both_ways_and_many_requests_on_a_connection() -> None:
    with echoing() as target, gateway(target) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for size in (1, 100_000, 5_000_000):
            connection.request("POST", "/", b"x" * size)
            assert connection.getresponse().read() == b"x" * size
        connection.close()


def test_the_gateway_closes_what_it_cannot_carry_and_goes_on() -> None:
    with gateway(free_port()) as port:
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                assert client.recv(1) == b""
