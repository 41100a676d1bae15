from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel.arguments import ArgumentError, ArgumentsRead, read_arguments
from toolreel.jsontext import Json, JsonText, canonical

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def nested(levels: int) -> str:
    """Text of an object that nests so many levels."""
    return '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"a":1}', '{"a":1}'),
        (' {"b": 2, "a": [1, 2]}\n', '{"b":2,"a":[1,2]}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"n":9007199254740993}', '{"n":9007199254740993}'),
        ('{"s":"gr\\u00fc\\u00df"}', '{"s":"grüß"}'),
        ("", "{}"),
        (" \n\t", "{}"),
        ("null", "{}"),
    ],
)
def test_text_of_an_object_is_read_and_kept(raw: str, value: str) -> None:
    assert read_arguments(raw, max_depth=64) == ArgumentsRead(JsonText(value), raw)


def test_missing_arguments_are_an_empty_object() -> None:
    assert read_arguments(None, max_depth=64) == ArgumentsRead(JsonText("{}"), "")


@pytest.mark.parametrize("raw", [{}, {"a": 1}, {"a": {"b": [None, True, 1.5, "é"]}}])
def test_an_object_that_is_not_text_is_taken_and_reported(raw: Json) -> None:
    text = canonical(raw)
    assert read_arguments(raw, max_depth=64) == ArgumentsRead(text, text, ("ARGUMENTS_NOT_STRING",))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[]", "a list"),
        ("[{}]", "a list"),
        ("true", "a boolean"),
        ("3", "a number"),
        ("3.5", "a number"),
        ('"text"', "a string"),
    ],
)
def test_any_other_json_is_no_object(text: str, found: str) -> None:
    assert read_arguments(text, max_depth=64).value == ArgumentError("ARGUMENTS_NOT_OBJECT", found)
    if found != "a string":
        unquoted = read_arguments(json.loads(text), max_depth=64)
        assert unquoted.value == ArgumentError("ARGUMENTS_NOT_OBJECT", found)
        assert unquoted.warnings == ("ARGUMENTS_NOT_STRING",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a":', "Expecting value at line 1, column 6"),
        ("{'a': 1}", "Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"a":1} and', "Extra data at line 1, column 9"),
        ('{"a":NaN}', "NaN is not a JSON number"),
        ('{"a":1e999}', "1e999 is too large for a number"),
    ],
)
def test_what_is_not_json_says_where_and_why(text: str, why: str) -> None:
    assert read_arguments(text, max_depth=64) == ArgumentsRead(
        ArgumentError("ARGUMENTS_INVALID_JSON", why), text
    )


def test_nesting_at_the_limit_is_read_and_one_more_level_is_not() -> None:
    too_deep = ArgumentError("ARGUMENTS_TOO_DEEP", "deeper than 5 levels")
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


@given(st.text())
def test_any_text_at_all_is_read_without_an_exception(text: str) -> None:
    assert read_arguments(text, max_depth=64).original == text
