from __future__ import annotations

import pytest

from toolreel_core._jsontext import Json
from toolreel_core._schema import grammar_of


def root(schema: dict[str, Json]) -> str:
    """The rule that the whole text has to fit."""
    return grammar_of(schema).splitlines()[0].removeprefix("root ::= ")


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        ({}, "value"),
        ({"type": "string", "maxLength": 3}, "string"),
        ({"type": "integer"}, "integer"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, '("true" | "false")'),
        ({"type": "null"}, '"null"'),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {}}, "object"),
        ({"type": "array"}, "array"),
        ({"type": "strange"}, "value"),
        ({"type": ["string", "null"]}, '(string | "null")'),
        ({"const": 'say "a"'}, r'"\"say \\\"a\\\"\""'),
        ({"enum": ["a", None, 2]}, r'("\"a\"" | "null" | "2")'),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "(string | integer)"),
        ({"oneOf": [{"const": 1}]}, '("1")'),
        ({"type": "array", "items": {"type": "integer"}}, '("[" sp (integer ("," sp integer)*)? sp "]")'),
        ({"type": "array", "items": True}, '("[" sp (value ("," sp value)*)? sp "]")'),
    ],
)
def test_what_a_schema_lets_a_model_write(schema: dict[str, Json], rule: str) -> None:
    assert root(schema) == rule


TWO: dict[str, Json] = {"a": {"type": "string"}, "b": {"type": "integer"}}
A, B = r'"\"a\"" ":" sp string', r'"\"b\"" ":" sp integer'


@pytest.mark.parametrize(
    ("required", "inside"),
    [
        (["a", "b"], f'{A} "," sp {B}'),
        (["b"], f'{B} ("," sp {A})?'),
        ([], f'({A} ("," sp {B})? | {B})?'),
    ],
)
def test_required_properties_come_first_and_others_may_be_left_out(required: list[Json], inside: str) -> None:
    assert root({"type": "object", "properties": TWO, "required": required}) == f'("{{" sp {inside} sp "}}")'


def test_every_rule_that_is_used_is_there() -> None:
    rules = dict(line.split(" ::= ", 1) for line in grammar_of({}).splitlines())
    assert {*rules} == {"root", "sp", "value", "object", "array", "hex", "string", "integer", "number"}
