"""The envelope keeps what was sent, exactly, and never confuses text with messages."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from veredicto_proto.messages import ChatMessage
from veredicto_verifier.envelope import kept, parse_envelope, parse_item, restored

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_a_text_comes_back_as_it_was_sent(text: str) -> None:
    assert restored(kept(text)) == text
    kept(text).encode("utf-8")


@given(st.text(), st.text())
def test_messages_never_pass_for_text_nor_text_for_messages(prompt: str, answer: str) -> None:
    messages = (ChatMessage(role="user", content=prompt), ChatMessage(role="assistant", content=answer))
    restored_messages = restored(kept(messages))
    assert restored_messages == [message.model_dump(exclude_none=True) for message in messages]
    assert restored(kept(kept(messages))) == kept(messages)


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


@given(st.integers(min_value=-(10**400), max_value=10**400))
def test_big_integers_stay_exact(number: int) -> None:
    body = json.dumps({"items": [number]}).encode()
    assert parse_envelope(body, max_items=1).items == [number]
