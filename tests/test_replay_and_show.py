"""What a run leaves behind: its ledger of groups, what an update was trained on, and that it can be learnt again."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.reward_server import Service, serving, unscored, verdict
from tests.training import config, go, weights
from veredicto_trainer.categories import age_histogram, age_reports, category_reports
from veredicto_trainer.checkpoints import read_json, write_json
from veredicto_trainer.errors import CheckpointFault, ConfigFault, LedgerFault, ReportFault
from veredicto_trainer.evaluate import load_or
from veredicto_trainer.group_ledger import AFTER, GroupLedger
from veredicto_trainer.metrics import read_rows
from veredicto_trainer.replay import changed, replay
from veredicto_trainer.rollouts import Completion, Group, Question, Rollout, Unscored, Verdict
from veredicto_trainer.show import print_groups, trained_on

STAGED = {"mode": {"name": "staged", "stages": 2}}


def ignore(step: int, metrics: dict[str, float]) -> None:
    assert metrics


@pytest.mark.parametrize(
    ("sections", "grpo"),
    [({}, {"kl": 0.05}), (STAGED, {"updates_per_batch": 2, "loss": "mu_grpo"}), ({}, {"generation_rounds": 3})],
)
def test_a_replay_ends_with_the_weights_of_the_run(
    tmp_path: Path, sections: dict[str, Any], grpo: dict[str, Any]
) -> None:
    with serving() as service:
        settings = config(tmp_path, service.url, sections=sections, **grpo)
        outcome = go(settings)
    write_json(settings.output / "report.json", {"weights": weights(outcome)})
    again = replay(settings.output, progress=ignore)
    assert again.weights == again.expected == weights(outcome)
    assert (again.steps, again.same_settings) == (6, True)


def test_a_replay_under_another_loss_ends_elsewhere_and_leaves_the_run_alone(tmp_path: Path) -> None:
    with serving() as service:
        settings = config(tmp_path, service.url)
        outcome = go(settings)
    rows = read_rows(settings.output / "rollouts.jsonl")
    other = replay(settings.output, ["grpo.loss=dr_grpo", "grpo.lr=0.001"], target=tmp_path / "if", progress=ignore)
    assert other.weights != weights(outcome)
    assert (other.expected, other.same_settings) == (None, False)
    assert json.loads((tmp_path / "if" / "replay.json").read_text(encoding="utf-8"))["weights"] == other.weights
    assert (tmp_path / "if" / "policy" / "model.safetensors").exists()
    assert read_rows(settings.output / "rollouts.jsonl") == rows
    with pytest.raises(ReportFault, match="give the folder of a run"):
        replay(tmp_path, progress=ignore)


def test_a_damaged_run_says_which_file_and_is_never_replayed_in_silence(tmp_path: Path) -> None:
    with serving() as service:
        settings = config(tmp_path, service.url, steps=3)
        go(settings)
    rollouts, recording = (
        settings.output / "rollouts.jsonl",
        settings.output / "recordings" / "step-000002-0.safetensors",
    )
    lines = rollouts.read_text(encoding="utf-8").splitlines(keepends=True)
    gap = [line for line in lines if json.loads(line)["step"] != 2]
    rollouts.write_text("".join(gap), encoding="utf-8")
    with pytest.raises(ReportFault, match=r"verdicts in rollouts\.jsonl of step 2 are missing"):
        replay(settings.output, progress=ignore)
    (settings.output / "report.json").write_text("{}", encoding="utf-8")
    rollouts.write_text("".join(line for line in lines if json.loads(line)["step"] < 3), encoding="utf-8")
    with pytest.raises(ReportFault, match=r"verdicts in rollouts\.jsonl of step 3 are missing"):
        replay(settings.output, progress=ignore)
    rollouts.write_text("".join([*lines[:5], "{\n", *lines[5:]]), encoding="utf-8")
    with pytest.raises(ReportFault, match=r"line 6 of .*rollouts\.jsonl is damaged"):
        replay(settings.output, progress=ignore)
    rollouts.write_text("".join(lines), encoding="utf-8")
    (settings.output / "report.json").write_text("[", encoding="utf-8")
    with pytest.raises(CheckpointFault, match=r"report\.json cannot be read"):
        replay(settings.output, progress=ignore)
    recording.unlink()
    with pytest.raises(ReportFault, match=r"tokens in recordings/ of step 2 are missing"):
        replay(settings.output, progress=ignore)
    (settings.output / "eval_before.json").write_text('{"step": 0}', encoding="utf-8")
    with pytest.raises(CheckpointFault, match=r"eval_before\.json is no examination"):
        load_or(settings.output / "eval_before.json", lambda: pytest.fail("it must not be sat again unasked"))


def test_a_disk_that_refuses_a_report_is_named_and_the_old_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_json(path, {"weights": "old"})
    (tmp_path / ".report.json.tmp").mkdir()
    with pytest.raises(CheckpointFault, match="make room"):
        write_json(path, {"weights": "new"})
    assert read_json(path) == {"weights": "old"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("grpo.loss", "is not table.field=value"),
        ("seed=4", "is not table.field=value"),
        ("tasks.pack=other", "cannot be changed"),
        ("grpo.group_size=4", "cannot be changed"),
        ("grpo.los=grpo", "grpo.los"),
        ("grpo.lr=-1", "grpo.lr"),
        ("grpo.lr.x=1", "names no field"),
    ],
)
def test_a_change_that_cannot_be_is_refused(tmp_path: Path, change: str, message: str) -> None:
    with pytest.raises(ConfigFault, match=message):
        changed(config(tmp_path, "http://nowhere"), [change])


def test_an_update_says_what_it_was_trained_on(tmp_path: Path) -> None:
    def judge(item: dict[str, Any]) -> dict[str, Any]:
        alone = item["group"] == "2" and item["id"].startswith("2.") and not item["id"].endswith(".3")
        return unscored(item) if alone else verdict(item)

    with serving(Service(judge=judge)) as service:
        settings = config(tmp_path, service.url, sections=STAGED, max_unscorable=0.5)
        go(settings)
    groups = trained_on(settings.output, 2)
    rows = [row for row in read_rows(settings.output / "rollouts.jsonl") if row["step"] == 2]
    assert [group["group"] for group in groups] == ["0", "1", "3", "4", "5"]
    assert {(g["policy_version"], g["age_min"], g["age_max"], g["sampled_after"]) for g in groups} == {(0, 1, 1, 0)}
    for group in groups:
        mine = [row for row in rows if row["group"] == group["group"]]
        assert group["records"] == [row["record"] for row in mine] == [row["record"] for row in group["completions"]]
        assert group["rewards"] == [row["reward"] for row in mine]
        assert group["planned_at"] <= group["generated_at"] <= group["scored_at"] <= group["trained_at"]
    console = Console(file=io.StringIO(), width=200)
    print_groups(groups, 2, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "update 2 learnt in step 2 from 5 groups" in text
    assert all(str(record) in text for group in groups for record in group["records"])
    void = [row for row in read_rows(settings.output / "groups.jsonl") if row["state"] == "void"]
    assert [(row["step"], row["group"], row["reason"]) for row in void] == [(2, "2", "too_few_rewards")]
    with pytest.raises(ReportFault, match="has updates 1 to 6, none with number 137"):
        trained_on(settings.output, 137)


def test_groups_without_a_signal_are_replaced_up_to_the_cap(tmp_path: Path) -> None:
    with serving() as service:
        settings = config(tmp_path, service.url, generation_rounds=4, group_size=3, steps=4)
        go(settings)
    metrics = read_rows(settings.output / "metrics.jsonl")
    rows = read_rows(settings.output / "rollouts.jsonl")
    assert any(row["groups/replaced"] for row in metrics)
    for row in metrics:
        mine = [r for r in rows if r["step"] == row["step"]]
        replaced = {r["group"] for r in mine if r["group_state"] == "replaced"}
        assert len(replaced) == row["groups/replaced"]
        assert len({r["group"] for r in mine}) == 6 + row["groups/replaced"]
        assert row["groups/all"] == 6
        assert row["generation/rounds"] == 4 or row["groups/mixed"] == 6
    drawn = sorted((r["step"], int(r["group"]), r["ref"]) for r in rows if r["id"].endswith(".0"))
    refs = [ref for _, _, ref in drawn]
    assert len(set(refs[:42])) == len(refs[:42]), "no question is drawn twice before all were drawn"
    reasons = [row["reason"] for row in read_rows(settings.output / "groups.jsonl") if row["state"] == "void"]
    assert set(reasons) == {"no_signal_replaced"}


QUESTION = Question("p/train/1", "odd", "w0", (4,))
COMPLETION = Completion((5, 1), (-1.0, -0.5), "stop", 3)
GROUP = Group("0", QUESTION, (Rollout("1.0.0", COMPLETION, "w1", Verdict(1.0, True, "r-1")),))


@given(st.lists(st.sampled_from(sorted(AFTER)), max_size=8))
def test_a_group_goes_through_its_states_once_and_in_order(states: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        ledger = GroupLedger(Path(folder), last_step=0)
        act = {
            "planned": lambda: ledger.planned(1, {"0": QUESTION}, sampled_after=0),
            "generated": lambda: ledger.generated(1, Unscored("0", QUESTION, (COMPLETION,), ("w1",)), at=1.0),
            "scored": lambda: ledger.scored(1, GROUP),
            "trained": lambda: ledger.trained(1, GROUP, updates=[4], trained_at=3, stats=[]),
            "void": lambda: ledger.void(1, GROUP, "too_few_rewards"),
        }
        now: str | None = None
        for state in states:
            if AFTER[state] == now:  # type: ignore[index]
                act[state]()
                now = None if state in ("trained", "void") else state
            else:
                with pytest.raises(LedgerFault, match="cannot become"):
                    act[state]()
        ledger.close()


def row(category: str, group: int, *, passed: bool, advantage: float | None, state: str) -> dict[str, Any]:
    return {
        "category": category,
        "step": 1,
        "group": str(group),
        "group_state": state,
        "passed": passed,
        "advantage": advantage,
        "num_tokens": 10,
        "clipped_tokens": 1,
        "vetoed_tokens": 0,
        "age": group,
    }


def test_categories_are_reported_with_their_part_of_the_gradient() -> None:
    rows = [row("easy", 1, passed=True, advantage=0.0, state="equal") for _ in range(4)]
    rows += [row("hard", 2, passed=i == 0, advantage=1.5 if i == 0 else -0.5, state="mixed") for i in range(4)]
    rows += [row("lost", 3, passed=False, advantage=0.0, state="equal") for _ in range(4)]
    rows += [row("lost", 4, passed=False, advantage=None, state="replaced") for _ in range(4)]
    easy, hard, lost = category_reports(rows)
    assert (easy.pass_rate, hard.pass_rate, lost.pass_rate) == (1.0, 0.25, 0.0)
    assert (easy.gradient_share, hard.gradient_share, lost.gradient_share) == (0.0, 1.0, 0.0)
    assert (easy.starved, hard.starved, lost.starved) == (False, False, True)
    assert (hard.groups, hard.completions, hard.mixed_share, hard.clipped_share) == (1, 4, 1.0, 0.1)
    assert hard.interval[0] < 0.25 < hard.interval[1]
    assert lost.groups == 1
    assert age_histogram(rows) == {"1": 4, "2": 4, "3": 4}
    taken = {"clipped_share": 0.1, "vetoed_share": 0.1, "vetoed_completions": 2}
    rows[4]["vetoed_tokens"] = rows[5]["vetoed_tokens"] = 2
    assert age_reports(rows) == [{"age": 2, "completions": 4, **taken}]
