from __future__ import annotations

import json

import pytest

from toolreel_core._jsontext import NOTHING, Json
from toolreel_core._replies import Reply, as_chat, chat_of_response, normalize_reply
from toolreel_core._settings import LoopConfig
from toolreel_core._tools import ToolDefinition, ToolSurface

PING = ToolSurface((ToolDefinition.of("ping", "Pings.", {"type": "object"}),))
CALL: dict[str, Json] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "ping",
    "arguments": '{"host":"a"}',
}
REASONING: dict[str, Json] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"}


def text(said: str) -> dict[str, Json]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}


def response(*items: Json, status: Json = "completed", **further: Json) -> dict[str, Json]:
    return {"object": "response", "status": status, "error": None, "output": [*items], **further}


def read(body: Json) -> Reply:
    """What the loop makes of a body."""
    return normalize_reply(
        as_chat(json.dumps(body), "responses").body, tools=PING, config=LoopConfig(text_dialects=())
    )


def kept(body: Json) -> Json:
    carry = chat_of_response(body).carry
    tree: dict[str, Json] = json.loads(carry)
    return None if carry is NOTHING else tree["responses_items"]


def test_a_text_is_an_answer() -> None:
    reply = read(response(text("Hel"), text("lo.")))
    assert (reply.content, reply.finish, reply.problem, reply.warnings) == ("Hello.", "stop", None, ())


def test_a_call_needs_no_repair() -> None:
    reply = read(response(text("Wait."), CALL))
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [
        ("call_1", "ping", '{"host":"a"}')
    ]
    assert (reply.content, reply.finish, reply.warnings) == ("Wait.", "tool_calls", ())


@pytest.mark.parametrize(
    ("odd", "id_", "codes"),
    [
        ({"name": "ping", "call_id": "call_1", "arguments": '{"host":"a"}'}, "call_1", ()),  # no type
        ({"type": "function_call", "id": "fc_1", "name": "ping", "arguments": '{"host":"a"}'}, "fc_1", ()),
        ({**CALL, "arguments": {"host": "a"}}, "call_1", ("ARGUMENTS_NOT_STRING",)),
    ],
)
def test_a_call_is_read_however_it_is_written(odd: Json, id_: str, codes: tuple[str, ...]) -> None:
    reply = read(response(odd))
    assert [(call.id, call.arguments) for call in reply.calls] == [(id_, '{"host":"a"}')]
    assert reply.warnings == codes


@pytest.mark.parametrize(
    "output",
    [
        "Hello.",
        ["Hello."],
        text("Hello."),
        [{"type": "message", "content": "Hello."}],
        [{"role": "assistant", "content": [{"text": "Hello."}]}],
        [{"type": "message", "content": ["Hello."]}, 3, {"some": "item"}],
    ],
)
def test_an_output_is_read_however_it_is_written(output: Json) -> None:
    assert read({"status": "completed", "output": output}).content == "Hello."


def test_reasoning_is_no_part_of_the_answer_and_goes_back() -> None:
    body = response(REASONING, CALL)
    unnamed = {key: value for key, value in REASONING.items() if key != "id"}
    search: Json = {"type": "web_search_call", "id": "ws_1"}
    assert kept(body) == [unnamed, {"type": "function_call"}]
    assert kept(response(search, {**text("Hi."), "id": "msg_1", "status": "completed"})) == [
        search,
        text("Hi."),
    ]
    shown: Json = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "In short."}]}
    full: Json = {**REASONING, "content": [{"type": "reasoning_text", "text": "At length."}]}
    assert read(response(shown, CALL)).reasoning == "In short."
    assert read(response(full, CALL)).reasoning == "At length."
    assert read(body).reasoning == ""


def test_texts_and_calls_have_nothing_that_has_to_go_back() -> None:
    assert kept(response(text("Wait."), CALL)) is None


def test_a_refusal_is_told_as_one() -> None:
    refused: Json = {"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]}
    problem = read(response(refused)).problem
    assert problem is not None
    assert (problem.code, problem.detail) == ("REFUSAL", "I won't.")


@pytest.mark.parametrize(
    ("status", "further", "finish"),
    [
        ("incomplete", {"incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ("incomplete", {"incomplete_details": {"reason": "content_filter"}}, "content_filter"),
        ("incomplete", {"incomplete_details": {"reason": "a new one"}}, "unknown"),
        ("incomplete", {}, "unknown"),
        ("cancelled", {}, "error"),
        ("queued", {}, "unknown"),
        (None, {}, "stop"),
    ],
)
def test_the_status_says_how_it_ended(status: Json, further: dict[str, Json], finish: str) -> None:
    assert read(response(text("It is"), status=status, **further)).finish == finish


def test_an_error_is_the_servers() -> None:
    failed: Json = {"status": "failed", "error": {"code": "server_error", "message": "Oh."}, "output": []}
    problem = read(failed).problem
    assert problem is not None
    assert (problem.code, problem.detail) == ("PROVIDER_ERROR", "Oh.")


def test_counts_and_names_are_those_of_the_reply() -> None:
    usage: Json = {
        "input_tokens": 30,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 4},
    }
    reply = read(response(text("Hi."), usage=usage, id="resp_1", model="gpt"))
    counts = reply.usage
    assert (counts.prompt_tokens, counts.cached_tokens) == (30, 20)
    assert (counts.completion_tokens, counts.reasoning_tokens) == (9, 4)
    assert (reply.served.request_id, reply.served.model) == ("resp_1", "gpt")


def test_an_answer_as_chat_completions_is_read_as_one() -> None:
    chat: Json = {"choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}]}
    assert read(chat).content == "Hi."
