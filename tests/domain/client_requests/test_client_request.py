"""A request of any client is read as far as it is understood."""

from __future__ import annotations

import pytest

from tests.domain.proxy.asked import PING, asked
from tests.samples import worked
from toolreel_core._client_requests import ClientRequest, Loss, Refusal, client_request
from toolreel_core._conversation import UserMessage
from toolreel_core._jsontext import Tree
from toolreel_core._settings import WireForm


@pytest.mark.parametrize(
    ("form", "body", "words", "param"),
    [
        ("messages", b"\xff{", "not a JSON object", None),
        *worked("what is wrong with a body is said", "requests"),
    ],
)
def test_says_what_is_wrong_with_a_body(
    form: WireForm, body: bytes | str, words: str, param: str | None
) -> None:
    refusal = client_request(body, form)
    assert isinstance(refusal, Refusal)
    assert words in refusal.message
    assert refusal.param == param


def test_keeps_what_it_does_not_understand() -> None:
    request = asked({"role": "user", "content": [{"type": "hologram"}]}, temperature=0, top_secret={"a": 1})
    assert request.messages is None
    assert request.tree["top_secret"] == {"a": 1}
    assert request.call_ids == frozenset()
    assert request.quotable_texts == ()


@pytest.mark.parametrize(
    ("entry", "losses"),
    [
        ({"role": "user", "content": [{"type": ["text"], "text": "Hi."}]}, ()),
        (
            {"role": "assistant", "content": None, "tool_calls": {"id": "a"}},
            (Loss("unknown", "messages[0].tool_calls[0]"),),
        ),
    ],
)
def test_a_message_of_another_shape_goes_on_as_it_came(entry: Tree, losses: tuple[Loss, ...]) -> None:
    request = asked(entry)
    assert request.losses == losses
    assert request.tree["messages"] == [entry]


def test_reads_the_tools_that_it_can() -> None:
    strange = {"type": "function", "function": {"name": "s p a c e"}}
    twice = {"type": "function", "function": {"name": "ping", "parameters": "none"}}
    request = asked(tools=(PING, strange, twice, {"type": "web_search"}, {"function": {"name": "bare"}}))
    assert request.tools.names == ("ping", "bare")
    unread = Loss("unknown", "messages[0].role")
    assert client_request('{"messages":[{}],"tools":"all"}') == ClientRequest(
        {"messages": [{}], "tools": "all"}, "", None, losses=(unread,)
    )


def test_knows_what_the_reply_depends_on() -> None:
    history = (
        {"role": "user", "content": "Hi."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "pong"},
    )
    request = asked(*history, stream=True, stream_options={"include_usage": True}, n=2)
    assert (request.turn, request.call_ids, request.quotable_texts) == (2, frozenset({"a"}), ("Hi.", "pong"))
    assert (request.streamed, request.wants_usage, request.choices) == (True, True, 2)
    plain = asked({"role": "user", "content": "Hi."}, n=True)
    assert (plain.streamed, plain.wants_usage, plain.choices) == (False, False, 1)
    assert plain.messages == (UserMessage("Hi."),)
