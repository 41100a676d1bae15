"""What a probe asks in Responses and Messages, as it goes out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.probes import QUESTIONS
from toolreel_core._probe import Known, ProbedReply, Question, Word, WrittenRequest, observe
from toolreel_core._protocol import ReplyReceived
from toolreel_core._settings import WireForm

BY_NAME = {each.name: each for each in QUESTIONS}
THOUGHT = {"type": "thinking", "thinking": "I look it up.", "signature": "c2ln"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"key": "alpha"}}


def settled(form: WireForm) -> Known:
    words: dict[str, Word] = {"plain": "refused", form: "called"}
    return Known(words)


def asked(name: str, form: WireForm) -> Any:  # noqa: ANN401
    question: Question = BY_NAME[name]
    assert question.form(settled(form)) == form
    return question.body("m", settled(form))


def test_a_choice_of_a_tool_is_said_in_the_words_of_the_form() -> None:
    assert asked("tool_choice_required", "responses")["tool_choice"] == "required"
    assert asked("tool_choice_required", "messages")["tool_choice"] == {"type": "any"}
    assert asked("tool_choice_named", "messages")["tool_choice"] == {"type": "tool", "name": "ping"}
    assert asked("parallel_tool_calls", "messages")["tool_choice"]["disable_parallel_tool_use"] is True


def test_a_call_and_its_result_are_items_or_blocks() -> None:
    assert [item.get("type", item.get("role")) for item in asked("tool_turn", "responses")["input"]] == [
        "user",
        "function_call",
        "function_call_output",
    ]
    blocks = [message["content"] for message in asked("tool_turn", "messages")["messages"][1:]]
    assert [[block["type"] for block in content] for content in blocks] == [["tool_use"], ["tool_result"]]


@pytest.mark.parametrize(("form", "key"), [("responses", "input"), ("messages", "messages")])
def test_messages_that_are_none_are_none_in_each_form(form: WireForm, key: str) -> None:
    assert asked("error_shape", form)[key] == 5


def test_the_models_own_call_goes_back_with_its_thinking() -> None:
    said = {
        "role": "assistant",
        "content": [THOUGHT, CALL],
        "stop_reason": "tool_use",
    }
    seen = observe(ReplyReceived(1, 200, json.dumps(said)), "messages")
    assert isinstance(seen, ProbedReply)
    known = Known({"plain": "refused", "messages": "called"}, own_call=seen.message_to_send_back)
    body: Any = BY_NAME["own_call"].body("m", known)
    assert body["messages"][1] == {"role": "assistant", "content": [THOUGHT, CALL]}
    assert body["messages"][2]["content"][0]["tool_use_id"] == "toolu_1"


def test_what_a_form_has_no_word_for_is_not_asked_in_it() -> None:
    def names(form: WireForm) -> set[str]:
        return {each.name for each in QUESTIONS if each.own_form is None and form in each.forms}

    assert names("chat_completions") - names("responses") >= {"content_null", "max_completion_tokens"}
    assert names("responses") - names("messages") == {
        "late_system",
        "response_format",
        "temperature_high",
        "two_systems",
    }


def test_a_server_that_answers_every_path_alike_does_not_speak_every_form() -> None:
    chat = {"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}
    for form in ("responses", "messages"):
        verdict = BY_NAME[form].verdict(observe(ReplyReceived(1, 200, json.dumps(chat)), form))
        assert verdict.word == "ignored"


def test_a_request_is_sent_as_it_was_written() -> None:
    request = WrittenRequest.of({"model": "m", "messages": "none"}, "messages")
    assert (request.body, request.form, request.streamed) == (
        '{"model":"m","messages":"none"}',
        "messages",
        False,
    )
