from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.strategies import json_values
from toolreel_core._jsontext import ArgumentRepairs, Json, canonical
from toolreel_core._replies import (
    ArgumentError,
    JsonReading,
    Unreadable,
    is_truncated_json,
    parse_json_with_repairs,
    read_arguments,
)


def reading(text: str, repairs: ArgumentRepairs = "safe") -> JsonReading | Unreadable:
    return parse_json_with_repairs(text, max_depth=64, repairs=repairs)


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


@given(json_values)
def test_no_json_is_cut(value: Json) -> None:
    assert not is_truncated_json(canonical(value))


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


def test_thousands_of_objects_that_differ_are_no_arguments() -> None:
    text = "".join(f'{{"a":{number}}}' for number in range(5_000))
    assert isinstance(read_arguments(text, max_depth=64).value, ArgumentError)
