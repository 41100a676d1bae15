"""What the worked cases of Responses and Messages do not show: other spellings, and what is passed on."""

from __future__ import annotations

import json

import pytest

from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies import (
    EventStream,
    Stream,
    as_chat,
    deltas_in,
    normalize_reply,
    stream_in,
    whole_blocks,
    whole_items,
)
from toolreel_core._settings import LoopConfig, WireForm
from toolreel_core._tools import ToolDefinition, ToolSurface

PING = ToolSurface((ToolDefinition.of("ping", "Pings.", {"type": "object"}),))
TEXT: Json = {"type": "text", "text": "Hello."}


@pytest.mark.parametrize(
    ("form", "body", "content"),
    [
        ("messages", {"content": ["Hello."], "stop_reason": "end_turn"}, "Hello."),
        ("messages", {"content": TEXT, "stop_reason": "end_turn"}, "Hello."),
        ("messages", {"content": [None, {"text": "Hello."}], "stop_reason": "end_turn"}, "Hello."),
        ("messages", {"content": [{"type": "text", "text": None}, {"some": "block"}]}, ""),
        ("messages", [1], ""),
        ("responses", {"output": ["Hello."]}, "Hello."),
        (
            "responses",
            {"output": [{"type": "message", "content": ["Hello."]}, 3, {"some": "item"}]},
            "Hello.",
        ),
        ("responses", {"output": [{"role": "assistant", "content": [{"text": "Hello."}]}]}, "Hello."),
    ],
)
def test_a_content_is_read_however_it_is_written(form: WireForm, body: Json, content: str) -> None:
    reply = normalize_reply(as_chat(json.dumps(body), form).body, tools=PING, config=LoopConfig())
    assert reply.content == content
    assert (reply.problem is None) == bool(content)


@pytest.mark.parametrize(
    ("status", "reason", "finish"),
    [
        ("incomplete", "content_filter", "content_filter"),
        ("incomplete", "a new one", "unknown"),
        ("incomplete", None, "unknown"),
        ("queued", None, "unknown"),
        (None, None, "stop"),
    ],
)
def test_the_status_of_a_response_says_how_it_ended(status: Json, reason: Json, finish: str) -> None:
    body: Json = {"status": status, "incomplete_details": {"reason": reason}, "output": "It is"}
    reply = normalize_reply(as_chat(canonical(body), "responses").body, tools=PING, config=LoopConfig())
    assert reply.finish == finish


def test_a_body_that_was_not_streamed_is_shown_at_once() -> None:
    body = canonical({"content": "Hi.", "stop_reason": "end_turn"})
    assert [delta.text for delta in deltas_in(body, "messages", whole=True)] == ["Hi."]
    assert deltas_in(body, "messages", whole=False) == ()
    assert deltas_in("<html>", "messages", whole=True) == ()
    chat = canonical({"choices": [{"message": {"content": "Hi."}}]})
    assert [delta.text for delta in deltas_in(chat, "chat_completions", whole=True)] == ["Hi."]


def test_a_body_of_chat_completions_or_of_none_is_as_it_is() -> None:
    assert as_chat('{"choices":[]}', "chat_completions").body == '{"choices":[]}'
    assert as_chat("<html>", "messages").body == "<html>"
    assert isinstance(stream_in("chat_completions"), Stream)


def test_blocks_and_items_get_their_types() -> None:
    assert whole_blocks({"content": ["Hi.", {"name": "f", "input": {}}]}) == [
        {"type": "text", "text": "Hi."},
        {"type": "tool_use", "name": "f", "input": {}},
    ]
    assert whole_items({"output": [{"content": "Hi."}]}) == [{"type": "message", "content": "Hi."}]


def test_a_stream_tells_its_blocks_and_its_head() -> None:
    start: Json = {"type": "message_start", "message": {"id": "msg_1", "content": []}}
    block: Json = {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "text", "text": "Hi."},
    }
    item: Json = {"type": "response.output_item.added", "output_index": 1, "item": {"content": [], "id": "i"}}
    for form, events, place in (("messages", (start, block), 2), ("responses", (item,), 1)):
        stream = stream_in("messages" if form == "messages" else "responses")
        stream, _ = stream.feed("".join(f"data: {canonical(event)}\n\n" for event in events))
        assert isinstance(stream, EventStream)
        ((at, whole),) = stream.events.blocks()
        assert (at, whole["type"]) == (place, "text" if form == "messages" else "message")
        assert stream.head == ({"id": "msg_1"} if form == "messages" else {})
    chat, _ = stream_in("messages").feed('data: {"id":"gen-1","choices":[]}\n\n')
    assert chat.head == {"id": "gen-1"}


def test_the_body_in_its_own_form_is_kept() -> None:
    body = {"content": "Hi.", "stop_reason": "end_turn"}
    assert as_chat(canonical(body), "messages").own == body
    assert as_chat('{"choices":[]}', "chat_completions").own is None
