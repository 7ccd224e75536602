"""Configuration, questions, rewards, checkpoints and logs: what each refuses, and what each never does silently."""

from __future__ import annotations

import itertools
import json
import logging
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.reward_server import DIGEST, Service, serving, unscored, verdict
from tests.tiny_policy import tiny_policy
from veredicto_proto.client import Client
from veredicto_proto.messages import ChatMessage
from veredicto_trainer.checkpoints import Checkpoints, Position
from veredicto_trainer.config import TasksSection, TrainerConfig, load_config
from veredicto_trainer.curve import svg_curve, text_curve
from veredicto_trainer.errors import CheckpointFault, ConfigFault, PolicyFault, TasksFault, TooFewRewards
from veredicto_trainer.metrics import StepLog, read_rows
from veredicto_trainer.policy import Policy
from veredicto_trainer.rewards import Rewarder
from veredicto_trainer.rollouts import Completion, Question, Unscored
from veredicto_trainer.sampler import Sampler
from veredicto_trainer.tasks import as_questions, fetch_tasks, pinned

DOCS = Path(__file__).parent.parent / "docs" / "trainer.md"
MINIMAL = """
run = "r"
output = "runs/r"
[tasks]
pack = "words"
[policy]
path = "models/tiny"
[grpo]
steps = 3
"""


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return Policy.load(tiny_policy(tmp_path_factory.mktemp("policy")))


def fields(model: type[BaseModel], prefix: str = "") -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        inner = [a for a in (field.annotation, *getattr(field.annotation, "__args__", ())) if isinstance(a, type)]
        sections = [a for a in inner if issubclass(a, BaseModel)]
        assert field.description, f"{prefix}{name} has no docstring"
        names += fields(sections[0], f"{prefix}{name}.") if sections else [f"{prefix}{name}"]
    return names


def test_every_field_has_its_row_in_the_docs() -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert [name for name in fields(TrainerConfig) if f"| `{name}` |" not in page] == []


def section_of(model: type[BaseModel], part: str) -> type[BaseModel]:
    annotation = model.model_fields[part].annotation
    kinds = [a for a in (annotation, *getattr(annotation, "__args__", ())) if isinstance(a, type)]
    return next(kind for kind in kinds if issubclass(kind, BaseModel))


def test_every_default_in_the_docs_is_the_real_one() -> None:
    rows = [line.split(" | ") for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    known = {row[0].strip("| `"): row[1].strip().strip("`") for row in rows if len(row) >= 3}
    for name in fields(TrainerConfig):
        section, _, leaf = name.rpartition(".")
        model: type[BaseModel] = TrainerConfig
        for part in section.split(".") if section else ():
            model = section_of(model, part)
        if model.model_fields[leaf].is_required():
            assert known[name] == "required", name
            continue
        default = model.model_fields[leaf].default
        assert json.loads(known[name]) == (list(default) if isinstance(default, tuple) else default), name


def tomllib_loads(text: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("run = 3", "TOML|run"),
        (MINIMAL + "stps = 4", "grpo.stps"),
        (MINIMAL.replace("steps = 3", "steps = 0"), "grpo.steps"),
        (MINIMAL.replace('path = "models/tiny"', ""), "give either"),
        (MINIMAL.replace('path = "models/tiny"', "[policy.scratch]"), "warm_start"),
        (MINIMAL + "group_size = 1", "grpo.group_size"),
        (MINIMAL + 'loss = "other"', "grpo.loss"),
        (MINIMAL + "dual_clip = 0.5", "0 \\(none\\) or above 1"),
        (MINIMAL + "clip_low = 1.5", "grpo.clip_low"),
        (MINIMAL + "[grpo.veto]\nthreshold = 0", "grpo.veto.threshold"),
        (MINIMAL + "[grpo.correction]\nlow = 3", "`low` is above `high`"),
        (MINIMAL + "[policy.lora]\nrank = 0", "policy.lora.rank"),
        ("[", "is not TOML"),
        ("\x00", "is not TOML"),
    ],
)
def test_a_wrong_configuration_names_the_field(tmp_path: Path, change: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(change, encoding="utf-8")
    with pytest.raises(ConfigFault, match=message):
        load_config(path)
    with pytest.raises(ConfigFault, match="cannot read"):
        load_config(tmp_path / "none.toml")


@pytest.mark.parametrize("path", sorted((DOCS.parent.parent / "configs").glob("*.toml")), ids=lambda path: path.name)
def test_every_configuration_that_is_shipped_can_be_read(path: Path) -> None:
    assert load_config(path).digest().startswith("sha256:")


def test_the_digest_follows_what_is_learnt_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"

    def digest(text: str) -> str:
        path.write_text(text, encoding="utf-8")
        return load_config(path).digest()

    first = digest(MINIMAL)
    assert (
        digest(MINIMAL.replace("runs/r", "elsewhere") + '[service]\nurl = "http://a:1"\n[checkpoint]\nevery = 1')
        == first
    )
    assert digest(MINIMAL + "lr = 0.5") != first
    assert digest(MINIMAL + f'[service.pins]\nwords = "{DIGEST}"') != first


def test_refs_carry_the_pin_once() -> None:
    assert pinned("words/train/0001", "sha256:ab") == "words@sha256:ab/train/0001"
    assert pinned("words@sha256:ab/train/0001", "sha256:cd") == "words@sha256:ab/train/0001"


def test_tasks_are_pinned_filtered_and_refused_when_they_do_not_fit() -> None:
    with serving() as service, Client(service.url) as client:
        tasks = fetch_tasks(client, TasksSection(pack="words", categories=("odd",)), None)
        assert tasks.digest == DIGEST
        assert {task.category for task in tasks.train} == {"odd"}
        assert {task.category for task in tasks.test} == {"odd", "even"}
        with pytest.raises(TasksFault, match=r"no pack 'wrds', only: words"):
            fetch_tasks(client, TasksSection(pack="wrds"), None)
        with pytest.raises(TasksFault, match="is pinned to sha256:2"):
            fetch_tasks(client, TasksSection(pack="words"), "sha256:2")
        with pytest.raises(TasksFault, match="0 tasks to practise"):
            fetch_tasks(client, TasksSection(pack="words", categories=("none",)), None)


def test_a_prompt_longer_than_the_context_is_left_out_and_said(
    policy: Policy, caplog: pytest.LogCaptureFixture
) -> None:
    with serving() as service, Client(service.url) as client:
        tasks = fetch_tasks(client, TasksSection(pack="words"), None).train
    long = tasks[0].model_copy(update={"prompt": "w1 " * 40})
    with caplog.at_level(logging.WARNING):
        questions = as_questions([long, *tasks[1:4]], DIGEST, policy, max_new_tokens=8)
    assert [question.ref for question in questions] == [pinned(task.ref, DIGEST) for task in tasks[1:4]]
    assert "1 of 4 prompts do not fit 24 tokens" in caplog.text
    with pytest.raises(TasksFault, match="no prompt fits 24 tokens"):
        as_questions([long], DIGEST, policy, max_new_tokens=8)


def test_drawing_shows_every_question_once_an_epoch_in_an_order_of_its_own() -> None:
    questions = [Question(f"r{i}", None, "", (1,)) for i in range(10)]
    sampler = Sampler(questions, TasksSection(pack="p"), seed=3)
    drawn = [q.ref for step in range(1, 11) for q in sampler.draw(step=step, first=4 * (step - 1), count=4)]
    epochs = [drawn[i : i + 10] for i in range(0, 40, 10)]
    assert all(sorted(epoch) == sorted(q.ref for q in questions) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4
    assert drawn[:4] != [
        q.ref for q in Sampler(questions, TasksSection(pack="p"), seed=4).draw(step=1, first=0, count=4)
    ]


CATEGORIES = st.lists(st.sampled_from("abc"), min_size=1, max_size=30)


def pool(categories: list[str], difficulties: list[float] | None = None) -> list[Question]:
    levels = difficulties or [0.0] * len(categories)
    return [
        Question(f"r{i}", name, "", (1,), level) for i, (name, level) in enumerate(zip(categories, levels, strict=True))
    ]


@given(CATEGORIES, st.integers(0, 3), st.integers(1, 5))
def test_balanced_drawing_takes_turns_over_categories_and_shows_each_of_their_questions_once_an_epoch(
    categories: list[str], seed: int, batch: int
) -> None:
    sampler = Sampler(pool(categories), TasksSection(pack="p", order="balanced"), seed=seed)
    names = sorted(set(categories))
    count = 2 * len(names) * len(categories)
    drawn = [q for first in range(0, count, batch) for q in sampler.draw(step=1, first=first, count=batch)][:count]
    assert [q.category for q in drawn] == names * (count // len(names))
    for name in names:
        lane, size = [q.ref for q in drawn if q.category == name], categories.count(name)
        epochs = [lane[start : start + size] for start in range(0, len(lane) - size + 1, size)]
        assert all(len(set(epoch)) == size for epoch in epochs)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 12), st.floats(0.05, 1))
def test_a_curriculum_begins_with_the_easiest_and_only_ever_opens_more(
    difficulties: list[float], steps: int, start: float
) -> None:
    questions = pool(["a"] * len(difficulties), difficulties)
    sampler = Sampler(questions, TasksSection(pack="p", curriculum_steps=steps, curriculum_start=start), seed=1)
    opened = [set(sampler.open_at(step)) for step in range(1, steps + 2)]
    assert len(opened[0]) == max(1, math.ceil(start * len(questions)))
    assert all(before <= after for before, after in itertools.pairwise(opened))
    assert opened[-1] == set(questions)
    for step, some in enumerate(opened, 1):
        closed = [q.difficulty for q in questions if q not in some]
        assert max(q.difficulty or 0.0 for q in some) <= min([q or 0.0 for q in closed], default=1.0)
        assert set(sampler.draw(step=step, first=7 * step, count=2 * len(some))) == some


def test_a_curriculum_over_questions_without_difficulty_is_refused() -> None:
    bare = [Question("r", None, "", (1,))]
    with pytest.raises(TasksFault, match="have no difficulty"):
        Sampler(bare, TasksSection(pack="p", curriculum_steps=5), seed=0)


def test_prompts_are_rendered_by_the_chat_template_where_there_is_one(tmp_path: Path) -> None:
    plain = Policy.load(tiny_policy(tmp_path))
    messages = (ChatMessage(role="system", content="w1"), ChatMessage(role="user", content="w2 w3"))
    assert plain.encode_prompt(messages) == plain.encode_prompt("w1 w2 w3") == (5, 6, 7)
    with pytest.raises(PolicyFault, match="no chat template"):
        Policy.load(tmp_path, prompt_format="chat")
    template = "{% for m in messages %}<end> {{ m.content }} {% endfor %}<end>"
    plain.tokenizer.chat_template = template
    chat = Policy(plain.model, plain.tokenizer)
    assert chat.encode_prompt("w2 w3") == (2, 6, 7, 2)
    assert chat.encode_prompt(messages) == (2, 5, 2, 6, 7, 2)
    assert Policy(plain.model, plain.tokenizer, prompt_format="plain").encode_prompt("w2 w3") == (6, 7)


def test_a_folder_without_a_policy_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyFault, match=r"holds no config\.json"):
        Policy.load(tmp_path)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(PolicyFault, match="transformers cannot load"):
        Policy.load(tmp_path)


def unscored_groups(num: int = 2, size: int = 3) -> list[Unscored]:
    question = Question(f"words@{DIGEST}/train/0001", "odd", "w0 w1", (4, 5))
    completion = Completion((5, 1), (-1.0, -1.0), "stop", 4)
    return [
        Unscored(f"{g}", question, (completion,) * size, tuple("w1" if i else f"w{g}" for i in range(size)))
        for g in range(num)
    ]


def test_what_could_not_be_scored_has_no_reward_and_keeps_its_place() -> None:
    service = Service(judge=lambda item: unscored(item) if item["id"].endswith(".1") else verdict(item))
    with serving(service), Client(service.url) as client, Rewarder(client, run="r", max_unscorable=0.5) as rewarder:
        groups = rewarder.score(unscored_groups(), step=5, phase="train")
    assert [group.rewards for group in groups] == [(0.0, None, 1.0), (1.0, None, 1.0)]
    assert groups[0].rollouts[1].verdict.error == "task.gold_failed"
    assert [rollout.id for rollout in groups[1].rollouts] == ["5.1.0", "5.1.1", "5.1.2"]
    sent = service.requests[0]["items"][0]
    assert (sent["group"], sent["policy_version"], sent["task"]["ref"]) == ("0", 4, f"words@{DIGEST}/train/0001")


def test_too_many_without_a_reward_stop_the_run_with_the_cause() -> None:
    service = Service(judge=unscored)
    with (
        serving(service),
        Client(service.url) as client,
        Rewarder(client, run="r", max_unscorable=0.9) as rewarder,
        pytest.raises(TooFewRewards, match=r"6 of 6 .* train step 5 .*task\.gold_failed x 6"),
    ):
        rewarder.score(unscored_groups(), step=5, phase="train")


def test_a_retryable_failure_is_sent_again_under_a_new_key_and_only_itself() -> None:
    seen: list[str] = []

    def judge(item: dict[str, Any]) -> dict[str, Any]:
        seen.append(item["id"])
        lost = item["id"] == "5.0.2" and seen.count("5.0.2") == 1
        return unscored(item, "infra.worker_lost", retryable=True) if lost else verdict(item)

    service = Service(judge=judge)
    with serving(service), Client(service.url) as client, Rewarder(client, run="r", max_unscorable=0.0) as rewarder:
        groups = rewarder.score(unscored_groups(), step=5, phase="train")
    assert [len(request["items"]) for request in service.requests] == [6, 1]
    assert len(set(service.keys)) == 2
    assert groups[0].rewards == (0.0, 1.0, 1.0)


def test_the_same_completions_are_sent_under_the_same_key() -> None:
    with serving() as service, Client(service.url) as client:
        for step in (5, 5, 6):
            with Rewarder(client, run="r", max_unscorable=0.0) as rewarder:
                rewarder.score(unscored_groups(), step=step, phase="train")
    assert service.keys[0] == service.keys[1] != service.keys[2]
    assert service.records == 12


def written(tmp_path: Path, policy: Policy, *, config: str = "sha256:c", steps: int = 3) -> Checkpoints:
    checkpoints = Checkpoints(tmp_path / "checkpoints", config_digest=config, keep=2)
    optimiser = torch.optim.AdamW(policy.model.parameters())
    policy.logprobs([(4, 5)], [(6, 1)]).logprobs_BT.sum().backward()
    optimiser.step()
    for step in range(1, steps + 1):
        checkpoints.write(policy, optimiser, Position(step, step, 10, 1.0, 1.0))
    return checkpoints


def test_a_checkpoint_restores_weights_moments_and_random_state(tmp_path: Path) -> None:
    policy = Policy.load(tiny_policy(tmp_path / "tiny"))
    checkpoints = written(tmp_path, policy)
    drawn = torch.rand(3)
    latest = checkpoints.latest()
    assert latest is not None
    assert latest.position == Position(3, 3, 10, 1.0, 1.0)
    assert sorted(p.name for p in (tmp_path / "checkpoints").iterdir()) == ["step-000002", "step-000003"]
    back = Policy.load(latest.folder)
    optimiser = torch.optim.AdamW(back.model.parameters())
    checkpoints.restore(latest, back, optimiser)
    assert back.weights_digest() == policy.weights_digest()
    assert back.version == 3
    assert torch.equal(torch.rand(3), drawn)
    first = optimiser.state[next(iter(back.model.parameters()))]
    assert set(first) == {"step", "exp_avg", "exp_avg_sq"}
    assert not [path for path in latest.folder.iterdir() if path.suffix in (".pt", ".bin", ".pkl")]


def test_a_damaged_or_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    policy = Policy.load(tiny_policy(tmp_path / "tiny"))
    checkpoints = written(tmp_path, policy)
    with pytest.raises(CheckpointFault, match="another configuration"):
        Checkpoints(tmp_path / "checkpoints", config_digest="sha256:d", keep=2).latest()
    newest = tmp_path / "checkpoints" / "step-000003"
    with (newest / "model.safetensors").open("r+b") as stream:
        stream.seek(-1, 2)
        stream.write(b"\x55")
    with pytest.raises(CheckpointFault, match=r"damaged: model\.safetensors.*remove that folder"):
        checkpoints.latest()
    (newest / "state.json").unlink()
    with pytest.raises(CheckpointFault, match="cannot be read"):
        checkpoints.latest()
    shutil.rmtree(newest)
    latest = checkpoints.latest()
    assert latest is not None
    assert latest.position.step == 2


def test_a_disk_that_refuses_leaves_the_checkpoints_before_it_whole(tmp_path: Path) -> None:
    policy = Policy.load(tiny_policy(tmp_path / "tiny"))
    checkpoints = written(tmp_path, policy, steps=1)
    full = Checkpoints(Path("/dev/full/checkpoints"), config_digest="sha256:c", keep=2)
    with pytest.raises(CheckpointFault, match=r"cannot write .*run again to resume"):
        full.write(policy, torch.optim.AdamW(policy.model.parameters()), Position(2, 2, 1, 1.0, 1.0))
    latest = checkpoints.latest()
    assert latest is not None
    assert latest.position.step == 1


def test_an_unfinished_checkpoint_is_not_seen(tmp_path: Path) -> None:
    policy = Policy.load(tiny_policy(tmp_path / "tiny"))
    checkpoints = written(tmp_path, policy, steps=1)
    shutil.copytree(tmp_path / "checkpoints" / "step-000001", tmp_path / "checkpoints" / ".step-000002.tmp")
    latest = checkpoints.latest()
    assert latest is not None
    assert latest.position.step == 1


def test_a_log_drops_what_a_resumed_run_will_write_again_and_a_line_cut_by_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step":1}\n{"step":2}\n{"step":3}\n{"step":4,"rew', encoding="utf-8")
    assert [row["step"] for row in read_rows(path)] == [1, 2, 3]
    log = StepLog(path, last_step=2)
    log.write({"step": 3, "reward": 0.5})
    assert path.read_text(encoding="utf-8").splitlines()[-1] == '{"step":3,"reward":0.5}'
    log.close()
    assert [row["step"] for row in read_rows(path)] == [1, 2, 3]


def test_curves_are_drawn_for_any_number_of_steps() -> None:
    import xml.etree.ElementTree as ElementTree

    for count in (1, 2, 71, 72, 73, 500):
        values = [i / count for i in range(count)]
        lines = text_curve(values).splitlines()
        assert len(lines) == 12
        assert max(map(len, lines)) <= 80
        root = ElementTree.fromstring(svg_curve(values, title="a < b"))
        assert len(root.findall(".//{*}circle")) == count
    assert text_curve([]) == "(no steps)"
