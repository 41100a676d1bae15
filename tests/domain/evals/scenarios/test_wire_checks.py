"""Signatures come back in the next request, and calls arrive in fragments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.domain.evals.rehearsing import Rehearsed, rehearse
from toolreel.evals import built_in_scenario
from toolreel_core._conversation import AssistantMessage, Message, Transcript
from toolreel_core._jsontext import NOTHING, Tree
from toolreel_core._replies import as_chat
from toolreel_core._settings import Provider
from toolreel_core.evals import (
    Evidence,
    ScriptLine,
    SentExchange,
    call,
    missing_signature,
    reply_as_event_stream,
    script,
    scripted_reply,
    unreturned_signature,
)


def good(name: str, seed: str = "1", provider: Provider | None = None) -> Rehearsed:
    one = built_in_scenario(name)
    return rehearse(one, one.scripts(seed).good, seed=seed, provider=provider)


def without_messages(seen: Evidence) -> Evidence:
    """The evidence of a client whose requests have lost what the model said."""

    def bare(message: Message) -> Message:
        if not isinstance(message, AssistantMessage):
            return message
        return replace(
            message, extras=NOTHING, calls=tuple(replace(each, extras=NOTHING) for each in message.calls)
        )

    lost = [Transcript.of(map(bare, one.request.messages.messages)) for one in seen.sent]
    requests = [replace(one.request, messages=kept) for one, kept in zip(seen.sent, lost, strict=True)]
    return replace(seen, sent=tuple(map(SentExchange, requests, (one.reply for one in seen.sent))))


def test_a_client_that_loses_a_signature_fails() -> None:
    lost = without_messages(good("signed_reasoning").evidence)
    assert missing_signature(lost) == ""
    assert unreturned_signature(lost).startswith("the request after reply 1 does not have ")


def test_reasoning_has_to_come_back_where_nothing_is_signed() -> None:
    one = built_in_scenario("signed_reasoning")
    lines = one.scripts("1").good.lines
    plain = [
        {**line, "fields": {"reasoning_content": f"Thought {place}."}, "call_fields": {}}
        for place, line in enumerate(lines)
        if isinstance(line, dict)
    ]
    found = rehearse(one, script(*plain, lines[-1]))
    assert found.verdict.result == "pass"
    assert "'Thought 0.'" in unreturned_signature(without_messages(found.evidence))


@pytest.mark.parametrize(
    ("provider", "result"),
    [
        (Provider(reasoning_replay="never"), "pass_unexercised"),
        (Provider(reasoning_replay="current_turn"), "pass"),
        (Provider(reasoning_field="reasoning_content"), "pass"),
        (Provider(signature_channel="reasoning_details"), "pass"),
    ],
)
def test_a_provider_may_want_it_elsewhere_or_not_at_all(provider: Provider, result: str) -> None:
    assert good("signed_reasoning", provider=provider).verdict.result == result


def test_a_reply_that_was_asked_for_again_need_not_come_back() -> None:
    seen = good("signed_reasoning").evidence
    first = seen.sent[0]
    assert unreturned_signature(replace(seen, sent=(first, first, *seen.sent[1:]))) == ""


@pytest.mark.parametrize(
    "reply", ["", "<html>", '{"choices": []}', '{"choices": [{"message": {"tool_calls": [1]}}]}']
)
def test_a_reply_that_is_none_has_nothing_to_come_back(reply: str) -> None:
    seen = good("signed_reasoning").evidence
    odd = replace(seen, sent=tuple(replace(one, reply=reply) for one in seen.sent))
    assert (unreturned_signature(odd), bool(missing_signature(odd))) == ("", True)


def test_a_server_that_does_not_stream_has_not_shown_it() -> None:
    seen = good("streamed_calls").evidence
    whole = replace(seen, sent=tuple(replace(one, reply='{"choices": []}') for one in seen.sent))
    (streamed,) = (
        check for check in built_in_scenario("streamed_calls").begin("1").checks if check.name == "streamed"
    )
    assert streamed.finding(whole) == "reply 1 did not come as a stream"


@pytest.mark.parametrize(
    "line",
    [
        "Two words.",
        call("note", text="é" * 20) + call("note", text="b"),
        {
            "calls": call("note"),
            "text": "beside",
            "fields": {"reasoning": "why"},
            "call_fields": {"signature": "s"},
        },
    ],
)
def test_a_stream_has_just_what_its_body_has(line: ScriptLine) -> None:
    body: Tree = scripted_reply(script(line), [])
    read = as_chat(reply_as_event_stream(body))
    assert isinstance(read.body, dict)
    assert read.codes == ()
    joined: Any = read.body
    said: Any = body
    (choice,), (wanted,) = joined["choices"], said["choices"]
    assert choice["finish_reason"] == wanted["finish_reason"]
    message = {key: value for key, value in wanted["message"].items() if value is not None}
    assert {key: value for key, value in choice["message"].items() if value} == message
    assert joined["usage"] == body["usage"]
