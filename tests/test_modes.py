"""The modes: which weights sample what, ages, and that a run ends with the same weights however it is interrupted."""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import killable
from tests.reward_server import Service, serving, verdict
from tests.training import config, go, weights, weights_of, write_toml
from veredicto_trainer.config import TrainerConfig
from veredicto_trainer.loop import train  # noqa: F401 - loads torch before the first run is timed
from veredicto_trainer.metrics import read_rows
from veredicto_trainer.modes import MODES, Schedule, schedule_of

MODE: dict[str, dict[str, Any]] = {
    "sync": {"mode": {"name": "sync"}},
    "staged": {"mode": {"name": "staged", "stages": 2}},
    "bounded": {"mode": {"name": "bounded", "max_age": 2}},
}


def schedule(mode: dict[str, Any], **grpo: int) -> Schedule:
    body = {
        "run": "r",
        "output": "o",
        "tasks": {"pack": "p"},
        "policy": {"path": "p"},
        "mode": mode,
        "grpo": {"steps": 6, **grpo},
    }
    return schedule_of(TrainerConfig.model_validate(body))


@pytest.mark.parametrize(
    ("mode", "grpo", "sampled_after", "max_age"),
    [
        ({"name": "sync"}, {}, [0, 1, 2, 3, 4, 5], 0),
        ({"name": "sync"}, {"updates_per_batch": 2}, [0, 1, 2, 3, 4, 5], 1),
        ({"name": "staged", "stages": 2}, {}, [0, 0, 0, 3, 3, 3], 2),
        ({"name": "staged", "stages": 4}, {}, [0, 1, 1, 3, 4, 4], 1),
        ({"name": "staged", "stages": 1}, {"updates_per_batch": 3}, [0] * 6, 17),
        ({"name": "bounded", "max_age": 0}, {}, [0, 1, 2, 3, 4, 5], 0),
        ({"name": "bounded", "max_age": 2}, {}, [0, 0, 0, 1, 2, 3], 2),
        ({"name": "bounded", "max_age": 3}, {"updates_per_batch": 2}, [0, 0, 1, 2, 3, 4], 3),
    ],
)
def test_a_mode_says_which_weights_sample_each_step(
    mode: dict[str, Any], grpo: dict[str, int], sampled_after: list[int], max_age: int
) -> None:
    found = schedule(mode, **grpo)
    assert [found.sampled_after(step) for step in range(1, 7)] == sampled_after
    assert found.max_age == max_age


@given(st.sampled_from(sorted(MODES)), st.integers(1, 60), st.integers(1, 60), st.integers(0, 9), st.integers(1, 3))
def test_every_step_is_admitted_once_and_never_older_than_allowed(
    name: str, steps: int, stages: int, max_age: int, repeats: int
) -> None:
    mode = {"name": name, "stages": min(stages, steps), "max_age": max(max_age, repeats - 1)}
    found = schedule(mode, steps=steps, updates_per_batch=repeats)
    admitted = [step for after in range(steps) for step in found.admitted(after)]
    assert admitted == list(range(1, steps + 1))
    ages = [(step - found.sampled_after(step)) * repeats - 1 for step in range(1, steps + 1)]
    assert 0 <= max(ages) <= found.max_age


@pytest.mark.parametrize("mode", [{"name": "staged", "stages": 7}, {"name": "bounded", "max_age": 0}])
def test_a_mode_that_cannot_be_is_refused(mode: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"use fewer stages|lower the other"):
        schedule(mode, updates_per_batch=2)


@pytest.mark.parametrize(
    ("name", "ages", "pushes"),
    [("sync", [0] * 6, 6), ("staged", [0, 1, 2, 0, 1, 2], 2), ("bounded", [0, 1, 2, 2, 2, 2], 4)],
)
def test_ages_are_those_of_the_schedule_and_nothing_is_thrown_away(
    tmp_path: Path, name: str, ages: list[int], pushes: int
) -> None:
    with serving() as service:
        settings = config(tmp_path, service.url, sections=MODE[name])
        go(settings)
    rows = read_rows(settings.output / "rollouts.jsonl")
    assert [{row["age"] for row in rows if row["step"] == step} for step in range(1, 7)] == [{age} for age in ages]
    assert [row["off_policy/max"] for row in read_rows(settings.output / "metrics.jsonl")] == ages
    assert service.records == 6 * 36 + 2 * 28 == len(rows) + 2 * 28
    syncs = read_rows(settings.output / "syncs.jsonl")
    assert len(syncs) == pushes
    assert all(sync["holds"] for sync in syncs)
    states = Counter(row["state"] for row in read_rows(settings.output / "groups.jsonl"))
    assert states == {"planned": 36, "generated": 36, "scored": 36, "trained": 36}


@pytest.mark.parametrize("name", ["staged", "bounded"])
@pytest.mark.parametrize("stop", [1, 4])
def test_a_run_that_is_asked_to_stop_resumes_to_the_same_weights_in_every_mode(
    tmp_path: Path, name: str, stop: int
) -> None:
    with serving() as service:
        whole = go(config(tmp_path, service.url, name="whole", sections=MODE[name], updates_per_batch=1))
        settings = config(tmp_path, service.url, sections=MODE[name])
        rows = settings.output / "metrics.jsonl"
        first = go(settings, should_stop=lambda: rows.exists() and len(read_rows(rows)) >= stop)
        assert (first.after, first.position.step) == (None, stop)
        rest = go(settings)
    assert weights(rest) == weights(whole)
    assert [row["step"] for row in read_rows(rows)] == [1, 2, 3, 4, 5, 6]
    states = Counter(row["state"] for row in read_rows(settings.output / "groups.jsonl"))
    assert states == {"planned": 36, "generated": 36, "scored": 36, "trained": 36}


def test_sampling_beside_learning_draws_what_sampling_before_it_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of `bounded` decides when something is sampled, never what."""
    with serving() as service:
        beside = go(config(tmp_path, service.url, name="beside", sections=MODE["bounded"]))
        ahead = MODES["bounded"]
        monkeypatch.setitem(MODES, "bounded", lambda *given: replace(ahead(*given), ahead=False))
        before = go(config(tmp_path, service.url, name="before", sections=MODE["bounded"]))
    texts = [[row["text"] for row in read_rows(tmp_path / n / "rollouts.jsonl")] for n in ("beside", "before")]
    assert texts[0] == texts[1]
    assert weights(beside) == weights(before)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sorted(MODE))
def test_a_run_killed_at_any_of_several_points_ends_with_the_weights_of_one_that_was_not(
    tmp_path: Path, name: str
) -> None:
    """Killed while the first examination is judged, while a step is judged, while it samples, while it checkpoints."""
    victim: list[int] = []
    deadly: list[str] = []

    def judge(item: dict[str, Any]) -> dict[str, Any]:
        if victim and item["id"].startswith(deadly[0]):
            os.kill(victim.pop(), signal.SIGKILL)
        return verdict(item)

    log = tmp_path / "log"
    with serving(Service(judge=judge)) as service:
        settings = config(tmp_path, service.url, sections=MODE[name], updates_per_batch=1)
        whole = go(settings.model_copy(update={"output": tmp_path / "whole"}))
        path = write_toml(tmp_path / "run.toml", settings)
        for sent in ("0.g3.", "4.2."):
            deadly[:] = [sent]
            process = killable.start(path, log)
            assert process.pid is not None
            victim.append(process.pid)
            process.join(killable.PATIENCE_S)
            assert process.exitcode == -signal.SIGKILL, log.read_text(encoding="utf-8")
        for moment in (".step-*.tmp", "step-000004"):
            process = killable.start(path, log)
            folder = settings.output / "checkpoints"
            known = set(folder.glob(moment))
            killable.until(lambda: bool(set(folder.glob(moment)) - known), process, log)  # noqa: B023 - used at once
            killable.kill(process)
        killable.finished(killable.start(path, log), log)
    assert weights_of(settings.output) == weights(whole)
    assert [row["step"] for row in read_rows(settings.output / "metrics.jsonl")] == [1, 2, 3, 4, 5, 6]
    assert len(read_rows(settings.output / "rollouts.jsonl")) == 6 * 36
