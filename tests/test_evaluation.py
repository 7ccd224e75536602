"""Evaluation: pass@k, majorities, the paired test, and the report over several prompt shapes."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reward_server import serving, task_infos
from tests.tiny_policy import tiny_policy
from tests.training import config
from veredicto_proto.client import Client
from veredicto_proto.messages import ChatMessage, Demonstration
from veredicto_trainer.errors import TasksFault
from veredicto_trainer.evaluation import evaluate, markdown
from veredicto_trainer.tasks import with_examples
from veredicto_trainer.voting import RIGHT, majority, mcnemar, pass_at_k, vote_class


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_all_choices_of_k_answers_that_hold_a_right_one(
    count: int, data: st.DataObject
) -> None:
    passed = data.draw(st.integers(0, count))
    k = data.draw(st.integers(1, count))
    choices = list(itertools.combinations([i < passed for i in range(count)], k))
    assert pass_at_k(count, passed, k) == pytest.approx(sum(map(any, choices)) / len(choices))


def test_pass_at_k_needs_k_answers() -> None:
    with pytest.raises(ValueError, match="pass@3 needs at least 3"):
        pass_at_k(2, 1, 3)


@pytest.mark.parametrize(
    ("answer", "passed", "expected"),
    [
        ("SELECT 1", True, RIGHT),
        ("SELECT  1 ;", False, "select 1"),
        ("1,000.50", False, "2001/2"),
        ("$ 3", False, "3"),
        ("0.5", False, "1/2"),
        ("1/2", False, "1/2"),
        ("1/0", False, "1/0"),
        ("1e999999999", False, "1e999999999"),
        ("1,5", False, "1,5"),
        ("  ", False, None),
        (None, False, None),
    ],
)
def test_answers_vote_for_classes_of_equal_value_or_text(
    answer: str | None, passed: bool, expected: str | None
) -> None:
    assert vote_class(answer, passed=passed) == expected


def test_wrong_queries_vote_by_what_they_returned_and_one_that_did_not_run_does_not_vote() -> None:
    same = [vote_class(text, passed=False, said="d1") for text in ("SELECT a FROM t", "SELECT a FROM t WHERE true")]
    assert same[0] == same[1] not in (None, RIGHT, "d1")
    assert vote_class("SELECT a FROM t", passed=False, said="d2") != same[0]
    assert vote_class("SELECT nothing", passed=False, said="") is None
    assert vote_class("SELECT b FROM t", passed=True, said=None) == RIGHT


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ([RIGHT, RIGHT, "a"], 1.0),
        ([RIGHT, "a", "b"], 1 / 3),
        ([RIGHT, RIGHT, "a", "b"], 1.0),
        ([RIGHT, "a", "a", None], 0.0),
        ([RIGHT, RIGHT, "a", "a"], 0.5),
        ([None, None, RIGHT], 1.0),
        ([None], 0.0),
        ([], 0.0),
    ],
)
def test_a_majority_is_right_when_most_answers_are(classes: list[str | None], expected: float) -> None:
    assert majority(classes) == expected


def test_mcnemar_is_the_exact_binomial_test_on_the_pairs_that_differ() -> None:
    before = [True] * 10 + [False] * 10
    same = mcnemar(before, before)
    assert (same.gained, same.lost, same.p_value) == (0, 0, 1.0)
    better = mcnemar([False] * 8 + [True] * 2, [True] * 8 + [True] + [False])
    assert (better.gained, better.lost) == (8, 1)
    assert better.p_value == pytest.approx(2 * (1 + 9) / 2**9)


def test_examples_stand_before_the_question_and_never_give_it_away() -> None:
    shots = (Demonstration(prompt="a b", completion="b"), Demonstration(prompt="c d", completion="d"))
    system = ChatMessage(role="system", content="be brief")
    user, told = ChatMessage(role="user", content="a b"), ChatMessage(role="assistant", content="b")
    assert with_examples("x y", ()) == "x y"
    shown = with_examples("x y", shots)
    assert [(m.role, m.content) for m in shown if isinstance(m, ChatMessage)] == [
        ("user", "a b"),
        ("assistant", "b"),
        ("user", "c d"),
        ("assistant", "d"),
        ("user", "x y"),
    ]
    asked = (system, ChatMessage(role="user", content="x y"))
    assert with_examples(asked, shots[:1]) == (system, user, told, asked[1])
    assert with_examples("a b", shots[:1]) == "a b"


def test_two_policies_are_compared_on_the_same_questions_under_every_shape(tmp_path: Path) -> None:
    tiny_policy(tmp_path / "other", seed=2, tied=False)
    with serving() as service, Client(service.url) as client:
        settings = config(tmp_path, service.url)
        report = evaluate(settings, client, tmp_path / "tiny", base=tmp_path / "other", shots=(0, 2), samples=4)
        with pytest.raises(TasksFault, match="has 5 examples, 8 were asked for"):
            evaluate(settings, client, tmp_path / "tiny", shots=(8,))
    assert [shape["shots"] for shape in report["shapes"]] == [0, 2]
    for shape in report["shapes"]:
        for who in ("policy", "base"):
            figure = shape[who]
            assert figure["questions"] == 14
            assert list(figure["pass"]) == ["1", "2", "4"]
            rates = [figure["pass"][k]["share"] for k in ("1", "2", "4")]
            assert rates == sorted(rates)
            assert 0.0 <= figure["majority"]["share"] <= rates[-1]
            assert sum(each["count"] for each in figure["categories"]) == 14
        pair = shape["paired"]
        greedy = [shape[who]["greedy"]["share"] for who in ("policy", "base")]
        assert (
            pair["difference"]
            == pytest.approx(greedy[0] - greedy[1])
            == pytest.approx((pair["gained"] - pair["lost"]) / 14)
        )
    assert service.records == 2 * 2 * 14 * 5
    prompts = [request["items"][0]["prompt"] for request in service.requests]
    plain = task_infos("test")[0]["prompt"]
    assert prompts[0] == plain
    assert any(isinstance(prompt, list) and prompt[-1]["content"] == plain for prompt in prompts)
    page = markdown(report)
    assert page.count("| 2 | ") == 2 + 1 + 2
    assert "McNemar" in page
    json.dumps(report)
