from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from tests.samples import complaint
from tests.strategies import messages
from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    wire,
    wire_tree,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import Json, JsonText, canonical, parse

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
        (
            ToolMessage("a", "{}", "echo"),
            '{"role":"tool","tool_call_id":"a","name":"echo","content":"{}"}',
        ),
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


def test_fields_of_the_providers_own_go_back_where_they_stood() -> None:
    call = SentCall("a", "ping", "{}", canonical({"function": {"thought": "s"}, "extra_content": [1]}))
    told = AssistantMessage("", (call,), canonical({"reasoning_content": "é"}))
    function: Json = {"name": "ping", "arguments": "{}", "thought": "s"}
    assert wire_tree(told) == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "a", "type": "function", "function": function, "extra_content": [1]}],
        "reasoning_content": "é",
    }


def test_content_that_came_in_parts_goes_back_in_parts() -> None:
    parts: Json = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Four."}]
    told = AssistantMessage("Four.", extras=canonical({"content": parts}))
    assert wire_tree(told) == {"role": "assistant", "content": parts}


@pytest.mark.parametrize("extras", [[1], "x", None, 3])
@pytest.mark.parametrize(
    "make",
    [lambda extras: AssistantMessage("", (), extras), lambda extras: SentCall("a", "ping", "{}", extras)],
)
def test_fields_of_the_providers_own_are_an_object(make: Callable[[JsonText], object], extras: Json) -> None:
    text = canonical(extras)
    assert complaint(ConfigError, lambda: make(text)) == f"extras: expected a JSON object, got {text}"


def test_texts_and_calls_of_other_types_are_told_with_what_to_write() -> None:
    value: Any = {"ok": True}
    assert complaint(ConfigError, lambda: ToolMessage("a", value)) == (
        "content: expected a text, got dict; write json.dumps(result)"
    )
    assert complaint(ConfigError, lambda: AssistantMessage("", value)) == (
        "calls: expected a tuple of SentCall; write (SentCall(id, name, arguments),)"
    )
