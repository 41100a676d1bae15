from __future__ import annotations

import pytest
from hypothesis import given

from tests.strategies import messages
from toolreel.jsontext import JsonText, canonical, parse
from toolreel.messages import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    wire,
)

CALLS = (SentCall("a", "echo", '{ "text": "é" }'), SentCall("b", "ping", "{}"))


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (SystemMessage("Be brief."), '{"role":"system","content":"Be brief."}'),
        (UserMessage('"é"\n'), '{"role":"user","content":"\\"é\\"\\n"}'),
        (AssistantMessage("Done."), '{"role":"assistant","content":"Done."}'),
        (
            AssistantMessage("", CALLS),
            '{"role":"assistant","content":"","tool_calls":['
            '{"id":"a","type":"function","function":{"name":"echo","arguments":"{ \\"text\\": \\"é\\" }"}},'
            '{"id":"b","type":"function","function":{"name":"ping","arguments":"{}"}}]}',
        ),
        (ToolMessage("a", '{"ok":true}'), '{"role":"tool","tool_call_id":"a","content":"{\\"ok\\":true}"}'),
    ],
)
def test_each_message_is_written_in_the_chat_completions_form(message: Message, text: str) -> None:
    assert wire(message) == text


@given(messages)
def test_every_message_is_canonical_on_the_wire(message: Message) -> None:
    text = wire(message)
    assert type(text) is JsonText
    assert canonical(parse(text)) == text


@given(messages, messages)
def test_two_messages_read_the_same_only_if_they_are_equal(one: Message, other: Message) -> None:
    assert (wire(one) == wire(other)) == (one == other)
