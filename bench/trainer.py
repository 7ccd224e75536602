"""The trainer's bench: against TRL, mode against mode, waiting for rewards, and whether the demo learns.

    make bench-trainer                       all of it, about an hour on 2 idle cores
    make bench-trainer BENCH="--short"       one seed, few updates: shows that everything runs, proves little
    make bench-trainer BENCH="--only modes"  one part

Runs lie under runs/bench-trainer and are not done twice: a bench that was interrupted goes on; `--fresh` removes them.
What is timed is one process with one torch thread; ratios count, and only those of an idle machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

from bench.figures import publish
from bench.trainer_modes import LRS, modes
from bench.trainer_runs import ROOT, service
from bench.trainer_throughput import throughput
from bench.trainer_waiting import demo_learns, demo_waiting, smollm2_waiting

PARTS = ("losses", "throughput", "modes", "waiting", "demo")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trl", default=str(ROOT / ".venv-trl" / "bin" / "python"), help="Python that has TRL")
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench-trainer")
    parser.add_argument("--only", choices=PARTS, action="append", help="repeatable; all parts by default")
    parser.add_argument("--short", action="store_true", help="1 seed, 1 rate, 12 updates")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100, help="updates of every run")
    parser.add_argument("--lr", type=float, action="append", help="repeatable; the grid of the modes")
    parser.add_argument("--fresh", action="store_true", help="do every run anew")
    options = parser.parse_args()
    if options.short:
        options.seeds, options.steps, options.lr = 1, 12, [2.5e-4]
    parts = options.only or PARTS
    folder = options.output / f"{options.steps}"
    if options.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    if "losses" in parts:
        subprocess.run([options.trl, "bench/trainer_trl.py"], cwd=ROOT, check=True)
    figures = []
    print(f"load average at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with service(folder) as bench:
        if "throughput" in parts:
            figures += throughput(bench, seeds=options.seeds, steps=options.steps, trl=options.trl)
        if "modes" in parts:
            figures += modes(bench, seeds=options.seeds, steps=options.steps, lrs=tuple(options.lr or LRS))
        if "waiting" in parts:
            figures += demo_waiting(bench, steps=options.steps)
            figures += smollm2_waiting(bench, steps=3)
    if "demo" in parts:
        figures += demo_learns()
    print(f"load average at the end: {os.getloadavg()[0]:.1f}; {options.seeds} seeds, {options.steps} updates a run")
    publish("trainer", figures)


if __name__ == "__main__":
    main()
