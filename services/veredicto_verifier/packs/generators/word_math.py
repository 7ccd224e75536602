"""The pack `word-math`: word problems of two to nine operations, every step judged, in two languages, from a seed."""

from __future__ import annotations

from typing import Final

from veredicto_verifier.packs.generators.word_math_long_stories import LONG_STORIES
from veredicto_verifier.packs.generators.word_math_mini import pack_files
from veredicto_verifier.packs.generators.word_math_stories import STORIES

NAME: Final = "word-math"
SEED: Final = 20261201
COUNTS: Final = {"train": 50, "test": 8, "examples": 1}
"""Of one story in one language."""


def build() -> dict[str, str]:
    """The pack's files by relative path; the same at every call."""
    described = "Word problems of two to nine operations in Spanish and English; the steps are judged with the answer."
    judged = {"steps": True, "min_steps": 1}
    return pack_files(NAME, described, (*STORIES, *LONG_STORIES), SEED, COUNTS, judged)
