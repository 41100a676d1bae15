from __future__ import annotations

import pytest

from tests.domain.text_calls.asking import SAME, ask, in_words, source
from toolreel_core._text_calls import Span, scan, text_calls

PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'


@pytest.mark.parametrize(
    ("text", "calls", "content", "rejected"),
    [
        (f"{PING} <tool_response>4</tool_response> {PING}", "ping{}", "", "fabricated_result"),
        (f"{PING}\nObservation: 4", "ping{}", "", "fabricated_result"),
        (f"{PING} Some Observation: 4", "ping{}", "Some Observation: 4", ""),
        (f"Observation: 4\n{PING}", "ping{}", "Observation: 4", ""),
        (f"✿RESULT✿ {PING}", "ping{}", "✿RESULT✿", ""),
        (f"<tool_response>4</tool_response>{PING}", "ping{}", "<tool_response>4</tool_response>", ""),
        ('<tool_call>{"name": }</tool_call>' + PING, "ping{}", "", "malformed"),
        (f"{PING}<tool_call>{{", "ping{}", "", "truncated"),
        (f"<!-- {PING} -->", "", SAME, ""),
        (f'<tool_response name="a">{PING}</tool_response>', "", SAME, ""),
        (f"{PING}<longcat_tool_response>4</longcat_tool_response>So.", "ping{}", "", "fabricated_result"),
        ('ping<|content_invoke_tool_json|>{"name": "ping", "args": {}}', "ping{}", "", ""),
        (f"So <think>{PING}</think>", "", SAME, ""),
        (f"So:\n> {PING}", "", SAME, ""),
        ("A ` stray.", "", SAME, ""),
        (f"> quoted\n{PING}", "ping{}", "> quoted", ""),
        ("If a<b then [x] is ~ y.", "", SAME, ""),
        ("<tool_call> is a tag, </tool_call> too.", "", SAME, ""),
        ("Uses <|channel|>final<|message|> as a header.", "", SAME, ""),
        ("So: <|channel|>commentary to=python<|message|>1<|call|>", "", SAME, "builtin_recipient"),
        ("<|channel|>commentary to=python<|message|>1<|call|>", "", "", "builtin_recipient"),
        ("assistantcommentary to=functions.ping json{}", "ping{}", "", ""),
        ('{"name": "ping"}\n</tool_call>', "ping{}", "", ""),
        ("<｜tool_call_begin｜>function<｜tool_sep｜> is a token.", "", SAME, ""),
        ("Read <|start|> there.", "", SAME, ""),
        ("<|content_text|> is a token.", "", "is a token.", ""),
    ],
)
def test_a_text_is_read_from_left_to_right(text: str, calls: str, content: str, rejected: str) -> None:
    assert in_words(ask(text), text) == (calls, content, rejected)


def test_an_opener_of_a_dialect_that_is_not_enabled_is_text() -> None:
    assert in_words(ask(PING, "harmony"), PING) == ("", SAME, "")
    assert in_words(ask("<|message_sep|>", "harmony"), "") == ("", "<|message_sep|>", "")


@pytest.mark.parametrize("text", ["<tool_call>", '<tool_call>{"name', "<invoke name=", "[TOOL_CALLS]pi"])
def test_a_call_that_has_just_begun_was_cut(text: str) -> None:
    assert ask(text, finish="length").rejected == ("truncated",)


@pytest.mark.parametrize("text", ["Use the <tool_call> tag to", "A <tool_call> tag is", "Text"])
def test_a_text_that_was_cut_behind_a_mention_is_text(text: str) -> None:
    assert in_words(ask(text, finish="length"), text) == ("", SAME, "")


def test_a_call_that_stood_in_the_conversation_before_is_a_quotation() -> None:
    def read(earlier: str) -> tuple[str, str, str]:
        found = text_calls(
            f"It says {PING}", tools=["ping"], dialects=["hermes_json"], finish="stop", earlier=[earlier]
        )
        return in_words(found, f"It says {PING}")

    assert read(f"Page: {PING}.") == ("", SAME, "quotation")
    assert read("Page: nothing.") == ("ping{}", "It says", "")


def test_every_part_of_a_text_says_what_it_is() -> None:
    text = f"`code` <tool_call> x {PING}</tool_calls><|im_end|>"
    assert scan(source(text)).spans == [
        Span(0, 6, "quotation"),
        Span(7, 18, "wrapper"),
        Span(21, 77, "call", "ping (hermes_json)"),
        Span(77, 90, "wrapper"),
        Span(90, 100, "special"),
    ]
    assert scan(source("<function=x")).spans == [Span(0, 9, "prose")]


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (f"First: {PING} and then {PING} so.", "First: and then so."),
        (f"\ufeff{PING}\u200b", ""),
        (f"<tool_calls>\n{PING}\n</tool_calls>", ""),
        (f"A <tool_calls> tag.\n{PING}", "A <tool_calls> tag."),
        (f"A `<tool_calls>` tag. {PING}", "A `<tool_calls>` tag."),
        (f"{PING}<|im_end|>", ""),
        (f"{PING[:-3]}", ""),
        (f"{PING}\n<tool_ca", ""),
        (f"{PING} <3", "<3"),
        (f"{PING} if a <b", "if a <b"),
        (f"Ċ{PING}Ċ", ""),
        (f"Hi.<|im_end|> So. {PING}", "Hi. So."),
        (f'{PING}<tool_call>{{"name": }}</tool_call>', ""),
        ("Use <tool_calls> or <|im_end|>.", SAME),
        ("<|channel|>final<|message|>Done.<|return|>", "Done."),
        ('<tool_call>{"name": }</tool_call>', SAME),
    ],
)
def test_what_is_left_is_the_text_outside_the_calls(text: str, content: str) -> None:
    assert in_words(ask(text), text)[1] == content


@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        (f"<think>\nI need {PING} now.", "I need", "now."),
        (f"<think>{PING}", "", ""),
        (f"Not <think> yet. {PING}", "", "Not <think> yet."),
        (
            "<think>I call <|tool_calls_section_begin|><|tool_call_begin|>functions.ping:0"
            "<|tool_call_argument_begin|>{}<|tool_call_end|>",
            "I call",
            "",
        ),
        ("<think>Hm.", "", "<think>Hm."),
    ],
)
def test_reasoning_that_was_never_closed_ends_at_the_first_call(
    text: str, reasoning: str, content: str
) -> None:
    found = ask(text)
    assert (found.reasoning, found.content) == (reasoning, content)
