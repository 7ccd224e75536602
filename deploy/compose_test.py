"""`make compose-test`: build both images, run the compose file on a real Docker Engine, prove what it claims.

Uses the engine that answers; where none does, deploy/engine.sh prepares one (Debian, root). Everything that it
starts it stops: containers, networks and volumes of its own project, and the engine if it was its own. It keeps the
two images, as a cache for the next run.
"""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WHEELHOUSE = ROOT / "wheelhouse"
HOSTILE = ROOT / "tests" / "exploits" / "hostile.jsonl"
PROJECT = f"veredicto-test-{os.getpid()}"
BASE = "python:3.11-slim"
MAX_VERIFIER_BYTES = 400 * 1000 * 1000
READY_SECONDS = 240
TRAIN_SECONDS = 600

PROBE = """
import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), 3).close()
        print(target, "reached")
    except OSError as error:
        print(target, "refused:", error)
"""
CONFINED = """
import os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(os.getuid(), *(status[key].strip() for key in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")))
try:
    open("/opt/written", "w")
    print("root is writable")
except OSError as error:
    print(error.strerror)
"""
LIMITS = """
import pathlib
root = pathlib.Path("/sys/fs/cgroup")
for first, second in (("memory.max", "memory/memory.limit_in_bytes"), ("pids.max", "pids/pids.max")):
    print(next((path.read_text().strip() for path in (root / first, root / second) if path.exists()), "none"))
"""
SPEC = {
    "fixtures": [{"script": "CREATE TABLE t(a INT); INSERT INTO t VALUES (1), (2)"}],
    "gold": {"sql": "SELECT a FROM t"},
}
PYTHON = {
    "format": "calls",
    "entry": "add",
    "cases": [{"args": [1, 2], "expected": 3}, {"args": [2, 2], "expected": 4}],
}
BATCH: list[tuple[dict[str, Any], str, float | None]] = [
    ({"verifier": "math", "spec": {"answer": "42"}}, "So it is \\boxed{42}", 1.0),
    ({"verifier": "math", "spec": {"answer": "42"}}, "So it is \\boxed{41}", 0.0),
    ({"verifier": "sql", "spec": SPEC}, "SELECT t.a FROM t", 1.0),
    ({"verifier": "sql", "spec": SPEC}, "SELECT 1", 0.0),
    ({"verifier": "json", "spec": {"schema": {"type": "object"}, "expected": {"a": 1}}}, '{"a": 1}', 1.0),
    ({"verifier": "python", "spec": PYTHON}, "```python\ndef add(a, b):\n    return a + b\n```", 1.0),
    ({"verifier": "python", "spec": PYTHON}, "```python\nimport os\ndef add(a, b):\n    os.abort()\n```", 0.0),
    ({"verifier": "none", "spec": {}}, "anything", None),
]
"""Task, completion, reward (None: invalid_task)."""


class Failed(Exception):
    """A claim of the compose file does not hold."""


def say(text: str) -> None:
    """Tell what is being done."""
    print(f"compose-test: {text}", flush=True)  # noqa: T201


def claim(holds: bool, what: str) -> None:
    """Print what was proved, or end the test."""
    if not holds:
        raise Failed(what)
    say(f"ok    {what}")


def run(*command: str, timeout: float = 120, check: bool = True) -> str:
    """Output of a command (stdout and stderr together)."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False
    )
    if check and done.returncode:
        raise Failed(f"{' '.join(command)[:200]} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


@contextmanager
def engine() -> Iterator[None]:
    """The Docker Engine that answers, or one of our own for the time of the test."""
    if shutil.which("docker") and not subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        say("using the Docker Engine that answers")
        yield
        return
    script = ROOT / "deploy" / "engine.sh"
    exports = subprocess.run([str(script), "up"], stdout=subprocess.PIPE, text=True, check=False)
    if exports.returncode:
        raise Failed("no Docker Engine answers and none could be prepared; see the lines above")
    os.environ.update(re.findall(r"(\w+)=(\S+)", exports.stdout))
    try:
        yield
    finally:
        subprocess.run([str(script), "down"], check=False)


def compose(*arguments: str, timeout: float = 180, check: bool = True) -> str:
    """Run `docker compose`, or the stand-alone program where there is no plugin."""
    plugin = not subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode
    program = ("docker", "compose") if plugin else ("docker-compose",)
    return run(*program, "-p", PROJECT, *arguments, timeout=timeout, check=check)


def fails(*arguments: str) -> bool:
    """Whether a compose command ends with an error."""
    try:
        compose(*arguments)
    except Failed:
        return True
    return False


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


def build(name: str) -> str:
    """Build an image; returns its tag."""
    tag = f"veredicto-{name}:compose-test"  # kept, so that the next run builds from the cache
    arguments = ["--build-arg", f"BASE_IMAGE={os.environ.get('BASE_IMAGE', BASE)}"]
    if name == "trainer" and "TORCH_INDEX" in os.environ:
        arguments += ["--build-arg", f"TORCH_INDEX={os.environ['TORCH_INDEX']}"]
    started = time.monotonic()
    run("docker", "build", "--network", "host", *arguments, "-f", f"Dockerfile.{name}", "-t", tag, ".", timeout=1800)
    say(f"built {name} in {time.monotonic() - started:.0f} s")
    return tag


def check_images(verifier: str, trainer: str) -> None:
    """Sizes of the layers above the base image, and what must not be in them."""
    base = int(run("docker", "image", "inspect", "-f", "{{.Size}}", os.environ.get("BASE_IMAGE", BASE)))
    sizes = {}
    for tag in (verifier, trainer):
        sizes[tag] = int(run("docker", "image", "inspect", "-f", "{{.Size}}", tag)) - base
        say(f"layers of {tag} above the base image ({sizes[tag] / 1e6:.0f} MB together):")
        for line in run("docker", "history", "--format", "{{.Size}}\t{{.CreatedBy}}", tag).splitlines():
            if not line.startswith("0B"):
                print(f"    {line[:110]}", flush=True)  # noqa: T201
    claim(
        sizes[verifier] <= MAX_VERIFIER_BYTES, f"the verifier's layers are {sizes[verifier] / 1e6:.0f} MB, at most 400"
    )
    found = run("docker", "run", "--rm", "--network", "none", "--entrypoint", "python3", verifier, "-c", FIND).strip()
    claim(found == "", "no torch, no transformers and of satcfdi no package in the verifier's image")


def get(url: str) -> Any:
    """JSON from the published port."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def wait_ready(url: str) -> None:
    """Wait until the published port answers /readyz."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=60):
                return
        except (OSError, urllib.error.HTTPError):
            time.sleep(1)
    raise Failed(f"the service did not get ready:\n{compose('logs', '--tail', '60', check=False)}")


def score(url: str) -> str:
    """Score a batch from outside; returns the id of its first record."""
    items = [{"id": str(index), "task": task, "completion": text} for index, (task, text, _) in enumerate(BATCH)]
    body = json.dumps({"run": "compose-test", "items": items}).encode()
    request = urllib.request.Request(f"{url}/score", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        results = json.load(answer)["results"]
    rewards = [result["reward"] for result in results]
    expected = [reward for _, _, reward in BATCH]
    claim(rewards == expected, f"a batch from outside is scored {expected}, got {rewards}")
    claim(all(result["record"] for result in results), "every verdict has its record")
    record: str = results[0]["record"]
    return record


def check_hostile(url: str) -> None:
    """Every hostile program earns nothing inside the hardened container, and right ones still pass after them."""
    corpus = [json.loads(line) for line in HOSTILE.read_text(encoding="utf-8").splitlines()]
    task = {"verifier": "python", "spec": {**PYTHON, "limits": {"cpu_s": 1, "memory_mb": 128, "wall_s": 4}}}
    programs = [*(case["program"] for case in corpus), "def add(a, b):\n    return a + b\n"]
    items = [{"completion": f"```python\n{program}```", "task": task} for program in programs]
    body = json.dumps({"items": items}).encode()
    request = urllib.request.Request(f"{url}/score", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        results = json.load(answer)["results"]
    paid = [case["name"] for case, result in zip(corpus, results, strict=False) if result["reward"] != 0.0]
    claim(paid == [], f"{len(corpus)} hostile programs earn 0 (others: {paid})")
    claim(results[-1]["reward"] == 1.0, "a right program passes after them")


def check_confined(service: str) -> None:
    """Who the container's processes are and what they may."""
    container = compose("ps", "-q", service).strip()
    facts = json.loads(run("docker", "inspect", container))[0]["HostConfig"]
    claim(
        facts["ReadonlyRootfs"] and facts["CapDrop"] == ["ALL"], f"{service}: read-only root, all capabilities dropped"
    )
    memory, pids = inside(service, LIMITS).split()
    claim((memory, pids) == (str(facts["Memory"]), str(facts["PidsLimit"])), f"{service}: {memory} B, {pids} processes")
    uid, effective, bounding, no_new, seccomp, *written = inside(service, CONFINED).split(maxsplit=5)
    claim(uid != "0" and int(effective, 16) == 0 == int(bounding, 16), f"{service}: uid {uid}, no capabilities")
    claim((no_new, seccomp) == ("1", "2"), f"{service}: no new privileges, seccomp filter on")
    claim("Read-only" in written[0], f"{service}: its root cannot be written")


def inside(service: str, program: str, *arguments: str) -> str:
    """Output of a Python program in a running container."""
    return compose("exec", "-T", service, "python3", "-c", program, *arguments)


@contextmanager
def listening() -> Iterator[int]:
    """A listener on all of this machine's addresses: what a container could reach if it had a way out."""
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def own_addresses() -> list[str]:
    """IPv4 addresses of this machine but loopback, the engine's bridges included."""
    found = re.findall(r"inet (\d+(?:\.\d+){3})/", run("ip", "-4", "-o", "addr"))
    return [address for address in found if not address.startswith("127.")]


def check_no_way_out() -> None:
    """The verifier reaches neither this machine nor the world; the gateway, as a control, reaches this machine."""
    with listening() as port:
        bridge = ".".join([*inside("verifier", ADDRESS).strip().split(".")[:3], "1"])
        near = [f"{address}:{port}" for address in sorted({*own_addresses(), bridge})]
        far = ["1.1.1.1:443", "8.8.8.8:53"]
        control = inside("gateway", PROBE, *near)
        claim("reached" in control, "control: the gateway, which has a way out, reaches this machine")
        tried = inside("verifier", PROBE, *near, *far)
        claim(
            "reached" not in tried and tried.count("refused") == len(near + far),
            f"the verifier reaches none of {near + far}",
        )
    resolved = inside("verifier", RESOLVE, "pypi.org", "host.docker.internal")
    claim(resolved.strip() == "", "the verifier resolves no outside name")


FIND = """
import pathlib
print(*[path for name in ("torch", "transformers", "satcfdi") for path in pathlib.Path("/opt").rglob(name)])
"""
ADDRESS = "import socket; print(socket.gethostbyname(socket.gethostname()))"
RESOLVE = """
import socket, sys
for name in sys.argv[1:]:
    try:
        print(name, socket.getaddrinfo(name, 443)[0][4])
    except OSError:
        pass
"""


def train(url: str) -> None:
    """A short run in the trainer's container; its verdicts are in the ledger."""
    started = time.monotonic()
    output = compose("run", "--rm", "-T", "trainer", timeout=TRAIN_SECONDS)
    print("\n".join(f"    {line}" for line in output.splitlines()[-25:]), flush=True)  # noqa: T201
    runs = [one["run"] for one in get(f"{url}/audit/runs")]
    claim(
        any(str(run).startswith("compose-") and run != "compose-test" for run in runs),
        f"the ledger holds the run: {runs}",
    )
    cat = ("run", "--rm", "-T", "--entrypoint", "cat", "trainer", "/runs/compose/report.json")
    updates = json.loads("{" + compose(*cat).partition("{")[2])["updates"]  # the program may say more before it
    claim(updates > 0, f"the policy was updated {updates} times on rewards of the verifier's container")
    say(f"trained in {time.monotonic() - started:.0f} s")


def check_ledger(record: str) -> None:
    """The chain holds, and still contains the record that we were given."""
    verify = ("exec", "-T", "verifier", "veredicto", "audit", "verify", "--data-dir", "/data")
    say(compose(*verify).strip().splitlines()[-1])
    say(compose(*verify, "--head", record).strip().splitlines()[-1])
    claim(True, "the ledger verifies and contains the batch's record")
    claim(fails(*verify, "--head", f"{record[:-16]}{'0' * 16}"), "control: it does not contain a forged record")


def prove(verifier: str, trainer: str) -> None:
    """Bring the compose file up and check each claim."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.environ["VEREDICTO_VERIFIER_IMAGE"], os.environ["VEREDICTO_TRAINER_IMAGE"] = verifier, trainer
    os.environ["VEREDICTO_PUBLISH"] = f"127.0.0.1:{port}"
    url = f"http://127.0.0.1:{port}"
    compose("--profile", "gpu", "--profile", "train", "config", "-q")
    try:
        compose("up", "-d", "--no-build", timeout=READY_SECONDS + 120)
        wait_ready(url)
        say(f"the service is ready; its sandbox: {json.dumps(get(f'{url}/capabilities')['sandbox'])}")
        record = score(url)
        check_hostile(url)
        for service in ("verifier", "gateway"):
            check_confined(service)
        check_no_way_out()
        train(url)
        check_ledger(record)
        compose("kill", "-s", "SIGKILL", "verifier")
        compose("up", "-d", "--no-build", timeout=READY_SECONDS + 120)
        wait_ready(url)
        check_ledger(record)
        say("ok    killed and started again, the service still holds its ledger")
    except Failed:
        print(compose("logs", "--tail", "60", check=False), flush=True)  # noqa: T201
        raise
    finally:
        say("taking it down")
        compose("--profile", "train", "down", "-v", "--remove-orphans", check=False)


def main() -> int:
    """Run the test; the exit status says whether everything held."""
    started = time.monotonic()
    try:
        with engine():
            collect_wheels()
            tags = build("verifier"), build("trainer")
            check_images(*tags)
            prove(*tags)
    except (Failed, subprocess.TimeoutExpired) as failure:
        say(f"FAILED {failure}")
        return 1
    say(f"everything holds ({time.monotonic() - started:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
