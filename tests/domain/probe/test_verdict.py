"""The judges: one answer, one word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.probes import QUESTIONS, worked
from toolreel_core._probe import ProbedReply, ProbeFailure, observe, verdict
from toolreel_core._protocol import ReplyReceived

LOOKUP = {"id": "c", "type": "function", "function": {"name": "lookup", "arguments": '{"key":"a"}'}}


def answered(
    content: str | None = None,
    *calls: Mapping[str, Any],
    finish: str = "stop",
    usage: Mapping[str, int] | None = None,
    stream: bool = False,
) -> ProbedReply:
    message = {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}
    choice = {"delta" if stream else "message": message, "finish_reason": finish}
    body = json.dumps({"choices": [choice], **({"usage": usage} if usage else {})})
    seen = observe(ReplyReceived(1, 200, f"data: {body}\n\ndata: [DONE]\n\n" if stream else body))
    assert isinstance(seen, ProbedReply)
    return seen


@pytest.mark.parametrize(("judge", "told", "word"), worked("judge"))
def test_an_answer_gets_a_word(judge: str, told: dict[str, Any], word: str) -> None:
    calls = [
        {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(told.pop("calls", ()))
    ]
    seen = answered(told.pop("says", None), *calls, **told)
    assert getattr(verdict, f"judge_{judge}")(seen).word == word


@pytest.mark.parametrize(
    ("seen", "word"),
    [
        (ProbeFailure("refused", "HTTP 400: no", body='{"error": {}}'), "clear"),
        (ProbeFailure("refused", "HTTP 400: no", body="<html>"), "unclear"),
        (ProbeFailure("refused", "no", in_200=True), "unclear"),
        (answered("ok"), "accepted"),
        (ProbeFailure("unreadable", "<html>"), "lost"),
        (ProbeFailure("timeout", "no answer"), "lost"),
        (ProbeFailure("key", "HTTP 401"), "lost"),
    ],
)
def test_an_error_is_clear_if_a_program_can_read_it(seen: Any, word: str) -> None:  # noqa: ANN401
    [question] = [each for each in QUESTIONS if each.name == "unknown_model"]
    assert question.verdict(seen).word == word


def test_a_detail_quotes_what_was_said() -> None:
    assert verdict.judge_accepted(answered("It\nis  4.")).detail == 'it said "It is 4."'
    assert verdict.judge_accepted(answered(None, LOOKUP)).detail == "1 call"
    assert verdict.judge_accepted(answered("")).detail == "no text"
