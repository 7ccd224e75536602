"""Recorded items scored again: equal, faulty, drifted, near a limit, redacted, ours to blame."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.ledger.entries import VERIFIERS, flagged, passed, record, refused, scored
from veredicto_verifier.ledger.digests import digest, wide
from veredicto_verifier.ledger.records import exact_spec
from veredicto_verifier.ledger.redaction import redact
from veredicto_verifier.ledger.replay import Replay, ReplayItem, ReplayVerdict, replay
from veredicto_verifier.verifier import Check, Fixture, Flag

DIGEST = VERIFIERS["echo"]["digest"]
FAILED = ReplayVerdict(
    outcome="scored", reward=0.0, checks=(Check("echo.value", False, 0.0, "echo.other"),), verifier_digest=DIGEST
)
PASSED = replace(FAILED, reward=1.0, checks=(Check("echo.value", True, 1.0),))


@dataclass
class Rescorer:
    """Gives the verdict that a test sets, whatever it is asked, and keeps what it was asked."""

    verdict: ReplayVerdict = FAILED
    seen: list[ReplayItem] = field(default_factory=list)

    async def __call__(self, items: Sequence[ReplayItem]) -> list[ReplayVerdict]:
        self.seen += items
        return [self.verdict for _ in items]


def replayed(folder: Path, rescorer: Rescorer, **options: object) -> Replay:
    return asyncio.run(replay(folder, rescorer, **options))  # type: ignore[arg-type]


def test_equal_verdicts_hold(tmp_path: Path) -> None:
    record(tmp_path, [scored(number) for number in range(600)], segment_bytes=10_000)
    rescorer = Rescorer()
    found = replayed(tmp_path, rescorer)
    assert (found.equal, found.records, found.holds) == (600, 600, True)
    item = rescorer.seen[7]
    assert (item.verifier, item.completion, item.completion_is_messages) == ("echo", "I think it is 7.", False)
    assert item.spec == {"answer": "GOLD-7431"}


@pytest.mark.parametrize(
    "verdict",
    [
        PASSED,
        replace(FAILED, reward=0.1),
        replace(FAILED, checks=(Check("echo.value", False, 0.0, "echo.missing"),)),
        replace(FAILED, checks=(Check("echo.value", False, 0.25, "echo.other"),)),
        replace(FAILED, checks=(*FAILED.checks, Check("echo.form", True, 1.0))),
        replace(FAILED, flags=(Flag("lucky"),)),
        ReplayVerdict(outcome="invalid_task", error="task.gold_failed", verifier_digest=DIGEST),
    ],
)
def test_another_verdict_is_a_fault_under_the_same_digest_and_drift_under_another(
    tmp_path: Path, verdict: ReplayVerdict
) -> None:
    (name,) = record(tmp_path, [scored(1)])
    found = replayed(tmp_path, Rescorer(verdict))
    (fault,) = found.faults
    assert (fault.record, fault.recorded_digest, found.holds) == (name, DIGEST, False)
    assert fault.what
    drifted = replayed(tmp_path, Rescorer(replace(verdict, verifier_digest="sha256:" + "f" * 64)))
    assert (len(drifted.drift), drifted.holds) == (1, True)


def test_reasons_timings_and_evidence_are_not_compared(tmp_path: Path) -> None:
    record(tmp_path, [flagged(1, exec_ms=77.0)])
    verdict = replace(FAILED, flags=(Flag("lucky", "other evidence"),))
    assert replayed(tmp_path, Rescorer(verdict)).equal == 1


def test_verdicts_near_a_limit_are_counted_apart(tmp_path: Path) -> None:
    record(tmp_path, [flagged(1, "near_limit"), scored(2)])
    found = replayed(tmp_path, Rescorer(replace(PASSED, flags=(Flag("near_limit"),))))
    assert (found.near_limit_different, found.near_limit_equal, found.holds) == (2, 0, True)


def test_failures_of_ours_are_no_verdicts_then_or_now(tmp_path: Path) -> None:
    names = record(tmp_path, [refused(1, "infra.starved"), scored(2)])
    lost = ReplayVerdict(outcome="infra_error", error="infra.worker_lost", verifier_digest=DIGEST)
    found = replayed(tmp_path, Rescorer(lost))
    assert (found.was_infra, found.unjudged, found.holds) == (1, [names[1]], False)


def test_broken_tasks_are_compared_by_code(tmp_path: Path) -> None:
    record(tmp_path, [refused(1, "task.gold_failed")])
    again = ReplayVerdict(outcome="invalid_task", error="task.gold_failed", verifier_digest=DIGEST)
    assert replayed(tmp_path, Rescorer(again)).equal == 1
    assert len(replayed(tmp_path, Rescorer(replace(again, error="task.gold_timeout"))).faults) == 1
    assert len(replayed(tmp_path, Rescorer()).faults) == 1


def test_items_without_a_task_and_redacted_ones_are_counted(tmp_path: Path) -> None:
    names = record(tmp_path, [refused(1, task=None), scored(2), refused(3, completion=None), scored(4)])
    redact(tmp_path, names[1])
    found = replayed(tmp_path, Rescorer())
    assert (found.without_task, found.redacted, found.equal, found.holds) == (2, 1, 1, True)


def test_only_the_run_and_the_sample_are_replayed(tmp_path: Path) -> None:
    record(tmp_path, [scored(number) for number in range(50)] + [passed(99, run="other")])
    assert replayed(tmp_path, Rescorer(PASSED), run="other").equal == 1
    first, again, other = Rescorer(), Rescorer(), Rescorer()
    assert replayed(tmp_path, first, run="run-1", sample=10).records == 10
    replayed(tmp_path, again, run="run-1", sample=10)
    replayed(tmp_path, other, run="run-1", sample=10, seed=1)
    assert first.seen == again.seen
    assert first.seen != other.seen
    assert replayed(tmp_path, Rescorer(), run="no such run").records == 0


def test_fixtures_and_messages_come_back_as_they_were(tmp_path: Path) -> None:
    source = tmp_path / "bank.sql"
    source.write_text("CREATE TABLE t(a INT)")
    name = wide(digest(source.read_bytes()))
    task = json.dumps({"fixtures": {"p/bank": name}, "spec": {}, "verifier": "echo"}).encode()
    messages = '[{"role":"assistant","content":"\\u00e9"}]'
    entry = scored(1, task=task, fixtures={"p/bank": Fixture(source, name)})
    record(tmp_path / "data", [replace(entry, completion=messages, completion_is_messages=True)])
    source.unlink()
    rescorer = Rescorer()
    assert replayed(tmp_path / "data", rescorer).equal == 1
    (item,) = rescorer.seen
    assert (item.completion, item.completion_is_messages) == (messages, True)
    assert item.fixtures["p/bank"].digest == name
    assert item.fixtures["p/bank"].path.read_text() == "CREATE TABLE t(a INT)"
    assert item.task_digest == wide(digest(task))
    (tmp_path / "data" / "fixtures" / digest(b"CREATE TABLE t(a INT)")).unlink()
    assert len(replayed(tmp_path / "data", Rescorer()).missing) == 1


def test_an_exact_spec_is_replayed_with_its_own_numbers(tmp_path: Path) -> None:
    raw = {"expected": {"a": 9007199254740993, "b": 1.0}}
    record(tmp_path, [scored(1, spec=exact_spec(raw))])
    rescorer = Rescorer()
    assert replayed(tmp_path, rescorer).equal == 1
    assert repr(rescorer.seen[0].spec) == repr(raw)


def test_odd_check_names_and_moved_flags_compare_equal(tmp_path: Path) -> None:
    checks = (Check("name " * 60, False, 0.1 + 0.2, "echo.other", weight=0.3), Check("\ud800", True, 1.0))
    flags = tuple(Flag(f"a_rather_long_flag_name_{number}") for number in range(20))
    long = "x" * 200
    entry = scored(1, checks=checks, flags=flags, request_id=long, group=long, run=long, item_id=long, category=long)
    record(tmp_path, [entry])
    assert replayed(tmp_path, Rescorer(replace(FAILED, checks=checks, flags=flags)), run=long).equal == 1
