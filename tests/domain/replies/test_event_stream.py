from __future__ import annotations

import json
from typing import Any

import pytest

from tests.wire_forms import events_of
from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies import (
    Delta,
    Stream,
    as_chat,
    deltas_in,
    stream_in,
)
from toolreel_core._settings import WireForm

MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "model": "claude",
    "content": [
        {"type": "text", "text": "Wait."},
        {"type": "tool_use", "id": "toolu_1", "name": "ping", "input": {"host": "a"}},
        {"type": "tool_use", "id": "toolu_2", "name": "pong", "input": {}},
    ],
    "stop_reason": "tool_use",
}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "status": "completed",
    "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]},
        {"type": "function_call", "call_id": "call_1", "name": "ping", "arguments": '{"host":"a"}'},
        {"type": "function_call", "call_id": "call_2", "name": "pong", "arguments": "{}"},
    ],
}
BODIES: dict[WireForm, dict[str, Any]] = {"messages": MESSAGE, "responses": RESPONSE}


def fed(form: WireForm, *texts: str) -> tuple[Stream, list[Delta]]:
    stream, shown = stream_in(form), list[Delta]()
    for text in texts:
        stream, deltas = stream.feed(text)
        shown += deltas
    return stream, shown


def said(form: WireForm, body: str) -> Json:
    tree: Any = as_chat(body, form).body
    message: Json = tree["choices"][0]["message"]
    return message


@pytest.mark.parametrize("form", BODIES)
def test_a_stream_says_what_the_body_would_have_said(form: WireForm) -> None:
    streamed = "".join(events_of(form, BODIES[form]))
    assert said(form, streamed) == said(form, json.dumps(BODIES[form]))


@pytest.mark.parametrize("form", BODIES)
def test_what_arrives_is_shown(form: WireForm) -> None:
    first, second = ("toolu_1", "toolu_2") if form == "messages" else ("call_1", "call_2")
    _, shown = fed(form, *events_of(form, BODIES[form]))
    assert "".join(delta.text for delta in shown if delta.kind == "content") == "Wait."
    calls = [delta for delta in shown if delta.kind == "tool_call"]
    assert [(delta.index, delta.call_id, delta.name) for delta in calls if delta.name] == [
        (0, first, "ping"),
        (1, second, "pong"),
    ]
    texts = ["".join(delta.text for delta in calls if delta.index == n and not delta.name) for n in (0, 1)]
    assert texts == ['{"host":"a"}', "{}"]


def test_a_body_that_was_not_streamed_is_shown_at_once() -> None:
    body = canonical({"content": "Hi.", "stop_reason": "end_turn"})
    assert [delta.text for delta in deltas_in(body, "messages", whole=True)] == ["Hi."]
    assert deltas_in(body, "messages", whole=False) == ()
    assert deltas_in("<html>", "messages", whole=True) == ()
    chat = canonical({"choices": [{"message": {"content": "Hi."}}]})
    assert [delta.text for delta in deltas_in(chat, "chat_completions", whole=True)] == ["Hi."]
