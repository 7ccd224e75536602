"""A real `vllm serve` on a free port of loopback, for as long as a test wants it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

READY_SECONDS = 500
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_SERVER_DEV_MODE": "1",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
    "OMP_NUM_THREADS": "2",
    "VLLM_LOGGING_LEVEL": "WARNING",
}


@contextmanager
def vllm_serving(folder: Path, log: Path, *options: str) -> Iterator[str]:
    """Start a server on the weights in `folder`, named `policy`; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    arguments = [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)),
        *("--served-model-name", "policy", "--host", "127.0.0.1", "--port", str(port)),
        *("--dtype", "float32", "--enforce-eager", "--max-model-len", "64"),
        *("--logprobs-mode", "processed_logprobs"),
        *("--worker-extension-cls", "veredicto_trainer.engines.vllm_worker.VeredictoWorker"),
        *options,
    ]
    with log.open("w") as output:
        server = subprocess.Popen(arguments, stdout=output, stderr=output, env={**os.environ, **ENVIRONMENT})
        try:
            _await_health(f"http://127.0.0.1:{port}", server, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(60)


def _await_health(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise AssertionError(f"vLLM ended with {server.returncode}: {log.read_text()[-3000:]}")
        try:
            if httpx.get(f"{url}/health", timeout=10).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(1)
    raise AssertionError(f"vLLM is not ready after {READY_SECONDS} s: {log.read_text()[-3000:]}")
