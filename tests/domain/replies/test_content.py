from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given

from tests.strategies import json_values
from toolreel_core._jsontext.canonical import NOTHING, Json
from toolreel_core._replies.content import Content, content_of, of_call, of_message, reasoning_in, visible
from toolreel_core._replies.warning_codes import WarningCode

ODD: Final[tuple[WarningCode, ...]] = ("CONTENT_NOT_STRING",)
PASSED_OVER: Final[tuple[WarningCode, ...]] = ("CONTENT_NOT_STRING", "NON_TEXT_PART")


@pytest.mark.parametrize("raw", [None, "", " \n"])
def test_null_and_blank_are_empty(raw: Json) -> None:
    assert content_of(raw) == Content()


def test_text_is_kept_byte_for_byte() -> None:
    assert content_of("  Hello.\r\n") == Content("  Hello.\r\n")
    assert visible(" \u00a0\n") == ""


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ([{"type": "text", "text": "Hel"}, {"type": "output_text", "text": "lo"}], "Hello"),
        ([{"text": "Hello"}], "Hello"),
        (["Hel", "lo"], "Hello"),
        ({"type": "text", "text": "Hello"}, "Hello"),
        ({"text": "Hello"}, "Hello"),
        ([{"type": "text", "text": {"value": "Hello", "annotations": []}}], "Hello"),
        ([{"type": "text", "text": None}], ""),
        ([{"type": "TEXT", "text": " "}], ""),
        ([], ""),
    ],
)
def test_parts_of_text_are_joined(raw: Json, text: str) -> None:
    assert content_of(raw) == Content(text, warnings=ODD)


@pytest.mark.parametrize(
    ("raw", "text"),
    [(42, "42"), (1.5, "1.5"), (True, "true"), ({"a": 1}, '{"a":1}'), (float("nan"), "null")],
)
def test_any_other_value_is_told_as_json(raw: Json, text: str) -> None:
    assert content_of(raw) == Content(text, warnings=ODD)


@pytest.mark.parametrize("part", [7, None, [], {}, {"type": "image_url"}, {"type": ""}, {"text": 7}])
def test_a_part_that_is_no_text_is_passed_over_and_reported(part: Json) -> None:
    assert content_of(["Hi.", part]) == Content("Hi.", warnings=PASSED_OVER)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "thinking", "thinking": "hmm"},
        {"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "mm"}]},
        {"type": "reasoning", "text": "hmm"},
        {"type": "reasoning", "reasoning": "hmm"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hmm"}]},
        {"type": "reasoning_text", "text": "hmm"},
        {"text": "hmm", "thought": True},
    ],
)
def test_thinking_is_reasoning_and_all_parts_go_back(part: Json) -> None:
    parts: tuple[Json, ...] = (part, {"type": "text", "text": "Four."})
    assert content_of([*parts]) == Content("Four.", "hmm", parts=parts, warnings=ODD)


def test_thinking_that_nobody_may_read_goes_back_as_well() -> None:
    parts: tuple[Json, ...] = ({"type": "redacted_thinking", "data": "x"},)
    assert content_of([*parts]) == Content(parts=parts, warnings=ODD)


@pytest.mark.parametrize(
    "call",
    [
        {"type": "tool_use", "id": "a", "name": "ping", "input": {}},
        {"type": "functionCall", "name": "ping"},
        {"functionCall": {"name": "ping", "args": {}}},
    ],
)
def test_calls_are_kept_apart_and_do_not_go_back_as_content(call: dict[str, Json]) -> None:
    assert content_of(["Hi.", call]) == Content("Hi.", calls=(call,), warnings=ODD)
    thinking: Json = {"type": "thinking", "thinking": "hmm"}
    assert content_of([thinking, call]).parts == (thinking,)


def test_a_refusal_is_no_text() -> None:
    assert content_of([{"type": "refusal", "refusal": "No."}]) == Content(refusal="No.", warnings=ODD)


@given(json_values)
def test_any_content_is_read_and_has_something_to_see_or_nothing(raw: Json) -> None:
    found = content_of(raw)
    assert found.text == "" or found.text.strip()


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
