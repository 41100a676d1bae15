from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolreel_core._jsontext import Json, JsonText, canonical
from toolreel_core._replies import (
    ERROR_WORDS,
    ArgumentError,
    ArgumentErrorCode,
    ArgumentsRead,
    read_arguments,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def nested(levels: int) -> str:
    """Text of an object that nests this many levels."""
    return '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"a":1}', '{"a":1}'),
        (' {"b": 2, "a": [1, 2]}\n', '{"b":2,"a":[1,2]}'),
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
        ("{'a': 1", "Expecting property name enclosed in double quotes at line 1, column 2"),
        ('{"a":1} and', "Extra data at line 1, column 9"),
    ],
)
def test_what_is_not_json_says_where_and_why(text: str, why: str) -> None:
    assert read_arguments(text, max_depth=64) == ArgumentsRead(
        ArgumentError("ARGUMENTS_INVALID_JSON", why), text
    )


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


@pytest.mark.parametrize(
    ("raw", "value", "warnings"),
    [
        ("[]", "{}", ["ARGUMENTS_EMPTY_LIST"]),
        ([], "{}", ["ARGUMENTS_NOT_STRING", "ARGUMENTS_EMPTY_LIST"]),
        ('"{\\"a\\": 1}"', '{"a":1}', ["ARGUMENTS_DOUBLE_ENCODED"]),
        ('"\\"{}\\""', "{}", ["ARGUMENTS_DOUBLE_ENCODED"]),
        ('""', "{}", ["ARGUMENTS_DOUBLE_ENCODED"]),
        ("\"{'a': 1}\"", '{"a":1}', ["ARGUMENTS_DOUBLE_ENCODED", "ARGUMENTS_REPAIRED"]),
        ("{'a': 1,}", '{"a":1}', ["ARGUMENTS_REPAIRED"]),
        ("None", "{}", ["ARGUMENTS_PYTHON_LITERAL"]),
        ('{"a":1,"a":2}', '{"a":2}', ["ARGUMENTS_DUPLICATE_KEYS"]),
        ('{"a":"x \\ud83d"}', '{"a":"x \ufffd"}', ["LONE_SURROGATE"]),
        ('{"a":"\\ud83d\\ude00"}', '{"a":"😀"}', []),
        (json.dumps('{"a":"x \\ud83d"}'), '{"a":"x �"}', ["ARGUMENTS_DOUBLE_ENCODED", "LONE_SURROGATE"]),
        ('{"arguments":"{}"}', '{"arguments":"{}"}', ["ARGUMENTS_MAYBE_WRAPPED"]),
        ('{"arguments":"[]"}', '{"arguments":"[]"}', []),
        ('{"arguments":{"a":1}}', '{"arguments":{"a":1}}', ["ARGUMENTS_MAYBE_WRAPPED"]),
        ('{"name":"f","input":{}}', '{"name":"f","input":{}}', ["ARGUMENTS_MAYBE_WRAPPED"]),
        ('{"input":"x"}', '{"input":"x"}', []),
        ('{"input":{},"a":1}', '{"input":{},"a":1}', []),
        ('{"input":{},"args":{}}', '{"input":{},"args":{}}', []),
    ],
)
def test_what_was_done_to_arguments_is_told(raw: Json, value: str, warnings: list[str]) -> None:
    read = read_arguments(raw, max_depth=64)
    assert (read.value, list(read.warnings)) == (value, warnings)


@pytest.mark.parametrize("text", ['"pin"', '"[1]"', '"{\\"a\\": "', '"\\"\\\\\\"{}\\\\\\"\\""'])
def test_a_string_that_holds_no_object_is_a_string(text: str) -> None:
    read = read_arguments(text, max_depth=64)
    assert read.value == ArgumentError("ARGUMENTS_NOT_OBJECT", "a string")


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_number_that_json_does_not_have_is_an_error_in_text_and_value(number: str) -> None:
    in_text = read_arguments(f'{{"a":{number}}}', max_depth=64)
    in_value = read_arguments({"a": float(number)}, max_depth=64)
    assert in_text.warnings == ("NON_FINITE_NUMBER",)
    in_string = read_arguments(json.dumps(f'{{"a":{number}}}'), max_depth=64)
    assert (type(in_string.value), in_string.warnings) == (ArgumentError, ("NON_FINITE_NUMBER",))
    assert in_value.warnings == ("ARGUMENTS_NOT_STRING", "NON_FINITE_NUMBER")
    for read in (in_text, in_value):
        assert isinstance(read.value, ArgumentError)
        assert read.value.code == "ARGUMENTS_INVALID_JSON"


@pytest.mark.parametrize(
    ("raw", "code", "detail"),
    [
        ("", "ARGUMENTS_INVALID_JSON", "Expecting value at line 1, column 1"),
        (None, "ARGUMENTS_NOT_OBJECT", "nothing"),
        ("null", "ARGUMENTS_NOT_OBJECT", "null"),
        ("[]", "ARGUMENTS_NOT_OBJECT", "a list"),
        ({"a": 1}, "ARGUMENTS_NOT_OBJECT", "a value that is no text"),
        ('{"a":1,"a":2}', "ARGUMENTS_INVALID_JSON", "a key stands twice"),
        ('"{}"', "ARGUMENTS_NOT_OBJECT", "a string"),
        ('{"a":1,}', "ARGUMENTS_INVALID_JSON", "Expecting property name enclosed in double quotes"),
    ],
)
def test_strictly_arguments_are_the_text_of_an_object_as_it_stands(raw: Json, code: str, detail: str) -> None:
    read = read_arguments(raw, max_depth=64, repairs="strict")
    assert isinstance(read.value, ArgumentError)
    assert read.value.code == code
    assert read.value.detail.startswith(detail)
    whole = read_arguments('{"arguments": {}}', max_depth=64, repairs="strict")
    assert (whole.value, whole.warnings) == ('{"arguments":{}}', ())


def test_every_error_has_its_words() -> None:
    assert [*ERROR_WORDS] == [*get_args(ArgumentErrorCode)]


@pytest.mark.parametrize(
    "key", ["file<arg_key", "path</arg_key>", "<|im_end|>", "a<parameter", "x<tool_call>"]
)
def test_a_key_with_markup_in_it_is_refused(key: str) -> None:
    refused = ArgumentError("ARGUMENTS_INVALID_JSON", "a key holds markup of the model")
    assert read_arguments(canonical({"a": 1, key: 2}), max_depth=64).value == refused
    assert read_arguments({key: 2}, max_depth=64).value == refused
    assert read_arguments(canonical({"a": key, "b<c": "<b>"}), max_depth=64).value == (
        canonical({"a": key, "b<c": "<b>"})
    )
