"""The pack `word-math-mini`: multi-step word problems in Spanish and English, with `####` answers, from a seed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from random import Random
from typing import Final

from veredicto_verifier.packs.generators.word_math_stories import LANGUAGES, STORIES, Story

NAME: Final = "word-math-mini"
SEED: Final = 20261130
TRAIN_PER_STORY: Final = 8
"""Train tasks of one story in one language."""
TEST_PER_STORY: Final = 3
EXAMPLES_PER_STORY: Final = 1

_INSTRUCTIONS: Final = {
    "en": "Solve it step by step. On the last line write #### and the number.",
    "es": "Resuélvelo paso a paso. En la última línea escribe #### y el número.",
}
_PEOPLE: Final = ("Ana", "Bruno", "Carla", "Diego", "Elena", "Iván", "Lucía", "Mateo", "Nora", "Omar", "Paula", "Tomás")


def build() -> dict[str, str]:
    """The pack's files by relative path; the same at every call."""
    counts = {"train": TRAIN_PER_STORY, "test": TEST_PER_STORY, "examples": EXAMPLES_PER_STORY}
    described = "Multi-step word problems in Spanish and English; the answer is a number after ####."
    return pack_files(NAME, described, STORIES, SEED, counts)


def pack_files(
    name: str,
    described: str,
    stories: Sequence[Story],
    seed: int,
    counts: Mapping[str, int],
    judged: Mapping[str, object] | None = None,
) -> dict[str, str]:
    """The files of a pack of word problems.

    No text and no set of numbers of a story occurs in two of train, test and examples, in either language.

    Args:
        name: of the pack.
        described: what it holds, for the manifest.
        stories: what is told.
        seed: of the draws.
        counts: tasks and examples of one story in one language.
        judged: further fields of every spec.
    """
    rng = Random(seed)
    rows: dict[str, list[dict[str, object]]] = {"train": [], "test": [], "examples": []}
    plan = [split for split in ("train", "test", "examples") for _ in range(counts[split])]
    for story in stories:
        numbers = _distinct_numbers(story, rng)
        for language in LANGUAGES:
            for index, split in enumerate(plan):
                drawn, who = next(numbers), rng.choice(_PEOPLE)
                if split == "examples":
                    rows[split].append(_example(story, language, drawn, who))
                else:
                    rows[split].append(_task(story, language, drawn, who, index, judged or {}))
    manifest = (
        f'name = "{name}"\nversion = "1.0.0"\nlicence = "Apache-2.0"\nlanguage = "mul"\ndescription = "{described}"\n'
    )
    return {
        "pack.toml": manifest,
        "tasks/train.jsonl": _lines(rows["train"]),
        "tasks/test.jsonl": _lines(rows["test"]),
        "examples.jsonl": _lines(rows["examples"]),
    }


def _distinct_numbers(story: Story, rng: Random) -> Iterator[dict[str, Fraction]]:
    """Endless draws of a story's numbers, no two alike."""
    seen: set[tuple[Fraction, ...]] = set()
    while True:
        drawn = {name: Fraction(rng.choice(values)) for name, values in story.draws.items()}
        key = tuple(drawn.values())
        if key not in seen:
            seen.add(key)
            yield drawn | story.work(drawn)


def _task(
    story: Story, language: str, numbers: dict[str, Fraction], who: str, index: int, judged: Mapping[str, object]
) -> dict[str, object]:
    spec: dict[str, object] = {"answer": written(numbers["answer"]), **judged}
    if story.units:
        spec["units"] = list(story.units)
    return {
        "id": f"{story.name}-{language}-{index:02d}",
        "prompt": _prompt(story, language, numbers, who),
        "category": story.category,
        "difficulty": story.difficulty,
        "verifier": "math",
        "spec": spec,
    }


def _example(story: Story, language: str, numbers: dict[str, Fraction], who: str) -> dict[str, object]:
    steps = _filled(story.steps[language], numbers, who)
    return {
        "prompt": _prompt(story, language, numbers, who),
        "completion": f"{steps}\n#### {written(numbers['answer'])}",
        "category": story.category,
    }


def _prompt(story: Story, language: str, numbers: dict[str, Fraction], who: str) -> str:
    return f"{_filled(story.text[language], numbers, who)}\n{_INSTRUCTIONS[language]}"


def _filled(template: str, numbers: dict[str, Fraction], who: str) -> str:
    return template.format(who=who, **{name: written(number) for name, number in numbers.items()})


def written(number: Fraction) -> str:
    """A number of a story in digits: whole, or with its decimals.

    Raises:
        ValueError: the number has no end in decimals; the story's ranges are wrong.
    """
    if number.denominator == 1:
        return str(number.numerator)
    cents = number * 100
    if cents.denominator != 1:
        raise ValueError(f"{number} has more than two decimals; change the ranges of the story")
    whole, part = divmod(cents.numerator, 100)
    return f"{whole}.{part:02d}".rstrip("0")


def _lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
