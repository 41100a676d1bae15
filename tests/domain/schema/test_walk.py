from __future__ import annotations

import pytest
from hypothesis import given

from tests.strategies import json_objects
from toolreel_core._jsontext.canonical import Json, Tree, canonical
from toolreel_core._schema.walk import changed_within, subschemas


def marked(schema: Json) -> Json:
    return {"was": schema}


@pytest.mark.parametrize("keyword", ["items", "not", "if", "additionalProperties", "propertyNames"])
def test_a_keyword_may_hold_one_schema(keyword: str) -> None:
    for value in ({"type": "string"}, False):
        assert list(subschemas({keyword: value})) == [value]
        assert changed_within({keyword: value}, marked) == {keyword: {"was": value}}


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf", "prefixItems"])
def test_a_keyword_may_hold_a_list_of_schemas(keyword: str) -> None:
    assert list(subschemas({keyword: [{}, True]})) == [{}, True]
    assert changed_within({keyword: [True]}, marked) == {keyword: [{"was": True}]}


@pytest.mark.parametrize("keyword", ["properties", "$defs", "definitions", "patternProperties"])
def test_a_keyword_may_hold_schemas_by_name(keyword: str) -> None:
    assert list(subschemas({keyword: {"items": {}, "b": True}})) == [{}, True]
    assert changed_within({keyword: {"enum": True}}, marked) == {keyword: {"enum": {"was": True}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"default": {"items": {}}, "enum": [{"items": {}}], "const": {"not": {}}, "x-own": {"items": {}}},
        {"anyOf": "text", "oneOf": {}, "allOf": None},
        {"properties": ["a"], "$defs": 3, "definitions": "text"},
    ],
)
def test_what_is_no_schema_is_left_alone(schema: Tree) -> None:
    assert list(subschemas(schema)) == []
    assert changed_within(schema, marked) == schema


def test_the_order_of_keywords_stays() -> None:
    changed = changed_within({"type": "array", "items": 1, "title": "t"}, str)
    assert list(changed) == ["type", "items", "title"]


@given(json_objects)
def test_changing_nothing_changes_nothing(schema: Tree) -> None:
    assert canonical(changed_within(schema, lambda part: part)) == canonical(schema)
