"""A policy built from nothing: what it encodes it gives back, and the warm start teaches it something."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from veredicto_proto.messages import Demonstration
from veredicto_trainer import scratch
from veredicto_trainer.errors import PolicyFault
from veredicto_trainer.policy import Policy
from veredicto_trainer.warmstart import WarmStartReport, warm_start
from veredicto_verifier.packs.generators.demo_sql import FIXTURES, build

FILES = build()
SHOWN = [Demonstration(**json.loads(line)) for line in FILES["demonstrations/train.jsonl"].splitlines()]
TEXTS = [text for shown in SHOWN for text in (str(shown.prompt), shown.completion)]
GOLD = [json.loads(line)["spec"]["gold"]["sql"] for line in FILES["tasks/train.jsonl"].splitlines()]


def new_policy(folder: Path, *, seed: int = 1, hidden: int = 64, layers: int = 1, heads: int = 2) -> Policy:
    scratch.build(TEXTS, folder, hidden=hidden, layers=layers, heads=heads, seed=seed)
    return Policy.load(folder)


def without_free_spaces(sql: str) -> str:
    """SQL text with the whitespace removed that SQL ignores: outside quotes, beside anything but two words."""
    parts = re.split(r"('(?:[^']|'')*')", sql)
    return "".join(p if p.startswith("'") else re.sub(r" ?([^\w ]+) ?", r"\1", " ".join(p.split())) for p in parts)


def test_every_demonstration_and_gold_comes_back_from_its_tokens(tmp_path: Path) -> None:
    policy = new_policy(tmp_path)
    for text in {*GOLD, *(shown.completion for shown in SHOWN)}:
        ids = policy.encode_completion(text)
        assert policy.tokenizer.unk_token_id not in ids
        assert without_free_spaces(policy.decode(ids)) == without_free_spaces(text)


def test_decoded_gold_gives_the_same_rows(tmp_path: Path) -> None:
    policy = new_policy(tmp_path)
    with duckdb.connect(config={"threads": 1}) as bank:
        bank.execute(FILES[f"fixtures/{FIXTURES[0]}.sql"])
        for sql in GOLD[::40]:
            decoded = policy.decode(policy.encode_completion(sql))
            assert sorted(bank.execute(decoded).fetchall(), key=str) == sorted(bank.execute(sql).fetchall(), key=str)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT c.city, count(*) FROM customers AS c WHERE c.age>=1.5 GROUP BY c.city",
        "SELECT 'two  words, it''s (one) text' || city FROM customers WHERE income<>-2.50 OR city!='Ñuñoa'",
        "SELECT CAST(age AS INTEGER)::VARCHAR FROM customers WHERE (age <= 3 AND NOT age < 1)",
    ],
)
def test_quotes_dots_and_operators_survive_and_still_execute(sql: str, tmp_path: Path) -> None:
    tokenizer = scratch.word_tokenizer([sql])
    decoded = tokenizer.decode(tokenizer(sql)["input_ids"], skip_special_tokens=True)
    assert without_free_spaces(decoded) == without_free_spaces(sql)
    with duckdb.connect(config={"threads": 1}) as bank:
        bank.execute("CREATE TABLE customers (age DOUBLE, city VARCHAR, income DECIMAL(9, 2))")
        bank.execute("INSERT INTO customers VALUES (2, 'Lima', 3), (1, NULL, 4)")
        assert bank.execute(decoded).fetchall() == bank.execute(sql).fetchall()


def test_no_word_of_a_test_question_is_unknown(tmp_path: Path) -> None:
    policy = new_policy(tmp_path)
    for line in FILES["tasks/test.jsonl"].splitlines():
        assert policy.tokenizer.unk_token_id not in policy.encode_prompt(json.loads(line)["prompt"])


def test_special_tokens_are_four_and_a_prompt_opens_with_one(tmp_path: Path) -> None:
    policy = new_policy(tmp_path)
    tokenizer = policy.tokenizer
    ids = (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id)
    assert ids == (0, 1, 2, 3)
    assert policy.encode_prompt("Count the accounts")[0] == tokenizer.bos_token_id
    assert policy.encode_completion("SELECT city")[-1] == tokenizer.eos_token_id
    assert tokenizer.bos_token_id not in policy.encode_completion("SELECT city")
    assert policy.eos_ids == (2,)
    assert tokenizer("Zanzibar", add_special_tokens=False)["input_ids"] == [3]


def test_transformers_alone_loads_a_llama_of_the_documented_size(tmp_path: Path) -> None:
    scratch.build(TEXTS, tmp_path, hidden=128, layers=3, heads=4, seed=0)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert model.config.architectures == ["LlamaForCausalLM"]
    assert model.config.head_dim == 32
    assert not model.config.tie_word_embeddings
    assert model.config.vocab_size == len(tokenizer)
    assert 500_000 < sum(parameter.numel() for parameter in model.parameters()) < 1_000_000


def test_a_seed_fixes_the_weights_and_leaves_the_global_generator_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = new_policy(tmp_path / "a").weights_digest()
    assert torch.equal(torch.rand(3), expected)
    assert new_policy(tmp_path / "b").weights_digest() == first
    assert new_policy(tmp_path / "c", seed=2).weights_digest() != first


def test_a_head_count_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="heads=5; choose"):
        scratch.build(TEXTS, tmp_path, hidden=64, layers=1, heads=5, seed=0)
    with pytest.raises(ValueError, match="no word"):
        scratch.build([" \n"], tmp_path, hidden=64, layers=1, heads=2, seed=0)


def warmed(policy: Policy, *, seed: int = 3, steps: int = 40) -> tuple[WarmStartReport, list[tuple[int, float]]]:
    seen: list[tuple[int, float]] = []
    report = warm_start(
        policy,
        SHOWN[:400],
        steps=steps,
        batch_size=16,
        lr=3e-3,
        seed=seed,
        progress=lambda step, loss: seen.append((step, loss)),
    )
    return report, seen


def test_the_warm_start_lowers_the_loss_and_tells_of_every_step(tmp_path: Path) -> None:
    policy = new_policy(tmp_path)
    report, seen = warmed(policy)
    assert [step for step, _ in seen] == list(range(1, 41))
    assert (report.first_loss, report.last_loss) == (seen[0][1], seen[-1][1])
    assert report.last_loss < 0.5 * report.first_loss
    assert report.demonstrations == 400
    assert policy.version == 0
    assert not policy.model.training


def test_the_warm_start_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    digests = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        policy = new_policy(tmp_path / name)
        warmed(policy, seed=seed, steps=3)
        digests.append(policy.weights_digest())
    assert digests[0] == digests[1] != digests[2]


def test_only_completion_tokens_are_learnt(tmp_path: Path) -> None:
    policy = new_policy(tmp_path)
    report, _ = warmed(policy, steps=1)
    lengths = sorted(len(policy.encode_completion(shown.completion)) for shown in SHOWN[:400])
    assert 16 * lengths[0] <= report.tokens <= 16 * lengths[-1]
    random_guess = torch.tensor(float(len(policy.tokenizer))).log()
    assert abs(report.first_loss - float(random_guess)) < 0.3


def test_demonstrations_that_do_not_fit_are_left_out_or_refused(tmp_path: Path) -> None:
    policy = new_policy(tmp_path)
    long = Demonstration(prompt="accounts " * scratch.CONTEXT, completion="SELECT city")
    fine = SHOWN[:20]
    arguments = {"steps": 1, "batch_size": 4, "lr": 1e-3, "seed": 1, "progress": lambda _step, _loss: None}
    assert warm_start(policy, [long, *fine], **arguments).demonstrations == len(fine)  # type: ignore[arg-type]
    with pytest.raises(PolicyFault, match="none of 1 demonstrations fits"):
        warm_start(policy, [long], **arguments)  # type: ignore[arg-type]
