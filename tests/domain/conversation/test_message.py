from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

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


WRONG: Any = None
a: Any = partial(cast, Any)
"""A value that a type checker lets pass."""


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: UserMessage(WRONG), "content: expected a text, got NoneType"),
        (lambda: UserMessage(a(3)), "expected a text, got int"),
        (lambda: UserMessage(a(["a"])), r"write user_message\(\[\.\.\.\]\)"),
        (lambda: SystemMessage(a(["a"])), "for several texts"),
        (lambda: AssistantMessage(WRONG), 'write "" for a message that has calls alone'),
        (lambda: AssistantMessage("", a([SentCall("a", "b", "{}")])), "calls: expected a tuple of SentCall"),
        (lambda: AssistantMessage("", a(({"id": "a"},))), "expected a tuple of SentCall"),
        (lambda: ToolMessage("a", a({"ok": True})), r"write json.dumps\(result\)"),
        (lambda: ToolMessage(WRONG, ""), "the id of the call that it answers"),
        (lambda: SentCall("a", "b", a({})), r"write json.dumps\(arguments\)"),
        (lambda: SentCall("a", WRONG, "{}"), "name: expected a text, got NoneType"),
    ],
)
def test_a_message_that_holds_no_text_is_refused_where_it_is_made(
    make: Callable[[], object], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        make()
