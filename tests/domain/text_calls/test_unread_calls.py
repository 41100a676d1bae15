from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.domain.text_calls.asking import SCHEMAS
from tests.samples import corpus_rows, worked
from toolreel_core._jsontext import Json
from toolreel_core._text_calls import (
    MARKED,
    TextCalls,
    has_think_tags,
    is_free_of_markup,
    looks_like_a_call,
    text_calls,
    tool_name_in_text,
    without_end_markers,
)

ROWS = corpus_rows("suspected")
"""Texts in which no call is read, and whether one is suspected there."""
CITY: Json = {"properties": {"city": {"type": "string"}}}
TOOLS: dict[str, Json] = {**SCHEMAS, "add": {}, "weather": CITY, "form": SCHEMAS["stock_lookup"]}


@pytest.mark.parametrize("row", ROWS)
def test_a_call_is_suspected_as_its_row_says(row: dict[str, Any]) -> None:
    assert looks_like_a_call(row["text"], TOOLS, TOOLS) is row["suspected"], row["about"]


def test_without_tools_no_call_is_suspected() -> None:
    assert not looks_like_a_call("ping{}", [])


@pytest.mark.parametrize(
    "text",
    worked("reasoning in tags is found", "json-and-replies"),
)
def test_reasoning_in_tags_is_found(text: str) -> None:
    assert has_think_tags(text)


@pytest.mark.parametrize("text", ["", "Four.", "a <b> [c]", "Write <think> first."])
def test_other_text_has_none(text: str) -> None:
    assert not has_think_tags(text)


SIGNS = ("<think>", "</think>", "<tool_call>", "[TOOL_CALLS]", "{", "[", "to=ping", "ping()", "✿", "◁think▷")


@given(st.lists(st.sampled_from([*SIGNS, "a", " ", "`", "Action: ", '{"name": "ping", "arguments": {}}'])))
def test_a_plain_text_hides_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    if is_free_of_markup(text):
        assert not has_think_tags(text)
        assert not looks_like_a_call(text, TOOLS)
        assert text_calls(text, tools=TOOLS, dialects=MARKED, finish="stop") == TextCalls((), text)


@pytest.mark.parametrize(
    "text",
    worked("a call that was made is reported in words", "json-and-replies"),
)
def test_a_call_that_was_made_is_reported_in_words(text: str) -> None:
    asked = lambda name, given: (name, given) == ("weather", {"city": "Paris"})  # noqa: E731
    assert not looks_like_a_call(text, ["weather"], {"weather": CITY}, asked)
    other = text.replace("Paris", "Rome")
    if "(city: " not in other:
        assert looks_like_a_call(other, ["weather"], {"weather": CITY}, asked)
    call = 'weather({"city": "Paris"})'
    assert looks_like_a_call(call, ["weather"], {"weather": CITY}, asked)
    for broken in ("weather -> {city: ", "weather -> {city: [1}", "<weather city='x'>"):
        assert looks_like_a_call(f"So I did it: {broken}", ["weather"], {"weather": CITY}, asked)
    many = " ".join([f"I did {call} then;"] * 20)
    assert looks_like_a_call(many, ["weather"], {"weather": CITY}, asked)


@pytest.mark.parametrize(
    ("text", "answer"),
    worked("markers at the end of an answer are removed", "json-and-replies"),
)
def test_markers_at_the_end_of_an_answer_are_removed(text: str, answer: str) -> None:
    assert without_end_markers(text) == answer


@pytest.mark.parametrize(
    ("text", "name"),
    worked("an unread call is for the tool that it names", "json-and-replies"),
)
def test_an_unread_call_is_for_the_tool_that_it_names(text: str, name: str) -> None:
    assert tool_name_in_text(text, ["ping"]) == tool_name_in_text(text, []) == name
