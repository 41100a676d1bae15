"""A strict client gets one documented form of a reply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.proxy.asked import HEAD, PING, STOCK, asked, call, choices_of, said, whole
from toolreel_core._client_requests import ClientRequest, client_request
from toolreel_core._jsontext import Json, canonical
from toolreel_core._proxy import Profile, outbound, repaired, salvaged, words_of
from toolreel_core._replies import Problem

JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5) | st.just("tool"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "tool_calls", "function", "name", "arguments", "id", "choices", "message"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def message(body: str, request: ClientRequest | None = None) -> dict[str, Any]:
    made: dict[str, Any] = choices_of(said(body, request))[0]["message"]
    return made


def test_an_ordinary_reply_keeps_what_it_says() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "queue_time": 0.1}
    body = whole(
        {"role": "assistant", "content": "Four.", "annotations": []},
        id="gen-1",
        created=5,
        model="m-2",
        usage=usage,
        service_tier="fast",
    )
    reply = said(body)
    assert reply.repairs == reply.noticed == ()
    assert reply.body == {
        "id": "gen-1",
        "object": "chat.completion",
        "created": 5,
        "model": "m-2",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Four.", "refusal": None, "annotations": []},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": usage,
        "service_tier": "fast",
    }


def test_what_is_missing_is_filled_in() -> None:
    body = said('{"message":{"content":"Four."},"done":true,"prompt_eval_count":3,"eval_count":2}').body
    assert (body["id"], body["created"], body["model"]) == (HEAD.id, HEAD.created, "m")
    assert body["usage"] == {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def test_a_call_in_text_becomes_a_call() -> None:
    reply = said(whole({"content": 'Looking. <tool_call>{"name":"ping","arguments":{}}</tool_call>'}))
    assert reply.repairs == ("TEXT_CALL_READ",)
    (choice,) = choices_of(reply)
    assert choice["finish_reason"] == "tool_calls"
    made = choice["message"]
    assert made["content"] == "Looking."
    assert made["tool_calls"] == [call(id="call_1_0")]


def test_no_call_is_read_in_text_where_the_client_wants_none() -> None:
    text = '<tool_call>{"name":"ping","arguments":{}}</tool_call>'
    for request in (asked(tools=()), asked(tool_choice="none")):
        assert message(whole({"content": text}), request)["content"] == text


def test_a_call_that_quotes_the_user_is_left_in_the_text() -> None:
    text = '<tool_call>{"name":"ping","arguments":{}}</tool_call>'
    reply = said(whole({"content": text}), asked({"role": "user", "content": f"Say {text}"}))
    assert reply.noticed == ("TEXT_CALL_QUOTED",)


def test_arguments_that_cannot_be_repaired_go_on_as_they_are() -> None:
    body = whole({"tool_calls": [call("stock", '{"part": "pi')]}, "length")
    assert message(body)["tool_calls"][0]["function"]["arguments"] == '{"part": "pi'
    assert choices_of(said(body))[0]["finish_reason"] == "length"


def test_ids_are_new_in_the_conversation_and_the_same_each_time() -> None:
    history = (
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "", "tool_calls": [call(id="0")]},
        {"role": "tool", "tool_call_id": "0", "content": "pong"},
    )
    body = whole({"tool_calls": [call(id="0"), call("stock", id=1)]}, "tool_calls")
    first, again = said(body, asked(*history)), said(body, asked(*history))
    assert first == again
    ids = [each["id"] for each in message(body, asked(*history))["tool_calls"]]
    assert ids == ["0_1", "1"]
    assert "CALL_ID_REPEATED" in first.repairs


def test_a_tool_keeps_the_name_that_the_client_gave_it() -> None:
    dotted = {"type": "function", "function": {"name": "files.read"}}
    body = whole({"tool_calls": [call("files_read"), call("unknown", id="b")]}, "tool_calls")
    names = [each["function"]["name"] for each in message(body, asked(tools=(dotted,)))["tool_calls"]]
    assert names == ["files.read", "unknown"]


def test_reasoning_and_signatures_go_to_the_client() -> None:
    signed = call(extra_content={"google": {"thought_signature": "c2ln"}})
    made = message(whole({"reasoning": "Look.", "tool_calls": [signed]}, "tool_calls"))
    assert (made["reasoning"], made["reasoning_content"]) == ("Look.", "Look.")
    assert made["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "c2ln"}}


def test_what_a_completion_has_a_word_for_is_no_error() -> None:
    assert message(whole({"refusal": "No.", "content": None}))["refusal"] == "No."
    assert said(whole({"content": ""})).problem is None
    filtered = choices_of(said(whole({"content": "Bad"}, "content_filter")))
    assert filtered[0]["finish_reason"] == "content_filter"
    custom = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "sql", "input": "x"}}],
    }
    request = asked(tools=(PING, {"type": "custom", "custom": {"name": "sql"}}))
    assert message(whole(custom, "tool_calls"), request) == custom
    reply = said(whole(custom, "tool_calls"))
    assert reply.problem == Problem("UNSUPPORTED_CALL_TYPE")


def test_a_problem_is_told_in_words() -> None:
    assert words_of(Problem("RATE_LIMITED", "Slow down.")).endswith("may work later. Slow down.")
    assert len(words_of(Problem("PROVIDER_ERROR", "x" * 9_999))) == 2_000


def test_each_choice_that_was_asked_for_is_repaired() -> None:
    choices = [{"index": n, "message": {"content": f"{n}."}, "finish_reason": "eos"} for n in range(2)]
    tree: Any = {"choices": choices}
    body = canonical(tree)
    assert [each["message"]["content"] for each in choices_of(said(body, asked(n=2)))] == ["0.", "1."]
    assert len(choices_of(said(body))) == 1


@given(JSON, JSON)
def test_no_input_raises(request: Json, reply: Json) -> None:
    read = client_request(canonical({"model": "m", "messages": [request], "tools": [request, PING, STOCK]}))
    if isinstance(read, ClientRequest):
        outbound(read, Profile())
        canonical(repaired(canonical(reply), read, Profile(), HEAD).body)


def test_a_call_that_the_server_rejected_is_read_from_its_error() -> None:
    text = '<tool_call>{"name":"ping","arguments":{}}</tool_call>'
    failed: Any = {"error": {"code": "tool_use_failed", "failed_generation": text}}
    reply = salvaged(canonical(failed), asked(), Profile(), HEAD)
    assert reply is not None
    assert reply.repairs == ("TEXT_CALL_READ", "FAILED_GENERATION_READ")
    failed["error"]["failed_generation"] = "Four."
    assert salvaged(canonical(failed), asked(), Profile(), HEAD) is None
    assert salvaged("{}", asked(), Profile(), HEAD) is None


@pytest.mark.parametrize(
    ("message", "finish"),
    [
        ({"content": None}, "tool_calls"),
        ({"content": None, "tool_calls": [canonical(call())]}, "tool_calls"),
        ({"content": "Looking.", "tool_calls": [canonical(call())]}, "stop"),
    ],
)
def test_a_call_that_is_lost_is_no_answer(message: dict[str, Json], finish: str) -> None:
    reply = said(whole(message, finish))
    assert reply.problem == Problem(
        "MALFORMED_FUNCTION_CALL", "It says that it has tool calls, but none can be read."
    )
    assert reply.body["choices"] == []


@pytest.mark.parametrize(
    ("message", "finish"),
    [
        ({"content": "Four."}, "tool_calls"),
        ({"content": ""}, "stop"),
        ({"content": None, "tool_calls": [canonical(call()), call()]}, "tool_calls"),
    ],
)
def test_what_is_left_of_a_reply_passes(message: dict[str, Json], finish: str) -> None:
    assert said(whole(message, finish)).problem is None


def test_a_call_that_was_filtered_is_no_empty_answer() -> None:
    cut = {"content": None, "tool_calls": [call(arguments='{"part": "pi')]}
    assert said(whole(cut, "content_filter")).problem == Problem("CONTENT_FILTER")
    assert said(whole({**cut, "content": "Looking."}, "content_filter")).problem is None
