"""`make compose-test`: build the images, run the compose file on a real Docker Engine, prove what it claims.

Uses the engine that answers; where none does, deploy/engine.sh prepares one (Debian, root). Everything that it
starts it stops: containers, networks and volumes of its own project, and the engine if it was its own. It keeps the
images, as a cache for the next run.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from compose_claims import check_confined, check_hostile, check_ledger, check_no_way_out, get, score, train
from compose_commands import Failed, compose, engine, say
from compose_images import build, check_exec_image, check_images, collect_wheels

READY_SECONDS = 240


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
            tags = build("verifier", "verifier"), build("trainer")
            check_images(*tags)
            check_exec_image(build("verifier", "verifier-exec"))
            prove(*tags)
    except (Failed, subprocess.TimeoutExpired) as failure:
        say(f"FAILED {failure}")
        return 1
    say(f"everything holds ({time.monotonic() - started:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
