"""What judging SQL costs: verdicts per CPU-second against two straightforward ways, a point query, two workers.

Baselines: `fresh` opens a new DuckDB instance per sample, loads the fixture from its script and runs gold and answer;
`evaluator` is how the BIRD benchmark's evaluator works: a fresh sqlite connection to a file, both queries run inside a
helper that ends them after a timeout, rows compared as sets.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from figures import Figure, publish

from veredicto_verifier.packs.builtin import materialise
from veredicto_verifier.packs.loading import load_pack
from veredicto_verifier.packs.pack import Pack
from veredicto_verifier.packs.sql_mutants import mutants
from veredicto_verifier.registry import VERIFIERS
from veredicto_verifier.verifier import Answer, Completion, Context
from veredicto_verifier.verifiers.sql import VERIFIER
from veredicto_verifier.verifiers.sql.spec import SqlSpec

NUM_TASKS = int(os.environ.get("BENCH_TASKS", "24"))
NUM_ANSWERS = 8
"""Answers a task: gold itself and mutants of it, as a group of samples would have."""
SCRIPT = """
CREATE TABLE accounts(id INTEGER, branch INTEGER, product VARCHAR, balance DOUBLE);
INSERT INTO accounts
  SELECT range, range * 7 % 97, 'p' || (range * 13 % 5), (range * 31 % 10007) / 100 FROM range({rows});
"""
QUERIES = (
    "SELECT id, balance FROM accounts WHERE branch = 5 AND balance > 50",
    "SELECT branch, COUNT(*), SUM(balance) FROM accounts GROUP BY branch",
    "SELECT product, MAX(balance) FROM accounts WHERE balance < 90 GROUP BY product",
    "SELECT a.id, b.id FROM accounts a JOIN accounts b ON b.id = a.id + 1 WHERE a.branch = 3 AND b.balance > 99",
)
HEAVY = "SELECT COUNT(*) FROM accounts a, accounts b WHERE a.branch * b.branch % 7 = {n}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pack = load_pack(materialise("bank-sql", Path(folder)), VERIFIERS)
        figures = [against_fresh_on_the_bank(pack)]
        figures += [against_fresh(rows, goal) for rows, goal in ((10, 1), (1_000, 1), (100_000, 1))]
        figures += against_the_evaluator(100_000, Path(folder))
        figures += [point_query(), *scaling()]
    publish("sql", figures)


def cpu(work: Callable[[], Any]) -> float:
    """CPU seconds of this process for a piece of work."""
    started = time.process_time()
    work()
    return time.process_time() - started


def against_fresh_on_the_bank(pack: Pack) -> Figure:
    """Ours over `fresh` on the pack's own tasks and fixtures; the fixtures' opening and gold's run are counted."""
    tasks = list(pack.tasks["test"].values())
    queries = [task for task in tasks if task.category != "dml"][:NUM_TASKS]
    ours = theirs = 0.0
    count = sampled = 0
    for number, task in enumerate(queries):
        spec = SqlSpec.model_validate(task.spec)
        gold = str(spec.gold.sql)
        answers = samples(gold)
        started = time.process_time()
        prepared = VERIFIER.prepare(spec, Context(pack.fixtures, VERIFIERS))
        for answer in answers:
            VERIFIER.grade(prepared, Answer(answer, Completion(answer)))
        ours += time.process_time() - started
        count += len(answers)
        if number % 8 == 0:  # a sample of the baseline is enough: it costs the same each time
            scripts = [pack.fixtures[name].path.read_text(encoding="utf-8") for name in task.spec["fixtures"]]
            started = time.process_time()
            for answer in (answers[0], answers[-1]):  # half right, half wrong, as above
                fresh(gold, answer, scripts)
            theirs += time.process_time() - started
            sampled += 2
    baseline = theirs / sampled
    print(f"bank-sql: {1e3 * ours / count:.2f} ms a verdict, fresh {1e3 * baseline:.0f} ms, {count} verdicts")
    return Figure("bank_sql_over_fresh", baseline / (ours / count), "at least", 20, "x")


def samples(gold: str) -> list[str]:
    """A group of answers: half right, half with one edit."""
    wrong = [mutant.sql for mutant in mutants(gold)]
    random.Random(gold).shuffle(wrong)
    return [gold] * (NUM_ANSWERS // 2) + wrong[: NUM_ANSWERS // 2]


def fresh(gold: str, answer: str, scripts: Sequence[str]) -> bool:
    """The straightforward way, right on every fixture."""
    for script in scripts:
        connection = duckdb.connect(":memory:", config={"threads": "1"})
        try:
            connection.execute(script)
            expected = connection.execute(gold).fetchall()
            if Counter(connection.execute(answer).fetchall()) != Counter(expected):
                return False
        except duckdb.Error:
            return False
        finally:
            connection.close()
    return True


def against_fresh(rows: int, goal: float) -> Figure:
    """Ours over `fresh` on one fixture of so many rows, made by a short script (not by a long list of values)."""
    script = SCRIPT.format(rows=rows)
    tries = 3
    theirs = cpu(lambda: [fresh(gold, gold, [script]) for gold in QUERIES for _ in range(tries)]) / (tries * 4)
    ours = cpu(lambda: ours_on(script, 10 * tries)) / (40 * tries)
    return Figure(f"over_fresh_{rows}_rows", theirs / ours, "at least", goal, "x")


def ours_on(script: str, times: int) -> None:
    """Judge each query so many times, gold's own run and the fixture's opening included."""
    for gold in QUERIES:
        spec = SqlSpec.model_validate({"fixtures": [{"script": script}], "gold": {"sql": gold}})
        prepared = VERIFIER.prepare(spec, Context())
        for _ in range(times):
            assert VERIFIER.grade(prepared, Answer(gold, Completion(gold))).passed


def against_the_evaluator(rows: int, folder: Path) -> list[Figure]:
    """Ours over `evaluator` at 100,000 rows: each answer judged, and equal answers judged once as the service does."""
    path = folder / "bird.db"
    with duckdb.connect(":memory:") as source, sqlite3.connect(path) as target:
        source.execute(SCRIPT.format(rows=rows))
        target.execute("CREATE TABLE accounts(id INTEGER, branch INTEGER, product TEXT, balance REAL)")
        target.executemany("INSERT INTO accounts VALUES (?, ?, ?, ?)", source.execute("FROM accounts").fetchall())
    target.close()
    theirs = cpu(lambda: [evaluator(path, gold, gold) for gold in QUERIES]) / len(QUERIES)
    ours = cpu(lambda: ours_on(SCRIPT.format(rows=rows), NUM_ANSWERS)) / (len(QUERIES) * NUM_ANSWERS)
    once = cpu(lambda: ours_on(SCRIPT.format(rows=rows), 1)) / (len(QUERIES) * NUM_ANSWERS)
    print(f"100,000 rows: {1e3 * ours:.1f} ms a verdict, {1e3 * once:.1f} once, evaluator {1e3 * theirs:.0f} ms")
    return [
        Figure("over_evaluator_100000_rows", theirs / ours, "at least", 3, "x"),
        Figure("over_evaluator_equal_answers_once", theirs / once, "at least", 3, "x"),
    ]


def evaluator(path: Path, gold: str, answer: str, timeout_s: float = 30.0) -> bool:
    """The BIRD evaluator's way: a helper thread with a timeout, a fresh connection, both queries, sets of rows."""
    found: list[bool] = []

    def work() -> None:
        connection = sqlite3.connect(path)
        cursor = connection.cursor()
        predicted = cursor.execute(answer).fetchall()
        expected = cursor.execute(gold).fetchall()
        found.append(set(predicted) == set(expected))
        connection.close()

    helper = threading.Thread(target=work)
    helper.start()
    helper.join(timeout_s)
    return bool(found and found[0])


def point_query() -> Figure:
    """Median CPU of a warm verdict for a point query on one fixture."""
    script = SCRIPT.format(rows=1_000)
    gold = "SELECT balance FROM accounts WHERE id = 17"
    spec = SqlSpec.model_validate({"fixtures": [{"script": script}], "gold": {"sql": gold}})
    prepared = VERIFIER.prepare(spec, Context())
    times = sorted(cpu(lambda: VERIFIER.grade(prepared, Answer(gold, Completion(gold)))) for _ in range(200))
    return Figure("point_query_cpu_ms", 1e3 * times[100], "at most", 4, "ms")


def scaling() -> Iterator[Figure]:
    """Two processes over one on queries of 50 ms CPU or more; told only when two cores are free."""
    if os.getloadavg()[0] > 1 or (os.cpu_count() or 1) < 2:
        print(f"scaling is left out: the load is {os.getloadavg()[0]:.1f}, two cores must be free", file=sys.stderr)
        return
    one, two = rate(1), rate(2)
    yield Figure("two_workers_over_one", two / one, "at least", 1.8, "x")


def rate(workers: int, total: int = 48) -> float:
    """Verdicts per second of wall time by so many processes, start and preparing left out."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(workers + 1)
    processes = [context.Process(target=heavy, args=(barrier, total // workers)) for _ in range(workers)]
    with started(processes):
        barrier.wait(120)
        begin = time.perf_counter()
        barrier.wait(120)
        return total / (time.perf_counter() - begin)


@contextmanager
def started(processes: Sequence[Any]) -> Iterator[None]:
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.join()


def heavy(barrier: Any, count: int) -> None:
    script = SCRIPT.format(rows=3_000)
    spec = SqlSpec.model_validate({
        "fixtures": [{"script": script}], "gold": {"sql": HEAVY.format(n=0)}, "limits": {"cpu_s": 20},
    })  # fmt: skip
    prepared = VERIFIER.prepare(spec, Context())
    barrier.wait(120)
    for n in range(count):
        query = HEAVY.format(n=n % 7)
        VERIFIER.grade(prepared, Answer(query, Completion(query)))
    barrier.wait(120)


if __name__ == "__main__":
    main()
