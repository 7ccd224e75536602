"""Extraction takes one answer or gives a reasoned fault, for any text, in linear time, and repairs nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veredicto_verifier.errors import ExtractionFault
from veredicto_verifier.extraction import CODES, END_MARKERS, MODULES, extract
from veredicto_verifier.verifier import Answer, Completion, ToolCall

MODES = (
    "raw",
    "tag",
    "fence",
    "fence:sql",
    "fence:python",
    "boxed",
    "hash",
    "calls",
    "rest",
    "math",
    "completion",
)
TOKENS = (
    *("<think>", "</think>", "<answer>", "</answer>", "<tool_call>", "</tool_call>", *END_MARKERS),
    *("```", "````", "```sql", "```python", "\n", "\n\n", "    ", " ", "\t", "\r\n", "`", "x", "é", "\ud800", "\x00"),
    *("\\boxed{", "\\boxed", "{", "}", "\\", "####", "#", "18", "1,000", "1000", "-", "%", "$", "**", "or 20"),
    *("answer is ", "Answer: ", "la respuesta es ", '{"name": "f", "arguments": {}}', '{"name"', '"', "[", "]", ","),
)
TEXTS = st.one_of(st.lists(st.sampled_from(TOKENS), max_size=24).map("".join), st.text(max_size=60))


def taken(text: str, mode: str, **options: Any) -> Answer | str:
    """The answer, or the code of the fault."""
    try:
        return extract(Completion(text), mode=mode, **options)
    except ExtractionFault as fault:
        return fault.code if 0 < len(fault.reason) <= 300 else "a reason of the wrong length"


def text_of(text: str, mode: str, **options: Any) -> str:
    answer = taken(text, mode, **options)
    return answer if isinstance(answer, str) else answer.text


@given(text=TEXTS, mode=st.sampled_from(MODES), prefilled=st.booleans(), stop=st.lists(st.sampled_from(TOKENS)))
def test_any_text_gives_an_answer_or_a_fault(text: str, mode: str, prefilled: bool, stop: list[str]) -> None:
    answer = taken(text, mode, think_prefilled=prefilled, stop=tuple(stop))
    if isinstance(answer, str):
        assert answer in CODES
    elif mode not in ("calls", "completion"):
        assert answer.text
        assert answer.text == answer.text.strip() or mode == "math"


@given(text=TEXTS, mode=st.sampled_from([mode for mode in MODES if mode != "calls"]))
@example(text="````\n    ```sql\nx\n````", mode="fence")
@example(text="<th<think></think>ink>a", mode="raw")
@example(text="<answer><answer>5</answer></answer>", mode="tag")
@example(text="\\boxed{\\boxed{5}}", mode="boxed")
def test_an_answer_extracted_again_is_itself_or_a_fault(text: str, mode: str) -> None:
    answer = taken(text, mode)
    if isinstance(answer, Answer):
        again = taken(answer.text, mode)
        assert isinstance(again, str) or again.text == answer.text


@given(text=TEXTS)
def test_calls_extracted_again_are_themselves(text: str) -> None:
    answer = taken(text, "calls")
    if isinstance(answer, Answer):
        again = extract(Completion("", answer.calls), mode="calls")
        assert (again.text, again.calls) == (answer.text, answer.calls)


ANSWERS = st.text(st.characters(exclude_characters="`<>\\{}#|\r", exclude_categories=["Cs"]), min_size=1).map(str.strip)
WRAPPINGS: dict[str, Callable[[str], str]] = {
    "raw": lambda answer: f"<think>so</think>\n{answer}\n<|im_end|>",
    "tag": lambda answer: f"Here: <answer>\n{answer}\n</answer> Done.",
    "fence": lambda answer: f"Here:\n```\n{answer}\n```\nDone.",
    "fence:sql": lambda answer: f"```python\nprint()\n```\n```SQL\n{answer}\n```",
    "rest": lambda answer: f"\n```xml\n{answer}\n```\n",
    "boxed": lambda answer: f"so $\\boxed{{{answer}}}$.",
}


@given(answer=ANSWERS.filter(bool), mode=st.sampled_from(sorted(WRAPPINGS)))
def test_an_answer_comes_out_of_its_wrapping(answer: str, mode: str) -> None:
    assert text_of(WRAPPINGS[mode](answer), mode) == answer


HOSTILE = (
    *("<think>", "</think>", "<answer>", "<answer>1</answer>", "</answer>", "```\n", "```sql\nx\n```\n", "````\n```\n"),
    *(
        "\\boxed{",
        "\\boxed{1}",
        "\\boxed ",
        "{",
        "\\",
        "####",
        "#### 1\n",
        "#### a\n",
        "#",
        "answer is ",
        "Answer: 1\n",
    ),
    *("respuesta es 1 o ", "<tool_call>", '<tool_call>{"name":"f","arguments":{}}</tool_call>', '<tool_call>{"a":"'),
    *('"\\"', "[", "answer    ", "\n", " ", "1,000", "**", "<|im_end|>"),
)


def steps(text: str, mode: str) -> int:
    """Lines of code that extraction runs through for a text."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        if not frame.f_globals.get("__name__", "").startswith("veredicto_verifier."):
            return None  # a callback of the garbage collector, say
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        taken(text, mode)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fragment", HOSTILE)
def test_twice_the_text_takes_at_most_twice_the_steps(fragment: str, mode: str) -> None:
    assert steps(fragment * 400, mode) <= 2 * steps(fragment * 200, mode) + 50


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fragment", HOSTILE)
def test_a_megabyte_of_hostile_text_is_taken_in_stride(fragment: str, mode: str) -> None:
    taken(fragment * (1_000_000 // len(fragment)), mode)


@pytest.mark.parametrize("marker", [*END_MARKERS, "STOP"])
def test_the_completion_ends_at_the_first_marker(marker: str) -> None:
    assert text_of(f"yes{marker}no STOP <|eot_id|>", "raw", stop=("STOP",)) == "yes"


@pytest.mark.parametrize(
    ("text", "prefilled", "rest"),
    [
        ("a", False, "a"),
        ("a", True, "extract.unfinished_reasoning"),
        ("a</think>b", False, "b"),
        ("a</think>b", True, "b"),
        ("<think>a</think>b", False, "b"),
        ("<think>a</think>b", True, "b"),
        ("a<think>b</think>c", False, "a\nc"),
        ("a<think>b</think>c", True, "c"),
        ("<think>a", False, "extract.unfinished_reasoning"),
        ("a</think>b</think>c", False, "extract.ambiguous"),
        ("<think>a</think>b<think>c</think>d", False, "extract.ambiguous"),
        ("a</think>b<think>c", False, "extract.unfinished_reasoning"),
        ("<think>a<think>b</think>c", False, "c"),
    ],
)
def test_reasoning_is_dropped_and_never_guessed(text: str, prefilled: bool, rest: str) -> None:
    assert text_of(text, "raw", think_prefilled=prefilled) == rest


def test_reasoning_is_kept_beside_the_answer() -> None:
    answer = taken("<think>6 * 7</think>42", "raw")
    assert isinstance(answer, Answer)
    assert (answer.text, answer.reasoning) == ("42", "6 * 7")


@pytest.mark.parametrize(
    ("text", "mode", "answer"),
    [
        ("SELECT 1", "fence:sql", "SELECT 1"),
        ("a\n```sql\nSELECT 1\n```\nb", "fence:sql", "SELECT 1"),
        ("```python\nx\n```\n```sql\nSELECT 1\n```", "fence:sql", "SELECT 1"),
        ("```\nSELECT 1\n```\n```sql\nSELECT 1\n```", "fence:sql", "SELECT 1"),
        ("```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```", "fence:sql", "extract.ambiguous"),
        ("```python\nx\n```", "fence:sql", "extract.missing"),
        ("```python\nx\n```", "fence", "x"),
        ("```py\nx\n```", "fence:python", "x"),
        ("```Python title=a\nx\n```", "fence:python", "x"),
        ("```sql\nSELECT 1", "fence:sql", "extract.unclosed"),
        ("```sql\nSELECT 1```", "fence:sql", "extract.unclosed"),
        ("```sql\nSELECT 1\n```\n```python\n", "fence:sql", "extract.unclosed"),
        ("Use `x` and ```y``` here", "fence", "Use `x` and ```y``` here"),
        ("1. Run\n   ```python\n   if x:\n       y\n   ```", "fence:python", "if x:\n    y"),
        ("````markdown\n```sql\nx\n```\n````", "fence", "extract.ambiguous"),
        ("```sql\r\nSELECT 1\r\n```\r\n", "fence:sql", "SELECT 1"),
        ("```sql\n```", "fence:sql", "extract.missing"),
        ("<answer>```sql\nx\n```</answer>", "tag", "```sql\nx\n```"),
        ("<answer>a</answer><answer>a</answer>", "tag", "extract.ambiguous"),
        ("<answer>a</answer></answer>", "tag", "extract.ambiguous"),
        ("<answer>a", "tag", "extract.unclosed"),
        ("a</answer>", "tag", "extract.missing"),
        ("<FINAL_ANSWER>a</FINAL_ANSWER>", "tag", "extract.missing"),
        ("\\boxed{\\frac{1}{2}} or \\boxed{ \\frac{1}{2} }", "boxed", "\\frac{1}{2}"),
        ("\\boxed{1}, \\boxed{2}", "boxed", "extract.ambiguous"),
        ("\\boxed{\\{1, 2\\}}", "boxed", "\\{1, 2\\}"),
        ("\\boxed {5}", "boxed", "5"),
        ("\\boxed{5", "boxed", "extract.unclosed"),
        ("\\boxed 5", "boxed", "extract.missing"),
        ("a\n#### 5\n\n", "hash", "5"),
        ("#### 5\nbye", "hash", "extract.missing"),
        ("#### 5\n#### 5", "hash", "extract.ambiguous"),
        ("##### 5", "hash", "extract.missing"),
        ("a #### 5", "hash", "extract.missing"),
        ("  <a/>\n", "rest", "<a/>"),
        ("Here:\n```xml\n<a/>\n```", "rest", "Here:\n```xml\n<a/>\n```"),
        ("", "raw", "extract.missing"),
        (" \n", "rest", "extract.missing"),
        ("<think>a</think> x ", "completion", "<think>a</think> x "),
    ],
)
def test_a_mode_takes_what_its_page_says(text: str, mode: str, answer: str) -> None:
    assert text_of(text, mode) == answer


def test_a_fence_that_is_the_whole_rest_is_flagged() -> None:
    fenced, bare = taken("```xml\n<a/>\n```\n", "rest"), taken("<a/>", "rest")
    assert isinstance(fenced, Answer)
    assert isinstance(bare, Answer)
    assert (fenced.text, [flag.name for flag in fenced.flags]) == ("<a/>", ["fenced"])
    assert (bare.text, bare.flags) == ("<a/>", ())


def test_calls_come_from_messages_and_from_text() -> None:
    text = (
        'On it.\n<tool_call>\n{"arguments": {"amount": 10.00, "note": "</tool_call>"}, "name": "pay"}\n</tool_call>\n'
    )
    answer = extract(Completion(text, (ToolCall("look", '{"id": 1}', "c1"),)), mode="calls")
    assert answer.calls == (
        ToolCall("look", '{"id": 1}', "c1"),
        ToolCall("pay", '{"amount": 10.00, "note": "</tool_call>"}'),
    )
    assert answer.prose == "On it."
    assert answer.text.startswith('[{"name":"look","arguments":{"id": 1},"id":"c1"},{"name":"pay",')


def test_no_call_is_no_fault() -> None:
    answer = extract(Completion("I may not do that."), mode="calls")
    assert (answer.calls, answer.prose, answer.text) == ((), "I may not do that.", "[]")


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name":"write_file","parameters":{"path":"a.txt","content":"hello"}}</tool_call>',
        '<tool_call>{"name":"f"}</tool_call>',
        '<tool_call>{"name":"f","arguments":"{}"}</tool_call>',
        '<tool_call>{"name":"f","arguments":[]}</tool_call>',
        '<tool_call>{"name":"","arguments":{}}</tool_call>',
        '<tool_call>{"arguments":{}}</tool_call>',
        '<tool_call>{"name":"f","arguments":{"a":1,"a":2}}</tool_call>',
        '<tool_call>{"name":"f","arguments":{"a":NaN}}</tool_call>',
        '<tool_call>{"name":"f","arguments":{}}',
        '<tool_call>{"name":"f","arguments":{}} and</tool_call>',
        '<tool_call>{"name":"f","arguments":{}</tool_call>',
        "<tool_call>f()</tool_call>",
        "<tool_call></tool_call>",
        '<tool_call>[{"name":"f","arguments":{}}]</tool_call>',
        "nothing</tool_call>",
        '<tool_call>{"name":"f","arguments":' + '{"a":' * 100 + "1" + "}" * 100 + "}</tool_call>",
    ],
)
def test_an_attempted_call_that_cannot_be_read_is_never_no_call(text: str) -> None:
    assert text_of(text, "calls") == "extract.malformed_call"


@pytest.mark.parametrize("arguments", ["", "null", "[]", '"{}"', "{", '{"a":1}{}', '{"a":1,"a":1}'])
def test_arguments_of_a_message_are_one_json_object(arguments: str) -> None:
    with pytest.raises(ExtractionFault) as fault:
        extract(Completion("", (ToolCall("f", arguments),)), mode="calls")
    assert fault.value.code == "extract.malformed_call"


def test_the_modules_of_extraction_are_part_of_every_digest() -> None:
    loaded = {name for name in sys.modules if name.startswith("veredicto_verifier.extraction")}
    assert loaded <= set(MODULES)
    assert {sys.modules[name].__name__ for name in MODULES} == set(MODULES)
