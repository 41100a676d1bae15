"""Requests in other forms are judged as in chat completions; what a form cannot say has no meaning in it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.conformance.forms import FORMS, Form, has_meaning, read_request, said
from benchmarks.conformance.history import refusals
from benchmarks.conformance.replies import message_answer
from benchmarks.conformance.shape import load

SHAPES = {shape.id: shape for shape in load()}
CALL = {"id": "call_1", "type": "function", "function": {"name": "clock", "arguments": '{"at": 1}'}}
WANTED = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Go."},
    {"role": "assistant", "content": "Wait.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "noon"},
]
REQUESTS: dict[Form, dict[str, Any]] = {
    "responses": {
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Go."}]},
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Wait."}]},
            {"type": "function_call", "call_id": "call_1", "name": "clock", "arguments": '{"at": 1}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "noon"},
        ],
    },
    "messages": {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Go."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "text", "text": "Wait."},
                    {"type": "tool_use", "id": "call_1", "name": "clock", "input": {"at": 1}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "noon"}],
            },
        ],
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_a_request_means_the_same_in_each_form(form: Form) -> None:
    assert read_request(REQUESTS[form], form)["messages"] == WANTED


@pytest.mark.parametrize("form", FORMS)
def test_a_call_without_its_result_is_refused_in_each_form(form: Form) -> None:
    request = REQUESTS[form]
    key = "input" if form == "responses" else "messages"
    cut = read_request({**request, key: request[key][:-1]}, form)
    assert refusals(cut, SHAPES["plain-call"]) == ("no tool message answers the calls ['call_1']",)


def test_a_form_says_what_it_can() -> None:
    assert all(has_meaning(SHAPES["plain-call"], form) for form in FORMS)
    assert [has_meaning(SHAPES["cut-length"], form) for form in FORMS] == [True, False]
    assert not any(
        has_meaning(SHAPES[name], form) for name in ("tool-calls-object", "id-null") for form in FORMS
    )


@pytest.mark.parametrize(
    ("form", "last"), [("responses", "response.completed"), ("messages", "message_stop")]
)
def test_a_stream_ends_with_the_event_of_its_form(form: Form, last: str) -> None:
    answer = said(message_answer({"role": "assistant", "content": "Four."}, stream=False), form, stream=True)
    assert answer is not None
    text = b"".join(part for part in answer.parts if isinstance(part, bytes)).decode()
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    assert events[-1]["type"] == last
    pieces = [event["delta"] for event in events if "delta" in event["type"]]
    assert "".join(piece if isinstance(piece, str) else piece.get("text", "") for piece in pieces) == "Four."
