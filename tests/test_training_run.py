"""Whole runs over a real socket: they learn, survive faults, and a killed one ends with the same weights."""

from __future__ import annotations

import io
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests import killable
from tests.reward_server import DIGEST, Fault, Service, serving, unscored, verdict
from tests.tiny_policy import tiny_policy
from tests.training import config, go, write_toml
from veredicto_proto.client import Client
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.errors import CheckpointFault, TasksFault, TooFewRewards
from veredicto_trainer.loop import train
from veredicto_trainer.metrics import read_rows
from veredicto_trainer.report import print_report, write_report

ROOT = Path(__file__).parent.parent


@pytest.fixture
def quiet() -> Console:
    return Console(file=io.StringIO(), width=120)


def run_and_report(settings: TrainerConfig, console: Console) -> dict[str, Any]:
    with Client(settings.service.url, first_wait_s=0.01) as client:
        outcome = train(settings, client, console)
        report = write_report(settings.output, outcome, client)
    print_report(settings.output, console)
    return report


def test_a_run_learns_and_reports_what_it_learnt(tmp_path: Path, quiet: Console) -> None:
    tiny_policy(tmp_path / "tiny", tied=False)  # tied embeddings would copy a word without learning to
    with serving() as service:
        settings = config(tmp_path, service.url, steps=60, prompts_per_step=8, group_size=8, lr=5e-3)
        report = run_and_report(settings, quiet)
    assert report["reward_last10"] > report["reward_first10"] + 0.25
    assert report["reward_first10_interval"][1] < report["reward_last10_interval"][0]
    assert report["greedy_after"] > report["greedy_before"]
    assert report["greedy_difference_interval"][0] > 0
    assert report["executes_warm"] == 1.0
    assert report["seeds"] == {"run": 0}
    assert report["audit"]["records"] == report["audit"]["completions"] == service.records == 60 * 64 + 2 * 28
    assert report["audit"]["service"]["run"] == report["run"]
    assert json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))["weights"] == report["weights"]
    assert isinstance(quiet.file, io.StringIO)
    text = quiet.file.getvalue()
    assert "step 60/60" in text
    assert "greedy difference" in text
    refs = {item["task"]["ref"] for request in service.requests for item in request["items"]}
    assert all(ref.startswith(f"words@{DIGEST}/") for ref in refs)
    practised = {i["task"]["ref"] for r in service.requests if r["phase"] == "train" for i in r["items"]}
    assert all("/train/" in ref for ref in practised)


def test_every_sample_is_joined_to_its_record_and_every_metric_is_there(tmp_path: Path, quiet: Console) -> None:
    with serving() as service:
        run_and_report(config(tmp_path, service.url, steps=3), quiet)
    rows = read_rows(tmp_path / "run" / "rollouts.jsonl")
    assert len({row["record"] for row in rows}) == len(rows) == 3 * 36
    assert len({row["id"] for row in rows}) == len(rows)
    assert {(row["step"], row["policy_version"], row["age"]) for row in rows} == {(1, 0, 0), (2, 1, 0), (3, 2, 0)}
    metrics = read_rows(tmp_path / "run" / "metrics.jsonl")
    assert [row["step"] for row in metrics] == [1, 2, 3]
    page = (ROOT / "docs" / "trainer.md").read_text(encoding="utf-8")
    assert [name for name in metrics[0] if f"`{name}`" not in page] == []
    assert [name for name in rows[0] if f"`{name}`" not in page] == []


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path: Path) -> None:
    weights = []
    with serving() as service:
        for name, seed in (("a", 0), ("b", 0), ("c", 1)):
            settings = config(tmp_path, service.url, steps=3).model_copy(
                update={"output": tmp_path / name, "seed": seed}
            )
            after = go(settings).after
            assert after is not None
            weights.append(after.weights)
    assert weights[0] == weights[1] != weights[2]


def test_a_busy_service_changes_nothing_but_time(tmp_path: Path) -> None:
    with serving() as service:
        calm = go(config(tmp_path, service.url)).after
        service.faults = [Fault(times=2), Fault(times=1, drop=True), Fault(times=1, status=429)]
        busy = go(config(tmp_path, service.url).model_copy(update={"output": tmp_path / "busy"})).after
    assert calm is not None
    assert busy is not None
    assert (busy.weights, busy.greedy) == (calm.weights, calm.greedy)
    assert service.faults == []


def test_completions_without_a_reward_leave_the_mean_and_the_loss(tmp_path: Path) -> None:
    def judge(item: dict[str, Any]) -> dict[str, Any]:
        practised = "/train/" in item["task"]["ref"]
        return unscored(item) if practised and item["id"].endswith(".0") else verdict(item)

    service = Service(judge=judge)
    with serving(service):
        settings = config(tmp_path, service.url, max_unscorable=0.2, steps=2)
        go(settings)
    rows = read_rows(settings.output / "rollouts.jsonl")
    lost = [row for row in rows if row["id"].endswith(".0")]
    assert {(row["reward"], row["advantage"], row["error"]) for row in lost} == {(None, None, "task.gold_failed")}
    metrics = read_rows(settings.output / "metrics.jsonl")
    for step in (1, 2):
        known = [row["reward"] for row in rows if row["step"] == step and row["reward"] is not None]
        assert metrics[step - 1]["reward"] == pytest.approx(sum(known) / len(known))
        assert metrics[step - 1]["samples/unscorable"] == 6.0


def test_a_group_with_fewer_than_two_rewards_is_void_and_counted(tmp_path: Path) -> None:
    def judge(item: dict[str, Any]) -> dict[str, Any]:
        alone = item["group"] == "2" and not item["id"].endswith(".3")
        return unscored(item) if alone else verdict(item)

    service = Service(judge=judge)
    with serving(service):
        settings = config(tmp_path, service.url, steps=1, max_unscorable=0.5)
        go(settings)
    (metrics,) = read_rows(settings.output / "metrics.jsonl")
    assert metrics["groups/void"] == 1.0
    rows = [row for row in read_rows(settings.output / "rollouts.jsonl") if row["group_state"] == "void"]
    assert [row["advantage"] for row in rows] == [None] * 6


def test_a_run_stops_when_too_many_have_no_reward_and_goes_on_when_the_service_is_mended(tmp_path: Path) -> None:
    with serving() as service:
        calm = go(config(tmp_path, service.url).model_copy(update={"output": tmp_path / "calm"})).after
        settings = config(tmp_path, service.url)

        def broken(item: dict[str, Any]) -> dict[str, Any]:
            return unscored(item) if item["id"].startswith("4.") else verdict(item)

        service.judge = broken
        service.answers.clear()
        with pytest.raises(TooFewRewards, match="train step 4"):
            go(settings)
        service.judge = verdict
        service.answers.clear()
        mended = go(settings).after
    assert calm is not None
    assert mended is not None
    assert mended.weights == calm.weights


@pytest.mark.parametrize("kl", [0.0, 0.1])
def test_groups_that_all_fail_teach_nothing(tmp_path: Path, kl: float) -> None:
    def wrong(item: dict[str, Any]) -> dict[str, Any]:
        return verdict({**item, "completion": "nothing"})

    service = Service(judge=wrong)
    with serving(service):
        settings = config(tmp_path, service.url, steps=2, kl=kl)
        outcome = go(settings)
    assert outcome.after is not None
    metrics = read_rows(settings.output / "metrics.jsonl")
    assert [row["frac_reward_zero_std"] for row in metrics] == [1.0, 1.0]
    assert [row["groups/all_fail"] for row in metrics] == [6.0, 6.0]
    assert [row["grad_norm"] for row in metrics] == [pytest.approx(0.0, abs=1e-6)] * 2
    if kl == 0.0:
        assert outcome.after.weights == outcome.before.weights
        assert [row["updates/skipped"] for row in metrics] == [1.0, 1.0]


def test_completions_that_were_cut_leave_the_loss_when_told_so(tmp_path: Path) -> None:
    with serving() as service:
        scored = config(tmp_path, service.url, steps=1, max_new_tokens=1)
        go(scored)
        masked = config(tmp_path, service.url, steps=1, max_new_tokens=1, truncated="mask")
        go(masked.model_copy(update={"output": tmp_path / "masked"}))
    cut, kept = (read_rows(tmp_path / name / "metrics.jsonl")[0] for name in ("masked", "run"))
    assert cut["completions/clipped_ratio"] == kept["completions/clipped_ratio"] > 0.5
    assert cut["tokens/in_loss"] == pytest.approx(36 * (1 - cut["completions/clipped_ratio"]))
    assert kept["tokens/in_loss"] == 36


def test_a_run_that_is_asked_to_stop_resumes_to_the_same_weights(tmp_path: Path) -> None:
    with serving() as service:
        whole = go(config(tmp_path, service.url).model_copy(update={"output": tmp_path / "whole"})).after
        settings = config(tmp_path, service.url)
        rows = settings.output / "metrics.jsonl"
        first = go(settings, should_stop=lambda: rows.exists() and len(read_rows(rows)) >= 3)
        assert (first.after, first.position.step) == (None, 3)
        rest = go(settings)
    assert whole is not None
    assert rest.after is not None
    assert rest.after.weights == whole.weights
    assert rest.position.step == 6
    assert [row["step"] for row in read_rows(settings.output / "metrics.jsonl")] == [1, 2, 3, 4, 5, 6]


def test_an_output_of_another_configuration_or_pack_is_refused(tmp_path: Path) -> None:
    with serving() as service:
        settings = config(tmp_path, service.url, steps=1)
        go(settings)
        with pytest.raises(CheckpointFault, match=r"another configuration.*--fresh"):
            go(settings.model_copy(update={"seed": 9}))
        identity = json.loads((settings.output / "run.json").read_text(encoding="utf-8"))
        identity["pack_digest"] = "sha256:" + "2" * 64
        (settings.output / "run.json").write_text(json.dumps(identity), encoding="utf-8")
        with pytest.raises(TasksFault, match="started on pack words@sha256:2"):
            go(settings)


@pytest.mark.timeout(300)
def test_the_program_stops_on_sigterm_evaluates_shows_replays_and_says_what_is_wrong(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving() as service:
        settings = config(tmp_path, service.url, steps=400)
        path = write_toml(tmp_path / "run.toml", settings)
        stopped = killable.start(path, log)
        rows = settings.output / "metrics.jsonl"
        killable.until(lambda: rows.exists() and rows.read_text("utf-8").count("\n") >= 1, stopped, log)
        assert stopped.pid is not None
        os.kill(stopped.pid, signal.SIGTERM)
        assert "the same command resumes" in killable.finished(stopped, log, 3)
        newest = sorted((settings.output / "checkpoints").iterdir())[-1]
        examined = killable.program(
            log, "eval", path, "--policy", newest, "--json", tmp_path / "e.json", "--markdown", tmp_path / "e.md"
        )
        assert "| shots | who | greedy |" in killable.finished(examined, log)
        report = json.loads((tmp_path / "e.json").read_text(encoding="utf-8"))
        assert report["shapes"][0]["policy"]["questions"] == 14
        assert (tmp_path / "e.md").read_text(encoding="utf-8").startswith("# Evaluation of words")
    shown = killable.finished(killable.program(log, "show", settings.output, "--update", "1"), log)
    assert "update 1 learnt in step 1 from 6 groups, 36 completions" in shown
    as_json = killable.finished(killable.program(log, "show", settings.output, "--update", "1", "--json"), log)
    assert len(json.loads(as_json)) == 6
    replayed = killable.finished(killable.program(log, "replay", settings.output, "--set", "grpo.lr=0.001"), log)
    assert "weights sha256:" in replayed
    for arguments, message in (
        (("run", tmp_path / "none.toml"), "cannot read"),
        (("eval", path, "--shots", "two"), "is not a list of numbers"),
        (("show", tmp_path, "--update", "1"), "holds no groups.jsonl"),
    ):
        assert message in killable.finished(killable.program(log, *arguments), log, 1)
