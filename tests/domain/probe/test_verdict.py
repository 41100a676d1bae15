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
        (verdict.judge_accepted, answered("ok"), "accepted"),
        (verdict.judge_accepted, answered(None, LOOKUP, LOOKUP | {"id": "d"}), "accepted"),
        (verdict.judge_call, answered(None, LOOKUP), "called"),
        (verdict.judge_call, answered(FENCED), "text_call"),
        (verdict.judge_call, answered(f"{FENCED}\n\n\n", finish="length"), "text_call"),
        (verdict.judge_call, answered("It is 42."), "answered"),
        (verdict.judge_call, answered("I think", finish="length"), "cut"),
        (verdict.judge_forced_call, answered(None, LOOKUP), "called"),
        (verdict.judge_forced_call, answered("Hello."), "ignored"),
        (verdict.judge_forced_call, answered(FENCED), "ignored"),
        (verdict.judge_forced_call, answered("I think", finish="length"), "cut"),
        (verdict.judge_prevented_call, answered(None, LOOKUP), "ignored"),
        (verdict.judge_prevented_call, answered("ok"), "honoured"),
        (verdict.judge_call_count, answered("ok"), "no_call"),
        (verdict.judge_call_count, answered("I think", finish="length"), "cut"),
        (verdict.judge_call_count, answered(None, LOOKUP), "one_call"),
        (verdict.judge_call_count, answered(None, LOOKUP, LOOKUP | {"id": "d"}), "several_calls"),
        (verdict.judge_argument_types, answered(None, order()), "typed"),
        (verdict.judge_argument_types, answered(None, order(count="3")), "retyped"),
        (verdict.judge_argument_types, answered(None, order(labels='["red"]')), "retyped"),
        (verdict.judge_argument_types, answered("ok"), "answered"),
        (verdict.judge_empty_arguments, answered(None, ping("{}")), "typed"),
        (verdict.judge_empty_arguments, answered(None, ping("")), "retyped"),
        (verdict.judge_empty_arguments, answered(None, ping(None)), "retyped"),
        (verdict.judge_empty_arguments, answered("ok"), "answered"),
        (verdict.judge_output_limit, answered("1, 2", finish="length"), "honoured"),
        (verdict.judge_output_limit, answered("1, 2", usage={"completion_tokens": 8}), "honoured"),
        (verdict.judge_output_limit, answered("1, 2", usage={"completion_tokens": 180}), "ignored"),
        (verdict.judge_output_limit, answered("1, 2"), "honoured"),
        (verdict.judge_output_limit, answered("1, 2, " * 50), "ignored"),
        (verdict.judge_json, answered('{"a": 1}'), "honoured"),
        (verdict.judge_json, answered("Hello."), "ignored"),
        (verdict.judge_json, answered('{"a": ', finish="length"), "cut"),
        (verdict.judge_json_schema, answered('{"verdict": "no"}'), "honoured"),
        (verdict.judge_json_schema, answered('{"verdict": "maybe"}'), "ignored"),
        (verdict.judge_json_schema, answered('{"verdict": ["yes"]}'), "ignored"),
        (verdict.judge_format_beside_tools, answered('{"verdict": "no"}'), "held"),
        (verdict.judge_format_beside_tools, answered(None, LOOKUP), "called"),
        (verdict.judge_stream, answered("ok"), "not_streamed"),
        (verdict.judge_stream, answered("ok", stream=True), "streamed"),
        (
            verdict.judge_stream,
            answered("ok", usage={"prompt_tokens": 4}, stream=True),
            "streamed_with_usage",
        ),
        (verdict.judge_seen_red, answered("It is RED."), "seen"),
        (verdict.judge_seen_red, answered("I can't see it."), "not_seen"),
        (verdict.judge_prompt_tokens, answered("ok", usage={"prompt_tokens": 145}), "counted"),
        (verdict.judge_prompt_tokens, answered("ok"), "unclear"),
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

    assert verdict.verdict_on(Unanswered("refused", "HTTP 400: no tools"), judge) == Verdict(
        "refused", "HTTP 400: no tools"
    )
    assert verdict.verdict_on(Unanswered("timeout", "late"), judge).word == "lost"


def test_a_detail_quotes_what_was_said() -> None:
    assert verdict.judge_accepted(answered("It\nis  4.")).detail == 'it said "It is 4."'
    assert verdict.judge_accepted(answered(None, LOOKUP)).detail == "1 call"
    assert verdict.judge_accepted(answered("")).detail == "no text"
