"""What a run refuses, in one line: a folder that is in use, files that were changed, settings that cannot be meant."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from tests.reward_server import serving
from tests.tiny_policy import tiny_policy
from tests.training import config, go, write_toml
from veredicto_trainer import __main__ as command
from veredicto_trainer.alarm import Alarm
from veredicto_trainer.config import AlarmSection, TrainerConfig, load_config
from veredicto_trainer.engines.engine import Request, Sampling
from veredicto_trainer.engines.hf import HfEngine
from veredicto_trainer.errors import CheckpointFault, Collapse, ConfigFault, EngineFault, PolicyFault, ReportFault
from veredicto_trainer.lock import sole_trainer
from veredicto_trainer.metrics import read_rows
from veredicto_trainer.policy_loading import load_policy
from veredicto_trainer.recordings import Recordings
from veredicto_trainer.replay import replay
from veredicto_trainer.show import trained_on


def started(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit status of the program in this process."""
    monkeypatch.setattr("sys.argv", ["veredicto-train", *arguments])
    with pytest.raises(SystemExit) as ended:
        command.main()
    code = ended.value.code
    assert isinstance(code, int)
    return code


def test_two_trainers_never_work_in_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_toml(tmp_path / "run.toml", config(tmp_path, "http://127.0.0.1:1"))
    with sole_trainer(tmp_path / "run"):
        for more in ([], ["--fresh"]):
            assert started(monkeypatch, "run", str(path), *more) == 1
            assert "another trainer is at work" in capsys.readouterr().err
    assert not list(tmp_path.glob("run.[0-9]"))
    with sole_trainer(tmp_path / "run"):
        pass


def test_an_output_that_cannot_be_written_ends_the_program_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_toml(tmp_path / "run.toml", config(tmp_path, "http://127.0.0.1:1"))
    assert started(monkeypatch, "run", str(path), "--output", str(path / "below-a-file")) == 1
    said = capsys.readouterr().err
    assert said.startswith("veredicto-train: ")
    assert "below-a-file" in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("option", [("--seed", "-1"), ("--seed", "9" * 30)])
def test_an_option_is_held_to_what_its_field_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: tuple[str, str]
) -> None:
    path = write_toml(tmp_path / "run.toml", config(tmp_path, "http://127.0.0.1:1"))
    assert started(monkeypatch, "run", str(path), *option) == 1
    assert "the command line: seed" in capsys.readouterr().err


def test_a_pin_of_a_pack_that_the_run_does_not_use_is_refused(tmp_path: Path) -> None:
    path = write_toml(tmp_path / "run.toml", config(tmp_path, "http://127.0.0.1:1"))
    path.write_text(path.read_text() + '\n[service.pins]\nword = "sha256:00"\n')
    with pytest.raises(ConfigFault, match=r"service.pins names 'word' but the run uses only pack 'words'"):
        load_config(path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has what the policy asks for")
def test_a_device_that_is_not_there_is_named(tmp_path: Path) -> None:
    settings = config(
        tmp_path, "http://127.0.0.1:1", sections={"policy": {"path": tmp_path / "tiny", "device": "cuda"}}
    )
    with pytest.raises(PolicyFault, match=r"policy.device is `cuda`"):
        load_policy(settings.policy, tmp_path / "tiny")


def refused_at_start(folder: Path) -> str:
    """What is said of a policy's folder."""
    settings = config(folder.parent, "http://127.0.0.1:1")
    with pytest.raises(PolicyFault) as caught:
        load_policy(settings.policy, folder)
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_a_policy_whose_files_do_not_fit_each_other_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    tiny_policy(folder)
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    changes: list[tuple[str, Callable[[bytes], bytes], str]] = [
        ("generation_config.json", lambda b: json.dumps({**json.loads(b), "eos_token_id": 99999}).encode(), "99999"),
        ("config.json", lambda b: json.dumps({**json.loads(b), "vocab_size": 5000}).encode(), "cannot load"),
        ("model.safetensors", lambda b: b[:5000], "cannot load"),
        ("model.safetensors", _broken_weights, "not finite"),
        ("tokenizer.json", lambda b: b"", "cannot load"),
    ]
    for name, change, said in changes:
        (folder / name).write_bytes(change(kept[folder / name]))
        assert said in refused_at_start(folder)
        (folder / name).write_bytes(kept[folder / name])


def _broken_weights(body: bytes) -> bytes:
    tensors = safetensors.torch.load(body)
    for tensor in tensors.values():
        tensor.fill_(math.nan)
    return safetensors.torch.save(tensors, metadata={"format": "pt"})


def test_nothing_is_sampled_from_logits_that_are_not_numbers(tmp_path: Path) -> None:
    settings = config(tmp_path, "http://127.0.0.1:1")
    policy = load_policy(settings.policy, tmp_path / "tiny")
    with torch.no_grad():
        next(policy.model.parameters()).fill_(math.nan)
    for sampling in (Sampling(3), Sampling(3, greedy=True)):
        with pytest.raises(EngineFault, match="not numbers"):
            HfEngine(policy).generate([Request((1, 5), (7, 8))], sampling)


@pytest.mark.parametrize("shots", ["-1", "", "2,", "two"])
def test_numbers_of_examples_are_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shots: str
) -> None:
    path = write_toml(tmp_path / "run.toml", config(tmp_path, "http://127.0.0.1:1"))
    assert started(monkeypatch, "eval", str(path), "--shots", shots) == 1
    assert "is not a list of numbers" in capsys.readouterr().err


def test_an_alarm_that_halts_before_it_warns_names_its_cause() -> None:
    alarm = Alarm(AlarmSection(warn_after=5, halt_after=1))
    counts = {"groups/all": 4.0, "groups/void": 0.0, "groups/duplicates": 0.0, "groups/all_pass": 0.0}
    alarm.heed({"frac_reward_zero_std": 1.0, "groups/all_fail": 4.0, "groups/constant": 0.0, **counts})
    with pytest.raises(Collapse, match="all_fail"):
        alarm.demand()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> TrainerConfig:
    """A run of two steps that leaves cut completions out of the loss."""
    with serving() as service:
        settings = config(tmp_path_factory.mktemp("finished"), service.url, steps=2, max_new_tokens=2, truncated="mask")
        go(settings)
    return settings


def test_a_completion_that_was_cut_and_left_out_is_in_no_update(finished: TrainerConfig) -> None:
    rows = read_rows(finished.output / "rollouts.jsonl")
    cut = [row for row in rows if row["finish"] == "length"]
    ended = [row for row in rows if row["finish"] == "stop"]
    assert cut
    assert {(row["advantage"], len(row["updates"])) for row in cut} == {(None, 0)}
    assert None not in {row["advantage"] for row in ended}
    metrics = read_rows(finished.output / "metrics.jsonl")
    assert sum(row["num_tokens"] for row in ended) == sum(row["tokens/in_loss"] for row in metrics)


def test_a_changed_recording_is_refused(finished: TrainerConfig) -> None:
    path = finished.output / "recordings" / "step-000001-0.safetensors"
    whole = path.read_bytes()
    try:
        for at in (whole.index(b"words@"), len(whole) - 5):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            with pytest.raises(CheckpointFault, match="changed since it was written"):
                Recordings(path.parent).read(1, 0)
    finally:
        path.write_bytes(whole)
    assert Recordings(path.parent).read(1, 0) is not None


@pytest.mark.parametrize("line", [b"garbage", b"null", b"{}"])
def test_a_damaged_line_of_a_log_is_named(finished: TrainerConfig, tmp_path: Path, line: bytes) -> None:
    (tmp_path / "groups.jsonl").write_bytes((finished.output / "groups.jsonl").read_bytes() + line + b"\n")
    number = len(read_rows(finished.output / "groups.jsonl")) + 1
    with pytest.raises(ReportFault, match=f"line {number} of .*groups.jsonl is damaged"):
        trained_on(tmp_path, 1)


def test_files_that_were_changed_stop_a_run_that_resumes_and_a_replay(finished: TrainerConfig, tmp_path: Path) -> None:
    kept = {path: path.read_bytes() for path in finished.output.glob("*.json")}
    bad: list[Any] = [("eval_before.json", b'{"step"'), ("eval_before.json", b"{}"), ("eval_before.json", None)]
    with serving() as service:
        again = finished.model_copy(update={"service": finished.service.model_copy(update={"url": service.url})})
        for name, body in bad:
            path = finished.output / name
            path.write_bytes(body) if body is not None else os.remove(path)
            with pytest.raises(CheckpointFault, match=r"eval_before\.json"):
                go(again)
            path.write_bytes(kept[path])
        go(again)
    (finished.output / "report.json").write_bytes(b"{")
    with pytest.raises(CheckpointFault, match=r"report\.json cannot be read"):
        replay(finished.output, progress=lambda step, metrics: None)
    (finished.output / "report.json").unlink()
    assert json.loads((finished.output / "run.json").read_bytes())["run"].startswith("words-")
