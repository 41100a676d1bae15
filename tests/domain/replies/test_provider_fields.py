from __future__ import annotations

import pytest

from toolreel_core._jsontext import NOTHING, Json
from toolreel_core._replies import of_call, of_message, reasoning_in


def test_the_fields_of_a_message_that_go_back_keep_their_order_and_values() -> None:
    details: Json = [{"type": "reasoning.text", "text": "a", "index": 0}, {"type": "reasoning.encrypted"}]
    message: dict[str, Json] = {
        "role": "assistant",
        "content": None,
        "reasoning_details": details,
        "reasoning_content": "",
        "tool_calls": [],
        "extra_content": {"google": {"thought_signature": "s"}},
        "thinking_blocks": [],
        "provider_specific_fields": {"a": 1},
        "reasoning": "why",
        "signature": "s",
        "thought_signature": "t",
        "annotations": [],
    }
    assert of_message(message) == (
        '{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0},{"type":"reasoning.encrypted"}],'
        '"reasoning_content":"","extra_content":{"google":{"thought_signature":"s"}},"thinking_blocks":[],'
        '"provider_specific_fields":{"a":1},"reasoning":"why","signature":"s","thought_signature":"t"}'
    )


def test_null_and_everything_else_stay_behind() -> None:
    assert of_message({"content": "Hi.", "reasoning": None, "reasoning_content": None}) is NOTHING


def test_a_content_that_must_go_back_goes_along() -> None:
    assert of_message({"signature": "s"}, [{"type": "thinking"}]) == (
        '{"signature":"s","content":[{"type":"thinking"}]}'
    )


def test_the_fields_of_a_call_go_back_from_where_they_stood() -> None:
    entry: dict[str, Json] = {"id": "call_a", "extra_content": {"google": {"thought_signature": "E=="}}}
    function: dict[str, Json] = {"name": "ping", "provider_specific_fields": {"thought_signature": "E=="}}
    assert of_call(entry, {}) == '{"extra_content":{"google":{"thought_signature":"E=="}}}'
    assert of_call({}, function) == ('{"function":{"provider_specific_fields":{"thought_signature":"E=="}}}')
    assert of_call({"id": "call_a", "signature": None}, {"name": "ping"}) is NOTHING


def test_a_number_that_json_does_not_have_goes_back_as_null() -> None:
    assert of_message({"reasoning_details": [{"score": float("nan")}]}) == (
        '{"reasoning_details":[{"score":null}]}'
    )
    assert of_call({"signature": float("inf")}, {}) == '{"signature":null}'


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        ({"reasoning_content": "why"}, "why"),
        ({"reasoning": "why"}, "why"),
        ({"thinking": "why"}, "why"),
        ({"reasoning_content": "", "reasoning": "why"}, "why"),
        ({"reasoning_content": {"text": "why"}}, ""),
        ({"reasoning_details": [{"text": "w"}, {"data": "x"}, 7, {"summary": "hy"}]}, "why"),
        (
            {"thinking_blocks": [{"type": "thinking", "thinking": "why"}, {"type": "redacted_thinking"}]},
            "why",
        ),
        ({"reasoning_details": "why"}, ""),
        ({"reasoning_details": None, "thinking_blocks": 7}, ""),
        ({}, ""),
    ],
)
def test_reasoning_is_found_in_any_field(message: dict[str, Json], reasoning: str) -> None:
    assert reasoning_in(message) == reasoning
