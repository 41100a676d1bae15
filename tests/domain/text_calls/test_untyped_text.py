from __future__ import annotations

import pytest

from tests.samples import worked
from toolreel_core._jsontext import Json
from toolreel_core._text_calls import decode_json, typed_value, unwrapped_arguments


@pytest.mark.parametrize(("raw", "schema", "value"), worked("the schema says what a text is"))
def test_the_schema_says_what_a_text_is(raw: str, schema: Json, value: Json) -> None:
    assert typed_value(raw, schema) == value
    assert type(typed_value(raw, schema)) is type(value)


def test_what_is_said_to_be_json_is_read_or_stays_text() -> None:
    assert (decode_json("[1]"), decode_json("7"), decode_json("[1"), decode_json("1 2")) == (
        [1],
        7,
        "[1",
        "1 2",
    )


@pytest.mark.parametrize(
    ("given", "parameters", "arguments"),
    [
        ({"arguments": {"a": 1}}, {}, {"a": 1}),
        ({"input": '{"a": 1}'}, {}, {"a": 1}),
        ({"arguments": "soon"}, {}, {"arguments": "soon"}),
        ({"arguments": {"a": 1}}, {"arguments": {}}, {"arguments": {"a": 1}}),
        ({"arguments": {}, "b": 1}, {}, {"arguments": {}, "b": 1}),
    ],
)
def test_arguments_in_one_parameter_that_does_not_exist_are_unwrapped(
    given: dict[str, Json], parameters: dict[str, Json], arguments: dict[str, Json]
) -> None:
    assert unwrapped_arguments(given, parameters) == arguments
