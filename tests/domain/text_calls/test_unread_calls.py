from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import Json
from toolreel_core._text_calls import (
    MARKED,
    TextCalls,
    has_think_tags,
    is_plain,
    looks_like_a_call,
    text_calls,
    without_end_markers,
)

KNOWN = ("ping", "add")


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "x"}</tool_call>',
        "One moment. <TOOL_CALL>",
        "<function=ping>",
        '<invoke name="ping">',
        "ping<arg_key>a</arg_key>",
        "<minimax:tool_call>",
        '[TOOL_CALLS]ping{"a": 1}',
        "<|tool_calls_section_begin|>",
        "<|python_tag|>ping()",
        "<\uff5ctool▁calls▁begin\uff5c>",
        "<\uff5cDSML\uff5cfunction_calls>",
        "commentary to=functions.ping",
        "functools[{}]",
        '{"name": "ping", "arguments": {}}',
        '```json\n{"name": "add", "parameters": {"a": 1}}\n```',
        '{"name": "ping", "arguments": "{}"}',
        "It is `x`, and `y: <tool_call>",
        "It opens: <code><tool_call></code> so",
        '<function_call>{"name": "ping"}</function_call>',
        "<start_function_call>call:ping{}<end_function_call>",
        "<TOOLCALL>[]</TOOLCALL>",
        "<tool_use><name>ping</name></tool_use>",
        "✿FUNCTION✿: ping",
        '[{"name": "ping", "arguments": {}}]',
        '{"tool_calls": [{"name": "ping", "arguments": {}}]}',
        '{"type": "function", "function": {"name": "ping", "arguments": {}}}',
        '{"name": "ping", "parameters": {}};{"name": "add", "parameters": {}}',
        "[ping()]",
        "<ping></ping>",
        "Action: ping\nAction Input: {}",
    ],
)
def test_the_markup_of_a_call_is_suspicious(text: str) -> None:
    assert looks_like_a_call(text, KNOWN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Done.",
        "a < b and [1]",
        "Write `<tool_call>` to call.",
        "```\n<function=ping>\n```",
        '{"name": "nobody", "arguments": {}}',
        '{"name": "ping"}',
        '{"name": 7, "arguments": {}}',
        'I would say `{"name": "ping", "arguments": {}}`.',
        '{"name": "ping", "arguments": ',
        "```json\n[{}]\n```",
        "Send it to=me.",
    ],
)
def test_anything_else_is_not(text: str) -> None:
    assert not looks_like_a_call(text, KNOWN)


@pytest.mark.parametrize(
    "text",
    [
        "<think>a</think>b",
        " \n<Think>a",
        "a</think>\n\nb",
        "<thinking>a",
        "[THINK]a[/THINK]b",
        "a[/THINK]",
        "<seed:think>a</seed:think>b",
        "<thought>a",
        "<reasoning>a</reasoning>b",
        "b</scratch_pad>",
        "◁think▷a◁/think▷b",
        "<|START_THINKING|>a",
        "a<|END_THINKING|>b",
        "<|channel|>analysis<|message|>a",
        "Use <think> so: <think>a</think>b",
    ],
)
def test_reasoning_in_tags_is_found(text: str) -> None:
    assert has_think_tags(text)


@pytest.mark.parametrize("text", ["", "Four.", "a <b> [c]", "Write <think> first."])
def test_other_text_has_none(text: str) -> None:
    assert not has_think_tags(text)


SIGNS = [
    "<think>",
    "</think>",
    "<tool_call>",
    "[TOOL_CALLS]",
    "{",
    "[",
    "to=functions.x",
    "\u273f",
    "\u25c1think\u25b7",
]


@given(st.lists(st.sampled_from([*SIGNS, "a", " ", "`", "Action: ", '{"name": "ping", "arguments": {}}'])))
def test_a_plain_text_hides_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    if is_plain(text):
        assert not has_think_tags(text)
        assert not looks_like_a_call(text, KNOWN)
        assert text_calls(text, tools=KNOWN, dialects=MARKED, finish="stop") == TextCalls((), text)


@pytest.mark.parametrize("part", ["`", "``` `", "<", "[", "{", " ", "\t\n", "<think>"])
def test_no_text_takes_longer_than_its_length_explains(part: str) -> None:
    """Minutes of backtracking would be noticed here."""
    looks_like_a_call(part * 50_000, KNOWN)
    has_think_tags("[" + part * 50_000)


CITY: Json = {"properties": {"city": {"type": "string"}}}


@pytest.mark.parametrize(
    "text",
    [
        'weather({"city": "Paris"})',
        'functions.weather({"city": "Paris"})',
        "weather({})",
        'weather({"town": "Paris"})',
        '[Calling tool: weather({"city": "Paris"})]',
        'weather -> {"city": "Paris"}',
        '**weather**\n\n```json\n{"city": "Paris"}\n```',
        'Calling tool `weather`:\n```\n{"city": "Paris"}\n```',
        'Tool: weather\nInput: {"city": "Paris"}',
        'assistantcommentary to=functions.weather json{"city": "Paris"}',
        'assistantcommentaryto=functions.weatherjson{"city": "Paris"}',
        'commentary to=weather json{"city": "Paris"}',
        "Paris\n</parameter>\n</function>\n</tool_call>",
        '{"city": "Paris"}<|call|>',
        '{"city": "Paris"}</tool_call>',
        "I will load it now.\n</parameter>\n</invoke>",
    ],
)
def test_calls_in_forms_of_no_dialect_are_suspected(text: str) -> None:
    assert looks_like_a_call(text, ["weather"], {"weather": CITY})


@pytest.mark.parametrize(
    "text",
    [
        'The form:\n```json\n{"city": "Paris"}\n```',
        'Use weather:\n```json\n{"town": "Paris"}\n```',
        "**weather**\n```json\n[1]\n```",
        "**weather**\n```json\n{]\n```",
        "It is so.</parameter></invoke>",
        "It is so.</tool_call>",
        "~~~\n<tool_call>\n~~~",
        "See <pre><tool_call></tool_call></pre> and <code><invoke></invoke></code>.",
        "> <tool_call>\n\nSo.\n> <tool_call>\nThen.",
    ],
)
def test_quotations_and_answers_are_not(text: str) -> None:
    assert not looks_like_a_call(text, ["weather"], {"weather": CITY})


@pytest.mark.parametrize(
    "text",
    [
        'weather({"city": "Paris"}) returned sunny.',
        'I used weather with {"city": "Paris"}: sunny.',
        'Calls made:\n{"name": "weather", "arguments": {"city": "Paris"}}\nResult: sunny.',
        'weather(city="Paris") says it is sunny.',
        'weather (city: "Paris") is sunny there.',
    ],
)
def test_a_call_that_was_made_is_reported_in_words(text: str) -> None:
    asked = lambda name, given: (name, given) == ("weather", {"city": "Paris"})  # noqa: E731
    assert not looks_like_a_call(text, ["weather"], {"weather": CITY}, asked)
    other = text.replace("Paris", "Rome")
    if "(city: " not in other:
        assert looks_like_a_call(other, ["weather"], {"weather": CITY}, asked)
    call = 'weather({"city": "Paris"})'
    assert looks_like_a_call(call, ["weather"], {"weather": CITY}, asked)
    for broken in ("weather -> {city: ", "weather -> {city: [1}", "<weather city='x'>"):
        assert looks_like_a_call(f"So I did it: {broken}", ["weather"], {"weather": CITY}, asked)
    many = " ".join([f"I did {call} then;"] * 20)
    assert looks_like_a_call(many, ["weather"], {"weather": CITY}, asked)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("So.</s>", "So."),
        ("So. </s>\n", "So."),
        ("So.<|im_end|>\n<|endoftext|>", "So."),
        ("So.\n</answer>", "So."),
        ("So.</tool_call>", "So."),
        ("The token is </s>", "The token is </s>"),
        ("It is (</s>", "It is (</s>"),
        ("<p>So.</p>", "<p>So.</p>"),
        ("So.\n", "So.\n"),
    ],
)
def test_markers_at_the_end_of_an_answer_are_removed(text: str, answer: str) -> None:
    assert without_end_markers(text) == answer
