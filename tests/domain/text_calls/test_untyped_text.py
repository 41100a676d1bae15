from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json
from toolreel_core._text_calls import decoded, typed, unwrapped


@pytest.mark.parametrize(
    ("raw", "schema", "value"),
    [
        ("null", {"type": "string"}, "null"),
        (" 42\n", {"type": "string"}, " 42\n"),
        ('{"a": 1}', {"type": "string"}, '{"a": 1}'),
        ("\n42 ", {"type": "integer"}, 42),
        ("4.5", {"type": "integer"}, "4.5"),
        ("three", {"type": "integer"}, "three"),
        ("4.5", {"type": "number"}, 4.5),
        ("4", {"type": "number"}, 4),
        ("1e999", {"type": "number"}, "1e999"),
        ("TRUE", {"type": "boolean"}, True),
        ("no", {"type": "boolean"}, "no"),
        ("None", {"type": ["boolean", "null"]}, None),
        ("null", {"type": "boolean"}, "null"),
        ("{'a': True}", {"type": "object"}, {"a": True}),
        ("[1]", {"type": "object"}, "[1]"),
        ('{"a": 1}', {"type": "array"}, '{"a": 1}'),
        ("[1,]", {"type": "array"}, [1]),
        ("[1] or so", {"type": "array"}, "[1] or so"),
        ("a, b", {"type": "array"}, "a, b"),
        ("3", {"anyOf": [{"type": "integer"}, {"type": "null"}, True]}, 3),
        ("3", {"oneOf": [{"type": "string"}]}, "3"),
        ("3", {"anyOf": 7}, 3),
        ("3", {"enum": [1, 2, 3]}, 3),
        ("3", {"const": "3"}, "3"),
        ("3", {"const": 3}, 3),
        ("3", {"enum": ["3"]}, "3"),
        ('["x"]', {"enum": [["x"]]}, '["x"]'),
        ("3", {"enum": 7}, 3),
        ("3", {"type": ["integer", 7]}, 3),
        ("3", {}, 3),
        ("3", None, "3"),
        ("3", True, "3"),
    ],
)
def test_the_schema_says_what_a_text_is(raw: str, schema: Json, value: Json) -> None:
    assert typed(raw, schema) == value
    assert type(typed(raw, schema)) is type(value)


def test_what_is_said_to_be_json_is_read_or_stays_text() -> None:
    assert (decoded("[1]"), decoded("7"), decoded("[1"), decoded("1 2")) == ([1], 7, "[1", "1 2")


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
    assert unwrapped(given, parameters) == arguments
