"""The judges: one answer, one word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from toolreel_core._probe import (
    QUESTIONS,
    Answered,
    Unanswered,
    Verdict,
    observe,
    verdict,
)
from toolreel_core._protocol import ReplyReceived

LOOKUP = {"id": "c", "type": "function", "function": {"name": "lookup", "arguments": '{"key":"a"}'}}


def answered(
    content: str | None = None,
    *calls: Mapping[str, Any],
    finish: str = "stop",
    usage: Mapping[str, int] | None = None,
    stream: bool = False,
) -> Answered:
    message = {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
    choice = {"delta" if stream else "message": message, "finish_reason": finish}
    body = json.dumps({"choices": [choice], **({"usage": usage} if usage else {})})
    seen = observe(ReplyReceived(1, 200, f"data: {body}\n\ndata: [DONE]\n\n" if stream else body))
    assert isinstance(seen, Answered)
    return seen


def order(**arguments: Any) -> Mapping[str, Any]:  # noqa: ANN401
    given = {"item": "lamp", "count": 3, "price": 9.5, "gift": True, "labels": ["red"], **arguments}
    return {"id": "c", "type": "function", "function": {"name": "order", "arguments": json.dumps(given)}}


def ping(arguments: Any) -> Mapping[str, Any]:  # noqa: ANN401
    return {"id": "c", "type": "function", "function": {"name": "ping", "arguments": arguments}}


FENCED = '```json\n{"name": "lookup", "arguments": {"key": "a"}}\n```'


@pytest.mark.parametrize(
    ("judge", "seen", "word"),
    [
        (verdict.accepted, answered("ok"), "accepted"),
        (verdict.accepted, answered(None, LOOKUP, LOOKUP | {"id": "d"}), "accepted"),
        (verdict.calls, answered(None, LOOKUP), "called"),
        (verdict.calls, answered(FENCED), "text_call"),
        (verdict.calls, answered(f"{FENCED}\n\n\n", finish="length"), "text_call"),
        (verdict.calls, answered("It is 42."), "answered"),
        (verdict.calls, answered("I think", finish="length"), "cut"),
        (verdict.called_if_told, answered(None, LOOKUP), "called"),
        (verdict.called_if_told, answered("Hello."), "ignored"),
        (verdict.called_if_told, answered(FENCED), "ignored"),
        (verdict.called_if_told, answered("I think", finish="length"), "cut"),
        (verdict.no_call_if_told, answered(None, LOOKUP), "ignored"),
        (verdict.no_call_if_told, answered("ok"), "honoured"),
        (verdict.number_of_calls, answered("ok"), "no_call"),
        (verdict.number_of_calls, answered("I think", finish="length"), "cut"),
        (verdict.number_of_calls, answered(None, LOOKUP), "one_call"),
        (verdict.number_of_calls, answered(None, LOOKUP, LOOKUP | {"id": "d"}), "several_calls"),
        (verdict.types, answered(None, order()), "typed"),
        (verdict.types, answered(None, order(count="3")), "retyped"),
        (verdict.types, answered(None, order(labels='["red"]')), "retyped"),
        (verdict.types, answered("ok"), "answered"),
        (verdict.empty_arguments, answered(None, ping("{}")), "typed"),
        (verdict.empty_arguments, answered(None, ping("")), "retyped"),
        (verdict.empty_arguments, answered(None, ping(None)), "retyped"),
        (verdict.empty_arguments, answered("ok"), "answered"),
        (verdict.limit_of_8, answered("1, 2", finish="length"), "honoured"),
        (verdict.limit_of_8, answered("1, 2", usage={"completion_tokens": 8}), "honoured"),
        (verdict.limit_of_8, answered("1, 2", usage={"completion_tokens": 180}), "ignored"),
        (verdict.limit_of_8, answered("1, 2"), "honoured"),
        (verdict.limit_of_8, answered("1, 2, " * 50), "ignored"),
        (verdict.any_json, answered('{"a": 1}'), "honoured"),
        (verdict.any_json, answered("Hello."), "ignored"),
        (verdict.any_json, answered('{"a": ', finish="length"), "cut"),
        (verdict.schema_of_json, answered('{"verdict": "no"}'), "honoured"),
        (verdict.schema_of_json, answered('{"verdict": "maybe"}'), "ignored"),
        (verdict.schema_of_json, answered('{"verdict": ["yes"]}'), "ignored"),
        (verdict.format_beside_tools, answered('{"verdict": "no"}'), "held"),
        (verdict.format_beside_tools, answered(None, LOOKUP), "called"),
        (verdict.stream, answered("ok"), "not_streamed"),
        (verdict.stream, answered("ok", stream=True), "streamed"),
        (verdict.stream, answered("ok", usage={"prompt_tokens": 4}, stream=True), "streamed_with_usage"),
        (verdict.red, answered("It is RED."), "seen"),
        (verdict.red, answered("I can't see it."), "not_seen"),
        (verdict.prompt_tokens, answered("ok", usage={"prompt_tokens": 145}), "counted"),
        (verdict.prompt_tokens, answered("ok"), "unclear"),
    ],
)
def test_an_answer_gets_a_word(judge: verdict.Judge, seen: Answered, word: str) -> None:
    assert judge(seen).word == word


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        (Unanswered("refused", "HTTP 400: no", body='{"error": {}}'), "clear"),
        (Unanswered("refused", "HTTP 400: no", body="<html>"), "unclear"),
        (Unanswered("refused", "no", in_200=True), "unclear"),
        (answered("ok"), "accepted"),
        (Unanswered("unreadable", "<html>"), "lost"),
        (Unanswered("timeout", "no answer"), "lost"),
        (Unanswered("key", "HTTP 401"), "lost"),
    ],
)
def test_an_error_is_clear_if_a_program_can_read_it(seen: Any, word: str) -> None:  # noqa: ANN401
    [question] = [each for each in QUESTIONS if each.name == "unknown_model"]
    assert question.verdict(seen).word == word


def test_what_is_no_answer_is_not_left_to_the_judge() -> None:
    def judge(_: Answered) -> Verdict:
        raise AssertionError

    assert verdict.judged(Unanswered("refused", "HTTP 400: no tools"), judge) == Verdict(
        "refused", "HTTP 400: no tools"
    )
    assert verdict.judged(Unanswered("timeout", "late"), judge).word == "lost"


def test_a_detail_quotes_what_was_said() -> None:
    assert verdict.accepted(answered("It\nis  4.")).detail == 'it said "It is 4."'
    assert verdict.accepted(answered(None, LOOKUP)).detail == "1 call"
    assert verdict.accepted(answered("")).detail == "no text"
