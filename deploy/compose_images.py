"""The images of the compose test: build them, and prove what is in them and what is not."""

from __future__ import annotations

import json
import os
import sys
import time

from compose_commands import ROOT, Failed, claim, run, say

WHEELHOUSE = ROOT / "wheelhouse"
BASE = "python:3.11-slim"
MAX_VERIFIER_BYTES = 400 * 1000 * 1000
FIND = """
import pathlib, shutil
print(*[path for name in ("torch", "transformers", "satcfdi") for path in pathlib.Path("/opt").rglob(name)])
print(*filter(None, map(shutil.which, ("node", "nodejs"))))
"""
NODE_ITEM = {
    "completion": "```js\nconst [a, b] = require('fs').readFileSync(0, 'utf8').split(' ');\nconsole.log(+a + +b)\n```",
    "task": {
        "verifier": "python",
        "spec": {"format": "stdio", "language": "node", "cases": [{"stdin": "1 2\n", "stdout": "3\n"}]},
    },
}
CONFINED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none")


def collect_wheels() -> None:
    """Put torch into wheelhouse/ if this machine's pip finds it on disk, so that it is not downloaded again."""
    pin = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
    if not any(WHEELHOUSE.glob(f"torch-{pin.removeprefix('torch==')}*")):
        run(
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-index",
            "--no-deps",
            pin,
            "-d",
            str(WHEELHOUSE),
            check=False,
        )
    if any(WHEELHOUSE.glob("torch-*")):
        os.environ["TORCH_INDEX"] = ""
        say("torch comes from wheelhouse/")


def build(name: str, target: str = "") -> str:
    """Build an image, or one stage of its Dockerfile; returns its tag."""
    tag = f"veredicto-{target or name}:compose-test"  # kept, so that the next run builds from the cache
    arguments = ["--build-arg", f"BASE_IMAGE={os.environ.get('BASE_IMAGE', BASE)}"]
    if target:
        arguments += ["--target", target]
    if name == "trainer" and "TORCH_INDEX" in os.environ:
        arguments += ["--build-arg", f"TORCH_INDEX={os.environ['TORCH_INDEX']}"]
    started = time.monotonic()
    run("docker", "build", "--network", "host", *arguments, "-f", f"Dockerfile.{name}", "-t", tag, ".", timeout=1800)
    say(f"built {target or name} in {time.monotonic() - started:.0f} s")
    return tag


def check_images(verifier: str, trainer: str) -> None:
    """Sizes of the layers above the base image, and what must not be in them."""
    sizes = {tag: _size(tag) for tag in (verifier, trainer)}
    megabytes = sizes[verifier] / 1e6
    claim(sizes[verifier] <= MAX_VERIFIER_BYTES, f"the verifier's layers are {megabytes:.0f} MB, at most 400")
    found = run("docker", "run", "--rm", "--network", "none", "--entrypoint", "python3", verifier, "-c", FIND).strip()
    claim(found == "", "no torch, no transformers, of satcfdi no package, no node in the verifier's image")


def check_exec_image(tag: str) -> None:
    """The image that has node judges a node script inside the hardened container."""
    _size(tag)
    score = f"cat > /tmp/items.jsonl <<'END'\n{json.dumps(NODE_ITEM)}\nEND\nveredicto score /tmp/items.jsonl"
    shell = ("docker", "run", "--rm", *CONFINED, "--tmpfs", "/tmp", "--entrypoint", "sh", tag, "-c", score)
    output = run(*shell, timeout=300)
    results = [json.loads(line) for line in output.splitlines() if line.startswith("{") and "outcome" in line]
    if len(results) != 1:
        raise Failed(f"one result expected of {tag}:\n{output[-2000:]}")
    claim(results[0]["reward"] == 1.0, f"{tag} judges a node script: {results[0]['outcome']}, {results[0]['error']}")


def _size(tag: str) -> int:
    """Bytes of the layers above the base image, which are listed."""
    base = int(run("docker", "image", "inspect", "-f", "{{.Size}}", os.environ.get("BASE_IMAGE", BASE)))
    size = int(run("docker", "image", "inspect", "-f", "{{.Size}}", tag)) - base
    say(f"layers of {tag} above the base image ({size / 1e6:.0f} MB together):")
    for line in run("docker", "history", "--format", "{{.Size}}\t{{.CreatedBy}}", tag).splitlines():
        if not line.startswith("0B"):
            print(f"    {line[:110]}", flush=True)  # noqa: T201
    return size
