"""Take the answer from a completion: one module, one behaviour, documented in docs/extraction.md."""

from __future__ import annotations

from veredicto_verifier.verifier import Answer, Completion


def extract(completion: Completion, *, mode: str, stop: tuple[str, ...] = (), think_prefilled: bool = False) -> Answer:
    """Extract the answer by `mode`.

    Raises:
        ExtractionFault: the completion holds no answer in that form; nothing is repaired.
    """
    raise NotImplementedError
