from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire_forms import events_of, frame
from toolreel_core._jsontext import Json
from toolreel_core._replies import Delta, EventStream, Stream, as_chat, deltas_in, stream_in
from toolreel_core._settings import WireForm

Events: TypeAlias = tuple[dict[str, Json], ...]

CUT = "the stream ended before the reply was complete"
LOST = "a part of the stream could not be read, and may have been part of a tool call"
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


def fed(form: WireForm, *texts: str) -> tuple[Stream | EventStream, list[Delta]]:
    stream, shown = stream_in(form), list[Delta]()
    for text in texts:
        stream, deltas = stream.feed(text)
        shown += deltas
    return stream, shown


def whole(form: WireForm, *events: dict[str, Json]) -> dict[str, Any]:
    return {**fed(form, *map(frame, events))[0].whole()}


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


@given(cuts=st.lists(st.integers(0, 4_000), max_size=6), form=st.sampled_from(sorted(BODIES)))
def test_it_does_not_matter_where_a_stream_is_cut_into_chunks(cuts: list[int], form: WireForm) -> None:
    text = "".join(events_of(form, BODIES[form]))
    at = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(at)]
    stream, shown = fed(form, *pieces)
    assert stream.whole() == fed(form, text)[0].whole()
    assert "".join(delta.text for delta in shown if delta.kind == "content") == "Wait."


@pytest.mark.parametrize("form", BODIES)
def test_a_stream_that_ends_early_is_an_error(form: WireForm) -> None:
    events = [*events_of(form, BODIES[form])]
    body: Any = as_chat("".join(events[:-2]), form).body
    assert body["error"] == {"code": "stream_cut", "message": CUT}


@pytest.mark.parametrize("form", BODIES)
def test_a_lost_part_beside_a_call_is_an_error(form: WireForm) -> None:
    events = [*events_of(form, BODIES[form])]
    read = as_chat("".join([*events[:-3], 'data: {"broken\n\n', *events[-3:]]), form)
    tree: Any = read.body
    assert (tree["error"]["message"], read.codes) == (LOST, ("STREAM_FRAME_LOST",))


@pytest.mark.parametrize("form", BODIES)
def test_what_comes_behind_the_end_is_not_read(form: WireForm) -> None:
    stream, _ = fed(form, *events_of(form, BODIES[form]))
    assert stream.done
    assert stream.feed("data: {}\n\n") == (stream, ())
    done, _ = fed(form, "data: [DONE]\n\ndata: {}\n\n")
    assert done.done


@pytest.mark.parametrize("form", BODIES)
def test_a_body_that_is_no_stream_is_known_by_its_first_characters(form: WireForm) -> None:
    undecided, _ = fed(form, "\ufeff  ev")
    assert undecided.streamed is None
    assert undecided.feed("ent: x\n")[0].streamed is True
    assert fed(form, '{"a"')[0].streamed is False
    assert fed(form, '{"a"', ":1}")[0].streamed is False


@pytest.mark.parametrize("form", BODIES)
def test_an_error_in_the_stream_ends_it(form: WireForm) -> None:
    error: dict[str, Json] = {"type": "overloaded_error", "message": "Full."}
    assert whole(form, {"type": "error", "error": error})["error"] == error
    assert whole(form, {"error": error})["error"] == error
    bare: dict[str, Json] = {"type": "error", "message": "Full."}
    assert whole(form, bare)["error"] == bare


@pytest.mark.parametrize("form", BODIES)
def test_an_unknown_event_is_nothing(form: WireForm) -> None:
    stream, shown = fed(form, frame({"type": "ping"}), frame({"type": "new.event", "delta": "x"}))
    assert (stream.progress, shown) == (0, [])


def test_an_unterminated_last_line_is_read() -> None:
    event = frame({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}})
    assert [delta.text for delta in deltas_in(event.rstrip(), "messages", whole=False)] == ["Hi"]


# Messages


def start(block: dict[str, Json], **place: Json) -> dict[str, Json]:
    return {"type": "content_block_start", **place, "content_block": block}


def piece(kind: str, **said: Json) -> dict[str, Json]:
    index = said.pop("index", None)
    at: dict[str, Json] = {} if index is None else {"index": index}
    return {"type": "content_block_delta", **at, "delta": {"type": kind, **said}}


END: dict[str, Json] = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}


def test_what_stands_in_the_beginning_of_a_block_is_shown() -> None:
    _, shown = fed(
        "messages",
        frame(start({"type": "text", "text": "Hi."}, index=0)),
        frame(start({"type": "thinking", "thinking": "Hm."}, index=1)),
        frame(start({"type": "text", "text": ""}, index=2)),
        frame(start({"type": "tool_use", "name": "ping"}, index=3)),
    )
    assert [(delta.kind, delta.text) for delta in shown] == [
        ("content", "Hi."),
        ("reasoning", "Hm."),
        ("tool_call", "ping"),
    ]


def test_citations_stay_with_their_text() -> None:
    events: Events = (
        start({"type": "text", "text": ""}, index=0),
        piece("text_delta", text="Found.", index=0),
        piece("citations_delta", citation={"url": "https://example.org"}, index=0),
        piece("citations_delta", citation={"url": "https://example.com"}, index=1),
        piece("text_delta", text=None, index=0),
        piece("text_delta", text=3, index=0),
        END,
    )
    first, second = whole("messages", *events)["content"]
    assert first == {"type": "text", "text": "Found.", "citations": [{"url": "https://example.org"}]}
    assert second["citations"] == [{"url": "https://example.com"}]


def test_a_message_may_begin_with_content_and_end_without_a_word() -> None:
    begun: dict[str, Json] = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi."}],
        "usage": {"input_tokens": 3},
    }
    counted: dict[str, Json] = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 2}}
    body = whole("messages", {"type": "message_start", "message": begun}, counted, {"type": "message_stop"})
    assert (body["content"][0]["text"], body["usage"]) == ("Hi.", {"input_tokens": 3, "output_tokens": 2})
    assert "error" not in body


# Responses


def added(item: dict[str, Json], **place: Json) -> dict[str, Json]:
    return {"type": "response.output_item.added", **place, "item": item}


COMPLETED: dict[str, Json] = {"type": "response.completed", "response": {}}


def test_a_response_without_its_output_at_the_end_is_put_together() -> None:
    events: Events = (
        added({"type": "reasoning", "id": "rs_1", "summary": []}, output_index=0),
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "In short."},
        added({"type": "message", "content": []}, output_index=1),
        {"type": "response.output_text.delta", "output_index": 1, "delta": "Hi."},
        {"type": "response.refusal.delta", "output_index": 1, "delta": "No."},
        added({"type": "function_call", "name": "ping"}, output_index=2),
        {"type": "response.function_call_arguments.delta", "delta": "{}"},
        COMPLETED,
    )
    body = whole("responses", *events)
    assert body["status"] == "completed"
    reasoning, message, call = body["output"]
    assert reasoning["summary"] == [{"type": "summary_text", "text": "In short."}]
    assert message["content"] == [
        {"type": "output_text", "text": "Hi."},
        {"type": "refusal", "refusal": "No."},
    ]
    assert call["arguments"] == "{}"
    _, shown = fed("responses", *map(frame, events))
    assert [(delta.kind, delta.text) for delta in shown] == [
        ("reasoning", "In short."),
        ("content", "Hi."),
        ("tool_call", "ping"),
        ("tool_call", "{}"),
    ]
