"""Arguments of structured calls and of calls as text are repaired alike."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects
from toolreel_core._jsontext import ArgumentRepairs, Json, canonical
from toolreel_core._replies import JsonReading, parse_json_with_repairs
from toolreel_core._text_calls import decode_json, text_calls

PIECES = [
    "//x\n",
    "/*x*/",
    ",",
    "'",
    '"',
    "\n",
    "\\x41",
    "\\u00e9",
    "True",
    "None",
    "07",
    "(",
    ")",
    "#",
    "a:",
]
ABOUT_THE_WHOLE = {"ARGUMENTS_CONCATENATED", "ARGUMENTS_FENCED", "ARGUMENTS_TRAILING_TEXT"}
"""What is done to arguments as a whole; around calls as text, it is a dialect's to do."""


@st.composite
def nearly_json(draw: st.DrawFn) -> str:
    """An object as Python or JSON writes it, with something put in or left out."""
    tree = draw(json_objects)
    text = draw(st.sampled_from([canonical(tree), repr(tree), f"{canonical(tree)[:-1]},}}"]))
    for _ in range(draw(st.integers(0, 2))):
        place, lost = draw(st.integers(0, len(text))), draw(st.integers(0, 1))
        text = text[:place] + draw(st.sampled_from(PIECES)) + text[place + lost :]
    return text


@given(nearly_json(), st.sampled_from(["strict", "safe", "lenient"]))
def test_both_readers_agree_on_what_both_can_read(text: str, repairs: ArgumentRepairs) -> None:
    reading = parse_json_with_repairs(text, max_depth=64, repairs=repairs)
    other = decode_json(text)
    if isinstance(reading, JsonReading) and not ABOUT_THE_WHOLE & {*reading.codes} and other != text:
        assert canonical(reading.tree) == canonical(other)


@given(nearly_json())
def test_a_call_as_text_has_the_arguments_that_a_structured_one_has(text: str) -> None:
    reading = parse_json_with_repairs(text, max_depth=64, repairs="safe")
    block = f'<tool_call>{{"name": "ping", "arguments": {text}}}</tool_call>'
    calls = text_calls(block, tools=["ping"], dialects=["hermes_json"], finish="stop").calls
    both = isinstance(reading, JsonReading) and isinstance(reading.tree, Mapping) and len(calls) == 1
    if both and isinstance(reading, JsonReading) and not ABOUT_THE_WHOLE & {*reading.codes}:
        written: Json = calls[0].arguments
        assert written == canonical(reading.tree)
