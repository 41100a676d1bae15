from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json, Tree
from toolreel_core._transforms import (
    Change,
    tool_example_call,
    tool_first_sentences,
    tool_required_properties,
)

TEXT: Tree = {"type": "string"}


def tool(parameters: Json, description: str = "Puts.") -> Tree:
    function: Tree = {"name": "put", "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


@pytest.mark.parametrize("change", [tool_example_call, tool_first_sentences, tool_required_properties])
@pytest.mark.parametrize("entry", [{}, {"type": "web_search"}, {"type": "function", "function": None}])
def test_a_tool_that_is_no_function_stays(change: Change, entry: Tree) -> None:
    assert change(entry) == entry


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (TEXT, '"<at>"'),
        ({}, '"<at>"'),
        ({"type": "integer"}, "1"),
        ({"type": "number", "minimum": 0.5}, "0.5"),
        ({"type": "boolean"}, "true"),
        ({"type": "null"}, "null"),
        ({"type": ["integer", "null"]}, "1"),
        ({"enum": ["a", "b"]}, '"a"'),
        ({"const": 3}, "3"),
        ({"type": "string", "examples": ["x"]}, '"x"'),
        ({"type": "string", "default": "d"}, '"d"'),
        ({"type": "array", "items": TEXT}, '["<at>"]'),
        ({"$ref": "#/$defs/Day"}, '"monday"'),
        (
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["b"]},
            '{"b":"<b>"}',
        ),
    ],
)
def test_an_example_of_a_call_is_made_from_the_schema(schema: Json, value: str) -> None:
    parameters: Tree = {
        "type": "object",
        "properties": {"at": schema, "more": TEXT},
        "required": ["at"],
        "$defs": {"Day": {"enum": ["monday"]}},
    }
    changed = tool_example_call(tool(parameters))
    example = f'Puts. Example of a call: {{"name":"put","arguments":{{"at":{value}}}}}'
    assert changed == tool(parameters, example)


def test_a_tool_without_arguments_or_description_has_an_example_too() -> None:
    entry: Tree = {"type": "function", "function": {"name": "put"}}
    example = 'Example of a call: {"name":"put","arguments":{}}'
    assert tool_example_call(entry) == {
        "type": "function",
        "function": {"name": "put", "description": example},
    }


def test_a_recursive_schema_has_an_example_that_ends() -> None:
    deep: Json = TEXT
    for _ in range(8):
        deep = {"type": "array", "items": deep}
    parameters: Tree = {"type": "object", "properties": {"at": deep}, "required": ["at"]}
    assert '{"at":[[[[]]]]}' in str(tool_example_call(tool(parameters)))
    wide: Json = TEXT
    for _ in range(8):
        wide = {"type": "object", "properties": {"a": wide}, "required": ["a"]}
    assert '"arguments":{"a":{"a":{"a":{"a":{}}}}}}' in str(tool_example_call(tool(wide)))


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("One. Two.", "One."),
        ("Takes a.b and c. More.", "Takes a.b and c."),
        ("No end", "No end"),
        (" ", ""),
        ("x" * 300, "x" * 118 + " …"),
    ],
)
def test_of_descriptions_the_first_sentence_stays(long: str, short: str) -> None:
    parameters: Tree = {"type": "object", "properties": {"at": {**TEXT, "description": long}, "b": True}}
    less: Tree = {"type": "object", "properties": {"at": {**TEXT, "description": short}, "b": True}}
    assert tool_first_sentences(tool(parameters, long)) == tool(less, short)


def test_a_function_without_parameters_keeps_none() -> None:
    entry: Tree = {"type": "function", "function": {"name": "put"}}
    assert tool_first_sentences(entry) == entry


def test_optional_properties_are_left_out_where_others_are_required() -> None:
    parameters: Tree = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["b"]}
    less: Tree = {"type": "object", "properties": {"b": TEXT}, "required": ["b"]}
    assert tool_required_properties(tool(parameters)) == tool(less)
    free: Tree = {"type": "object", "properties": {"a": TEXT}}
    assert tool_required_properties(tool(free)) == tool(free)
