"""What a reply says in its own form, for those who pass it on."""

from __future__ import annotations

from toolreel_core._jsontext import Json, canonical
from toolreel_core._replies import EventStream, as_chat, stream_in, whole_blocks, whole_items


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
