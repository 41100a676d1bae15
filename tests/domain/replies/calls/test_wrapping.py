from __future__ import annotations

import pytest
from hypothesis import given

from tests.strategies import json_values
from toolreel_core._jsontext.canonical import Json, canonical
from toolreel_core._replies.calls.wrapping import (
    is_cut,
    without_fence,
    without_tokens,
    without_tokens_behind_fence,
)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('```\n{"a": 1}```', '{"a": 1}'),
        ('```{"a": 1}```', '{"a": 1}'),
        ('~~~json5\n{"a": 1}\n~~~\n', '{"a": 1}'),
        ('````json\n{"a": "```"}\n````', '{"a": "```"}'),
        ('```json\n{"a": "```"}\n```', '{"a": "```"}'),
        ('```json\n{"a": 1}', '```json\n{"a": 1}'),
        ('Here:\n```json\n{"a": 1}\n```', 'Here:\n```json\n{"a": 1}\n```'),
        ('`{"a": 1}`', '`{"a": 1}`'),
    ],
)
def test_a_fence_around_all_of_it_is_taken_off(text: str, inside: str) -> None:
    assert without_fence(text) == inside


@pytest.mark.parametrize(
    "tokens",
    [
        "<|tool_call_end|>",
        "<|im_end|>\n</s>",
        " </tool_call> ",
        "<\uff5ctool▁call▁end\uff5c>",
        "[/TOOL_CALLS]",
        "<end_of_turn>",
    ],
)
def test_control_tokens_are_nothing(tokens: str) -> None:
    assert without_tokens(tokens) == ""


@pytest.mark.parametrize("text", ["", "and more", "<|im_end|", '<a href="x">', "<|im_end|> x", "<a b>", "}"])
def test_anything_else_is_something(text: str) -> None:
    assert without_tokens(text) == text


def test_tokens_are_taken_off_behind_a_fence_only() -> None:
    assert without_tokens_behind_fence("~~~\n{}\n~~~\n<|im_end|></s>") == "~~~\n{}\n~~~"
    for text in ("", "{}</s>", "```\n{}\n```", "```\n{}\n``` and </s>"):
        assert without_tokens_behind_fence(text) == text


@pytest.mark.parametrize(
    "text", ["", " ", '{"a": "x', '{"a": 1', "[", '"', '{"a": "\\"', '```json\n{"a"', "```\n{}\n``"]
)
def test_text_that_stops_is_cut(text: str) -> None:
    assert is_cut(text)


@pytest.mark.parametrize("text", ["{}", '{"a": "["}', '{"a": pin}', "}", "x", '"{"', "```\n{}\n```"])
def test_text_that_is_closed_is_not_cut(text: str) -> None:
    assert not is_cut(text)


@given(json_values)
def test_no_json_is_cut(value: Json) -> None:
    assert not is_cut(canonical(value))


@pytest.mark.parametrize("part", ['"\\', "[", "<", "<a>", "```", "~~~\n", "[A]", " "])
def test_no_text_takes_longer_than_its_length_explains(part: str) -> None:
    """A minute of backtracking would be noticed here."""
    for step in (without_fence, without_tokens, without_tokens_behind_fence, is_cut):
        step(part * 20_000)
