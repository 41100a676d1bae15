from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given

from tests.strategies import json_values
from toolreel_core._jsontext import Json
from toolreel_core._replies import Content, WarningCode, content_of, visible

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
