from __future__ import annotations

import pytest

from tests.domain.text_calls.asking import SAME, ask, in_words

PING = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'


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
