from __future__ import annotations

import pytest

from tests.samples import worked
from toolreel_core._jsontext import Json
from toolreel_core._schema import grammar_of


def root(schema: dict[str, Json]) -> str:
    """The rule that the whole text has to fit."""
    return grammar_of(schema).splitlines()[0].removeprefix("root ::= ")


@pytest.mark.parametrize(
    ("schema", "rule"),
    worked("what a schema lets a model write"),
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
