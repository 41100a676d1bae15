"""What an exchange shows, and that judging never raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.probes import QUESTIONS, Event, decided_settings, worked
from toolreel_core._probe import Known, ProbedReply, Probing, findings, observe, preset_tree
from toolreel_core._protocol import FailureKind, ReplyReceived, RequestFailed


def received(body: object) -> ReplyReceived:
    return ReplyReceived(1, 200, body if isinstance(body, str) else json.dumps(body))


@pytest.mark.parametrize(("told", "why"), worked("observed"))
def test_a_refusal_is_about_the_request_and_a_failure_is_not(told: Any, why: str) -> None:  # noqa: ANN401
    match told:
        case {"status": status}:
            event: Event = RequestFailed(1, "status", f"HTTP {status}: no", status, "no")
        case {"failed": failure}:
            event = RequestFailed(1, failure, "it failed")
        case _:
            event = received(told["body"])
    assert getattr(observe(event), "why", "answered") == why


def test_the_other_forms_are_read_as_chat_completions() -> None:
    seen = observe(
        received({"content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}), "messages"
    )
    assert isinstance(seen, ProbedReply)
    assert seen.reply.content == "Hi."
    assert ProbedReply({}, seen.reply).choice == {}, "without choices"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("content", "tool_calls", "reasoning_content", "reasoning_details", "function_call", "refusal")
texts = st.builds(json.dumps, json_values | st.dictionaries(st.just("verdict"), json_values, max_size=1))
messages = st.dictionaries(st.sampled_from(KEYS), json_values | texts, max_size=4)
calls = st.fixed_dictionaries(
    {},
    optional={
        "id": json_values,
        "type": st.just("function"),
        "extra_content": json_values,
        "function": st.fixed_dictionaries(
            {}, optional={"name": st.sampled_from(["lookup", "ping", ""]), "arguments": json_values}
        ),
    },
)
replies = messages | st.builds(lambda found: {"tool_calls": found}, st.lists(calls, max_size=3))
bodies = st.one_of(
    st.text(max_size=60),
    json_values.map(json.dumps),
    st.builds(
        lambda message, finish, usage: json.dumps(
            {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
        ),
        replies,
        json_values,
        json_values,
    ),
    replies.map(lambda message: f"data: {json.dumps({'choices': [{'delta': message}]})}\n\n"),
)
kinds: list[FailureKind] = ["connect", "timeout", "broken", "too_large", "status"]
events = st.builds(lambda body: ReplyReceived(1, 200, body), bodies) | st.builds(
    RequestFailed,
    st.just(1),
    st.sampled_from(kinds),
    st.text(max_size=20),
    st.none() | st.integers(100, 999),
    bodies,
    st.none() | st.integers(0, 10**9),
)


@given(events, st.sampled_from(QUESTIONS))
def test_judging_never_raises(event: Event, question: Any) -> None:  # noqa: ANN401
    verdict = question.verdict(observe(event, question.form(Known())))
    assert isinstance(verdict.detail, str)


@given(st.lists(events, min_size=1, max_size=12), st.integers(1, 3))
def test_a_probe_of_anything_ends_in_findings_and_a_preset(given_events: Any, repeat: int) -> None:  # noqa: ANN401
    probing, number = Probing("m", QUESTIONS, repeat), 0
    while (ask := probing.ask) and number < 60:
        probing = probing.with_answer(ask, given_events[number % len(given_events)])
        number += 1
    found = findings(probing)
    assert json.dumps(preset_tree(decided_settings(found), "As probed.", "", []))
    assert all(each.requests for each in found)
