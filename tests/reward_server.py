"""A small reward service on a real socket for the trainer's tests: a pack of one-word questions, and faults on demand.

The right answer to a question begins with its last word. It keeps every request and knows idempotency keys.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

DIGEST = "sha256:" + "1" * 64
WORDS = [f"w{i}" for i in range(8)]


@dataclass
class Fault:
    """Answers a number of `/score` requests with something else."""

    times: int
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b'{"type": "about:blank", "title": "Overloaded", "status": 503, "detail": "the queue is full"}'
    drop: bool = False
    """Close the connection after judging, without an answer."""


@dataclass
class Service:
    """What the tests look at and turn."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    judge: Callable[[dict[str, Any]], dict[str, Any]] = lambda item: verdict(item)
    answers: dict[str, bytes] = field(default_factory=dict)
    records: int = 0
    max_items: int = 4096
    pages: int = 0


def verdict(item: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A result of the contract: 1.0 when the completion's first word is the prompt's last word."""
    asked = item["prompt"] if isinstance(item["prompt"], str) else item["prompt"][-1]["content"]
    right = item["completion"].split()[:1] == asked.split()[-1:]
    check = {"name": "word.same", "code": None if right else "word.other", "score": float(right), "weight": 1.0}
    ran = {"name": "word.ran", "code": None, "score": 1.0, "weight": 1.0, "passed": True, "reason": ""}
    return {
        "id": item.get("id"),
        "outcome": "scored",
        "reward": float(right),
        "passed": right,
        "checks": [ran, {**check, "passed": right, "reason": "" if right else "another word"}],
        "flags": [],
        "answer": item["completion"],
        "error": None,
        "verifier": {"name": "word", "version": "1.0.0", "digest": DIGEST},
        "task_digest": DIGEST,
        "cached": False,
        "queue_ms": 0.1,
        "exec_ms": 0.1,
        **changes,
    }


def unscored(item: dict[str, Any], code: str = "task.gold_failed", *, retryable: bool = False) -> dict[str, Any]:
    """A result without a reward."""
    error = {"code": code, "message": "gold is broken", "retryable": retryable}
    outcome = "infra_error" if retryable else "invalid_task"
    nothing = {"reward": None, "passed": None, "answer": None, "checks": [], "flags": []}
    return verdict(item, outcome=outcome, error=error, **nothing)


def task_infos(split: str) -> list[dict[str, Any]]:
    """The questions of a split: two words each, the answer is the last."""
    wanted = 0 if split == "train" else 1
    pairs = [(a, b) for a in WORDS for b in WORDS if a != b]
    return [
        {
            "ref": f"words/{split}/{i:04d}",
            "id": f"{i:04d}",
            "category": "even" if WORDS.index(b) % 2 == 0 else "odd",
            "difficulty": None,
            "verifier": "word",
            "prompt": f"{a} {b}",
        }
        for i, (a, b) in enumerate(pairs)
        if (i % 4 == 0) == bool(wanted)
    ]


@contextmanager
def serving(service: Service | None = None) -> Iterator[Service]:
    """A service on a free port of 127.0.0.1, for as long as the context lasts."""
    state = service or Service()
    handler = type("Handler", (_Handler,), {"service": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    service: Service
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Stay silent."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/packs":
            return self._json([pack_info()])
        if url.path == "/packs/words/tasks":
            return self._json(self._page(query))
        if url.path in ("/packs/words/examples", "/packs/words/demonstrations"):
            shown = [{"prompt": t["prompt"], "completion": t["prompt"].split()[1]} for t in task_infos("train")[:5]]
            return self._json({"demonstrations": shown})
        if url.path.startswith("/audit/runs/"):
            return self._json({"run": url.path.rpartition("/")[2], "records": self.service.records})
        if url.path in ("/healthz", "/readyz"):
            return self._json({"status": "ok"})
        return self._json({"title": "Not found", "status": 404, "detail": f"no {url.path}"}, status=404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        key = self.headers["idempotency-key"]
        self.service.keys.append(key)
        fault = self.service.faults[0] if self.service.faults else None
        if fault is not None:
            fault.times -= 1
            if fault.times <= 0:
                self.service.faults.pop(0)
            if not fault.drop:
                return self._send(fault.status, fault.body, fault.headers)
        request = json.loads(body)
        if len(request["items"]) > self.service.max_items:
            return self._json({"title": "Too large", "status": 413, "detail": "too many items"}, status=413)
        self.service.requests.append(request)
        name = key + hashlib.sha256(body).hexdigest()
        if name not in self.service.answers:
            self.service.answers[name] = json.dumps(self._judged(request)).encode()
        if fault is not None and fault.drop:
            self.close_connection = True
            self.connection.close()
            return None
        return self._send(200, self.service.answers[name], {})

    def _judged(self, request: dict[str, Any]) -> dict[str, Any]:
        results = []
        for item in request["items"]:
            self.service.records += 1
            results.append({**self.service.judge(item), "record": f"r-{self.service.records}"})
        return {"request_id": "q-1", "results": results}

    def _page(self, query: dict[str, str]) -> dict[str, Any]:
        self.service.pages += 1
        tasks, start = task_infos(query["split"]), int(query.get("cursor", 0))
        stop = start + min(int(query["limit"]), 10)
        return {"tasks": tasks[start:stop], "next_cursor": str(stop) if stop < len(tasks) else None}

    def _json(self, body: Any, *, status: int = 200) -> None:
        self._send(status, json.dumps(body).encode(), {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def pack_info() -> dict[str, Any]:
    """The one pack."""
    splits = {split: len(task_infos(split)) for split in ("train", "test")}
    return {
        "name": "words",
        "version": "1.0.0",
        "digest": DIGEST,
        "licence": "CC0-1.0",
        "language": "en",
        "splits": splits,
        "categories": {"even": 28, "odd": 28},
    }


def main() -> None:
    """Serve on a port in a process of its own, so that tests can kill it and start it again."""
    import sys

    handler = type("Handler", (_Handler,), {"service": Service()})
    ThreadingHTTPServer.allow_reuse_address = True
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler).serve_forever()


if __name__ == "__main__":
    main()
