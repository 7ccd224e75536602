"""What the compose test proves of running containers: verdicts, walls, networks, a training, the ledger."""

from __future__ import annotations

import http.server
import json
import re
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compose_commands import ROOT, claim, compose, fails, inside, run, say

HOSTILE = ROOT / "tests" / "exploits" / "hostile.jsonl"
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
ADDRESS = "import socket; print(socket.gethostbyname(socket.gethostname()))"
RESOLVE = """
import socket, sys
for name in sys.argv[1:]:
    try:
        print(name, socket.getaddrinfo(name, 443)[0][4])
    except OSError:
        pass
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
NUMPY = "```python\nimport numpy as np\ndef add(a, b):\n    return int(np.add(a, b))\n```"
NODE = {"format": "stdio", "language": "node", "cases": [{"stdin": "", "stdout": "3\n"}]}
BATCH: list[tuple[dict[str, Any], str, float | None]] = [
    ({"verifier": "math", "spec": {"answer": "42"}}, "So it is \\boxed{42}", 1.0),
    ({"verifier": "math", "spec": {"answer": "42"}}, "So it is \\boxed{41}", 0.0),
    ({"verifier": "sql", "spec": SPEC}, "SELECT t.a FROM t", 1.0),
    ({"verifier": "sql", "spec": SPEC}, "SELECT 1", 0.0),
    ({"verifier": "json", "spec": {"schema": {"type": "object"}, "expected": {"a": 1}}}, '{"a": 1}', 1.0),
    ({"verifier": "python", "spec": PYTHON}, "```python\ndef add(a, b):\n    return a + b\n```", 1.0),
    ({"verifier": "python", "spec": PYTHON}, "```python\nimport os\ndef add(a, b):\n    os.abort()\n```", 0.0),
    ({"verifier": "python", "spec": {**PYTHON, "libraries": ["numpy"]}}, NUMPY, 1.0),
    ({"verifier": "python", "spec": NODE}, "```js\nconsole.log(3)\n```", None),
    ({"verifier": "none", "spec": {}}, "anything", None),
]
"""Task, completion, reward (None: `invalid_task`, or `infra_error` where the image lacks an interpreter)."""


def get(url: str) -> Any:
    """JSON from the published port."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


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
