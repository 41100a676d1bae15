from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import json_objects, json_values
from toolreel_core._jsontext import ArgumentRepairs, Json, canonical, either
from toolreel_core._replies import (
    ArgumentError,
    Reading,
    Unreadable,
    is_cut,
    read_arguments,
    read_text,
    without_fence,
    without_tokens,
    without_tokens_behind_fence,
)


def reading(text: str, repairs: ArgumentRepairs = "safe") -> Reading | Unreadable:
    return either(read_text(text, max_depth=64, repairs=repairs))


def refused(text: str, repairs: ArgumentRepairs = "safe") -> Unreadable:
    found = reading(text, repairs)
    assert isinstance(found, Unreadable)
    return found


@pytest.mark.parametrize("repairs", ["safe", "lenient"])
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"part": pin}', "Expecting value at line 1, column 10"),
        ('Arguments: {"a": 1}', "Expecting value at line 1, column 1"),
        ('{"a": 1}{"a": ', "Extra data at line 1, column 9"),
        ('{"a": 1}{"a": 1', "Extra data at line 1, column 9"),
        ('{"a": ' + "9" * 5000 + "}", "an integer of 5000 digits is too long"),
        ("{" * 100_000, "nested deeper than 64 levels"),
        ("'{" + "[" * 100_000, "nested deeper than 64 levels"),
        ('{"a": 1,} ' + '{"a":' * 100_000, "nested deeper than 64 levels"),
    ],
)
def test_what_cannot_be_read_says_why_in_the_terms_of_the_text_that_came(
    text: str, why: str, repairs: ArgumentRepairs
) -> None:
    assert refused(text, repairs) == Unreadable(why)


@given(json_objects.filter(bool), st.sampled_from(["safe", "lenient"]), st.data())
def test_no_beginning_of_an_object_is_ever_completed(
    value: dict[str, Json], repairs: ArgumentRepairs, data: st.DataObject
) -> None:
    for text in (canonical(value), repr(value), f"```json\n{canonical(value)}"):
        closed = len(text) - 1
        assert isinstance(reading(text[: data.draw(st.integers(0, closed))], repairs), Unreadable)


@given(
    st.text() | st.text(alphabet="{}[]:,'\"\\/*#\n`None01a <|>"),
    st.sampled_from(["strict", "safe", "lenient"]),
)
def test_any_text_is_read_or_not_without_an_exception(text: str, repairs: ArgumentRepairs) -> None:
    found = reading(text, repairs)
    if isinstance(found, Reading):
        canonical(found.tree)


@given(json_values)
def test_no_json_is_cut(value: Json) -> None:
    assert not is_cut(canonical(value))


@pytest.mark.parametrize("part", ['"\\', "[", "<", "<a>", "```", "~~~\n", "[A]", " "])
def test_no_text_takes_longer_than_its_length_explains(part: str) -> None:
    """A minute of backtracking would be noticed here."""
    for step in (without_fence, without_tokens, without_tokens_behind_fence, is_cut):
        step(part * 20_000)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def nested(levels: int) -> str:
    """Text of an object that nests this many levels."""
    return '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)


def test_nesting_at_the_limit_is_read_and_one_more_level_is_not() -> None:
    too_deep = ArgumentError("ARGUMENTS_INVALID_JSON", "nested deeper than 5 levels")
    assert read_arguments(nested(5), max_depth=5).value == nested(5)
    assert read_arguments(nested(6), max_depth=5).value == too_deep
    assert read_arguments(json.loads(nested(5)), max_depth=5).value == nested(5)
    assert read_arguments(json.loads(nested(6)), max_depth=5).value == too_deep


def test_nesting_that_would_exhaust_the_stack_is_only_too_deep() -> None:
    assert isinstance(read_arguments("[" * 100_000, max_depth=64).value, ArgumentError)


@given(VALUES)
def test_whatever_comes_is_an_object_or_says_why_not(value: Json) -> None:
    for raw in (value, canonical(value)):
        found = read_arguments(raw, max_depth=64).value
        if isinstance(found, ArgumentError):
            assert not isinstance(value, dict)
        else:
            assert isinstance(json.loads(found), dict)
            assert canonical(json.loads(found)) == found


@given(st.text())
def test_any_text_at_all_is_read_without_an_exception(text: str) -> None:
    assert read_arguments(text, max_depth=64).original == text


def test_thousands_of_objects_that_differ_are_no_arguments() -> None:
    text = "".join(f'{{"a":{number}}}' for number in range(5_000))
    assert isinstance(read_arguments(text, max_depth=64).value, ArgumentError)
