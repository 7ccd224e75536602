"""The embedded engine: its log-probabilities are the learner's, and a completion depends on its seed alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.tiny_policy import tiny_policy
from veredicto_trainer.engines.engine import Request, Sampling, sample_seed
from veredicto_trainer.engines.hf import HfEngine
from veredicto_trainer.policy import Policy


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return Policy.load(tiny_policy(tmp_path_factory.mktemp("policy")))


def requests(num: int, size: int) -> list[Request]:
    """Prompts of different lengths, so that some are padded."""
    prompts = [tuple(4 + (g * 3 + i) % 7 for i in range(1 + g % 4)) for g in range(num)]
    return [Request(p, tuple(sample_seed(0, "t", g, i) for i in range(size))) for g, p in enumerate(prompts)]


def test_behaviour_logprobs_are_those_of_the_forward_pass(policy: Policy) -> None:
    asked = requests(6, 4)
    groups = HfEngine(policy).generate(asked, Sampling(12))
    prompts = [r.prompt_ids for r in asked for _ in r.seeds]
    completions = [c for group in groups for c in group]
    with torch.no_grad():
        out = policy.logprobs(prompts, [c.token_ids for c in completions])
    for row, completion in zip(out.logprobs_BT, completions, strict=True):
        assert row[: len(completion.token_ids)].tolist() == pytest.approx(list(completion.logprobs), abs=2e-6)


def test_a_completion_depends_on_its_seed_and_not_on_its_neighbours(policy: Policy) -> None:
    asked = requests(6, 4)
    together = HfEngine(policy).generate(asked, Sampling(12))
    apart = [HfEngine(policy, batch_size=1).generate([r], Sampling(12))[0] for r in asked]
    assert [[c.token_ids for c in g] for g in together] == [[c.token_ids for c in g] for g in apart]
    assert together == HfEngine(policy).generate(asked, Sampling(12))
    assert len({c.token_ids for group in together for c in group}) > 12


def test_greedy_is_the_greedy_of_transformers(policy: Policy) -> None:
    for request in requests(6, 1):
        (completion,) = HfEngine(policy).generate([request], Sampling(8, greedy=True))[0]
        ids = torch.tensor([request.prompt_ids])
        mask = torch.ones_like(ids)
        known = policy.model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=8, pad_token_id=3)
        assert list(completion.token_ids) == known[0, ids.shape[1] :].tolist()


def test_sampling_follows_the_distribution_of_the_model(policy: Policy) -> None:
    request = Request((5, 6), tuple(sample_seed(1, i) for i in range(4000)))
    tokens = [c.token_ids[0] for c in HfEngine(policy, batch_size=4000).generate([request], Sampling(1))[0]]
    with torch.no_grad():
        expected_V = torch.softmax(policy.model(torch.tensor([[5, 6]])).logits[0, -1], dim=-1)
    counts_V = torch.bincount(torch.tensor(tokens), minlength=len(expected_V)) / len(tokens)
    error_V = (expected_V * (1 - expected_V) / len(tokens)).sqrt()
    assert bool(((counts_V - expected_V).abs() < 4.5 * error_V).all())


def test_finish_is_length_exactly_when_no_end_was_drawn(policy: Policy) -> None:
    completions = [c for group in HfEngine(policy).generate(requests(4, 8), Sampling(6)) for c in group]
    assert {c.finish for c in completions} == {"stop", "length"}
    for completion in completions:
        assert (completion.finish == "stop") == (completion.token_ids[-1] == 1)
        assert completion.finish == "stop" or len(completion.token_ids) == 6
        assert 1 not in completion.token_ids[:-1]


def test_every_end_of_sequence_id_ends_a_completion(tmp_path: Path) -> None:
    several = Policy.load(tiny_policy(tmp_path, eos=[1, 2]))
    assert several.eos_ids == (1, 2)
    completions = [c for group in HfEngine(several).generate(requests(4, 16), Sampling(12)) for c in group]
    ends = {c.token_ids[-1] for c in completions if c.finish == "stop"}
    assert ends == {1, 2}
    assert all(not {1, 2} & set(c.token_ids[:-1]) for c in completions)


def test_an_end_that_is_also_the_padding_is_trained_and_padding_is_not(tmp_path: Path) -> None:
    same = Policy.load(tiny_policy(tmp_path, pad_is_eos=True))
    assert same.pad_id in same.eos_ids
    asked = requests(4, 8)
    groups = HfEngine(same).generate(asked, Sampling(6))
    completions = [c for group in groups for c in group]
    out = same.logprobs([r.prompt_ids for r in asked for _ in r.seeds], [c.token_ids for c in completions])
    assert out.mask_BT.sum(1).tolist() == [len(c.token_ids) for c in completions]
    for row, completion in zip(out.logprobs_BT.tolist(), completions, strict=True):
        assert row[: len(completion.token_ids)] == pytest.approx(list(completion.logprobs), abs=2e-6)
        assert set(row[len(completion.token_ids) :]) <= {0.0}


def test_a_prompt_may_hold_the_padding_token(policy: Policy) -> None:
    asked = [Request((3, 5, 3, 6), (1, 2)), Request((5,), (3, 4))]
    together = HfEngine(policy).generate(asked, Sampling(6))
    with torch.no_grad():
        out = policy.logprobs(
            [r.prompt_ids for r in asked for _ in r.seeds], [c.token_ids for g in together for c in g]
        )
    for row, completion in zip(out.logprobs_BT.tolist(), [c for g in together for c in g], strict=True):
        assert row[: len(completion.token_ids)] == pytest.approx(list(completion.logprobs), abs=2e-6)


def test_completions_carry_the_version_of_the_weights(policy: Policy) -> None:
    policy.version = 7
    assert HfEngine(policy).generate(requests(1, 2), Sampling(2))[0][0].policy_version == 7
    policy.version = 0
