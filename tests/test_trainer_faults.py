"""What goes wrong around a run: the service dies, the disk fills up, the engine lies, learning stops."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import killable
from tests.reward_server import Service, serving, verdict
from tests.training import config, go, weights, weights_of, write_toml
from veredicto_trainer.alarm import Alarm
from veredicto_trainer.config import AlarmSection
from veredicto_trainer.engines.engine import Request, Sampling, SyncProof
from veredicto_trainer.engines.hf import HfEngine
from veredicto_trainer.errors import CheckpointFault, Collapse, StaleSample, SyncFault
from veredicto_trainer.learner import Learner
from veredicto_trainer.learning import learn
from veredicto_trainer.metrics import StepLog, read_rows
from veredicto_trainer.policy import Policy
from veredicto_trainer.recordings import Recordings, Round
from veredicto_trainer.rollouts import Batch, Completion, Group, Question, Rollout, Unscored, Verdict

ROOT = Path(__file__).parent.parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def service_process(port: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-m", "tests.reward_server", str(port)], cwd=ROOT) as process:
        try:
            while True:
                try:
                    httpx.get(f"http://127.0.0.1:{port}/healthz")
                    break
                except httpx.TransportError:
                    assert process.poll() is None
                    time.sleep(0.02)
            yield process
        finally:
            process.kill()


@pytest.mark.timeout(240)
@pytest.mark.parametrize("mode", [{"name": "sync"}, {"name": "staged", "stages": 2}, {"name": "bounded", "max_age": 1}])
def test_a_service_that_dies_and_comes_back_changes_nothing_but_time(tmp_path: Path, mode: dict[str, Any]) -> None:
    port = free_port()
    settings = config(tmp_path, f"http://127.0.0.1:{port}", sections={"mode": mode})
    rows = settings.output / "metrics.jsonl"
    dead = threading.Event()
    with service_process(port) as first:
        calm = go(settings.model_copy(update={"output": tmp_path / "calm"}))

        def absence() -> bool:
            """Asked between groups and while waiting: kills the service after two steps."""
            if not dead.is_set() and rows.exists() and len(read_rows(rows)) >= 2:
                first.kill()
                first.wait()
                dead.set()
            return False

        results: list[Any] = []
        run = threading.Thread(target=lambda: results.append(go(settings, should_stop=absence)))
        run.start()
        assert dead.wait(100)
        run.join(1.0)
        assert run.is_alive(), "it waits for the service"
        with service_process(port):
            run.join()
    assert weights(results[0]) == weights(calm)
    assert len(read_rows(rows)) == 6


@pytest.mark.timeout(240)
def test_sigterm_while_the_service_is_away_ends_with_a_checkpoint(tmp_path: Path) -> None:
    port = free_port()
    settings = config(tmp_path, f"http://127.0.0.1:{port}", steps=40, sections={"checkpoint": {"every": 100}})
    path, log = write_toml(tmp_path / "run.toml", settings), tmp_path / "log"
    rows = settings.output / "metrics.jsonl"
    with service_process(port):
        whole = go(settings.model_copy(update={"output": tmp_path / "whole"}))
        process = killable.start(path, log)
        killable.until(lambda: rows.exists() and len(read_rows(rows)) >= 2, process, log)
    killable.until(lambda: stands_still(rows), process, log)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGTERM)
    text = killable.finished(process, log, 3)
    assert "the same command resumes" in text
    done = len(read_rows(rows))
    assert [folder.name for folder in (settings.output / "checkpoints").iterdir()] == [f"step-{done:06d}"]
    with service_process(port):
        killable.finished(killable.start(path, log), log)
    assert weights_of(settings.output) == weights(whole)


def stands_still(path: Path) -> bool:
    before = path.stat().st_size
    time.sleep(0.5)
    return path.stat().st_size == before


def test_a_disk_that_fills_up_while_a_checkpoint_is_written_leaves_a_run_that_resumes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving() as service:
        settings = config(tmp_path, service.url)
        whole = go(settings.model_copy(update={"output": tmp_path / "whole"}))
        newest = tmp_path / "whole" / "checkpoints" / "step-000006"
        largest = (newest / "optimiser.safetensors").stat().st_size
        assert largest > (newest / "model.safetensors").stat().st_size
        path = write_toml(tmp_path / "run.toml", settings)
        text = killable.finished(killable.start(path, log, max_file_bytes=largest - 1), log, 1)
        assert "cannot write" in text
        assert "make room and run again to resume" in text
        assert not list((settings.output / "checkpoints").glob("*"))
        killable.finished(killable.start(path, log), log)
    assert weights_of(settings.output) == weights(whole)


def test_a_recording_is_whole_or_not_there(tmp_path: Path) -> None:
    question = Question("p/train/1", None, "w0", (4, 5), 0.5)
    completions = (Completion((5, 1), (-0.1, -0.2), "stop", 3), Completion((), (), "length", 3, 4))
    taken = Round(1, 0, 6, 12.5, (Unscored("0", question, completions, ("w1", "")),))
    recordings = Recordings(tmp_path / "r")
    recordings.write(taken)
    back = recordings.read(1, 0)
    assert back is not None
    assert (back.step, back.cursor, back.at, back.groups[0].question) == (1, 6, 12.5, question)
    assert [c.token_ids for c in back.groups[0].completions] == [(5, 1), ()]
    assert back.groups[0].completions[0].logprobs == pytest.approx((-0.1, -0.2))
    recordings.write(Round(1, 0, 6, 12.5, back.groups))
    assert recordings.read(1, 0) == back, "what float32 holds comes back as it was"
    assert recordings.read(1, 1) is None
    with pytest.raises(CheckpointFault, match=r"cannot write .*run again to resume"):
        Recordings(Path("/dev/full/r")).write(taken)
    path = tmp_path / "r" / "step-000001-0.safetensors"
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(CheckpointFault, match="cannot be read"):
        recordings.read(1, 0)


def test_a_log_on_a_full_disk_says_so(tmp_path: Path) -> None:
    log = StepLog(tmp_path / "metrics.jsonl", last_step=0)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log._stream.fileno())
    os.close(full)
    with pytest.raises(CheckpointFault, match=r"cannot write .*metrics\.jsonl: No space left.*make room"):
        log.write({"step": 1})
    with pytest.raises(OSError, match="No space left"):
        log.close()


class LyingEngine(HfEngine):
    """An engine that keeps its old weights."""

    def publish(self, policy: Policy) -> SyncProof:
        if policy.version == 0:
            return super().publish(policy)
        return SyncProof(policy.version, logprob_gap=0.5, tolerance=0.01, seconds=0.0)


def test_nothing_is_sampled_from_weights_that_are_not_proven(tmp_path: Path) -> None:
    with serving() as service:
        settings = config(tmp_path, service.url)
        with pytest.raises(SyncFault, match=r"differ by 0\.5; nothing was sampled"):
            go(settings, fresh_engine=LyingEngine)
        assert {request["step"] for request in service.requests if request["phase"] == "train"} == {1}
    assert [row["holds"] for row in read_rows(settings.output / "syncs.jsonl")] == [True, False]


def test_groups_are_judged_while_others_are_still_being_sampled(tmp_path: Path) -> None:
    asked = threading.Event()

    def judge(item: dict[str, Any]) -> dict[str, Any]:
        if "/train/" in item["task"]["ref"]:
            asked.set()
        return verdict(item)

    class WaitingEngine(HfEngine):
        """Samples the second group only when the service has been asked about the first."""

        def stream(
            self, requests: Sequence[Request], sampling: Sampling
        ) -> Iterator[tuple[int, tuple[Completion, ...]]]:
            for count, each in enumerate(super().stream(requests, sampling)):
                if count and not sampling.greedy and len(requests) == 6:
                    assert asked.wait(60), "no group was sent before all were sampled"
                yield each

    with serving(Service(judge=judge)) as service:
        settings = config(
            tmp_path, service.url, steps=1, sections={"service": {"url": service.url, "groups_per_request": 1}}
        )
        go(settings, fresh_engine=WaitingEngine)
    sent = [{item["group"] for item in request["items"]} for request in service.requests if request["phase"] == "train"]
    assert sorted(map(len, sent)) == [1] * 6


def test_a_completion_that_is_too_old_stops_the_run_before_anything_is_learnt_from_it(tmp_path: Path) -> None:
    settings = config(tmp_path, "http://nowhere")
    policy = Policy.load(tmp_path / "tiny")
    policy.version = 5
    before = policy.weights_digest()
    completion = Completion((5, 1), (-1.0, -1.0), "stop", 2, newest_version=5)
    rollouts = tuple(Rollout(f"1.0.{i}", completion, "w1", Verdict(float(i), bool(i), None)) for i in range(2))
    batch = Batch(1, (Group("0", Question("p/train/1", None, "w0", (4,)), rollouts),))
    with pytest.raises(StaleSample, match=r"weights 2, 3 updates before 5; the mode allows 2"):
        learn(Learner(policy, settings.grpo), policy, batch, settings.grpo, max_age=2)
    assert policy.weights_digest() == before
    lesson = learn(Learner(policy, settings.grpo), policy, batch, settings.grpo, max_age=3)
    assert (lesson.trained_at, lesson.numbers) == (5, (6,))


def metrics(**counts: float) -> dict[str, Any]:
    groups = {
        f"groups/{name}": counts.get(name, 0.0) for name in ("all_fail", "all_pass", "constant", "duplicates", "void")
    }
    dead = counts.get("all_fail", 0) + counts.get("all_pass", 0) + counts.get("constant", 0)
    return {**groups, "groups/all": 10.0, "frac_reward_zero_std": dead / max(10 - counts.get("void", 0), 1)}


@pytest.mark.parametrize(
    ("step", "cause", "halts"),
    [
        (metrics(all_fail=10), "all_fail", True),
        (metrics(all_pass=10), "all_pass", False),
        (metrics(constant=9), "constant_reward", True),
        (metrics(all_fail=5, all_pass=5, duplicates=9), "duplicates", True),
        (metrics(void=10), "unscorable", True),
    ],
)
def test_the_alarm_names_the_cause(step: dict[str, Any], cause: str, halts: bool) -> None:
    alarm = Alarm(AlarmSection(warn_after=2, halt_after=4))
    assert alarm.heed(step) is None
    for _ in range(3):
        said = alarm.heed(step)
        assert said is not None
        assert said.startswith(f"{cause} for ")
    assert alarm.state == ("halt" if halts else "warn")
    if halts:
        with pytest.raises(Collapse, match=cause):
            alarm.demand()
    else:
        alarm.demand()


def test_the_alarm_is_taken_back_only_after_several_live_steps() -> None:
    alarm = Alarm(AlarmSection(warn_after=2, halt_after=0))
    for _ in range(9):
        alarm.heed(metrics(all_fail=10))
    assert alarm.state == "warn"
    alarm.heed(metrics(all_fail=5))
    assert alarm.state == "warn"
    assert alarm.heed(metrics(all_fail=5)) is None
    assert alarm.state == "ok"


def test_a_run_that_has_collapsed_stops_with_a_status_of_its_own_and_a_checkpoint(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving(Service(judge=lambda item: verdict({**item, "completion": "nothing"}))) as service:
        settings = config(
            tmp_path, service.url, sections={"alarm": {"warn_after": 2, "halt_after": 3}, "checkpoint": {"every": 9}}
        )
        path = write_toml(tmp_path / "run.toml", settings)
        text = killable.finished(killable.start(path, log), log, 4)
    assert "no signal for 3 steps (all_fail)" in text
    assert [folder.name for folder in (settings.output / "checkpoints").iterdir()] == ["step-000003"]


def test_tensorboard_gets_every_metric_once_over_a_resumption(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with serving() as service:
        settings = config(tmp_path, service.url, steps=3, sections={"log": {"tensorboard": True}})
        rows = settings.output / "metrics.jsonl"
        go(settings, should_stop=lambda: rows.exists() and len(read_rows(rows)) >= 2)
        go(settings)
    events = EventAccumulator(str(settings.output / "tensorboard")).Reload()
    assert sorted(events.Tags()["scalars"]) == sorted(set(read_rows(rows)[0]) - {"step"})
    assert [event.step for event in events.Scalars("reward")] == [1, 2, 3]
    assert [event.value for event in events.Scalars("reward")] == pytest.approx(
        [row["reward"] for row in read_rows(rows)]
    )


class Changed(HfEngine):
    """The embedded engine, whose completions of some batch of training are changed on the way."""

    def __init__(self, policy: Policy, batch: int, change: Callable[[Completion], Completion]) -> None:
        super().__init__(policy)
        self._countdown = batch
        self._change = change

    def stream(self, requests: Sequence[Request], sampling: Sampling) -> Iterator[tuple[int, tuple[Completion, ...]]]:
        practised = not sampling.greedy and len(requests) == 6
        self._countdown -= practised
        for index, completions in super().stream(requests, sampling):
            hit = practised and self._countdown == 0
            yield index, tuple(map(self._change, completions)) if hit else completions


def test_an_update_that_is_not_finite_is_skipped_counted_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(completion: Completion) -> Completion:
        return dataclasses.replace(completion, logprobs=(math.nan,) * len(completion.token_ids))

    with serving() as service:
        settings = config(tmp_path, service.url)
        outcome = go(settings, fresh_engine=lambda policy: Changed(policy, 2, broken))
    rows = read_rows(settings.output / "metrics.jsonl")
    assert [row["updates/skipped"] for row in rows] == [0, 1, 0, 0, 0, 0]
    assert outcome.position.updates == 5
    assert "its loss or gradient is not finite; lower grpo.lr" in caplog.text


def test_an_empty_completion_is_judged_and_counts_in_its_group(tmp_path: Path) -> None:
    def emptied(completion: Completion) -> Completion:
        return dataclasses.replace(completion, token_ids=(), logprobs=(), finish="stop")

    with serving() as service:
        settings = config(tmp_path, service.url, steps=2)
        outcome = go(settings, fresh_engine=lambda policy: Changed(policy, 1, emptied))
    assert outcome.position.step == 2
    first = [row for row in read_rows(settings.output / "rollouts.jsonl") if row["step"] == 1]
    assert {(row["num_tokens"], row["text"], row["reward"], row["advantage"]) for row in first} == {(0, "", 0.0, 0.0)}
    assert read_rows(settings.output / "metrics.jsonl")[0]["completions/mean_length"] == 0.0


@pytest.mark.timeout(240)
def test_a_service_that_stays_away_stops_the_run_with_a_checkpoint_of_the_last_step(tmp_path: Path) -> None:
    port = free_port()
    sections = {"service": {"url": f"http://127.0.0.1:{port}", "patience_s": 0.5}, "checkpoint": {"every": 100}}
    settings = config(tmp_path, f"http://127.0.0.1:{port}", steps=40, sections=sections)
    path, log = write_toml(tmp_path / "run.toml", settings), tmp_path / "log"
    rows = settings.output / "metrics.jsonl"
    with service_process(port):
        whole = go(settings.model_copy(update={"output": tmp_path / "whole"}))
        process = killable.start(path, log)
        killable.until(lambda: rows.exists() and len(read_rows(rows)) >= 2, process, log)
    killable.finished(process, log, 1)
    done = len(read_rows(rows))
    assert done < 40
    assert [folder.name for folder in (settings.output / "checkpoints").iterdir()] == [f"step-{done:06d}"]
    with service_process(port):
        killable.finished(killable.start(path, log), log)
    assert weights_of(settings.output) == weights(whole)
