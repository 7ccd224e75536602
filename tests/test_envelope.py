"""The envelope keeps what was sent, exactly, and an odd item is its own fault."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from veredicto_verifier.envelope import parse_envelope, parse_item

ANY_TEXT = st.text(st.characters(exclude_categories=()))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_lacks_a_task_or_a_completion_is_malformed(raw: object) -> None:
    item = parse_item(raw, max_completion_bytes=100)
    if not isinstance(raw, dict) or "task" not in raw or "completion" not in raw:
        assert item.fault is not None
        assert item.fault.code == "task.malformed"


@given(st.dictionaries(st.sampled_from(["id", "group", "completion", "prompt", "task", "metadata"]), JSON))
def test_an_item_with_odd_fields_is_malformed_and_never_an_exception(raw: dict[str, object]) -> None:
    item = parse_item(raw, max_completion_bytes=100)
    assert item.fault is not None or item.task is not None


@given(ANY_TEXT)
def test_the_ledger_is_given_the_completion_as_it_was_sent(text: str) -> None:
    item = parse_item({"completion": text, "task": {"ref": "a/b/c"}}, max_completion_bytes=10_000)
    assert item.completion_text == text
    assert item.completion_is_messages is False
    assert (item.completion is None) == (item.refusal is not None)


@given(st.integers(min_value=-(10**400), max_value=10**400))
def test_big_integers_stay_exact(number: int) -> None:
    body = json.dumps({"items": [number]}).encode()
    assert parse_envelope(body, max_items=1).items == [number]
