from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from toolreel_core._conversation import (
    AssistantMessage,
    Message,
    SentCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
    messages_of,
    wire_tree,
)
from toolreel_core._errors import ConfigError
from toolreel_core._jsontext import canonical

CALL = {"id": "a", "type": "function", "function": {"name": "stock", "arguments": '{"part":"pin"}'}}
THOUGHT = canonical({"reasoning_content": "hm"})
MESSAGES: list[Message] = [
    SystemMessage("s"),
    UserMessage("u"),
    UserMessage("u", name="ana"),
    AssistantMessage("a", (SentCall("a", "stock", '{"part":"pin"}', THOUGHT),), THOUGHT),
    AssistantMessage(""),
    ToolMessage("a", "{}", "stock"),
    ToolMessage("a", "{}"),
]


def test_whatever_is_written_out_is_read_back() -> None:
    assert messages_of([wire_tree(message) for message in MESSAGES]) == tuple(MESSAGES)
    assert messages_of(MESSAGES) == tuple(MESSAGES)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("u", UserMessage("u")),
        (UserMessage("u"), UserMessage("u")),
        ({"role": "user", "content": "u", "name": None}, UserMessage("u")),
        ({"role": "user", "content": [{"type": "text", "text": "u"}, {"text": "v"}]}, UserMessage("uv")),
        ({"role": "user", "content": "u", "name": "ana"}, UserMessage("u", name="ana")),
        ({"role": "developer", "content": "s"}, SystemMessage("s")),
        ({"role": "tool", "tool_call_id": "a", "content": None}, ToolMessage("a", "")),
        # as the openai SDK writes what it has got
        (
            {"role": "assistant", "content": None, "refusal": None, "annotations": [], "tool_calls": None},
            AssistantMessage(""),
        ),
        (
            {"role": "assistant", "tool_calls": [CALL]},
            AssistantMessage("", (SentCall("a", "stock", '{"part":"pin"}'),)),
        ),
        (  # as Ollama writes it
            {
                "role": "assistant",
                "tool_calls": [{"id": "a", "function": {"name": "stock", "arguments": {"part": "pin"}}}],
            },
            AssistantMessage("", (SentCall("a", "stock", '{"part":"pin"}'),)),
        ),
    ],
)
def test_a_message_may_be_written_in_many_ways(given: object, message: Message) -> None:
    assert messages_of(given) == messages_of([given]) == (message,)


ROLES = "expected one of system, developer, user, assistant, tool"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (1, "messages: expected a text, or a list of messages such as"),
        ([1], "messages: expected a text, or a list of messages such as"),
        ({"content": "hi"}, f"messages.role: {ROLES}, got None"),
        ([{"role": "bot", "content": "hi"}], f"messages[0].role: {ROLES}, got 'bot'"),
        ([{"role": "user"}], "messages[0].content: expected a text, got NoneType"),
        ([{"role": "user", "content": 1}], "messages[0].content: expected a text, got int"),
        (
            [{"role": "user", "content": "hi", "mood": "good"}],
            "messages[0].mood: a user message has no such key; leave it out",
        ),
        (
            [{"role": "user", "content": "hi", "name": 1}],
            "messages[0].name: expected a text, got int",
        ),
        (
            [{"role": "user", "content": [{"type": "image_url"}]}],
            "messages[0].content[0]: expected a part of type text, image_url, input_audio or file, "
            "got 'image_url'",
        ),
        (
            [{"role": "user", "content": [1]}],
            "messages[0].content[0]: expected a part of type text, image_url, input_audio or file, got int",
        ),
        (
            [{"role": "tool", "content": "{}"}],
            "messages[0].tool_call_id: expected the id of the call that it answers, got None",
        ),
        (
            [{"role": "assistant", "tool_calls": [{"function": {"name": "stock"}}]}],
            "messages[0].tool_calls[0]: expected an id and a function with name and arguments",
        ),
        (
            [{"role": "assistant", "content": "hi", "reasoning": {1}}],
            "messages[0].reasoning: a set is not JSON",
        ),
        (
            [{"role": "assistant", "tool_calls": [1]}],
            "messages[0].tool_calls[0]: expected an id and a function with name and arguments",
        ),
    ],
)
def test_what_is_no_message_is_refused_with_its_place(given: object, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        messages_of(cast("Any", given))
    assert str(raised.value).startswith(why)


def test_bytes_and_paths_say_what_to_write() -> None:
    with pytest.raises(ConfigError, match=r"got bytes; for bytes write Image\.from_bytes\(data\)"):
        messages_of(["Look:", b"123"])
    with pytest.raises(ConfigError, match=r"for a file write attach\(path\)$"):
        messages_of(["Look:", Path("cat.png")])
