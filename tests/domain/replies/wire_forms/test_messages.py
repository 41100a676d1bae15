from __future__ import annotations

import json

import pytest

from toolreel_core._jsontext import NOTHING, Json
from toolreel_core._replies import (
    Reply,
    Stream,
    as_chat,
    chat_of_message,
    deltas_in,
    normalize_reply,
    stream_in,
)
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface

PING = ToolSurface((ToolDefinition.of("ping", "Pings.", {"type": "object"}),))
CALL: dict[str, Json] = {"type": "tool_use", "id": "toolu_1", "name": "ping", "input": {"host": "a"}}


def text(said: str) -> dict[str, Json]:
    return {"type": "text", "text": said}


def message(*blocks: Json, stop: Json = "end_turn", **further: Json) -> dict[str, Json]:
    return {"type": "message", "role": "assistant", "content": [*blocks], "stop_reason": stop, **further}


def read(body: Json) -> Reply:
    """What the loop makes of a body."""
    return normalize_reply(
        as_chat(json.dumps(body), "messages").body, tools=PING, config=LoopConfig(text_dialects=())
    )


def kept(body: Json) -> Json:
    carry = chat_of_message(body).carry
    tree: dict[str, Json] = json.loads(carry)
    return None if carry is NOTHING else tree["messages_blocks"]


def test_a_text_is_an_answer() -> None:
    reply = read(message(text("Hel"), text("lo.")))
    assert (reply.content, reply.finish, reply.problem, reply.warnings) == ("Hello.", "stop", None, ())


def test_a_call_needs_no_repair() -> None:
    reply = read(message(text("Wait."), CALL, stop="tool_use"))
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [
        ("toolu_1", "ping", '{"host":"a"}')
    ]
    assert (reply.content, reply.finish, reply.warnings) == ("Wait.", "tool_calls", ())


@pytest.mark.parametrize(
    ("odd", "codes"),
    [
        ({"id": "toolu_1", "name": "ping", "input": {"host": "a"}}, ()),  # no type
        ({**CALL, "input": '{"host":"a"}'}, ()),
        ({"type": "tool_use", "id": "toolu_1", "name": "ping", "arguments": {"host": "a"}}, ()),
        ({"type": "tool_use", "id": "toolu_1", "name": "ping", "partial_json": '{"host":"a"}'}, ()),
        ({**CALL, "id": None}, ("CALL_ID_MISSING",)),
    ],
)
def test_a_call_is_read_however_it_is_written(odd: Json, codes: tuple[str, ...]) -> None:
    reply = read(message(odd, stop="tool_use"))
    assert [(call.name, call.arguments) for call in reply.calls] == [("ping", '{"host":"a"}')]
    assert reply.warnings == codes


def test_a_call_without_input_has_no_arguments() -> None:
    reply = read(message({"type": "tool_use", "id": "toolu_1", "name": "ping"}, stop="tool_use"))
    assert [call.arguments for call in reply.calls] == ["{}"]


@pytest.mark.parametrize("content", ["Hello.", ["Hello."], text("Hello."), [None, {"text": "Hello."}]])
def test_a_content_is_read_however_it_is_written(content: Json) -> None:
    assert read({"role": "assistant", "content": content, "stop_reason": "end_turn"}).content == "Hello."


def test_a_text_that_is_none_is_nothing() -> None:
    odd = message({"type": "text", "text": None}, {"type": "thinking", "thinking": 3}, {"some": "block"})
    assert read(odd).problem is not None


def test_thinking_is_no_part_of_the_answer_and_goes_back_with_its_signature() -> None:
    thinking: Json = {"type": "thinking", "thinking": "It is a.", "signature": "c2ln"}
    body = message(thinking, text("Wait."), CALL, stop="tool_use")
    assert (read(body).reasoning, read(body).content) == ("It is a.", "Wait.")
    assert kept(body) == [thinking, text("Wait."), {"type": "tool_use"}]


def test_blocks_of_the_servers_own_tools_go_back() -> None:
    search: Json = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    assert kept(message(search, text("Found."))) == [search, text("Found.")]


def test_citations_go_back() -> None:
    cited: Json = {**text("Found."), "citations": [{"url": "https://example.org"}]}
    assert kept(message(cited)) == [cited]


def test_texts_and_calls_have_nothing_that_has_to_go_back() -> None:
    assert kept(message(text("Wait."), CALL)) is None


def test_a_refusal_is_told_as_one() -> None:
    refused = read(message(stop="refusal", stop_details={"explanation": "Not this."}))
    assert refused.problem is not None
    assert (refused.problem.code, refused.problem.detail) == ("REFUSAL", "Not this.")
    silent, worded = read(message(stop="refusal")), read(message(text("I won't."), stop="refusal"))
    assert silent.problem is not None
    assert worded.problem is not None
    assert (silent.problem.detail, worded.problem.detail) == ("The model refuses to answer.", "I won't.")


def test_a_reply_that_was_cut_off_is_told_as_one() -> None:
    reply = read(message(text("It is"), stop="max_tokens"))
    assert reply.problem is not None
    assert (reply.finish, reply.problem.code) == ("length", "TRUNCATED")


def test_what_the_cache_holds_is_part_of_the_prompt() -> None:
    usage: Json = {
        "input_tokens": 3,
        "cache_read_input_tokens": 20,
        "cache_creation_input_tokens": 100,
        "output_tokens": 7,
    }
    found = read(message(text("Hi."), usage=usage)).usage
    assert (found.prompt_tokens, found.cached_tokens, found.completion_tokens) == (123, 20, 7)
    plain = read(message(text("Hi."), usage={"input_tokens": 3, "output_tokens": 7})).usage
    assert (plain.prompt_tokens, plain.cached_tokens) == (3, 0)


def test_the_model_and_the_id_are_those_of_the_reply() -> None:
    served = read(message(text("Hi."), id="msg_1", model="claude")).served
    assert (served.request_id, served.model) == ("msg_1", "claude")


def test_an_error_is_the_servers() -> None:
    problem = read({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down."}}).problem
    assert problem is not None
    assert (problem.code, problem.detail, problem.passing) == ("RATE_LIMITED", "Slow down.", True)


def test_an_answer_as_chat_completions_is_read_as_one() -> None:
    chat: Json = {"choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]}
    assert read(chat).content == "Hi."
    assert read([1]).problem is not None


def test_a_body_that_was_not_streamed_is_shown_at_once() -> None:
    body = json.dumps(message(text("Hi.")))
    assert [delta.text for delta in deltas_in(body, "messages", whole=True)] == ["Hi."]
    assert deltas_in(body, "messages", whole=False) == ()
    assert deltas_in("<html>", "messages", whole=True) == ()
    chat = json.dumps({"choices": [{"message": {"content": "Hi."}}]})
    assert [delta.text for delta in deltas_in(chat, "chat_completions", whole=True)] == ["Hi."]


def test_a_body_that_is_no_json_is_left_to_the_reader() -> None:
    assert as_chat("<html>", "messages").body == "<html>"


def test_a_body_of_chat_completions_is_as_it_is() -> None:
    assert as_chat('{"choices":[]}', "chat_completions").body == '{"choices":[]}'
    assert isinstance(stream_in("chat_completions"), Stream)
