"""A strict client gets one documented form of a reply."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.proxy.asked import HEAD, PING, STOCK, asked, said
from tests.samples import worked
from toolreel_core._client_requests import ClientRequest, client_request
from toolreel_core._jsontext import Json, canonical
from toolreel_core._proxy import Profile, build_upstream_request, problem_text, repair_reply, reply_in_error
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


@pytest.mark.parametrize(
    ("request_", "body", "expected"), worked("a strict client gets a documented reply", "requests")
)
def test_a_strict_client_gets_a_documented_reply(request_: Json, body: str, expected: dict[str, Any]) -> None:
    request = client_request(canonical(request_))
    assert isinstance(request, ClientRequest)
    reply = said(body, request)
    assert reply == said(body, request)
    assert reply.body["choices"] == expected["choices"]
    assert reply.body.get("usage") == expected.get("usage")
    assert (reply.problem.code if reply.problem else None) == expected.get("problem")
    for names, key in ((reply.repairs, "repairs"), (reply.noticed, "noticed")):
        assert [*names] == expected.get(key, [])


def test_an_ordinary_reply_keeps_what_it_says() -> None:
    message: Any = {"role": "assistant", "content": "Four.", "refusal": None, "annotations": []}
    body: dict[str, Any] = {
        "id": "gen-1",
        "object": "chat.completion",
        "created": 5,
        "model": "m-2",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "queue_time": 0.1},
        "service_tier": "fast",
    }
    reply = said(canonical(body))
    assert reply.repairs == reply.noticed == ()
    assert reply.answer(asked()) == reply.body == body


def test_a_problem_is_told_in_words() -> None:
    assert problem_text(Problem("RATE_LIMITED", "Slow down.")).endswith("may work later. Slow down.")
    assert len(problem_text(Problem("PROVIDER_ERROR", "x" * 9_999))) == 2_000


@given(JSON, JSON)
def test_no_input_raises(request: Json, reply: Json) -> None:
    read = client_request(canonical({"model": "m", "messages": [request], "tools": [request, PING, STOCK]}))
    if isinstance(read, ClientRequest):
        build_upstream_request(read, Profile())
        canonical(repair_reply(canonical(reply), read, Profile(), HEAD).body)


def test_a_call_that_the_server_rejected_is_read_from_its_error() -> None:
    text = '<tool_call>{"name":"ping","arguments":{}}</tool_call>'
    failed: Any = {"error": {"code": "tool_use_failed", "failed_generation": text}}
    reply = reply_in_error(canonical(failed), asked(), Profile(), HEAD)
    assert reply is not None
    assert reply.repairs == ("TEXT_CALL_READ", "FAILED_GENERATION_READ")
    failed["error"]["failed_generation"] = "Four."
    assert reply_in_error(canonical(failed), asked(), Profile(), HEAD) is None
    assert reply_in_error("{}", asked(), Profile(), HEAD) is None
